"""A validation set with names that training never says, to choose settings by without a look at a test set.

::

    validation dialogues   i'd like italian food in rome      resto_rome_cheap_italian_2stars
    renamed                i'd like korean food in seoul      resto_seoul_cheap_korean_2stars

The release has an out-of-vocabulary set for testing and none for validation. But its knowledge base names
cuisines and locations that no training dialogue does. Each that training says is exchanged for one that it
doesn't, everywhere in the validation dialogues; so what is left of the accuracy is what unheard names leave.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data.encoding import encode, lines, words
from reasonlib.goal_dialogue.data.example import Dialogue, Event, Fact, Note, Split, Turn
from reasonlib.goal_dialogue.experiments.runs import Job, Outcome, each_task, make_network
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["exchanges", "rename", "run_unheard"]

RENAMED = ("cuisine", "location")
"""Types whose values differ between a set and its out-of-vocabulary twin."""


def exchanges(split: Split) -> dict[str, str]:
    """Map each cuisine and location that training says to one it never says, both in alphabetical order.

    Raises
    ------
    UserError
        If the set has no knowledge base to take unheard names from.
    """
    if split.knowledge is None:
        raise UserError(f"task {split.task} has no knowledge base, so no names that training does not say")
    sentences = (line for dialogue in split.train for event in lines(dialogue) for line in event)
    said = {word for text, _, _ in sentences for word in words(text)}
    types = split.knowledge.types()
    found: dict[str, str] = {}
    for kind in RENAMED:
        values = sorted(value for value, one in types.items() if one == kind)
        heard = [value for value in values if value in said]
        unheard = [value for value in values if value not in said]
        found |= dict(zip(heard, unheard, strict=False))
    return found


def rename(dialogues: Iterable[Dialogue], names: Mapping[str, str]) -> tuple[Dialogue, ...]:
    """Exchange names in dialogues, in the names of restaurants too (``resto_rome_cheap_thai_2stars``)."""

    def text(said: str) -> str:
        parts = ("_".join(names.get(part, part) for part in word.split("_")) for word in said.split(" "))
        return " ".join(parts)

    def event(one: Event) -> Event:
        if isinstance(one, Turn):
            return Turn(text(one.user), text(one.bot))
        if isinstance(one, Fact):
            return Fact(text(one.subject), one.relation, text(one.value))
        return Note(text(one.text))

    return tuple(replace(one, events=tuple(map(event, one.events))) for one in dialogues)


def run_unheard(trial: Trial) -> Measured:
    """Train memory networks, one a task; measure them on validation dialogues, as they are and renamed.

    Metrics: ``valid1``, ``renamed1``, ... right responses, and their means ``valid`` and ``renamed``.
    """
    from reasonlib.goal_dialogue.experiments import train_memory

    def run(job: Job) -> Outcome:
        settings = job.settings
        model, task = make_network(job.split, settings, seed=trial.seed, data=trial.data)
        recipe = {
            name: settings[name] for name in ("epochs", "batch_size", "lr", "patience") if name in settings
        }
        history = train_memory.learn(
            model.to(trial.device),
            task,
            train_memory.Recipe(**recipe),
            seed=trial.seed,
            minutes=job.minutes,
            checkpoint=job.folder,
            progress=trial.progress,
        )
        numbers = {entity: place for place, entity in enumerate(task.types)} or None
        renamed = encode(
            rename(job.split.valid, exchanges(job.split)),
            task.vocabulary,
            task.candidates,
            facts=settings.get("facts", True),
            entities=numbers,
        )
        return Outcome(
            scores={
                "test": train_memory.accuracy(model, task.valid),
                "oov": train_memory.accuracy(model, renamed),
            },
            done=history.steps_done,
            planned=history.steps_planned,
            stopped=history.stopped,
        )

    measured = each_task(trial, run)
    metrics: dict[str, float] = {}
    for before, name in (("task", "valid"), ("oov", "renamed")):
        mean = {"valid": "average", "renamed": "oov"}[name]
        metrics |= {
            f"{name}{task}": measured.metrics[f"{before}{task}"]
            for task in trial.settings["tasks"]
            if f"{before}{task}" in measured.metrics
        }
        metrics[name] = measured.metrics[mean]
    return replace(measured, metrics=metrics)
