"""How a row of a table is measured: one system trained for each task, then tested on it.

::

    trial --> for every task:  load --> make --> learn --> test, OOV  --> one Measured

Each task has its own folder of checkpoints, so a run that was killed goes on with the task, and the epoch, it
was in. Systems are imported where they are used: a table of one does not rest on the others.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.example import Split
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["Outcome", "run_baseline", "run_copying", "run_network"]

Scores = Mapping[str, Mapping[str, float]]
"""``test`` and ``oov`` to ``per_response`` and ``per_dialogue``."""


@dataclass(frozen=True)
class Outcome:
    """What one task brought back.

    Attributes
    ----------
    scores
        Accuracy on ``test`` and, where there is one, ``oov``.
    done, planned, stopped
        As in `Measured`.
    curve
        One row an epoch: loss and accuracy on the validation set.
    seconds, examples
        Time spent learning, and turns learnt from in it, for the rate.
    """

    scores: Scores
    done: int = 1
    planned: int = 1
    stopped: str = "finished"
    curve: tuple[Mapping[str, float], ...] = ()
    seconds: float = 0.0
    examples: int = 0


@dataclass(frozen=True, kw_only=True)
class Job:
    """One task of a trial: its settings, those for it alone put in, and what is left of the budget."""

    trial: Trial
    task: int
    settings: Mapping[str, Any]
    split: Split
    minutes: float | None
    folder: Path | None


def _pick(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in settings.items() if name in names}


def load(data: str, task: int, settings: Mapping[str, Any]) -> Split:
    """Load a task as settings ask: all dialogues, or so many."""
    return datasets.load(data, task, dialogues=settings.get("dialogues"))


def each_task(trial: Trial, run: Callable[[Job], Outcome]) -> Measured:
    """Run every task of a trial and gather the numbers.

    Metrics are fractions: ``task1``, ``oov1``, ... of right responses; ``average`` and ``oov`` over the tasks
    1 to 5 that were run; the same with ``dialogue.`` before it of whole dialogues. Setting ``only4`` holds
    what differs for task 4.
    """
    settings = trial.settings
    tasks = [task for task in settings["tasks"] if trial.kind == "real" or task != 6]
    began = time.monotonic()
    outcomes: dict[int, Outcome] = {}
    skipped = 0
    for task in tasks:
        left = None if trial.minutes is None else trial.minutes - (time.monotonic() - began) / 60
        if left is not None and left <= 0:
            skipped += 1
            continue
        own = {**settings, **settings.get(f"only{task}", {})}
        folder = None if trial.folder is None else trial.folder / f"task{task}"
        split = load(trial.data, task, own)
        outcomes[task] = run(
            Job(trial=trial, task=task, settings=own, split=split, minutes=left, folder=folder)
        )
    metrics: dict[str, float] = {}
    for measure, before in (("per_response", ""), ("per_dialogue", "dialogue.")):
        for part, name, mean in (("test", "task", "average"), ("oov", "oov", "oov")):
            found = {task: one.scores[part][measure] for task, one in outcomes.items() if part in one.scores}
            metrics |= {f"{before}{name}{task}": value for task, value in found.items()}
            five = [value for task, value in found.items() if task != 6]
            if five:
                metrics[f"{before}{mean}"] = float(np.mean(five))
    seconds = sum(one.seconds for one in outcomes.values())
    if seconds:
        metrics["turns_per_second"] = sum(one.examples for one in outcomes.values()) / seconds
    ends = [one.stopped for one in outcomes.values()] + ["minutes"] * skipped
    done, planned = (sum(getattr(one, name) for one in outcomes.values()) for name in ("done", "planned"))
    return Measured(
        metrics=metrics,
        steps_done=done,
        steps_planned=planned + skipped,
        stopped=next((end for end in ("minutes", "early") if end in ends), "finished"),
        details={"curves": {str(task): list(one.curve) for task, one in outcomes.items() if one.curve}},
    )


# Memory networks --------------------------------------------------------------------------------------------


def run_network(trial: Trial) -> Measured:
    """Train memory networks, one a task; see `make_network`."""
    return each_task(trial, _network)


def _network(job: Job) -> Outcome:
    from reasonlib.goal_dialogue.experiments import train_memory

    settings, seed = job.settings, job.trial.seed
    model, task = make_network(job.split, settings, seed=seed, data=job.trial.data)
    model = model.to(job.trial.device)
    history = train_memory.learn(
        model,
        task,
        train_memory.Recipe(**_pick(train_memory.Recipe, settings)),
        seed=seed,
        minutes=job.minutes,
        checkpoint=job.folder,
        progress=job.trial.progress,
        identity=repr(sorted(settings.items())),
    )
    found = {name: train_memory.accuracy(model, turns) for name, turns in task.sets.items() if name in TESTED}
    return Outcome(
        scores=found,
        done=history.steps_done,
        planned=history.steps_planned,
        stopped=history.stopped,
        curve=tuple({key: row[key] for key in ("epoch", "loss", "accuracy")} for row in history),
        seconds=history.seconds,
        examples=len(task.train) * len(history),
    )


TESTED = ("test", "oov")


def make_network(split: Split, settings: Mapping[str, Any], *, seed: int, data: str) -> tuple[Any, Any]:
    """Make a memory network and the task it is to learn.

    Parameters
    ----------
    split
        One task.
    settings
        Fields of `NetworkConfig`; ``facts`` and ``swapped`` as in `encode_split`; ``sentences``, how they
        are read: ``words``, ``word2vec``, ``paragraphs`` or one of `keytags.ENCODERS`; ``corpus``, what
        paragraph vectors learn from, ``internal`` or ``external``.
    seed
        Draws all first weights.
    data
        Where an external corpus is taken from.

    Returns
    -------
    MemoryNetwork, Encoded
    """
    from reasonlib.goal_dialogue.data.encoding import encode_split
    from reasonlib.goal_dialogue.models import memory_network
    from reasonlib.goal_dialogue.models.match_features import entity_types

    config = memory_network.NetworkConfig(**_pick(memory_network.NetworkConfig, settings))
    options = {name: settings[name] for name in ("facts", "swapped") if name in settings}
    task = encode_split(split, types=entity_types(split) if config.match else None, **options)
    sentences = settings.get("sentences", "words")
    if sentences == "words":
        return memory_network.build(config, task, seed=seed), task
    if sentences == "word2vec":
        return _from_word2vec(config, task, settings, seed)
    if sentences == "paragraphs":
        return _of_paragraphs(config, task, settings, seed, data)
    return _with_tags(config, task, split, settings, seed)


def _from_word2vec(config: Any, task: Any, settings: Mapping[str, Any], seed: int) -> tuple[Any, Any]:
    from reasonlib.goal_dialogue.models.memory_network import build
    from reasonlib.goal_dialogue.models.paragraph import sentences_to_learn
    from reasonlib.goal_dialogue.models.word2vec import learn_words, start_from

    model = build(config, task, seed=seed)
    sentences = sentences_to_learn(task, marks=False)
    vectors = learn_words(sentences, config.width, epochs=settings.get("apart", 100), seed=seed)
    start_from(model, task.vocabulary, vectors)
    return model, task


def _of_paragraphs(
    config: Any, task: Any, settings: Mapping[str, Any], seed: int, data: str
) -> tuple[Any, Any]:
    from reasonlib.goal_dialogue.data.encoding import encode_split
    from reasonlib.goal_dialogue.models.paragraph import (
        ParagraphConfig,
        build_paragraphs,
        learn_paragraphs,
        sentences_to_learn,
    )

    corpus = task
    if settings.get("corpus", "internal") == "external":
        real = datasets.SETS[data] == "real"  # people who talked, or simulated full dialogues drawn anew
        other = (
            datasets.load(data, 6)
            if real
            else datasets.load(data, 5, dialogues=settings["dialogues"], seed=11)
        )
        corpus = encode_split(other)
    words = ParagraphConfig(width=settings.get("paragraph_width", 100), epochs=settings.get("apart", 100))
    vectors = learn_paragraphs(sentences_to_learn(corpus), words, seed=seed)
    model, task, _ = build_paragraphs(config, task, vectors, seed=seed)
    return model, task


def _with_tags(
    config: Any, task: Any, split: Split, settings: Mapping[str, Any], seed: int
) -> tuple[Any, Any]:
    from reasonlib.goal_dialogue.experiments.train_tagger import make_tagger
    from reasonlib.goal_dialogue.models.keytags import build_keytags

    # The source finds its tagger perfect on every set; learnt from the whole knowledge base, it is.
    name, steps = settings.get("tagger", "letters-all"), settings.get("tagger_steps", 400)
    tagged = make_tagger(split, name, steps=steps, seed=seed)
    model, task, _ = build_keytags(config, task, tagged, encoder=settings["sentences"], seed=seed)
    return model, task


# Systems without a memory -----------------------------------------------------------------------------------


def run_baseline(trial: Trial) -> Measured:
    """Fit and measure a system of rules, of retrieval, or supervised embeddings."""
    return each_task(trial, _baseline)


def _baseline(job: Job) -> Outcome:
    from reasonlib.goal_dialogue.experiments.metrics import measure

    split, settings = job.split, job.settings
    name, match = settings["system"], settings.get("match", False)
    system: Any
    if name == "rules":
        from reasonlib.goal_dialogue.models.rules import fit_rules

        system = fit_rules(split)
    elif name == "supervised":
        from reasonlib.goal_dialogue.models.supervised import fit_supervised

        system = fit_supervised(split, match=match, seed=job.trial.seed, **settings.get("options", {}))
    else:
        from reasonlib.goal_dialogue.models import retrieval

        if name == "tf-idf":
            system = retrieval.fit_tfidf(split, match=match)
        else:
            system = retrieval.fit_nearest_neighbour(split)
    tested = {name: getattr(split, name) for name in TESTED if getattr(split, name)}
    return Outcome(scores={part: measure(system, dialogues) for part, dialogues in tested.items()})


# The copying network ----------------------------------------------------------------------------------------


def run_copying(trial: Trial) -> Measured:
    """Train the network that copies, whole or without one of its parts, one a task."""
    return each_task(trial, _copying)


def _copying(job: Job) -> Outcome:
    from reasonlib.goal_dialogue.experiments import train_copying

    seed = job.trial.seed
    copier, parts = train_copying.build(job.split, job.settings["parts"], seed=seed)
    copier.model.to(job.trial.device)
    history = train_copying.learn(
        copier,
        parts,
        train_copying.CopyRecipe(**_pick(train_copying.CopyRecipe, job.settings)),
        seed=seed,
        minutes=job.minutes,
        checkpoint=job.folder,
        progress=job.trial.progress,
    )
    return Outcome(
        scores={
            name: train_copying.measure(copier, turns) for name, turns in parts.items() if name in TESTED
        },
        done=history.steps_done,
        planned=history.steps_planned,
        stopped=history.stopped,
        curve=tuple({"epoch": row["epoch"], "loss": row["loss"]} for row in history),
        seconds=history.seconds,
        examples=len(parts["train"]) * len(history),
    )
