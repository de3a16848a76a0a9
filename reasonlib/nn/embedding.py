"""Tokens to vectors with positions, and vectors back to logits over tokens.

Source: Vaswani et al. (2017), section 3.4, https://arxiv.org/abs/1706.03762; Press and Wolf (2017),
https://arxiv.org/abs/1608.05859, for the table that serves both ways.

Axes: B sequences (any number of axes), T tokens, D width, V vocabulary.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from .positions import SinusoidalPositions

__all__ = ["ScaledEmbedding"]


class ScaledEmbedding(nn.Module):
    """Tokens to vectors, scaled by the root of the width, plus sinusoidal positions; vectors to logits.

    Parameters
    ----------
    vocabulary, width, longest
        V, D, and the most tokens of a sequence.
    dropout
        Of the vectors.
    """

    def __init__(self, vocabulary: int, width: int, longest: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.table.weight, 0.0, width**-0.5)
        self.positions = SinusoidalPositions(longest, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Int[Tensor, "*B T"], start: int = 0) -> Float[Tensor, "*B T D"]:
        """Embed tokens, with positions counted from `start`."""
        scaled = self.table(tokens) * self.table.embedding_dim**0.5
        return self.dropout(scaled + self.positions(tokens.shape[-1], start))

    def logits(self, states: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
        """Match states with the vector of every token."""
        return states @ self.table.weight.T
