"""DCT: the Document-level Context Transformer, which reads the context in every layer (eq. 3.9 and 3.10).

Source: Yun (2022), section 3.2.1, after Zhang et al. (2018). https://arxiv.org/abs/1810.03581

Axes: B sentences, S source tokens, C context sentences, T context tokens, M = C * T, D width.

::

    context --> an encoder of its own --> t
    x --> encoder layer --> h' --> (+) attention to t --> (+) feed-forward --> next layer
"""

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn

from reasonlib.context_translation.data.encoding import Batch
from reasonlib.context_translation.models.parts import Encoding, SystemConfig, mark_distance, word_attention
from reasonlib.nn import (
    Encoder,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    ScaledEmbedding,
    SinusoidalPositions,
    TransformerConfig,
    padding_mask,
)

__all__ = ["DCT", "ReadLayer", "ReadOutput"]


class ReadOutput(NamedTuple):
    """Output (B, S, D) of a layer and its attention to the context (B, H, S, M)."""

    output: Float[Tensor, "B S D"]
    weights: Float[Tensor, "B H S M"]


class ReadLayer(nn.Module):
    """Encoder layer followed by attention to the context and one more feed-forward layer.

    Parameters
    ----------
    config : TransformerConfig
        Its sizes.

    Notes
    -----
    With a feed-forward layer of its own for the context, and an encoder of its own, the system has 98.8M
    parameters at the source's sizes; table 3.4 prints 98.7M.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width, dropout, eps = config.width, config.dropout, config.eps
        self.layer = EncoderLayer(config)
        self.context_attention = MultiHeadAttention(width, config.heads, dropout)
        self.context_residual = config.residual(width, dropout, eps)
        self.feed_forward = FeedForward(width, config.hidden, config.activation)
        self.feed_forward_residual = config.residual(width, dropout, eps)

    def forward(
        self,
        x: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "B 1 S"],
        context: Float[Tensor, "B M D"],
        context_mask: Bool[Tensor, "B 1 M"],
    ) -> ReadOutput:
        """Attend to the source, then to the context."""
        # excerpt: dct
        x = self.layer(x, mask).output  # h'
        inner = self.context_residual.enter(x)
        read = self.context_attention(inner, context, context, context_mask)  # eq. 3.9
        x = self.context_residual.leave(x, read.output)
        inner = self.feed_forward_residual.enter(x)
        x = self.feed_forward_residual.leave(x, self.feed_forward(inner))  # eq. 3.10
        # end excerpt
        return ReadOutput(x, read.weights)


class DCT(nn.Module):
    """Document-level Context Transformer; time grows as S squared, plus C T S, plus C T squared.

    `config` gives its sizes.

    Notes
    -----
    The original also reads the context in the decoder and trains in two steps; the source's equations and its
    training have neither. The order of the context sentences is marked, see `mark_distance`.
    """

    def __init__(self, config: SystemConfig) -> None:
        super().__init__()
        self.context_encoder = Encoder(config.stack)
        self.layers = nn.ModuleList(ReadLayer(config.stack) for _ in range(config.layers))
        self.end = config.stack.residual.end(config.width)
        self.distances = SinusoidalPositions(config.longest, config.width)

    def forward(self, batch: Batch, embed: ScaledEmbedding) -> Encoding:
        """Encode a batch."""
        sentences, shape = batch.context.flatten(0, 1), batch.context.shape
        c = self.context_encoder(embed(sentences), padding_mask(sentences)).output
        t = mark_distance(c.unflatten(0, shape[:2]), self.distances).flatten(1, 2)  # (B, M, D)
        present = padding_mask(batch.context.flatten(1))

        x, mask = embed(batch.source), padding_mask(batch.source)
        attention = []
        for layer in self.layers:
            x, weights = layer(x, mask, t, present)
            attention.append(weights)
        if self.training:
            return Encoding(self.end(x), mask)
        return Encoding(self.end(x), mask, **word_attention(attention, shape))
