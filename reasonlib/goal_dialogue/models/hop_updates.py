"""How a memory network gets from the state of one hop to the state of the next: u and o to u'.

Sources: the sum, Sukhbaatar et al. (2015); gates, Liu and Perez (2017); the update for unified tying, Liu et
al. (2017). Equation numbers are those of the thesis reproduced here.

Axes: B turns, D width.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.goal_dialogue.models.tying import TiedMemory

__all__ = ["Gate", "Linear", "Residual", "StepOutput", "UnifiedStep"]


class StepOutput(NamedTuple):
    """The next state (B, D), and the gate (B, D) that made it or None."""

    state: Float[Tensor, "B D"]
    gate: Float[Tensor, "B D"] | None = None


class Residual(nn.Module):
    """Add what was read: u + o (eq. 3.4)."""

    def forward(self, state: Tensor, output: Tensor, tied: TiedMemory) -> StepOutput:
        """Take a step."""
        # excerpt: residual
        # N2N: add what was read
        return StepOutput(state + output)
        # end excerpt


class Linear(nn.Module):
    """Map the state, then add what was read: H u + o, the update Sukhbaatar et al. give layer-wise tying."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.map = nn.Parameter(torch.eye(width))

    def forward(self, state: Tensor, output: Tensor, tied: TiedMemory) -> StepOutput:
        """Take a step."""
        return StepOutput(state @ self.map.T + output)


class Gate(nn.Module):
    r"""Choose, unit by unit, how much of what was read to take (eq. 3.10, 3.11).

    .. math:: T = \sigma(W_T u + b_T),\quad u' = o \odot T + u \odot (1 - T)
    """

    def __init__(self, width: int, *, generator: torch.Generator, init_std: float = 0.1) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn((width, width), generator=generator) * init_std)
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, state: Tensor, output: Tensor, tied: TiedMemory) -> StepOutput:
        """Take a step."""
        # excerpt: gate
        # GN2N: T says, unit by unit, how much of the new to take
        gate = (state @ self.weight.T + self.bias).sigmoid()
        return StepOutput(output * gate + state * (1 - gate), gate)
        # end excerpt


class UnifiedStep(nn.Module):
    r"""Map the state where tying is adjacent: :math:`o + (G \odot (1 - z)) u` (eq. 3.16)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.map = nn.Parameter(torch.eye(width))

    def forward(self, state: Tensor, output: Tensor, tied: TiedMemory) -> StepOutput:
        """Take a step."""
        if tied.gate is None:
            raise ValueError("UnifiedStep needs the gate of Unified tying, got none")
        # excerpt: unified step
        # scaling the columns of G is the same as scaling u
        return StepOutput(output + ((1 - tied.gate) * state) @ self.map.T)
        # end excerpt
