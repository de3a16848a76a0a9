"""HMCE: the Hierarchical Memory Context Encoder, HCE with a memory attention and a gate in the decoder.

Source: Yun (2022), section 3.2.2 and figure 3.2.

Axes: B sentences, S source tokens, U target tokens, C context sentences, D width, H heads.

::

    context sentences --> one vector each (as HCE) --> attention among them --> memory attention <-- source
                                                                                   |
    source --> encoder --> h' --> attention to t <------- feed-forward <-----------'
                 |                     |
                 v                     v
    decoder: attention to h', attention to what was read of the context, gated sum (in the last layer)

The text of the source and the caption of its figure differ on where the context enters. In this reading the
encoder's attention to ``t`` is the second memory of the last decoder layer, and the gate stands there. It has
the parameters that table 3.4 prints: HCE's and two attentions more.
"""

# mypy: disable-error-code="operator"
# A ModuleList forgets what its modules are: here residuals, which are called by their methods.

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn

from reasonlib.context_translation.data.encoding import Batch
from reasonlib.context_translation.models.document_vector import DocumentVector
from reasonlib.context_translation.models.hce import Pooled, Pooling, pool_context
from reasonlib.context_translation.models.parts import Encoding, GatedSum, SystemConfig
from reasonlib.nn import (
    DecoderLayer,
    Encoder,
    FeedForward,
    KeyValues,
    MultiHeadAttended,
    MultiHeadAttention,
    Past,
    ScaledEmbedding,
    SinusoidalPositions,
    TransformerConfig,
    causal_mask,
    padding_mask,
)

__all__ = ["HMCE", "ContextDecoder", "ContextDecoderLayer", "ContextPast", "MemoryEncoder"]


class MemoryEncoder(nn.Module):
    """Relate context sentences to one another, then to the source (the upper part of figure 3.2).

    `config` gives its sizes.
    """

    def __init__(self, config: SystemConfig) -> None:
        super().__init__()
        stack = config.stack
        self.attention = MultiHeadAttention(config.width, config.heads, config.dropout)
        self.memory_attention = MultiHeadAttention(config.width, config.heads, config.dropout)
        self.feed_forward = FeedForward(config.width, config.hidden, stack.activation)
        self.residuals = nn.ModuleList(stack.residual(config.width, config.dropout) for _ in range(3))
        self.end = stack.residual.end(config.width)
        self.positions = SinusoidalPositions(config.longest, config.width)

    def forward(
        self,
        vectors: Float[Tensor, "B C D"],
        present: Bool[Tensor, "B 1 C"],
        source: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "B 1 S"],
    ) -> Float[Tensor, "B C D"]:
        """Return the context as the source needs it."""
        own, memory, feed = self.residuals
        # excerpt: memory attention
        t = vectors + self.positions(vectors.shape[1])
        inner = own.enter(t)
        t = own.leave(t, self.attention(inner, inner, inner, present).output)
        inner = memory.enter(t)
        # the sentence vectors attend to the source
        t = memory.leave(t, self.memory_attention(inner, source, source, mask).output)
        t = feed.leave(t, self.feed_forward(feed.enter(t)))
        # end excerpt
        return self.end(t)


class HMCE(nn.Module):
    """Hierarchical Memory Context Encoder; time grows as S squared, plus C T squared, plus C S.

    `config` gives its sizes.
    """

    def __init__(self, config: SystemConfig) -> None:
        super().__init__()
        self.encoder = Encoder(config.stack)  # of source and context alike
        self.pooling = Pooling(config.width, config.heads, config.dropout)
        self.memory = MemoryEncoder(config)
        self.context_attention = MultiHeadAttention(config.width, config.heads, config.dropout)
        self.document = DocumentVector(config.width) if config.document else None

    def encode_context(self, context: Tensor, embed: ScaledEmbedding) -> Pooled:
        """Make a vector of each context sentence of a batch; what a cache keeps."""
        return pool_context(self.encoder, self.pooling, context, embed)

    def forward(self, batch: Batch, embed: ScaledEmbedding, context: Pooled | None = None) -> Encoding:
        """Encode a batch, with what `encode_context` made of its context, or anew."""
        s, alpha = self.encode_context(batch.context, embed) if context is None else context
        present = batch.context.ne(0).any(2).unsqueeze(1)  # (B, 1, C)
        if self.document is not None:
            s, present = self.document(s, present, batch.document, embed)
        mask = padding_mask(batch.source)
        source = self.encoder(embed(batch.source), mask).output
        t = self.memory(s, present, source, mask)
        read = self.context_attention(source, t, t, present)
        if self.training:
            return Encoding(source, mask, read.output)
        sentences = read.weights.mean(1)[:, :, -alpha.shape[1] :].detach()
        words = sentences.unsqueeze(3) * alpha.detach().unsqueeze(1)
        return Encoding(source, mask, read.output, words, sentences)


class ContextPast(NamedTuple):
    """Keys and values of the target so far, of the memory, and of the context beside it."""

    own: KeyValues
    memory: KeyValues
    context: KeyValues

    @property
    def length(self) -> int:
        """Number of tokens decoded so far."""
        return self.own.keys.shape[2]

    def select(self, rows: Tensor) -> "ContextPast":
        """Keep these sequences of the batch."""
        return ContextPast(self.own.select(rows), self.memory.select(rows), self.context.select(rows))


class ContextDecoderLayer(nn.Module):
    """Decoder layer that reads source and context and sums both with a gate (figure 3.2).

    `config` gives its sizes.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layer = DecoderLayer(config)
        self.context_attention = MultiHeadAttention(config.width, config.heads, config.dropout)
        self.sum = GatedSum(config.width)

    def forward(
        self,
        x: Float[Tensor, "B U D"],
        encoding: Encoding,
        mask: Bool[Tensor, "U known"],
        past: ContextPast | None = None,
    ) -> tuple[Float[Tensor, "B U D"], MultiHeadAttended, ContextPast]:
        """Return the output, the attention to the source, and what the next token needs."""
        layer, context = self.layer, encoding.context
        assert context is not None
        inner = layer.attention_residual.enter(x)
        own = layer.attention.project(inner, inner)
        if past is not None:
            own = past.own.then(own)
        x = layer.attention_residual.leave(x, layer.attention.attend(inner, own, mask).output)

        inner = layer.memory_attention_residual.enter(x)
        if past is None:
            memory = layer.memory_attention.project(encoding.memory, encoding.memory)
            beside = self.context_attention.project(context, context)
        else:
            memory, beside = past.memory, past.context
        # excerpt: decoder gate
        source = layer.memory_attention.attend(inner, memory, encoding.mask)
        read = self.context_attention.attend(inner, beside, encoding.mask)
        mixed, _ = self.sum(source.output, read.output)  # eq. 3.8, in the decoder
        x = layer.memory_attention_residual.leave(x, mixed)
        # end excerpt
        inner = layer.feed_forward_residual.enter(x)
        x = layer.feed_forward_residual.leave(x, layer.feed_forward(inner))
        return x, source, ContextPast(own, memory, beside)


class ContextDecoder(nn.Module):
    """Decoder whose last layer also reads the context.

    `config` gives its sizes.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers - 1))
        self.last = ContextDecoderLayer(config)
        self.end = config.residual.end(config.width, eps=config.eps)

    def forward(
        self,
        x: Float[Tensor, "B U D"],
        encoding: Encoding,
        past: tuple[Past | ContextPast, ...] | None = None,
    ) -> tuple[Float[Tensor, "B U D"], list[MultiHeadAttended], tuple[Past | ContextPast, ...]]:
        """Return the states, the attention to the source in each layer, and what the next token needs."""
        before = 0 if past is None else past[0].length
        seen = causal_mask(x.shape[1], before, device=x.device)
        attention: list[MultiHeadAttended] = []
        kept: list[Past | ContextPast] = []
        for number, layer in enumerate(self.layers):
            layer_past = None if past is None else past[number]
            decoded = layer(x, encoding.memory, seen, encoding.mask, layer_past)
            x = decoded.output
            attention.append(decoded.memory_attention)
            kept.append(decoded.past)
        x, read, last = self.last(x, encoding, seen, None if past is None else past[-1])
        return self.end(x), [*attention, read], (*kept, last)
