"""What the records of this topic call their metrics and rows; the words are in ``labels.yaml``."""

from reasonlib.display.labels import read_labels

__all__ = ["METRICS", "ROWS", "module_title"]

METRICS, ROWS = read_labels(__file__)
"""From the name of a metric, and from that of a row, to words."""


def module_title(module: str) -> str:
    """Write the name of a module for a reader.

    >>> module_title("comparison__closest_composed")
    'closest, composed'
    """
    name = module.partition("__")[2].replace("_composed", ", composed")
    return name.replace("_", " ")
