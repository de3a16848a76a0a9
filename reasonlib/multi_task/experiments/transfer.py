"""Which task helps which, and how much that depends on relatedness and on data.

::

    transfer       a target with few examples, alone and with each other task beside it
    relatedness    two small targets beside inference, while words mean the same in all tasks, or in few
    size           the same while the targets grow

A **gain** is the target's metric with help minus its metric alone, on the same test examples.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reasonlib.multi_task.data.datasets import Splits, load_simulated
from reasonlib.multi_task.data.simulator import FAMILY
from reasonlib.multi_task.experiments.joint import joined
from reasonlib.multi_task.experiments.train import Trained, evaluate, recipe_of, train
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["TARGETS", "measure_transfer", "run_dial", "run_transfer"]

TARGETS = ("entailment", "paraphrase")
"""The small tasks of the dials; inference helps them."""


def _load(settings: Mapping[str, Any], task: str, count: int, seed: int) -> Splits:
    return load_simulated(
        task,
        train=count,
        valid=settings["checked"],
        test=settings["asked"],
        seed=seed,
        relatedness=settings.get("relatedness", 1.0),
        noise=settings.get("noise", 0.0),
    )


def _fit(trial: Trial, splits: Sequence[Splits]) -> Trained:
    stage = "+".join(split.task.name for split in splits)
    return train(recipe_of(trial.settings), splits, device=trial.device, **trial.stage(stage).options)


def _measure(trial: Trial, trained: Trained, split: Splits) -> float:
    longest = recipe_of(trial.settings).longest
    scores = evaluate(trained.model, trained.tokenizer, split.task, split.test, longest=longest)
    return scores[split.task.metric]


def run_transfer(trial: Trial) -> Measured:
    """Measure a simulated target alone and with each other task; the row is the target."""

    def load(task: str, count: int) -> Splits:
        return _load(trial.settings, task, count, trial.seed)

    return measure_transfer(trial, load, FAMILY)


def measure_transfer(
    trial: Trial, load: Callable[[str, int], Splits], names: Sequence[str], *, target: str | None = None
) -> Measured:
    """Measure a target with few examples alone, and with many of each other task beside it.

    Parameters
    ----------
    trial
        Its settings ``few`` and ``many`` are the sizes.
    load
        ``load(name, count)`` gives a task with that many training examples.
    names
        The tasks.
    target
        One of them; by default the trial's row.

    Returns
    -------
    Measured
        The target's metric as ``alone`` and ``with.NAME``, and the difference as ``gain.NAME``.
    """
    settings, target = trial.settings, target or trial.row
    few = load(target, settings["few"])
    alone = _fit(trial, [few])
    runs, metrics = [alone], {"alone": _measure(trial, alone, few)}
    for name in names:
        if name != target:
            helped = _fit(trial, [few, load(name, settings["many"])])
            metrics[f"with.{name}"] = _measure(trial, helped, few)
            metrics[f"gain.{name}"] = metrics[f"with.{name}"] - metrics["alone"]
            runs.append(helped)
    return joined(runs, metrics)


def run_dial(trial: Trial) -> Measured:
    """Measure the small targets alone, and together with inference, at one position of a dial."""
    settings = trial.settings
    helper = _load(settings, "inference", settings["many"], trial.seed)
    runs, metrics = [], {}
    for name in TARGETS:
        target = _load(settings, name, settings["few"], trial.seed)
        alone, helped = _fit(trial, [target]), _fit(trial, [target, helper])
        metrics[f"{name}.alone"] = _measure(trial, alone, target)
        metrics[f"{name}.with"] = _measure(trial, helped, target)
        metrics[f"{name}.gain"] = metrics[f"{name}.with"] - metrics[f"{name}.alone"]
        runs += [alone, helped]
    for name in ("alone", "with", "gain"):
        metrics[name] = sum(metrics[f"{target}.{name}"] for target in TARGETS) / len(TARGETS)
    return joined(runs, metrics)
