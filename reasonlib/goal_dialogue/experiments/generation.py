"""The copying network measured twice: choosing among the candidates, and speaking of its own accord.

::

    split --wall.build, wall.learn--> Copier --choose--> test, OOV        metrics as in every other table
                                         |
                                         +---speak----> test, OOV        the same with ``free.`` before them

Every other system of this topic ranks candidates and so can't say what is not on their list. This one writes
a template and fills its gaps; a response counts only if it is the released one, word for word.
"""

from dataclasses import replace

import numpy as np

from reasonlib.goal_dialogue.experiments import train_copying
from reasonlib.goal_dialogue.experiments.runs import TESTED, Job, Outcome, each_task
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["run_speaking"]

NAMES = {"test": ("task", "average"), "oov": ("oov", "oov")}


def run_speaking(trial: Trial) -> Measured:
    """Train one copying network a task; measure it with candidates and without.

    Metrics are those of `measuring.each_task`; ``free.task1``, ``free.oov1``, ... and their means over the
    tasks 1 to 5, ``free.average`` and ``free.oov``, of responses without candidates; ``sayable.task1``, ...:
    the share of responses that its templates can say at all.
    """
    free: dict[str, float] = {}

    def run(job: Job) -> Outcome:
        settings = job.settings
        copier, parts = train_copying.build(job.split, settings["parts"], seed=trial.seed)
        copier.model.to(trial.device)
        recipe = {name: settings[name] for name in ("epochs", "batch_size", "lr") if name in settings}
        history = train_copying.learn(
            copier,
            parts,
            train_copying.CopyRecipe(**recipe),
            seed=trial.seed,
            minutes=job.minutes,
            checkpoint=job.folder,
            progress=trial.progress,
        )
        scores = {}
        for part in TESTED:
            if part not in parts:
                continue
            scores[part] = train_copying.measure(copier, parts[part])
            name = f"{NAMES[part][0]}{job.task}"
            free[f"free.{name}"] = train_copying.measure(copier, parts[part], free=True)["per_response"]
            free[f"sayable.{name}"] = float(
                np.mean([bool(copier.language.derive(text)) for text in parts[part].responses])
            )
        return Outcome(
            scores=scores,
            done=history.steps_done,
            planned=history.steps_planned,
            stopped=history.stopped,
            curve=tuple({"epoch": row["epoch"], "loss": row["loss"]} for row in history),
            seconds=history.seconds,
            examples=len(parts["train"]) * len(history),
        )

    measured = each_task(trial, run)
    for name, mean in NAMES.values():
        five = [free[key] for task in range(1, 6) if (key := f"free.{name}{task}") in free]
        if five:
            free[f"free.{mean}"] = float(np.mean(five))
    return replace(measured, metrics={**measured.metrics, **free})
