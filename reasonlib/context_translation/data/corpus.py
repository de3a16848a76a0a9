"""The corpora of this topic; their reader is shared with other topics on translation."""

from reasonlib.parallel.aligned_corpus import CORPORA, SETS, read, read_parts

__all__ = ["CORPORA", "SETS", "read", "read_parts"]
