"""The corpora of this topic; their readers are shared with other topics on translation."""

from reasonlib.parallel import aligned_corpus, contrasts, released
from reasonlib.parallel.aligned_corpus import SETS, read, read_parts
from reasonlib.parallel.released import RELEASED, read_released

__all__ = ["CORPORA", "RELEASED", "SETS", "read", "read_parts", "read_released"]

CORPORA = aligned_corpus.CORPORA | released.CORPORA | contrasts.CORPORA
