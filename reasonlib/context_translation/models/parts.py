"""What several context encoders are made of.

Source: Yun (2022), section 3.2.1, equations 3.1 to 3.8.

Axes: B sentences, S source tokens, C context sentences, T context tokens, M = C * T, D width, H heads.

::

    batch --> system.forward(batch, embed) --> Encoding --> decoder
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reasonlib.nn import (
    Encoder,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    PreNorm,
    SinusoidalPositions,
    TransformerConfig,
    stack_of,
)

__all__ = [
    "Encoding",
    "GatedLayer",
    "GatedSum",
    "SystemConfig",
    "encode_sentences",
    "last_gated",
    "mark_distance",
    "plain_layers",
    "word_attention",
]


@dataclass(frozen=True, kw_only=True)
class SystemConfig:
    """Sizes of a translation system; the defaults are the source's (section 3.3.2).

    Raises `ValueError` if a size is below 1, the width is odd or no multiple of the heads, or the dropout
    is out of range.
    """

    vocabulary: int  # V, of both languages; the source has about 16,000 wordpieces
    width: int = 512  # D
    layers: int = 6  # of the encoder, and again of the decoder
    heads: int = 8  # H
    # of the feed-forward layers; the source does not print it, its parameter counts imply it
    hidden: int = 2048
    dropout: float = 0.1
    longest: int = 1024  # tokens of a sequence, all context included where it is concatenated
    document: bool = False  # whether HCE and HMCE also read a document vector

    def __post_init__(self) -> None:
        if self.vocabulary < 1 or self.longest < 1:
            raise ValueError(
                f"vocabulary and longest must be at least 1, got {self.vocabulary} and {self.longest}"
            )
        if self.width % 2:
            raise ValueError(f"width must be even, got {self.width}")
        _ = self.stack

    @property
    def stack(self) -> TransformerConfig:
        """Sizes of one stack of layers; norms come first in each part, as in the source's framework."""
        return stack_of(self, PreNorm)


class Encoding(NamedTuple):
    """What a system made of a source sentence and its context.

    Attributes
    ----------
    memory : (B, S, D)
        What the decoder reads; as long as source and context together where they are concatenated.
    mask : (B, 1, S)
        True at tokens.
    context : (B, S, D), optional
        What the decoder reads beside it (HMCE alone).
    words : (B, S, C, T), optional
        Where each source token looked among the words of the context, mean over heads and layers. A row sums
        to one, or to less where the same attention also reads the source. None while the model trains.
    sentences : (B, S, C), optional
        The same for whole sentences. None while the model trains.
    gate : (B, S, D), optional
        Share of the source in the gated sum, 0 to 1.
    """

    memory: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B 1 S"]
    context: Float[Tensor, "B S D"] | None = None
    words: Float[Tensor, "B S C T"] | None = None
    sentences: Float[Tensor, "B S C"] | None = None
    gate: Float[Tensor, "B S D"] | None = None


class GatedSum(nn.Module):
    r"""Mix two readings, number by number (eq. 3.8).

    .. math:: g = \sigma(W^h [h_\mathrm{source}, h_\mathrm{context}] + b^h), \quad
              h = g \odot h_\mathrm{source} + (1 - g) \odot h_\mathrm{context}

    Notes
    -----
    The source prints the gate alone; the sum is that of Voita et al. (2018), eq. 4, which it follows.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(2 * width, width)

    def forward(
        self, source: Float[Tensor, "B S D"], context: Float[Tensor, "B S D"]
    ) -> tuple[Float[Tensor, "B S D"], Float[Tensor, "B S D"]]:
        """Return the sum and the gate."""
        # excerpt: gate
        # how much of the source to keep
        gate = torch.sigmoid(self.gate(torch.cat((source, context), -1)))
        return gate * source + (1 - gate) * context, gate
        # end excerpt


class GatedLayer(nn.Module):
    """Encoder layer that reads source and context and sums both with a gate (eq. 3.6 to 3.8).

    Without a context it is a plain encoder layer with the same weights, which can encode context sentences.

    `config` gives its sizes.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width, dropout, eps = config.width, config.dropout, config.eps
        self.attention = MultiHeadAttention(width, config.heads, dropout)
        self.context_attention = MultiHeadAttention(width, config.heads, dropout)
        self.sum = GatedSum(width)
        self.attention_residual = config.residual(width, dropout, eps)
        self.feed_forward = FeedForward(width, config.hidden, config.activation)
        self.feed_forward_residual = config.residual(width, dropout, eps)

    def forward(
        self,
        x: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "B 1 S"],
        context: Float[Tensor, "B M D"] | None = None,
        context_mask: Bool[Tensor, "B 1 M"] | None = None,
    ) -> tuple[Float[Tensor, "B S D"], Float[Tensor, "B H S M"] | None, Float[Tensor, "B S D"] | None]:
        """Return the output, the attention to the context and the gate; without context the last two None."""
        inner = self.attention_residual.enter(x)
        # excerpt: gated layer
        h_source = self.attention(inner, inner, inner, mask).output  # eq. 3.7
        if context is None:
            mixed, weights, gate = h_source, None, None
        else:
            # eq. 3.6
            read = self.context_attention(inner, context, context, context_mask)
            mixed, gate = self.sum(h_source, read.output)  # eq. 3.8
            weights = read.weights
        # end excerpt
        x = self.attention_residual.leave(x, mixed)
        inner = self.feed_forward_residual.enter(x)
        return self.feed_forward_residual.leave(x, self.feed_forward(inner)), weights, gate


def encode_sentences(
    layers: Iterable[nn.Module], end: nn.Module, x: Float[Tensor, "N T D"], mask: Bool[Tensor, "N 1 T"]
) -> Float[Tensor, "N T D"]:
    """Run encoder layers and a final norm over sentences, each by itself."""
    for layer in layers:
        x = layer(x, mask)[0]
    return end(x)


def mark_distance(x: Float[Tensor, "B C T D"], positions: SinusoidalPositions) -> Float[Tensor, "B C T D"]:
    """Add to every context sentence the position of the sentence, so that the nearest can be told apart.

    Notes
    -----
    The source does not say how its encoders learn the order of the context sentences, and its equations are
    symmetric in them except for concatenation (eq. 3.4).
    """
    return x + positions(x.shape[1]).unsqueeze(1)


def word_attention(
    weights: Sequence[Float[Tensor, "B H S M"]], shape: torch.Size
) -> dict[str, Float[Tensor, "B S ..."]]:
    """Return the attention to words and to sentences as an `Encoding` keeps it, from that of every layer."""
    words = torch.stack([layer.detach().mean(1) for layer in weights]).mean(0).unflatten(2, shape[1:])
    return {"words": words, "sentences": words.sum(3)}


def last_gated(config: TransformerConfig) -> Encoder:
    """Build an encoder whose last layer is a `GatedLayer`."""
    encoder = Encoder(config)
    encoder.layers[-1] = GatedLayer(config)
    return encoder


def plain_layers(encoder: Encoder) -> list[EncoderLayer]:
    """Return all layers but the last."""
    return list(encoder.layers)[:-1]  # type: ignore[return-value]
