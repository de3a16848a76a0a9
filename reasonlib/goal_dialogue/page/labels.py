"""What the records of this topic call their metrics and rows; the words are in ``labels.yaml``."""

from reasonlib.display.labels import read_labels

__all__ = ["METRICS", "ROWS"]

METRICS, ROWS = read_labels(__file__)
"""From the name of a metric, and from that of a row, to words."""
