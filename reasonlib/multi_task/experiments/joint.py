"""One encoder for all tasks, or one for each (tables 2 and 3).

::

    mt-dnn                  all tasks together, then each by itself from there
    mt-dnn-no-fine-tuning   all tasks together
    st-dnn                  each task by itself, the same heads
    bert                    each task by itself, plain linear heads
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reasonlib.multi_task.data.datasets import SIZES, Splits, load_simulated
from reasonlib.multi_task.data.simulator import FAMILY
from reasonlib.multi_task.experiments.train import Recipe, Trained, evaluate, recipe_of, train
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured

__all__ = [
    "joined",
    "joint_stage",
    "load_family",
    "measure_all",
    "run_joint",
    "run_on",
    "train_joint",
    "train_singles",
]


def load_family(settings: Mapping[str, Any], *, seed: int, tasks: Sequence[str] = FAMILY) -> list[Splits]:
    """Simulate the tasks of a trial, each with its share of `SIZES`."""
    return [
        load_simulated(
            task,
            train=max(4, round(SIZES[task] * settings.get("share", 1.0))),
            valid=settings["checked"],
            test=settings["asked"],
            seed=seed,
            relatedness=settings.get("relatedness", 1.0),
            noise=settings.get("noise", 0.0),
        )
        for task in tasks
    ]


_AFTER = (
    "joint", "fine_tune", "further", "further_lr", "keep_head", "adaptation_lr", "adaptation_epochs", "new",
)  # fmt: skip
"""Settings of what follows joint training."""


def joint_stage(trial: Trial, train: Callable[[Trial], Trained]) -> Trained:
    """Train all tasks together by `train`; rows that differ in what follows share it."""
    settings = {name: value for name, value in trial.settings.items() if name not in _AFTER}
    return trial.shared_stage("joint", train, settings)


def train_joint(stage: Trial) -> Trained:
    """Train all tasks of the simulated family together."""
    splits = load_family(stage.settings, seed=stage.seed)
    return train(recipe_of(stage.settings), splits, device=stage.device, **stage.options)


def train_singles(
    trial: Trial,
    recipe: Recipe,
    splits: Sequence[Splits],
    *,
    start: Trained | None = None,
    encoder: tuple[Any, Any] | None = None,
) -> list[Trained]:
    """Train each task by itself, from a jointly trained system or from the pre-trained encoder."""
    return [
        train(
            recipe,
            [split],
            start=start,
            encoder=encoder,
            device=trial.device,
            **trial.stage(f"single-{split.task.name}").options,
        )
        for split in splits
    ]


def measure_all(trained: Sequence[Trained], splits: Sequence[Splits], recipe: Recipe) -> dict[str, float]:
    """Return every metric of every task on test, ``task.metric``, and ``mean``: of the tasks' own metrics."""
    metrics: dict[str, float] = {}
    for system, split in zip(trained, splits, strict=True):
        scores = evaluate(system.model, system.tokenizer, split.task, split.test, longest=recipe.longest)
        metrics |= {f"{split.task.name}.{name}": value for name, value in scores.items()}
    main = [metrics[f"{split.task.name}.{split.task.metric}"] for split in splits]
    return {**metrics, "mean": sum(main) / len(main)}


def joined(
    trained: Sequence[Trained], metrics: Mapping[str, float], details: Mapping[str, Any] | None = None
) -> Measured:
    """Join metrics with the steps of several training runs."""
    first, *further = (system.history for system in trained)
    return measured(first, metrics, further=further, details=details)


def run_joint(trial: Trial) -> Measured:
    """Train and measure one row on the simulated family."""
    together = joint_stage(trial, train_joint) if trial.settings.get("joint", True) else None
    return run_on(trial, load_family(trial.settings, seed=trial.seed), together=together)


def run_on(
    trial: Trial,
    splits: Sequence[Splits],
    *,
    encoder: tuple[Any, Any] | None = None,
    together: Trained | None = None,
) -> Measured:
    """Measure what joint training gave, or train each task by itself from there, as the settings say.

    Parameters
    ----------
    trial
        Its settings are those of a `Recipe`, and ``fine_tune``.
    splits
        The tasks.
    encoder
        A pre-trained encoder and its tokenizer; by default those that the settings name.
    together
        The system that joint training gave; None to train each task from the encoder.
    """
    settings = trial.settings
    recipe = recipe_of(settings)
    runs = [] if together is None else [together]
    systems = runs * len(splits)
    unfinished = any(run.history.stopped != "finished" for run in runs)  # fine-tuning starts from its end
    if not unfinished and (together is None or settings.get("fine_tune", False)):
        own = recipe
        if together is not None:
            own = replace(recipe, epochs=settings["further"], lr=settings["further_lr"], least_steps=1)
        systems = train_singles(trial, own, splits, start=together, encoder=encoder)
        runs = [*runs, *systems]
    metrics = measure_all(systems, splits, recipe)
    details = {
        "train": {split.task.name: len(split.train) for split in splits},
        "test": {split.task.name: len(split.test) for split in splits},
        "curve": [dict(row) for row in runs[0].history] if len(runs) == 1 else [],
    }
    return joined(runs, metrics, details)
