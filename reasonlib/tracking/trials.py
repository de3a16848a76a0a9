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
    curve: Sequence[str] = (),
    details: Mapping[str, Any] | None = None,
    examples: int | Mapping[str, int] | None = None,
) -> Measured:
    """Join metrics with the steps of the training run behind them.

    Parameters
    ----------
    history
        What `reasonlib.training.fit` returned.
    metrics
        Name to number.
    curve
        Columns of the history to keep under ``curve`` in the details, one mapping an epoch.
    details, examples
        As in `Measured`.
    """
    kept: dict[str, Any] = dict(details or {})
    if curve:
        kept["curve"] = [{name: row[name] for name in curve} for row in history]
    return Measured(
        metrics=metrics,
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        details=kept,
        examples=examples,
    )
