r"""A weighted vote: the answer is the sign of a weighted sum of the digits.

.. math:: z = w^\top x + b,\qquad p(1) = \sigma(z)

Axes: B questions, L positions in a row.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["Vote", "VoteConfig"]


@dataclass(frozen=True, kw_only=True)
class VoteConfig:
    """Sizes of the vote.

    Raises
    ------
    ValueError
        If a size is below 1.
    """

    length: int = 9  # L
    blind: bool = False  # an ablation: the row is hidden

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"length must be at least 1, got {self.length}")


class Vote(nn.Module):
    """Weigh every position of a row and add up.

    Parameters
    ----------
    config
        Sizes.
    seed
        Draws the first weights.
    """

    def __init__(self, config: VoteConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        generator = torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(torch.randn(config.length, generator=generator) * 0.1)
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, row: Float[Tensor, "B L"]) -> Float[Tensor, " B"]:
        """Score each row: above zero, the answer is 1."""
        # excerpt: vote
        seen = 0 * row if self.config.blind else row  # (B, L), each digit -1 or 1
        return seen @ self.weight + self.bias  # (B,), above zero: the answer is 1
        # end excerpt
