"""Memory networks that travel with the library: trained on simulated full dialogues, ready to talk.

::

    Split + settings --make_network--> network --learn--> save_network --> weights/<name>.safetensors
                                                               |
                    the same Split, drawn again + the file --load_network--> Learned

A file holds weights alone. Words, candidates and entities are those of the simulated set it was trained on,
which the same seed draws again.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.experiments import runs, train_memory
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.checkpoints import load_weights, save_weights, weights_metadata

__all__ = ["NETWORKS", "load_network", "run_ship", "run_ship_copying", "save_network"]

WEIGHTS = Path(__file__).parents[1] / "weights"

KIND = "reasonlib memory network for dialogues"

NETWORKS = ("n2n", "gn2n", "un2n")
"""The networks that ship, each with match features."""


def save_network(
    learned: train_memory.Learned, path: str | Path, settings: Mapping[str, Any], made: Mapping[str, Any]
) -> Path:
    """Write a network as one safetensors file in half precision: whole, or not at all.

    Parameters
    ----------
    learned
        Trained on simulated dialogues of task 5.
    path
        The file.
    settings
        What `measuring.make_network` made it of, with ``dialogues``.
    made
        How it was trained.
    """
    about = {"kind": KIND, "settings": dict(settings), "made": dict(made)}
    return save_weights(path, learned.model, half=True, metadata=about)


@lru_cache(maxsize=4)
def load_network(name: str) -> train_memory.Learned:
    """Read a network that ships, or one that `save_network` wrote.

    Parameters
    ----------
    name
        One of `NETWORKS`, or a file.

    Raises
    ------
    UserError
        If there is no such network, or the file is damaged.
    """
    path = WEIGHTS / f"{name}.safetensors" if name in NETWORKS else Path(name)
    if not path.is_file():
        raise UserError(f"there is no network {name!r}; take one of {', '.join(NETWORKS)}, or a file")
    about: dict[str, Any] = dict(weights_metadata(path))
    if about.get("kind") != KIND:
        raise UserError(f"{path}: holds no memory network for dialogues; give a file that save_network wrote")
    try:
        settings = json.loads(about["settings"])
        split = datasets.load("simulated", 5, dialogues=settings["dialogues"])
        model, task = runs.make_network(split, settings, seed=0, data="simulated")
        model.load_state_dict({key: tensor.float() for key, tensor in load_weights(path).items()})
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()
        raise UserError(f"{path}: a damaged memory network ({line}); make it again") from error
    return train_memory.Learned(model.eval(), task)


def run_ship(trial: Trial) -> Measured:
    """Train one of the networks that travel with the library, and write it at ``paper``."""
    settings = dict(trial.settings)
    split = datasets.load("simulated", 5, dialogues=settings["dialogues"])
    model, task = runs.make_network(split, settings, seed=trial.seed, data="simulated")
    history = train_memory.learn(
        model,
        task,
        train_memory.Recipe(
            epochs=settings["epochs"], batch_size=settings["batch_size"], lr=settings["lr"], patience=None
        ),
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    found = {
        name: train_memory.accuracy(model, turns) for name, turns in task.sets.items() if name != "train"
    }
    if trial.scale == "paper" and history.stopped == "finished":
        kept = ("network", "match", "hops", "dialogues")
        command = f"reasonlib run {trial.experiment} --row {trial.row} --scale paper --seed {trial.seed}"
        save_network(
            train_memory.Learned(model, task),
            WEIGHTS / f"{trial.row}.safetensors",
            {name: settings[name] for name in kept if name in settings},
            {"command": command, "steps": history.steps_done},
        )
        load_network.cache_clear()
    return Measured(
        metrics={
            "task5": found["test"]["per_response"],
            "oov5": found["oov"]["per_response"],
            "dialogue.task5": found["test"]["per_dialogue"],
            "dialogue.oov5": found["oov"]["per_dialogue"],
        },
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
    )


def run_ship_copying(trial: Trial) -> Measured:
    """Train the copying network that travels with the library; at ``paper`` on the released set, write it.

    Its file is `wall.SHIPPED`. It speaks without candidates, which ``free.task5`` and ``free.oov5`` measure.
    It is to understand people who do not know the released sentences: ``reworded.task5`` and
    ``reworded.oov5`` are the same with users who say what they want in other words (see `rewording`). With
    ``reworded`` set it has such users in training, too.
    """
    from reasonlib.goal_dialogue.data.paraphrase import reworded
    from reasonlib.goal_dialogue.experiments import train_copying

    settings = dict(trial.settings)
    split = datasets.load(trial.data, 5, dialogues=settings.get("dialogues"))
    if settings["reworded"]:
        split = replace(split, train=[*split.train, *reworded(split.train, seed=trial.seed)])
    copier, parts = train_copying.build(split, seed=trial.seed)
    history = train_copying.learn(
        copier,
        parts,
        train_copying.CopyRecipe(epochs=settings["epochs"]),
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    metrics: dict[str, float] = {}
    for part, name in (("test", "task5"), ("oov", "oov5")):
        chosen, free = (train_copying.measure(copier, parts[part], free=free) for free in (False, True))
        metrics[name], metrics[f"dialogue.{name}"] = chosen["per_response"], chosen["per_dialogue"]
        metrics[f"free.{name}"] = free["per_response"]
        # Other words than those of training: another seed.
        others = copier.encode(reworded(getattr(split, part), seed=trial.seed + 1))
        metrics[f"reworded.{name}"] = train_copying.measure(copier, others, free=True)["per_response"]
    shipping = settings["reworded"] and trial.kind == "real"
    if trial.scale == "paper" and shipping and history.stopped == "finished":
        command = f"reasonlib run {trial.experiment} --scale paper --data {trial.data} --seed {trial.seed}"
        made = {"command": command, "data": f"{trial.data}, task 5", "steps": history.steps_done, **metrics}
        train_copying.save_copier(copier, train_copying.SHIPPED, made)
    return Measured(
        metrics=metrics,
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
    )
