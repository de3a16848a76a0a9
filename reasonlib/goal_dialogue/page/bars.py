"""Bars of the shares of right responses, from records."""

from collections.abc import Mapping
from typing import Any

from reasonlib.display import plotting, results

__all__ = ["right_responses"]


def right_responses(experiment: str, task: int, names: Mapping[str, str], **options: Any) -> plotting.Picture:
    """Draw the share of right responses on a task, a bar for each row of an experiment.

    The `options` are those of `results.rows`, and so are the names of the rows.
    """
    return results.rows(
        experiment,
        metric=f"task{task}",
        unit=f"share of right responses, task {task}",
        names=names,
        **options,
    )
