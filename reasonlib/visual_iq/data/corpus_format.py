"""Names, folders and splits of the released RAVEN files, as reader and writer share them."""

import re

__all__ = ["FOLDERS"]

FOLDERS = {
    "raven": ("RAVEN", "RAVEN-10000"),
    "i-raven": ("I-RAVEN",),
    "raven-fair": ("RAVEN-FAIR", "RAVEN-F", "RAVEN_FAIR"),
}
"""What the folder of each released set may be called in ``REASONLIB_DATA``."""

SPLIT_DIGITS = {"train": range(6), "val": range(6, 8), "test": range(8, 10)}
STEM_PATTERN = re.compile(r"RAVEN_(\d+)_(train|val|test)")
RULE_NAMES = ("Constant", "Progression", "Arithmetic", "Distribute_Three")  # RULES as the files call them
GOVERNED_NAMES = ("Number/Position", "Number", "Position", "Type", "Size", "Color")  # and GOVERNED
ATTRIBUTE_NAMES = ("Type", "Size", "Color", "Angle")  # and ATTRIBUTES


# Finding ----------------------------------------------------------------------------------------------------


def file_splits(split: str | None) -> tuple[str, ...]:
    """Names of the splits that are wanted, as the files call them."""
    if split is None:
        return tuple(SPLIT_DIGITS)
    if split not in ("train", "valid", "val", "test"):
        raise ValueError(f"split must be one of train, valid, test, got {split!r}")
    return ("val" if split == "valid" else split,)
