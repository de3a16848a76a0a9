"""Keep what HCE and HMCE make of a context sentence, and use it again for the sentences that follow.

A sentence is context of the next C sentences of its document, and its vector depends on nothing else (section
3.2.2), so that of C context sentences only the nearest is new::

    sentence 7   context 6 5 4      encodes 6, finds 5 and 4
    sentence 8   context 7 6 5      encodes 7, finds 6 and 5
"""

from collections import OrderedDict

import torch
from jaxtyping import Float, Int
from torch import Tensor

from reasonlib.context_translation.data.encoding import Batch
from reasonlib.context_translation.models.hce import HCE, Pooled
from reasonlib.context_translation.models.hmce import HMCE
from reasonlib.context_translation.models.parts import Encoding
from reasonlib.context_translation.models.translator import Progress, Translator
from reasonlib.training.batching import pad

__all__ = ["CachedTranslator"]


class CachedTranslator:
    """A translator in evaluation mode that encodes each context sentence once.

    Use it where a translator is decoded: it can `begin` and `advance` (see `reasonlib.nn.decoding`).

    Parameters
    ----------
    model : Translator
        HCE or HMCE; its weights must not change while the cache is in use.
    size : int
        Sentences kept, the last used.

    Raises
    ------
    ValueError
        If the system reads its context together with the source, so that nothing can be kept.
    """

    def __init__(self, model: Translator, *, size: int = 10_000) -> None:
        if not isinstance(model.encoder, (HCE, HMCE)):
            raise ValueError(f"only hce and hmce can keep their context, got {model.system!r}")
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size}")
        self.model = model.eval()
        self.size = size
        self.hits = self.misses = 0
        self._kept: OrderedDict[tuple[int, ...], tuple[Tensor, Tensor]] = OrderedDict()

    @torch.no_grad()
    def vectors(self, context: Int[Tensor, "B C T"]) -> Pooled:
        """Return what `encode_context` returns, encoding only the sentences that are new."""
        batch, count, width = context.shape
        # excerpt: cache
        rows = [tuple(id for id in row if id) for row in context.flatten(0, 1).tolist()]
        new = [row for row in dict.fromkeys(rows) if row and row not in self._kept]
        self.misses += len(new)
        self.hits += sum(1 for row in rows if row) - len(new)
        if new:
            sentences = pad(new).to(context.device).unsqueeze(1)  # (N, 1, T)
            encoded = self.model.encoder.encode_context(sentences, self.model.source)  # type: ignore[operator]
            pooled = zip(new, encoded.vectors[:, 0], encoded.weights[:, 0], strict=True)
            for row, vector, weights in pooled:
                self._kept[row] = (vector, weights[: len(row)])
        # end excerpt
        table = self.model.source.table.weight
        vectors: Float[Tensor, "N D"] = table.new_zeros(len(rows), table.shape[1])
        shares: Float[Tensor, "N T"] = table.new_zeros(len(rows), width)
        for number, row in enumerate(rows):
            if row:
                vectors[number], shares[number, : len(row)] = self._kept[row]
                self._kept.move_to_end(row)
        while len(self._kept) > self.size:
            self._kept.popitem(last=False)
        return Pooled(vectors.unflatten(0, (batch, count)), shares.unflatten(0, (batch, count)))

    def encode(self, batch: Batch) -> Encoding:
        """Read the sentences, and their context as far as it is new."""
        return self.model.encoder(batch, self.model.source, self.vectors(batch.context))

    def begin(self, batch: Batch) -> Progress:
        """Read the sentences once, ready to be translated token by token."""
        return Progress(self.encode(batch.to(self.model.target.table.weight.device)), None)

    def advance(self, progress: Progress, tokens: Int[Tensor, " B"]) -> tuple[Float[Tensor, "B V"], Progress]:
        """Take one more token of each translation and give the log-probability (nats) of every next one."""
        return self.model.advance(progress, tokens)
