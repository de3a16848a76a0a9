r"""A small network, real pictures, and the loop that joins a loss, an activation and an optimiser.

    digits -> network(activation) -> loss -> gradient -> optimiser.step -> the next weights

The 1,797 handwritten digits come with scikit-learn (8 by 8 pixels, ten classes). The weights of a network
are one long vector here, the very :math:`\theta` of the source's equations, and the optimisers are those of
`reasonlib.optimisation.models.optimisers`.

Axes: B examples, D inputs, U units of a layer, L hidden layers, N classes.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from reasonlib.optimisation.models.activations import ACTIVATIONS, PELU, Maxout
from reasonlib.optimisation.models.losses import cross_entropy
from reasonlib.optimisation.models.optimisers import Optimiser

__all__ = [
    "Examples",
    "Network",
    "Split",
    "accuracy",
    "digits",
    "gain",
    "gradient",
    "learn",
    "minibatches",
    "rates",
]


class Examples(NamedTuple):
    """Inputs (B, D) and truths (B,)."""

    inputs: Tensor
    truths: Tensor


class Split(NamedTuple):
    """What is learned from, what decides, what is measured on."""

    train: Examples
    valid: Examples
    test: Examples


@lru_cache(maxsize=16)
def digits(train: int = 500, valid: int = 300, *, seed: int = 0) -> Split:
    """Handwritten digits, shuffled by `seed`; what is left after `train` and `valid` is the test set."""
    from sklearn.datasets import load_digits

    pictures, truths = load_digits(return_X_y=True)
    if not (train > 0 and valid > 0 and train + valid < len(truths)):
        raise ValueError(
            f"train and valid must leave some of {len(truths)} for the test, got {train}, {valid}"
        )
    order = torch.randperm(len(truths), generator=torch.Generator().manual_seed(seed))
    inputs = torch.tensor(pictures, dtype=torch.float32)[order] / 16 - 0.3  # the mean ink is about 0.3
    labels = torch.tensor(truths)[order]
    cuts = (slice(0, train), slice(train, train + valid), slice(train + valid, None))
    return Split(*(Examples(inputs[cut], labels[cut]) for cut in cuts))


@lru_cache(maxsize=32)
def gain(activation: str) -> float:
    r"""By how much weights must be scaled for the signal to keep its size: :math:`1 / \sqrt{E f(z)^2}`.

    `z` is normal with variance one. Ramps get :math:`\sqrt 2`, as He et al. found for them. Maxout gets 1:
    the larger of two independent normal values has :math:`E f^2 = 1`.
    """
    if activation == "maxout":
        return 1.0
    # excerpt: gain
    z = torch.linspace(-8, 8, 4001, dtype=torch.float64)
    density = torch.exp(-(z**2) / 2)  # of a normal input, not yet normalised
    return float(
        (  # E f(z)^2
            (ACTIVATIONS[activation](z) ** 2 * density).sum() / density.sum()
        )
        ** -0.5
    )
    # end excerpt


class Network(nn.Module):
    """Layers of units, each with one activation; the last gives the logits.

    Parameters
    ----------
    activation
        A name of `ACTIVATIONS`, or ``maxout``.
    inputs, width, depth, classes
        D, U, L and N.
    scaled
        Whether weights start at the activation's `gain`, or all alike with variance 1 / D.
    dropout
        Share of units left out at each step of training.
    seed
        Of the first weights.
    """

    def __init__(
        self,
        activation: str,
        *,
        inputs: int = 64,
        width: int = 64,
        depth: int = 3,
        classes: int = 10,
        scaled: bool = True,
        dropout: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if activation != "maxout" and activation not in ACTIVATIONS:
            choices = ", ".join([*ACTIVATIONS, "maxout"])
            raise ValueError(f"activation must be one of {choices}, got {activation!r}")
        if depth < 0:
            raise ValueError(f"depth must be at least 0, got {depth}")
        sizes = [inputs] + depth * [width]
        self.layers = nn.ModuleList(
            Maxout(before, width) if activation == "maxout" else nn.Linear(before, width)
            for before in sizes[:-1] or []
        )
        self.shapes = nn.ModuleList(PELU() for _ in range(depth if activation == "PELU" else 0))
        self.head = nn.Linear(sizes[-1], classes)
        self.activation = activation
        self.dropout = nn.Dropout(dropout)
        draw = torch.Generator().manual_seed(seed)
        scale = gain(activation) if scaled else 1.0
        for module in self.modules():
            if isinstance(module, nn.Linear):
                size = 1.0 if module is self.head or module is self._first() else scale
                nn.init.normal_(module.weight, std=size * module.in_features**-0.5, generator=draw)
                nn.init.zeros_(module.bias)

    def _first(self) -> nn.Module:
        layer = self.layers[0] if len(self.layers) else self.head
        return layer.linear if isinstance(layer, Maxout) else layer

    def hidden(self, inputs: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return for each hidden layer what its units were given and what they made of it, each (B, U).

        A maxout layer has no sum apart from its result: both are the same.
        """
        seen, state = [], inputs
        for number, layer in enumerate(self.layers):
            pre_activation = layer(state)
            if self.activation == "maxout":
                state = pre_activation
            elif self.activation == "PELU":
                state = self.shapes[number](pre_activation)
            else:
                state = ACTIVATIONS[self.activation](pre_activation)
            seen.append((pre_activation, state))
            state = self.dropout(state)
        return seen

    def forward(self, inputs: Tensor) -> Tensor:
        """From (B, D) to logits (B, N)."""
        return self.head(self.dropout(self.hidden(inputs)[-1][1]) if len(self.layers) else inputs)


def gradient(model: nn.Module, loss: Tensor) -> Tensor:
    """Return the slope of a loss in all weights of a model, as one vector."""
    slopes = torch.autograd.grad(loss, list(model.parameters()))
    return torch.cat([slope.reshape(-1) for slope in slopes])


def minibatches(examples: Examples, size: int, generator: torch.Generator) -> Iterator[Examples]:
    """Yield all examples once, in a new order, `size` at a time: one is stochastic, all is batch descent."""
    # excerpt: minibatches
    order = torch.randperm(len(examples.truths), generator=generator)
    for chosen in order.split(size):  # 1: stochastic, all: batch
        yield Examples(examples.inputs[chosen], examples.truths[chosen])
    # end excerpt


def learn(
    model: nn.Module,
    examples: Examples,
    optimiser: Optimiser,
    *,
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy,
    batch_size: int = 32,
    epochs: int = 10,
    schedule: Callable[[int], float] | None = None,
    seed: int = 0,
    on_epoch: Callable[[int], dict[str, float]] | None = None,
    on_step: Callable[[int], None] | None = None,
) -> list[dict[str, float]]:
    """Train `model` in place and return a record for each epoch.

    Parameters
    ----------
    model
        From inputs (B, D) to what the loss takes.
    examples
        What to learn from.
    optimiser
        Fresh, from `reasonlib.optimisation.models.optimisers`.
    loss
        Of the model's output and the truths, a mean.
    batch_size
        Examples to a step; all of them is batch gradient descent.
    epochs
        Passes over the examples.
    schedule
        From the number of the step, from 0, to its rate.
    seed
        Of the order of the examples and of what dropout leaves out.
    on_epoch, on_step
        Called after each epoch (what it returns joins the record) and each step.

    Returns
    -------
    list of dict
        ``epoch``, ``loss`` (mean over the epoch), and what `on_epoch` gave. Training ends early where the
        loss is no longer a number.
    """
    if batch_size < 1 or epochs < 1:
        raise ValueError(f"batch_size and epochs must be at least 1, got {batch_size} and {epochs}")
    draw = torch.Generator().manual_seed(seed)
    weights = list(model.parameters())
    point = parameters_to_vector(weights).detach()
    history: list[dict[str, float]] = []
    number = 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # dropout draws from torch's own generator
        for epoch in range(1, epochs + 1):
            model.train()
            total = 0.0
            # excerpt: learn
            for inputs, truths in minibatches(examples, batch_size, draw):
                if schedule is not None:
                    optimiser.rate = schedule(number)
                vector_to_parameters(optimiser.look(point), weights)
                wrong = loss(model(inputs), truths)
                point = optimiser.step(point, gradient(model, wrong))
                total += wrong.item() * len(truths)
                number += 1
                # end excerpt
                if on_step is not None:
                    vector_to_parameters(point, weights)
                    on_step(number)
            vector_to_parameters(point, weights)
            model.eval()
            record = {"epoch": float(epoch), "loss": total / len(examples.truths)}
            history.append(record | (on_epoch(epoch) if on_epoch is not None else {}))
            if not torch.isfinite(point).all():
                break
    return history


@torch.no_grad()
def accuracy(model: nn.Module, examples: Examples) -> float:
    """Share of examples whose largest logit is the right one."""
    return float((model(examples.inputs).argmax(1) == examples.truths).float().mean())


def rates(low: float, high: float, number: int) -> Sequence[float]:
    """Rates spaced evenly on a logarithmic scale, both ends included."""
    if number == 1:
        return [low]
    return [low * (high / low) ** (step / (number - 1)) for step in range(number)]
