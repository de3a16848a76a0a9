"""A validation set with names that training never mentions, to choose settings without a look at a test set.

::

    validation dialogues   i'd like italian food in rome      resto_rome_cheap_italian_2stars
    renamed                i'd like korean food in seoul      resto_seoul_cheap_korean_2stars

The release has an out-of-vocabulary set for testing and none for validation. But its knowledge base names
cuisines and locations that no training dialogue does. Each that training mentions is exchanged for one that
it does not, everywhere in the validation dialogues.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data.example import Dialogue, Event, Fact, Note, Split, Turn
from reasonlib.goal_dialogue.experiments.memory_networks import build_network
from reasonlib.goal_dialogue.experiments.tasks import BOTH, TaskResult, TaskRun, data_version, run_tasks
from reasonlib.tracking.experiment import Experiment, Measured, Trial
from reasonlib.training.settings import construct

__all__ = ["OOV_VALIDATION", "name_exchanges", "rename", "run_oov_validation"]

RENAMED = ("cuisine", "location")
"""Types whose values differ between a set and its out-of-vocabulary twin."""


def name_exchanges(split: Split) -> dict[str, str]:
    """Map each cuisine and location of the training dialogues to one outside them, alphabetically.

    Raises
    ------
    UserError
        If the set has no knowledge base to take names from.
    """
    from reasonlib.goal_dialogue.data.bags import memory_lines, words

    if split.knowledge is None:
        raise UserError(
            f"task {split.task} has no knowledge base, so no names that are not in the training set"
        )
    sentences = (line for dialogue in split.train for event in memory_lines(dialogue) for line in event)
    training_words = {word for text, _, _ in sentences for word in words(text)}
    types = split.knowledge.types()
    exchanges: dict[str, str] = {}
    for renamed_type in RENAMED:
        values = sorted(value for value, entity_type in types.items() if entity_type == renamed_type)
        seen = [value for value in values if value in training_words]
        unseen = [value for value in values if value not in training_words]
        exchanges |= dict(zip(seen, unseen, strict=False))
    return exchanges


def rename(dialogues: Iterable[Dialogue], names: Mapping[str, str]) -> tuple[Dialogue, ...]:
    """Exchange names in dialogues, in the names of restaurants too (``resto_rome_cheap_thai_2stars``)."""

    def rename_text(text: str) -> str:
        parts = ("_".join(names.get(part, part) for part in word.split("_")) for word in text.split(" "))
        return " ".join(parts)

    def rename_event(event: Event) -> Event:
        if isinstance(event, Turn):
            return Turn(rename_text(event.user), rename_text(event.bot))
        if isinstance(event, Fact):
            return Fact(rename_text(event.subject), event.relation, rename_text(event.value))
        return Note(rename_text(event.text))

    return tuple(
        replace(dialogue, events=tuple(map(rename_event, dialogue.events))) for dialogue in dialogues
    )


def run_oov_validation(trial: Trial) -> Measured:
    """Train memory networks, one a task; evaluate them on validation dialogues, as they are and renamed.

    Metrics: ``valid1``, ``renamed1``, ... right responses, and their means ``valid`` and ``renamed``.
    """
    measured = run_tasks(trial, _run_task)
    metrics: dict[str, float] = {}
    for prefix, name in (("task", "valid"), ("oov", "renamed")):
        mean = {"valid": "average", "renamed": "oov"}[name]
        metrics |= {
            f"{name}{task}": measured.metrics[f"{prefix}{task}"]
            for task in trial.settings["tasks"]
            if f"{prefix}{task}" in measured.metrics
        }
        metrics[name] = measured.metrics[mean]
    return replace(measured, metrics=metrics)


def _run_task(run: TaskRun) -> TaskResult:
    """Score the validation dialogues as ``test``, the renamed ones as ``oov``."""
    from reasonlib.goal_dialogue.data.encoding import encode
    from reasonlib.goal_dialogue.experiments import train_memory

    model, task = build_network(run.split, run.settings, seed=run.trial.seed, data=run.trial.data)
    history = train_memory.train_network(
        model.to(run.trial.device),
        task,
        construct(train_memory.Recipe, run.settings),
        **run.options,
    )
    renamed = encode(
        rename(run.split.valid, name_exchanges(run.split)),
        task.vocabulary,
        task.candidates,
        facts=run.settings.get("facts", True),
        entities={entity: index for index, entity in enumerate(task.types)} or None,
    )
    return TaskResult(
        scores={
            "test": train_memory.evaluate_network(model, task.valid),
            "oov": train_memory.evaluate_network(model, renamed),
        },
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
    )


OOV_VALIDATION = Experiment(
    name="goal_dialogue/oov-validation",
    title="Settings chosen on validation dialogues with OOV names, with and without match features",
    rows={
        f"{name}-{width}-{init_std}-{lr}{'' if match else '-alone'}": {
            "network": name,
            "match": match,
            "width": width,
            "init_std": init_std,
            "lr": lr,
        }
        for name, width, init_std, lr, match in (
            ("gn2n-adjacent", 32, 0.1, 0.003, True),
            ("gn2n-adjacent", 128, 0.1, 0.003, True),
            ("gn2n", 32, 0.3, 0.003, True),
            ("gn2n", 64, 0.3, 0.003, True),
            ("gn2n", 128, 0.2, 0.003, True),
            ("gn2n", 64, 0.3, 0.01, True),
            ("un2n", 32, 0.1, 0.003, True),
            ("un2n", 64, 0.3, 0.003, True),
            ("un2n", 64, 0.3, 0.01, True),
            ("n2n", 32, 0.1, 0.003, False),
            ("gn2n-adjacent", 32, 0.1, 0.003, False),
            ("gn2n", 64, 0.3, 0.003, False),
            ("un2n", 32, 0.1, 0.003, False),
            ("un2n", 64, 0.3, 0.003, False),
        )
    },
    scales={
        "smoke": {"tasks": (1,), "dialogues": 12, "epochs": 1},
        "quick": {"tasks": (1,), "dialogues": 100, "epochs": 4},
        "paper": {"tasks": (1,), "epochs": 5},
    },
    data=BOTH,
    run=run_oov_validation,
    version=data_version,
)
