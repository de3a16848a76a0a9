"""What a topic calls its metrics and rows, in words for a reader: the data in its ``page/labels.yaml``.

::

    metrics:
      accuracy: accuracy                            # from a record's metric to words
      joint@accuracy: accuracy on all tasks         # where a name means two things; rows too
    rows:
      no-time: without temporal encoding            # other rows lose their hyphens
"""

from functools import lru_cache
from pathlib import Path

import yaml

__all__ = ["read_labels"]


@lru_cache(maxsize=64)
def read_labels(module: str) -> tuple[dict[str, str], dict[str, str]]:
    """Read the ``labels.yaml`` beside a module; returns the labels of metrics, and those of rows.

    Parameters
    ----------
    module
        The ``__file__`` of the module.
    """
    labels = yaml.safe_load(Path(module).with_name("labels.yaml").read_text(encoding="utf-8"))
    return labels["metrics"], labels["rows"]
