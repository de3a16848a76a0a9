"""HCE: the Hierarchical Context Encoder, which makes one vector of each context sentence (eq. 3.14 to 3.17).

Source: Yun (2022), section 3.2.2 and figure 3.1.

Axes: B sentences, S source tokens, C context sentences, T context tokens, D width, H heads, N sentences.

::

    a context sentence --> shared encoder --> weighted sum over its words --> one vector
    C vectors --> upper encoder layer --> t
    source --> shared encoder --> last layer: attention to itself and to t, gated sum --> memory

What is made of a context sentence does not depend on the source, so that it can be kept and used again.
"""

from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reasonlib.context_translation.data.encoding import Batch
from reasonlib.context_translation.models.document_vector import DocumentVector
from reasonlib.context_translation.models.parts import (
    Encoding,
    SystemConfig,
    encode_sentences,
    last_gated,
    plain_layers,
)
from reasonlib.nn import (
    Encoder,
    EncoderLayer,
    MultiHeadAttention,
    ScaledEmbedding,
    SinusoidalPositions,
    masked_softmax,
    padding_mask,
)

__all__ = ["HCE", "Pooled", "Pooling", "UpperEncoder", "pool_context"]


class Pooled(NamedTuple):
    """Sentences as vectors, (N, D) or in contexts (B, C, D), and the share of each word in its sentence."""

    vectors: Float[Tensor, "*N D"]
    weights: Float[Tensor, "*N T"]


class Pooling(nn.Module):
    r"""Self-attentive weighted sum of the words of a sentence (eq. 3.15 and 3.16).

    .. math:: s_i = \sum_j \alpha_j e_{ij}, \quad \alpha = \mathrm{FFN}(\mathrm{MultiHead}(e_i, e_i))

    Notes
    -----
    The shares are normalised by a softmax, as in Lin et al. (2017), which the source follows. The FFN is one
    linear map to a score: the source's parameter count (66.7M) leaves no room for a wider one.
    """

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, heads, dropout)
        self.score = nn.Linear(width, 1)

    def forward(self, words: Float[Tensor, "N T D"], mask: Bool[Tensor, "N 1 T"]) -> Pooled:
        """Return a vector a sentence."""
        # excerpt: pooling
        # MultiHead(e_i, e_i)
        attended = self.attention(words, words, words, mask).output
        scores = self.score(attended).squeeze(-1)  # (N, T)
        alpha = masked_softmax(scores, mask.squeeze(1))  # eq. 3.16
        return Pooled((alpha.unsqueeze(1) @ words).squeeze(1), alpha)  # eq. 3.15
        # end excerpt


def pool_context(
    encoder: Encoder, pooling: Pooling, context: Int[Tensor, "B C T"], embed: ScaledEmbedding
) -> Pooled:
    """Make a vector of each context sentence, by itself (eq. 3.14 to 3.16)."""
    sentences, shape = context.flatten(0, 1), context.shape[:2]
    mask = padding_mask(sentences)
    words = encode_sentences(encoder.layers, encoder.end, embed(sentences), mask)  # eq. 3.14
    pooled = pooling(words, mask)
    return Pooled(pooled.vectors.unflatten(0, shape), pooled.weights.unflatten(0, shape))


class UpperEncoder(nn.Module):
    """One encoder layer over the sentence vectors of a context (eq. 3.17).

    `config` gives its sizes.
    """

    def __init__(self, config: SystemConfig) -> None:
        super().__init__()
        self.layer = EncoderLayer(config.stack)
        self.end = config.stack.residual.end(config.width)
        self.positions = SinusoidalPositions(config.longest, config.width)

    def forward(self, vectors: Float[Tensor, "B C D"], mask: Bool[Tensor, "B 1 C"]) -> Float[Tensor, "B C D"]:
        """Relate the sentences of a context to one another."""
        marked = vectors + self.positions(vectors.shape[1])  # the nearest sentence has position 0
        return self.end(self.layer(marked, mask).output)


class HCE(nn.Module):
    """Hierarchical Context Encoder; time grows as S squared plus C T squared.

    `config` gives its sizes.
    """

    def __init__(self, config: SystemConfig) -> None:
        super().__init__()
        self.encoder = last_gated(config.stack)  # of source and context alike
        self.pooling = Pooling(config.width, config.heads, config.dropout)
        self.upper = UpperEncoder(config)
        self.document = DocumentVector(config.width) if config.document else None

    def encode_context(self, context: Int[Tensor, "B C T"], embed: ScaledEmbedding) -> Pooled:
        """Make a vector of each context sentence of a batch; what a cache keeps."""
        return pool_context(self.encoder, self.pooling, context, embed)

    def forward(self, batch: Batch, embed: ScaledEmbedding, context: Pooled | None = None) -> Encoding:
        """Encode a batch, with what `encode_context` made of its context, or anew."""
        s, alpha = self.encode_context(batch.context, embed) if context is None else context
        # excerpt: hce
        # s (B, C, D): a vector for each context sentence, eq. 3.14 to 3.16
        # present (B, 1, C): the start of a document has fewer sentences
        present = batch.context.ne(0).any(2).unsqueeze(1)
        if self.document is not None:
            s, present = self.document(s, present, batch.document, embed)
        t = self.upper(s, present)  # eq. 3.17

        x, mask = embed(batch.source), padding_mask(batch.source)
        for layer in plain_layers(self.encoder):
            x = layer(x, mask).output
        # eq. 3.6 to 3.8
        x, weights, gate = self.encoder.layers[-1](x, mask, t, present)
        # end excerpt
        if self.training:
            return Encoding(self.encoder.end(x), mask, gate=gate)
        sentences = weights.mean(1)[:, :, -alpha.shape[1] :].detach()  # (B, S, C)
        words = sentences.unsqueeze(3) * alpha.detach().unsqueeze(1)
        return Encoding(self.encoder.end(x), mask, words=words, sentences=sentences, gate=gate)
