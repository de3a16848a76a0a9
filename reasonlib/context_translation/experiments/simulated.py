"""Train one system on simulated documents and measure it on others."""

from collections.abc import Mapping
from typing import Any

from reasonlib.context_translation.data.datasets import Splits, load, texts
from reasonlib.context_translation.data.encoding import Words
from reasonlib.context_translation.experiments.measures import measure
from reasonlib.context_translation.experiments.train import Trained, recipe_of, train
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training import parameter_count

__all__ = ["fit_simulated", "run_simulated", "simulated_splits"]


def simulated_splits(settings: Mapping[str, Any]) -> Splits:
    """Return the simulated documents that settings describe."""
    return load(
        "simulated",
        train=settings["documents"],
        valid=settings["checked"],
        test=settings["asked"],
        distance=tuple(settings.get("distance", (1, 2))),
        sentences=settings.get("sentences", 10),
        helpful=settings.get("helpful", 0.3),
    )


def fit_simulated(trial: Trial) -> tuple[Trained, Splits]:
    """Train the system of a trial on its documents."""
    splits = simulated_splits(trial.settings)
    trained = train(
        recipe_of(trial.settings),
        splits,
        Words.of(texts(splits.train)),
        seed=trial.seed,
        device=trial.device,
        minutes=trial.minutes,
        folder=trial.folder,
        progress=trial.progress,
    )
    return trained, splits


def run_simulated(trial: Trial) -> Measured:
    """Train one system and measure it; see `measure`."""
    trained, splits = fit_simulated(trial)
    metrics, details = measure(trained, splits.test)
    history = trained.history
    curve = [{key: row[key] for key in ("epoch", "loss", "valid_loss")} for row in history]
    return Measured(
        metrics=metrics,
        examples=details["sentences"],
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        details={**details, "curve": curve, "parameters": parameter_count(trained.model)},
    )
