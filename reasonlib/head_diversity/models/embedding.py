"""Tokens to vectors and back, shared by both models of this topic."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from reasonlib.nn import SinusoidalPositions

__all__ = ["Embedding"]


class Embedding(nn.Module):
    """Tokens to vectors with sinusoidal positions, scaled by the root of the width; vectors to logits.

    Parameters
    ----------
    vocabulary, width, longest
        V, D, and the most tokens of a sequence.
    dropout
        Of the vectors.
    """

    def __init__(self, vocabulary: int, width: int, longest: int, dropout: float) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.table.weight, 0.0, width**-0.5)
        self.positions = SinusoidalPositions(longest, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Int[Tensor, "B T"], start: int = 0) -> Float[Tensor, "B T D"]:
        """Embed tokens, with positions counted from `start`."""
        scaled = self.table(tokens) * self.table.embedding_dim**0.5
        return self.dropout(scaled + self.positions(tokens.shape[-1], start))

    def logits(self, states: Float[Tensor, "B T D"]) -> Float[Tensor, "B T V"]:
        """Match states with the vector of every token."""
        return states @ self.table.weight.T
