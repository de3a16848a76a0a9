"""Train one system on simulated documents and measure it on others."""

from collections.abc import Mapping
from typing import Any

from reasonlib.context_translation.data.datasets import Splits, load, texts
from reasonlib.context_translation.data.encoding import Words
from reasonlib.context_translation.experiments.measures import measure
from reasonlib.context_translation.experiments.train import Recipe, Trained, train
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training import parameter_count
from reasonlib.training.settings import construct

__all__ = ["fit_simulated", "run_simulated", "simulated_splits"]


def simulated_splits(settings: Mapping[str, Any]) -> Splits:
    """Return the simulated documents that settings describe."""
    return load(
        "simulated",
        train=settings["documents"],
        valid=settings["valid_size"],
        test=settings["test_size"],
        distance=tuple(settings.get("distance", (1, 2))),
        sentences=settings.get("sentences", 10),
        helpful=settings.get("helpful", 0.3),
    )


def fit_simulated(trial: Trial) -> tuple[Trained, Splits]:
    """Train the system of a trial on its documents."""
    splits = simulated_splits(trial.settings)
    trained = train(
        construct(Recipe, trial.settings),
        splits,
        Words.of(texts(splits.train)),
        device=trial.device,
        **trial.options,
    )
    return trained, splits


def run_simulated(trial: Trial) -> Measured:
    """Train one system and measure it; see `measure`."""
    trained, splits = fit_simulated(trial)
    metrics, details = measure(trained, splits.test)
    return measured(
        trained.history,
        metrics,
        curve=("epoch", "loss", "valid_loss"),
        examples=details["sentences"],
        details={**details, "parameters": parameter_count(trained.model)},
    )
