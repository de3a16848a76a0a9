"""TwoC: the Transformer without contexts, which translates every sentence alone (section 3.2.1).

Axes: B sentences, S source tokens, D width.
"""

from torch import nn

from reasonlib.context_translation.data.encoding import Batch
from reasonlib.context_translation.models.parts import Encoding, SystemConfig
from reasonlib.nn import Encoder, ScaledEmbedding, padding_mask

__all__ = ["NoContext"]


class NoContext(nn.Module):
    """Encode the source sentence and ignore its context; time grows as S squared.

    `config` gives its sizes.
    """

    def __init__(self, config: SystemConfig) -> None:
        super().__init__()
        self.encoder = Encoder(config.stack)

    def forward(self, batch: Batch, embed: ScaledEmbedding) -> Encoding:
        """Encode a batch."""
        mask = padding_mask(batch.source)
        return Encoding(self.encoder(embed(batch.source), mask).output, mask)
