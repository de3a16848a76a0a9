"""What all experiments of this topic share: their data, their scales, and a run over several tasks.

::

    trial --> for every task:  load --> build --> train --> test, OOV  --> one Measured

Each task has its own folder of checkpoints, so that a run that was killed continues with the task, and the
epoch, it was in.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reasonlib import data
from reasonlib.goal_dialogue.data import corpus, datasets
from reasonlib.goal_dialogue.data.example import Split
from reasonlib.tracking.experiment import Measured, Trial, subset

if TYPE_CHECKING:
    from reasonlib.training import History, RunOptions

__all__ = ["BOTH", "DATA", "EVALUATED", "TaskResult", "TaskRun", "data_version", "run_tasks", "scales"]

DATA = datasets.SETS
"""All data sets of this topic, and their kinds."""

BOTH = subset(DATA, "simulated", "dialog-babi")
"""The data sets of most experiments, the default first."""

EVALUATED = ("test", "oov")
"""The sets that every system is evaluated on."""

Scores = Mapping[str, Mapping[str, float]]
"""``test`` and ``oov`` to ``per_response`` and ``per_dialogue``."""


@lru_cache(maxsize=4)
def data_version(name: str) -> str | None:
    """Give the version of the released files; None where they are not on this machine, and for other data."""
    if name != "dialog-babi":
        return None
    try:
        return data.version(corpus.locate())
    except data.DataError:
        return None


def scales(*tasks: int, quick: dict[str, Any] | None = None, **paper: Any) -> dict[str, dict[str, Any]]:
    """Settings of the three scales; `quick` trains with a higher learning rate, so it needs fewer epochs."""
    brief = {
        "dialogues": 250,
        "epochs": 12,
        "batch_size": 32,
        "lr": 0.005,
        "embedding_epochs": 20,
        "tagger_steps": 150,
    }
    return {
        "smoke": {
            "tasks": tasks[:1],
            "dialogues": 12,
            "epochs": 2,
            "embedding_epochs": 2,
            "tagger_steps": 20,
        },
        "quick": {"tasks": tuple(task for task in tasks if task in (1, 4, 5))[:2], **brief, **(quick or {})},
        "paper": {"tasks": tasks, **paper},
    }


@dataclass(frozen=True, kw_only=True)
class TaskRun:
    """One task of a trial: its settings, with those for this task alone, and what is left of the budget."""

    trial: Trial
    task: int
    settings: Mapping[str, Any]
    split: Split
    minutes: float | None
    folder: Path | None

    @property
    def options(self) -> "RunOptions":
        """The keywords of a training function: seed, minutes, checkpoint, progress."""
        return {
            "seed": self.trial.seed,
            "minutes": self.minutes,
            "checkpoint": self.folder,
            "progress": self.trial.progress,
        }


@dataclass(frozen=True)
class TaskResult:
    """What the run of one task gave.

    Attributes
    ----------
    scores
        Accuracy on ``test`` and, where there is one, ``oov``.
    steps_done, steps_planned, stopped
        As in `Measured`.
    curve
        One row an epoch: loss and, where it is measured, accuracy on the validation set.
    seconds, examples
        Time spent training, and turns trained on in it, for the rate.
    """

    scores: Scores
    steps_done: int = 1
    steps_planned: int = 1
    stopped: str = "finished"
    curve: tuple[Mapping[str, float], ...] = ()
    seconds: float = 0.0
    examples: int = 0

    @classmethod
    def of(
        cls, history: "History", scores: Scores, *, turns: int, curve: Sequence[str] = ("epoch", "loss")
    ) -> "TaskResult":
        """Join scores with the training run behind them: its steps, speed and some columns of its history.

        Parameters
        ----------
        history
            What `reasonlib.training.fit` returned.
        scores
            See `TaskResult`.
        turns
            Turns in an epoch.
        curve
            Columns of the history to keep.
        """
        return cls(
            scores=scores,
            steps_done=history.steps_done,
            steps_planned=history.steps_planned,
            stopped=history.stopped,
            curve=tuple({name: row[name] for name in curve} for row in history),
            seconds=history.seconds,
            examples=turns * len(history),
        )


def run_tasks(trial: Trial, run: Callable[[TaskRun], TaskResult]) -> Measured:
    """Run every task of a trial and gather the metrics.

    Metrics are fractions: ``task1``, ``oov1``, ... of right responses; ``average`` and ``oov`` their means
    over the tasks 1 to 5 that were run; the same with ``dialogue.`` before it of whole dialogues. Setting
    ``only4`` holds what differs for task 4.
    """
    settings = trial.settings
    tasks = [task for task in settings["tasks"] if trial.kind == "released" or task != 6]
    began = time.monotonic()
    results: dict[int, TaskResult] = {}
    skipped = 0
    for task in tasks:
        left = None if trial.minutes is None else trial.minutes - (time.monotonic() - began) / 60
        if left is not None and left <= 0:
            skipped += 1
            continue
        own = {**settings, **settings.get(f"only{task}", {})}
        folder = None if trial.folder is None else trial.folder / f"task{task}"
        split = datasets.load(trial.data, task, dialogues=own.get("dialogues"))
        results[task] = run(
            TaskRun(trial=trial, task=task, settings=own, split=split, minutes=left, folder=folder)
        )
    stops = [result.stopped for result in results.values()] + ["minutes"] * skipped
    return Measured(
        metrics=_metrics(results),
        steps_done=sum(result.steps_done for result in results.values()),
        steps_planned=sum(result.steps_planned for result in results.values()) + skipped,
        stopped=next((stop for stop in ("minutes", "early") if stop in stops), "finished"),
        details={
            "curves": {str(task): list(result.curve) for task, result in results.items() if result.curve}
        },
    )


def _metrics(results: Mapping[int, TaskResult]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for measure, prefix in (("per_response", ""), ("per_dialogue", "dialogue.")):
        for part, name, mean in (("test", "task", "average"), ("oov", "oov", "oov")):
            values = {
                task: result.scores[part][measure]
                for task, result in results.items()
                if part in result.scores
            }
            metrics |= {f"{prefix}{name}{task}": value for task, value in values.items()}
            one_to_five = [value for task, value in values.items() if task != 6]
            if one_to_five:
                metrics[f"{prefix}{mean}"] = float(np.mean(one_to_five))
    seconds = sum(result.seconds for result in results.values())
    if seconds:
        metrics["turns_per_second"] = sum(result.examples for result in results.values()) / seconds
    return metrics
