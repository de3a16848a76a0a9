"""The models that are bundled with the library, trained again: ``reasonlib run goal_dialogue/bundle``.

At ``paper`` a finished run writes its file in ``weights/``; `models.pretrained` reads it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.experiments import memory_networks
from reasonlib.goal_dialogue.experiments.tasks import BOTH, DATA, data_version
from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale, subset
from reasonlib.tracking.trials import measured

__all__ = ["BUNDLE", "BUNDLE_COPYING", "run_bundle_copying", "run_bundle_networks"]


def run_bundle_networks(trial: Trial) -> Measured:
    """Train one of the bundled memory networks, and write it at ``paper``."""
    from reasonlib.goal_dialogue.experiments import train_memory
    from reasonlib.goal_dialogue.models import pretrained
    from reasonlib.goal_dialogue.models.memory_system import MemoryNetworkSystem

    settings = dict(trial.settings)
    split = datasets.load("simulated", 5, dialogues=settings["dialogues"])
    model, task = memory_networks.build_network(split, settings, seed=trial.seed, data="simulated")
    recipe = train_memory.Recipe(
        epochs=settings["epochs"], batch_size=settings["batch_size"], lr=settings["lr"], patience=None
    )
    history = train_memory.train_network(
        model,
        task,
        recipe,
        **trial.options,
    )
    if trial.scale == "paper" and history.stopped == "finished":
        kept = ("network", "match", "hops", "dialogues")
        command = f"reasonlib run {trial.experiment} --row {trial.row} --scale paper --seed {trial.seed}"
        pretrained.save_memory_network(
            MemoryNetworkSystem(model, task),
            pretrained.path_of(trial.row),
            {name: settings[name] for name in kept if name in settings},
            {"command": command, "steps": history.steps_done},
        )
    metrics: dict[str, float] = {}
    for part, name in (("test", "task5"), ("oov", "oov5")):
        scores = train_memory.evaluate_network(model, task.sets[part])
        metrics[name], metrics[f"dialogue.{name}"] = scores["per_response"], scores["per_dialogue"]
    return measured(history, metrics)


def run_bundle_copying(trial: Trial) -> Measured:
    """Train the bundled copying network; at ``paper`` on the released set, write it.

    It generates its responses, which ``free.task5`` and ``free.oov5`` measure. It is to understand people who
    do not use the released sentences: ``reworded.task5`` and ``reworded.oov5`` are the same with users who
    say what they want in other words (see `paraphrase`). With the setting ``reworded`` it trains on such
    users, too.
    """
    from reasonlib.goal_dialogue.data.paraphrase import paraphrase_dialogues
    from reasonlib.goal_dialogue.experiments.train_copying import CopyRecipe, evaluate_copier, train_copier
    from reasonlib.goal_dialogue.models import pretrained
    from reasonlib.goal_dialogue.models.copier import build_copier

    settings: Mapping[str, Any] = trial.settings
    split = datasets.load(trial.data, 5, dialogues=settings.get("dialogues"))
    if settings["reworded"]:
        split = replace(split, train=[*split.train, *paraphrase_dialogues(split.train, seed=trial.seed)])
    copier, sets = build_copier(split, seed=trial.seed)
    history = train_copier(
        copier,
        sets,
        CopyRecipe(epochs=settings["epochs"]),
        **trial.options,
    )
    metrics: dict[str, float] = {}
    for part, name in (("test", "task5"), ("oov", "oov5")):
        chosen, free = (evaluate_copier(copier, sets[part], free=free) for free in (False, True))
        metrics[name], metrics[f"dialogue.{name}"] = chosen["per_response"], chosen["per_dialogue"]
        metrics[f"free.{name}"] = free["per_response"]
        # Other words than those of training: another seed.
        others = copier.encode(paraphrase_dialogues(getattr(split, part), seed=trial.seed + 1))
        metrics[f"reworded.{name}"] = evaluate_copier(copier, others, free=True)["per_response"]
    bundled = settings["reworded"] and trial.kind == "released"
    if trial.scale == "paper" and bundled and history.stopped == "finished":
        command = f"reasonlib run {trial.experiment} --scale paper --data {trial.data} --seed {trial.seed}"
        metadata = {
            "command": command,
            "data": f"{trial.data}, task 5",
            "steps": history.steps_done,
            **metrics,
        }
        pretrained.save_copier(copier, pretrained.path_of("copying"), metadata)
    return measured(history, metrics)


BUNDLE = Experiment(
    name="goal_dialogue/bundle",
    title="The bundled memory networks",
    rows={name: {"network": name, "match": True} for name in ("n2n", "gn2n", "un2n")},
    scales=by_scale(dialogues=(8, 60, 500), epochs=(1, 6, 12), batch_size=32, lr=0.005),
    data=subset(DATA, "simulated"),
    run=run_bundle_networks,
    version=data_version,
)

BUNDLE_COPYING = Experiment(
    name="goal_dialogue/bundle-copying",
    title="The bundled copying network, and one trained on the released sentences alone",
    rows={"copying": {"reworded": True}, "released-words": {"reworded": False}},
    scales={
        "smoke": {"dialogues": 8, "epochs": 1},
        "quick": {"dialogues": 60, "epochs": 6},
        "paper": {"epochs": 6},
    },
    data=BOTH,
    run=run_bundle_copying,
    version=data_version,
)
