"""Helpers for run functions: settings to configs, a training history to what was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from reasonlib.tracking.experiment import Measured

if TYPE_CHECKING:
    from reasonlib.training import History

__all__ = ["measured", "settings_for"]


def settings_for(config: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Select the settings that are fields of a config class.

    Parameters
    ----------
    config
        A dataclass, such as the config of a model or a recipe.
    settings
        The settings of a trial.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> settings_for(make_dataclass("Config", ["width", "layers"]), {"width": 8, "epochs": 3})
    {'width': 8}
    """
    names = {field.name for field in fields(config)}
    return {name: value for name, value in settings.items() if name in names}


def measured(
    history: "History",
    metrics: Mapping[str, float],
    *,
    curve: Sequence[str] = (),
    details: Mapping[str, Any] | None = None,
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
    details
        Anything else to keep.
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
    )
