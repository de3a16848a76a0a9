r"""The deep stack of the third figure: equal layers on 64 points of the plane, and what passes through them.

.. math:: z_l = W_l a_{l-1} + b_l, \qquad a_l = f(z_l), \qquad \text{score} = w^\top a_L + b

The points beyond the middle distance from the origin are a "yes". Weights are normal, with a standard
deviation of `scale` over the square root of a unit's inputs, biases zero; training is `Momentum` on the
`log_loss` of all points. ``stack.js`` draws the same numbers and computes the same; here torch derives the
gradients.

Axes: B points, D = 2 inputs, U units, L layers.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reasonlib.arguments import check_at_least, check_choice
from reasonlib.optimisation.models.activations import ACTIVATIONS
from reasonlib.optimisation.models.losses import log_loss
from reasonlib.optimisation.models.optimisers import Momentum

__all__ = ["FADED", "TRIES", "Pass", "Stack", "StackConfig", "Try", "normals", "points"]

FADED = 0.1  # a slope below this share of the steepest counts as saturated
POINTS = 64


@dataclass(frozen=True, kw_only=True)
class StackConfig:
    """What a stack is made of, and how it learns."""

    activation: str = "sigmoid"
    depth: int = 6  # L, hidden layers
    scale: float = 3.0
    rate: float = 1.0
    momentum: float = 0.9
    width: int = 32  # U
    seed: int = 10

    def __post_init__(self) -> None:
        check_choice("activation", self.activation, ACTIVATIONS)
        check_at_least(self, 1, "depth", "width")
        if not self.scale > 0:
            raise ValueError(f"scale must be above 0, got {self.scale}")


@dataclass(frozen=True, kw_only=True)
class Try:
    """A stack worth a look, with a title."""

    title: str
    config: StackConfig

    @property
    def settings(self) -> dict[str, Any]:
        """What the figure's controls take of it."""
        return {key: value for key, value in asdict(self.config).items() if key not in ("momentum", "width")}


TRIES: dict[str, Try] = {
    "travels": Try(title="Saturation travels down a sigmoid stack", config=StackConfig()),
    "fades": Try(
        title="Almost nothing is saturated, and yet the gradient fades",
        config=StackConfig(depth=12, scale=1.0, rate=0.5),
    ),
    "tanh": Try(
        title="A tanh stack carries more",
        config=StackConfig(activation="tanh", depth=12, scale=1.5, rate=0.05),
    ),
    "dies": Try(
        title="ReLU units die", config=StackConfig(activation="ReLU", depth=8, scale=1.4, rate=0.15, seed=2)
    ),
    "leaks": Try(
        title="Leaky ones do not",
        config=StackConfig(activation="leaky ReLU", depth=8, scale=1.4, rate=0.15, seed=2),
    ),
    "elu": Try(
        title="ELU keeps the means near zero",
        config=StackConfig(activation="ELU", depth=8, scale=1.2, rate=0.02),
    ),
}
"""What the figure offers to try first."""


class Pass(NamedTuple):
    """What one pass forward and back shows."""

    loss: float
    accuracy: float
    activations: Tensor
    """(L, B, U)"""
    saturated: Tensor
    """(L,) share of slopes that have faded."""
    dead: Tensor
    """(L,) units whose slope is zero for every point."""
    gradients: Tensor
    """(L,) norm of the loss's gradient with respect to a layer's weights."""


def normals(seed: int) -> Iterator[float]:
    """Draw normal numbers, the same ones in Python and in the page (mulberry32, Box-Muller)."""
    state = seed & 0xFFFFFFFF

    def uniform() -> float:
        nonlocal state
        state = (state + 0x6D2B79F5) & 0xFFFFFFFF
        t = ((state ^ (state >> 15)) * (state | 1)) & 0xFFFFFFFF
        t ^= (t + (((t ^ (t >> 7)) * (t | 61)) & 0xFFFFFFFF)) & 0xFFFFFFFF
        return ((t ^ (t >> 14)) + 0.5) / 2**32

    while True:
        radius, angle = math.sqrt(-2 * math.log(uniform())), 2 * math.pi * uniform()
        yield radius * math.cos(angle)
        yield radius * math.sin(angle)


def points() -> tuple[Tensor, Tensor]:
    """Give the points (B, D) and their truth (B,): 1 for the half that is farther out."""
    drawn = normals(7)
    x = torch.tensor([[next(drawn), next(drawn)] for _ in range(POINTS)], dtype=torch.float64)
    distance = x.norm(dim=1)
    return x, (distance > distance.sort().values[POINTS // 2 - 1]).double()


class Stack:
    """A deep stack of equal layers.

    Attributes
    ----------
    config
        What it is made of.
    weights, biases
        L + 1 matrices and vectors; the last ones give the score.
    steps
        Of training, so far.
    """

    def __init__(self, config: StackConfig | None = None) -> None:
        self.config = config = config or StackConfig()
        drawn = normals(config.seed)
        sizes = [2, *[config.width] * config.depth, 1]
        self.weights = [
            torch.tensor([[next(drawn) for _ in range(ins)] for _ in range(outs)], dtype=torch.float64)
            * (config.scale / math.sqrt(ins))
            for ins, outs in pairwise(sizes)
        ]
        self.biases = [torch.zeros(outs, dtype=torch.float64) for outs in sizes[1:]]
        self.steps = 0
        self._optimisers = [
            Momentum(rate=config.rate, momentum=config.momentum) for _ in (*self.weights, *self.biases)
        ]
        grid = torch.linspace(-8, 8, 3201, dtype=torch.float64)
        self._steepest = float(self._slope(grid).abs().max())

    def _slope(self, z: Tensor) -> Tensor:
        z = z.detach().requires_grad_(True)
        return torch.autograd.grad(ACTIVATIONS[self.config.activation](z).sum(), z)[0]

    def look(self, *, learn: bool = False) -> Pass:
        """Pass all points forward and the gradient back; learn from it if asked to."""
        x, truth = points()
        parameters = [tensor.requires_grad_(True) for tensor in (*self.weights, *self.biases)]
        sums, activations, hidden = [], [], x
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            sums.append(hidden @ weight.T + bias)
            hidden = ACTIVATIONS[self.config.activation](sums[-1])
            activations.append(hidden)
        score = (hidden @ self.weights[-1].T + self.biases[-1])[:, 0]
        loss = log_loss(score, truth)
        gradients = torch.autograd.grad(loss, parameters)
        slopes = torch.stack([self._slope(z) for z in sums])
        if learn:
            moved = [
                optimiser.step(tensor.detach(), gradient)
                for optimiser, tensor, gradient in zip(self._optimisers, parameters, gradients, strict=True)
            ]
            self.weights, self.biases = moved[: len(self.weights)], moved[len(self.weights) :]
            self.steps += 1
        depth = self.config.depth
        return Pass(
            loss=float(loss.detach()),
            accuracy=float(((score > 0) == (truth > 0.5)).double().mean()),
            activations=torch.stack(activations).detach(),
            saturated=(slopes.abs() < FADED * self._steepest).double().mean((1, 2)),
            dead=(slopes == 0).all(1).sum(1),
            gradients=torch.stack([gradient.norm() for gradient in gradients[:depth]]),
        )

    def train(self, steps: int) -> list[Pass]:
        """Learn for some steps; gives what each step saw before it, and what stands at the end."""
        return [*(self.look(learn=True) for _ in range(steps)), self.look()]
