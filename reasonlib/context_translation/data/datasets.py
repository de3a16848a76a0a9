"""The sets of this topic; their loader is shared with other topics on translation."""

from reasonlib.parallel.datasets import DATA, Splits, files_version, load, texts

__all__ = ["DATA", "Splits", "files_version", "load", "texts"]
