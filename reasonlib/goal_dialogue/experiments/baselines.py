"""Systems without a memory: rules, retrieval and supervised embeddings."""

from typing import TYPE_CHECKING

from reasonlib.goal_dialogue.experiments import tasks
from reasonlib.tracking.experiment import Experiment, Measured, Trial

if TYPE_CHECKING:
    from reasonlib.goal_dialogue.models.system import System

__all__ = ["BASELINES", "run_baselines"]


def run_baselines(trial: Trial) -> Measured:
    """Fit and evaluate a baseline on each task."""
    return tasks.run_tasks(trial, _run_task)


def _run_task(run: tasks.TaskRun) -> tasks.TaskResult:
    from reasonlib.goal_dialogue.experiments.metrics import evaluate

    system = _fit(run)
    sets = {name: dialogues for name in tasks.EVALUATED if (dialogues := getattr(run.split, name))}
    return tasks.TaskResult(scores={name: evaluate(system, dialogues) for name, dialogues in sets.items()})


def _fit(run: tasks.TaskRun) -> "System":
    split, settings = run.split, run.settings
    name, match = settings["system"], settings.get("match", False)
    if name == "rules":
        from reasonlib.goal_dialogue.models.rules import fit_rules

        return fit_rules(split)
    if name == "supervised":
        from reasonlib.goal_dialogue.experiments.train_supervised import SupervisedRecipe, fit_supervised

        recipe = SupervisedRecipe(**settings.get("options", {}))
        return fit_supervised(split, recipe, match=match, seed=run.trial.seed)[0]
    from reasonlib.goal_dialogue.models import retrieval

    if name == "tf-idf":
        return retrieval.fit_tfidf(split, match=match)
    return retrieval.fit_nearest_neighbour(split)


BASELINES = Experiment(
    name="goal_dialogue/baselines",
    title="Rules, retrieval and supervised embeddings",
    rows={
        "rules": {"system": "rules"},
        "tf-idf": {"system": "tf-idf"},
        "tf-idf-typed": {"system": "tf-idf", "match": True},
        "nearest": {"system": "nearest"},
        "supervised": {"system": "supervised"},
        "supervised-match": {"system": "supervised", "match": True},
    },
    scales={
        "smoke": {"tasks": (1,), "dialogues": 12, "options": {"epochs": 1}},
        "quick": {"tasks": (1, 2, 3, 4, 5), "dialogues": 60, "options": {"epochs": 4}},
        "paper": {"tasks": (1, 2, 3, 4, 5, 6)},
    },
    data=tasks.BOTH,
    run=run_baselines,
    deterministic=("rules", "tf-idf", "tf-idf-typed", "nearest"),
    version=tasks.data_version,
)
