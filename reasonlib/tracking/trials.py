"""From a training history and metrics to what a run function returns."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reasonlib.tracking.experiment import Measured

if TYPE_CHECKING:
    from reasonlib.training import History

__all__ = ["measured"]


def measured(
    history: "History",
    metrics: Mapping[str, float],
    *,
    further: Sequence["History"] = (),
    curve: Sequence[str] = (),
    details: Mapping[str, Any] | None = None,
    examples: int | Mapping[str, int] | None = None,
) -> Measured:
    """Join metrics with the steps of the training runs behind them.

    Parameters
    ----------
    history
        What `reasonlib.training.fit` returned.
    metrics
        Name to number.
    further
        Histories of other training runs behind the metrics; their steps are added.
    curve
        Columns of the history to keep under ``curve`` in the details, one mapping an epoch.
    details, examples
        As in `Measured`.
    """
    kept: dict[str, Any] = dict(details or {})
    if curve:
        kept["curve"] = [{name: row[name] for name in curve} for row in history]
    runs = (history, *further)
    return Measured(
        metrics=metrics,
        steps_done=sum(run.steps_done for run in runs),
        steps_planned=sum(run.steps_planned for run in runs),
        stopped=next((run.stopped for run in runs if run.stopped != "finished"), "finished"),
        details=kept,
        examples=examples,
    )
