"""The copying network: what each of its parts is worth, and what it says without candidates."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reasonlib.goal_dialogue.experiments import tasks
from reasonlib.tracking.experiment import Experiment, Measured, Trial
from reasonlib.training.settings import construct

if TYPE_CHECKING:
    from reasonlib.goal_dialogue.data.mentions import MentionSet
    from reasonlib.goal_dialogue.models.copier import Copier
    from reasonlib.training import History

__all__ = ["ABLATIONS", "COPYING", "SPEAKING", "run_copying", "run_generation"]


def run_copying(trial: Trial) -> Measured:
    """Train the copying network, whole or without one of its parts, one a task."""

    def run_task(run: tasks.TaskRun) -> tasks.TaskResult:
        copier, sets, history = _train(run)
        return _result(copier, sets, history)

    return tasks.run_tasks(trial, run_task)


Trained = tuple["Copier", dict[str, "MentionSet"], "History"]

SEEDS_APART = 1000
"""Between the starts of one run, so that the starts of two runs differ."""

SHORTEST = 1e-3
"""Minutes that a start gets where the budget is spent: enough to stop in good order."""


def _train(run: tasks.TaskRun) -> Trained:
    """Train from one start, or from several: setting ``starts`` says from how many at most.

    Some starts end in a poor local minimum. The validation dialogues tell: the start with most of their
    responses right is kept, and one with all of them right ends the search. All starts share the budget
    of the run; one that it cuts off is returned as it is, and the next run goes on with it.
    """
    starts = run.settings.get("starts", 1)
    if starts == 1:
        return _train_once(run)
    from reasonlib.goal_dialogue.experiments.train_copying import evaluate_copier

    began, scores = time.monotonic(), []
    for start in range(starts):
        spent = (time.monotonic() - began) / 60
        left = None if run.minutes is None else max(run.minutes - spent, SHORTEST)
        folder = None if run.folder is None else run.folder / f"start-{start}"
        trial = replace(run.trial, seed=run.trial.seed + SEEDS_APART * start)
        trained = _train_once(replace(run, trial=trial, folder=folder, minutes=left))
        copier, sets, history = trained
        if history.stopped != "finished":
            return trained
        scores.append((evaluate_copier(copier, sets["valid"])["per_response"], trained))
        if scores[-1][0] == 1.0:
            break
    return max(scores, key=lambda scored: scored[0])[1]


def _train_once(run: tasks.TaskRun) -> Trained:
    from reasonlib.goal_dialogue.experiments import train_copying
    from reasonlib.goal_dialogue.models.copier import build_copier

    copier, sets = build_copier(run.split, run.settings["parts"], seed=run.trial.seed)
    copier.model.to(run.trial.device)
    history = train_copying.train_copier(
        copier,
        sets,
        construct(train_copying.CopyRecipe, run.settings),
        **run.options,
    )
    return copier, sets, history


def _result(copier: "Copier", sets: Mapping[str, "MentionSet"], history: "History") -> tasks.TaskResult:
    from reasonlib.goal_dialogue.experiments.train_copying import evaluate_copier

    scores = {name: evaluate_copier(copier, turns) for name, turns in sets.items() if name in tasks.EVALUATED}
    return tasks.TaskResult.of(history, scores, turns=len(sets["train"]))


ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "copying": {},
    "own-vectors": {"name_embeddings": True},
    "no-context": {"radius": 0},
    "no-recency": {"max_age": 1},
    "one-round": {"rounds": 1},
    "no-echo": {"echo": False},
    "no-numbers": {"numbers": False},
}
"""The model and its ablations: the settings of `build_copier` that differ from the defaults.

``own-vectors`` gives each name of the training set a vector of its own in place of the words around it, as
every other network of this topic does.
"""


COPYING = Experiment(
    name="goal_dialogue/copying",
    title="A network that copies names, and the value of each of its parts",
    rows={name: {"parts": settings} for name, settings in ABLATIONS.items()}
    | {"restarts": {"parts": {}, "starts": 5}},
    scales={
        "smoke": {"tasks": (1,), "dialogues": 12, "epochs": 1},
        "quick": {"tasks": (1, 4), "dialogues": 150, "epochs": 8, "batch_size": 16},
        "paper": {"tasks": (1, 2, 3, 4, 5)},
    },
    data=tasks.BOTH,
    run=run_copying,
    version=tasks.data_version,
)

# Without candidates -----------------------------------------------------------------------------------------

NAMES = {"test": ("task", "average"), "oov": ("oov", "oov")}
"""A set to the prefix of its metrics, and to the name of their mean."""


def run_generation(trial: Trial) -> Measured:
    """Train one copying network a task; evaluate it with candidates and without.

    Every other system of this topic ranks candidates, so it cannot say what is not among them. This one
    writes a template and fills its gaps; a response is right if it is the released one, word for word.

    Metrics are those of `tasks.run_tasks`; ``free.task1``, ``free.oov1``, ... and their means over the tasks
    1 to 5, ``free.average`` and ``free.oov``, of responses without candidates; ``sayable.task1``, ...: the
    share of responses that its templates can say at all.
    """
    free: dict[str, float] = {}

    def run_task(run: tasks.TaskRun) -> tasks.TaskResult:
        from reasonlib.goal_dialogue.experiments.train_copying import evaluate_copier

        copier, sets, history = _train(run)
        for part in tasks.EVALUATED:
            if part in sets:
                name = f"{NAMES[part][0]}{run.task}"
                free[f"free.{name}"] = evaluate_copier(copier, sets[part], free=True)["per_response"]
                free[f"sayable.{name}"] = float(
                    np.mean([bool(copier.language.derive(text)) for text in sets[part].responses])
                )
        return _result(copier, sets, history)

    measured = tasks.run_tasks(trial, run_task)
    for name, mean in NAMES.values():
        one_to_five = [free[key] for task in range(1, 6) if (key := f"free.{name}{task}") in free]
        if one_to_five:
            free[f"free.{mean}"] = float(np.mean(one_to_five))
    return replace(measured, metrics={**measured.metrics, **free})


SPEAKING = Experiment(
    name="goal_dialogue/speaking",
    title="The copying network on dialogues of people, and its responses without candidates",
    rows={"copying": {"parts": {}}},
    scales={
        "smoke": {"tasks": (1,), "dialogues": 12, "epochs": 1},
        "quick": {"tasks": (1, 4), "dialogues": 150, "epochs": 8, "batch_size": 16},
        "paper": {"tasks": (1, 2, 3, 4, 5, 6)},
    },
    data=tasks.BOTH,
    run=run_generation,
    version=tasks.data_version,
)
