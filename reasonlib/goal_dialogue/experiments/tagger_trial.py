"""Taggers as a row of a table, and the two that travel with the library.

    weights/tagger-letters.safetensors    reads a word's letters, as the source's
    weights/tagger-context.safetensors    reads the sentence too

Each is some hundred kilobytes: sizes as metadata, weights in half precision.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.experiments.train_tagger import TaggerRecipe, accuracy, known_half, learn_tagger
from reasonlib.goal_dialogue.models.tagger import ContextTagger, Tagger, TaggerConfig, WordTagger
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.checkpoints import load_weights, save_weights, weights_metadata

__all__ = ["load_tagger", "run_tagger", "save_tagger"]

KINDS: dict[str, type[WordTagger] | type[ContextTagger]] = {"letters": WordTagger, "context": ContextTagger}


def run_tagger(trial: Trial) -> Measured:
    """Train and measure one tagger; at ``paper`` on simulated dialogues, write it where `load_tagger` looks.

    Settings are ``tagger`` (``letters`` or ``context``), ``made_up``, ``entities`` (``known``, or ``all`` of
    the knowledge base), ``task``, ``steps``, and ``dialogues`` for a part of the set. Metrics are shares of
    right tags over the places in distinct sentences of the test and out-of-vocabulary sets: ``cuisine.seen``,
    ``cuisine.unseen``, ... of words seen and not seen in training, and ``seen`` and ``unseen``, the mean over
    the types of entities.
    """
    settings = trial.settings
    split = datasets.load(trial.data, settings["task"], dialogues=settings.get("dialogues"))
    tagger = KINDS[settings["tagger"]](seed=trial.seed)
    knowledge = split.knowledge if settings.get("entities") == "all" else known_half(split)
    recipe = TaggerRecipe(steps=settings["steps"], made_up=settings["made_up"])
    history = learn_tagger(
        tagger, split, recipe, knowledge=knowledge, seed=trial.seed, progress=trial.progress
    )
    rows = accuracy(tagger, split, [*split.test, *split.oov], knowledge=knowledge)
    metrics = {f"{row.type}.{'seen' if row.seen else 'unseen'}": row.accuracy for row in rows}
    for kind in ("seen", "unseen"):
        found = [row.accuracy for row in rows if row.type != "none" and row.seen == (kind == "seen")]
        if found:
            metrics[kind] = sum(found) / len(found)
    shipped = settings.get("ship") and trial.kind == "simulated" and trial.scale == "paper"
    if shipped and history.stopped == "finished":
        save_tagger(tagger, path_of(settings["tagger"]), made=trial_name(trial))
    return Measured(
        metrics=metrics,
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        details={
            "mistaken": {
                f"{row.type}.{'seen' if row.seen else 'unseen'}": row.mistaken for row in rows if row.mistaken
            }
        },
    )


def trial_name(trial: Trial) -> str:
    """Give the command that makes this run again."""
    return (
        f"reasonlib run {trial.experiment} --row {trial.row} --scale {trial.scale} --data {trial.data} "
        f"--seed {trial.seed}"
    )


def path_of(tagger: str) -> Path:
    """Name the file of a shipped tagger.

    Raises
    ------
    ValueError
        If there is no such tagger.
    """
    if tagger not in KINDS:
        raise ValueError(f"tagger must be one of {', '.join(KINDS)}, got {tagger!r}")
    return Path(__file__).parents[1] / "weights" / f"tagger-{tagger}.safetensors"


def save_tagger(tagger: Tagger, path: str | Path, *, made: str, half: bool = True) -> Path:
    """Write a tagger as one safetensors file: whole, or not at all.

    Parameters
    ----------
    tagger
        Trained.
    path
        The file.
    made
        How it was trained.
    half
        Store 16 bits a number.
    """
    name = next(name for name, kind in KINDS.items() if isinstance(tagger, kind))
    about: dict[str, Any] = {
        "kind": "reasonlib tagger",
        "tagger": name,
        "config": asdict(tagger.config),
        "made": made,
    }
    return save_weights(path, tagger, half=half, metadata=about)


def load_tagger(tagger: str = "context", *, path: str | Path | None = None) -> Tagger:
    """Read a tagger that `save_tagger` wrote; by default one that ships with this library.

    Parameters
    ----------
    tagger
        ``"letters"`` or ``"context"``.
    path
        The file, where it is not the shipped one.

    Raises
    ------
    ValueError
        If there is no such tagger.
    UserError
        If the file is absent, damaged, or holds something else.
    """
    where = path_of(tagger) if path is None else Path(path)
    if not where.is_file():
        remedy = "install the library again" if path is None else "give the path that save_tagger wrote"
        raise UserError(f"there is no tagger at {where}; {remedy}")
    about = weights_metadata(where)
    if about.get("kind") != "reasonlib tagger" or about.get("tagger") != tagger:
        raise UserError(f"{where}: holds no tagger {tagger}; give the path that save_tagger wrote")
    try:
        model = KINDS[tagger](TaggerConfig(**json.loads(about["config"])))
        model.load_state_dict({name: tensor.float() for name, tensor in load_weights(where).items()})
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise UserError(f"{where}: a damaged tagger ({reason}); make it again") from error
    return model.eval()
