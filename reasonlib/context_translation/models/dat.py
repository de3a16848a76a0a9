"""DAT: the Discourse Aware Transformer, a shared context encoder and one gated layer (eq. 3.5 to 3.8).

Source: Yun (2022), section 3.2.1, after Voita et al. (2018). https://arxiv.org/abs/1805.10163

Axes: B sentences, S source tokens, C context sentences, T context tokens, M = C * T, D width.

::

    source  --> shared layers 1 .. L-1 --> h' --> gated layer --> memory
    context --> shared layers 1 .. L-1 --> a layer of its own --> t --^
"""

from torch import nn

from reasonlib.context_translation.data.encoding import Batch
from reasonlib.context_translation.models.parts import (
    Encoding,
    SystemConfig,
    encode_sentences,
    last_gated,
    mark_distance,
    plain_layers,
    word_attention,
)
from reasonlib.nn import EncoderLayer, ScaledEmbedding, SinusoidalPositions, padding_mask

__all__ = ["DAT"]


class DAT(nn.Module):
    """Discourse Aware Transformer; time grows as S squared plus C T squared, plus C T S in one layer.

    `config` gives its sizes.

    Notes
    -----
    The order of the context sentences is marked, see `mark_distance`.
    """

    def __init__(self, config: SystemConfig) -> None:
        super().__init__()
        self.encoder = last_gated(config.stack)
        self.context_layer = EncoderLayer(config.stack)
        self.context_end = config.stack.residual.end(config.width)
        self.distances = SinusoidalPositions(config.longest, config.width)

    def forward(self, batch: Batch, embed: ScaledEmbedding) -> Encoding:
        """Encode a batch."""
        sentences = batch.context.flatten(0, 1)  # (B * C, T)
        shape = batch.context.shape
        # excerpt: dat
        shared = plain_layers(self.encoder)
        c = encode_sentences(
            [*shared, self.context_layer],
            self.context_end,
            embed(sentences),
            padding_mask(sentences),
        )
        # eq. 3.5: (B, M, D)
        t = mark_distance(c.unflatten(0, shape[:2]), self.distances).flatten(1, 2)
        present = padding_mask(batch.context.flatten(1))  # (B, 1, M)

        x, mask = embed(batch.source), padding_mask(batch.source)
        for layer in shared:
            x = layer(x, mask).output  # h'
        # eq. 3.6 to 3.8
        x, weights, gate = self.encoder.layers[-1](x, mask, t, present)
        # end excerpt
        if self.training:
            return Encoding(self.encoder.end(x), mask, gate=gate)
        return Encoding(self.encoder.end(x), mask, gate=gate, **word_attention([weights], shape))
