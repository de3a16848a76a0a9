"""TwC: the Transformer with contexts, which reads source and context as one long sentence (eq. 3.4).

Axes: B sentences, S source tokens, C context sentences, T context tokens, L tokens together, D width.
"""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from reasonlib.context_translation.data.encoding import Batch
from reasonlib.context_translation.models.parts import Encoding, SystemConfig
from reasonlib.nn import Encoder, ScaledEmbedding, padding_mask

__all__ = ["Concatenation", "concatenate"]


def concatenate(
    source: Int[Tensor, "B S"], context: Int[Tensor, "B C T"]
) -> tuple[Int[Tensor, "B L"], Int[Tensor, "B L"]]:
    """Join each sentence with its context, without gaps (eq. 3.4).

    Returns
    -------
    tokens : (B, L)
        The source, then its context, nearest sentence first, then padding.
    origin : (B, L)
        Where each token stood in the padded concatenation of S + C * T tokens.

    Examples
    --------
    >>> concatenate(torch.tensor([[5, 6, 0]]), torch.tensor([[[3, 7, 0], [3, 8, 9]]]))[0]
    tensor([[5, 6, 3, 7, 3, 8, 9]])
    """
    joined = torch.cat((source, context.flatten(1)), 1)
    empty = joined == 0
    origin = empty.long().argsort(dim=1, stable=True)[:, : int((~empty).sum(1).max())]
    return joined.gather(1, origin), origin


class Concatenation(nn.Module):
    """Encode source and context together; time grows as (S + C T) squared.

    `config` gives its sizes.
    """

    def __init__(self, config: SystemConfig) -> None:
        super().__init__()
        self.encoder = Encoder(config.stack)

    def forward(self, batch: Batch, embed: ScaledEmbedding) -> Encoding:
        """Encode a batch."""
        # excerpt: concatenation
        tokens, origin = concatenate(batch.source, batch.context)  # eq. 3.4
        mask = padding_mask(tokens)
        encoded = self.encoder(embed(tokens), mask)
        # end excerpt
        if self.training:
            return Encoding(encoded.output, mask)
        length, (count, width) = batch.source.shape[1], batch.context.shape[1:]
        weights = torch.stack([layer.weights.mean(1) for layer in encoded.attention]).mean(0)  # (B, L, L)
        rows = weights[:, :length].detach()
        if rows.shape[1] < length:  # every source is shorter than the padding of this batch
            rows = nn.functional.pad(rows, (0, 0, 0, length - rows.shape[1]))
        spread = rows.new_zeros(len(rows), length, length + count * width)
        spread.scatter_(2, origin.unsqueeze(1).expand_as(rows), rows)
        words = spread[:, :, length:].unflatten(2, (count, width))
        return Encoding(encoded.output, mask, words=words, sentences=words.sum(3))
