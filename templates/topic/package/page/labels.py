"""What the records of this topic call their metrics and rows, in words for a reader."""

__all__ = ["METRICS", "ROWS"]

METRICS = {"accuracy": "share of right answers"}
"""From a record's metric to words."""

ROWS = {"full": "the vote", "blind": "the vote without its input"}
"""From a record's row to words; all others lose their hyphens."""
