"""Training the reasoners on problems, and measuring them: one way for all of them.

    Problems -> TokenSet or SymbolSet -> batches -> training.fit -> accuracy by configuration

Problems may come from the simulator, from released files or from a detector: they are the same arrays.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.checkpoints import load_weights, save_weights, weights_metadata
from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.data.distractors import ANSWERS
from reasonlib.visual_iq.data.encoding import Batch, TokenSet
from reasonlib.visual_iq.data.example import CONFIGURATIONS, Problems
from reasonlib.visual_iq.models.candidates_only import context_blind
from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig
from reasonlib.visual_iq.models.relational import Relational, RelationalConfig, SymbolBatch, SymbolSet

__all__ = [
    "BRISK",
    "MODELS",
    "SHIPPED",
    "SHORT",
    "Recipe",
    "Shipped",
    "Solver",
    "accuracy",
    "build",
    "by_configuration",
    "encode",
    "learn",
    "load_solver",
    "run_reasoner",
    "save_solver",
    "scores",
]

Solver = Reasoner | Relational

MODELS = ("reasoner", "context-blind", "relational")

SHIPPED = {
    name: Path(__file__).parents[1] / "weights" / f"{name}.safetensors"
    for name in ("reasoner", "reasoner-fair", "relational")
}
"""Trained models that travel with the library: the reasoner trained on RAVEN and on I-RAVEN, and the
relational model, whose training sees no candidates."""

_SHIPS = {
    ("reasoner", "raven"): "reasoner",
    ("reasoner", "i-raven"): "reasoner-fair",
    ("relational", "i-raven"): "relational",
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a reasoner is trained; the defaults are the source's (section 3.3.2).

    Raises
    ------
    ValueError
        If the batch size is below 1.
    """

    epochs: int = 400
    batch_size: int = 32  # the source gives none
    lr: float = 0.001  # Adam's default
    schedule: str = "plateau"  # or linear: warm-up, then down to 0
    halve_after: int = 30  # epochs without a lower loss on the validation problems
    warmup: int = 0  # steps
    clip: float | None = None  # largest norm of all gradients
    swap: bool = True  # rows one and two change places at random

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")

    def config(self, *, seed: int = 0, minutes: float | None = None) -> training.TrainingConfig:
        """Translate into the settings of the common training loop."""
        return training.TrainingConfig(
            epochs=self.epochs,
            lr=self.lr,
            schedule=self.schedule,
            step_every=self.halve_after,
            warmup=self.warmup,
            clip=self.clip,
            seed=seed,
            minutes=minutes,
        )


SHORT: dict[str, Any] = {"lr": 0.005, "schedule": "linear", "warmup": 200, "clip": 1.0, "batch_size": 64}
"""A recipe for few passes over the problems, where the source takes 400: a higher rate that ends at zero."""

BRISK: dict[str, Any] = {**SHORT, "lr": 0.003, "batch_size": 256}
"""The same for the relational model, which learns from three rows of each problem."""


# Models and what they read ----------------------------------------------------------------------------------


def _pick(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in settings.items() if name in names}


def build(settings: Mapping[str, Any], seed: int = 0) -> Solver:
    """Make a model from the settings of a row: ``model``, one of `MODELS`, and fields of its config.

    Raises
    ------
    ValueError
        If there is no such model.
    """
    name = settings.get("model", "reasoner")
    if name == "relational":
        return Relational(RelationalConfig(**_pick(RelationalConfig, settings)), seed=seed)
    if name == "context-blind":
        return context_blind(ReasonerConfig(**_pick(ReasonerConfig, settings)), seed=seed)
    if name == "reasoner":
        return Reasoner(ReasonerConfig(**_pick(ReasonerConfig, settings)), seed=seed)
    raise ValueError(f"model must be one of {', '.join(MODELS)}, got {name!r}")


def encode(model: Solver, problems: Problems) -> TokenSet | SymbolSet:
    """Write problems as the model reads them."""
    if isinstance(model, Relational):
        return SymbolSet.of(problems, alike=model.config.alike)
    return TokenSet.of(problems)


# Measuring --------------------------------------------------------------------------------------------------


@torch.no_grad()
def scores(
    model: Solver, problems: Problems | TokenSet | SymbolSet, *, batch_size: int = 256
) -> Float[ndarray, "N C"]:
    """Give every candidate of every problem its score; the highest is the model's answer."""
    known = encode(model, problems) if isinstance(problems, Problems) else problems
    where = next(model.parameters()).device
    was_training = model.training
    model.eval()
    found = [
        model(known.batch(range(start, min(start + batch_size, len(known)))).to(where)).logits.cpu().numpy()
        for start in range(0, len(known), batch_size)
    ]
    model.train(was_training)
    return np.concatenate(found) if found else np.zeros((0, 8), dtype=np.float32)


def by_configuration(
    problems: Problems | TokenSet | SymbolSet, right: Bool[ndarray, "N"]
) -> dict[str, float]:
    """Average over all problems, and over those of each configuration that occurs."""
    shares = {"accuracy": float(right.mean())}
    for index, configuration in enumerate(CONFIGURATIONS):
        here = problems.configuration == index
        if here.any():
            shares[f"accuracy_{configuration.title}"] = float(right[here].mean())
    return shares


def accuracy(model: Solver, problems: Problems | TokenSet | SymbolSet) -> dict[str, float]:
    """Measure the share of problems solved: ``accuracy``, and ``accuracy_2x2Grid`` and so on."""
    return by_configuration(problems, scores(model, problems).argmax(1) == problems.target)


# Training ---------------------------------------------------------------------------------------------------


def learn(
    model: Solver,
    train: Problems | TokenSet | SymbolSet,
    recipe: Recipe,
    *,
    valid: Problems | TokenSet | SymbolSet | None = None,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> training.History:
    """Train a model in place.

    Parameters
    ----------
    model
        Freshly made, or one to train further.
    train, valid
        Problems to learn from, and problems to measure on after every epoch.
    recipe
        Batch size, rates, whether rows are swapped.
    seed
        Orders the batches and swaps rows.
    minutes
        Budget; training stops cleanly when it is used up.
    checkpoint
        Folder to resume from and to write to.
    progress, on_epoch
        As in `reasonlib.training.fit`.

    Returns
    -------
    History
        One row an epoch: loss (nats; see each model's ``loss``) and, with `valid`, ``valid_loss`` and
        ``accuracy`` there.
    """
    known = encode(model, train) if isinstance(train, Problems) else train
    held = encode(model, valid) if isinstance(valid, Problems) else valid
    size = recipe.batch_size

    def batches(epoch: int) -> Iterator[Batch | SymbolBatch]:
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(known))
        for start in range(0, len(known), size):
            items = order[start : start + size]
            yield known.batch(items, rng.random(len(items)) < 0.5 if recipe.swap else None)

    def loss(model: Solver, batch: Batch | SymbolBatch) -> Tensor:
        return model.loss(batch)  # type: ignore[arg-type]

    def validate(model: Solver) -> dict[str, float]:
        assert held is not None
        where = next(model.parameters()).device
        total, right = 0.0, 0
        for start in range(0, len(held), 256):
            batch = held.batch(range(start, min(start + 256, len(held)))).to(where)
            total += model.loss(batch).item() * len(batch)  # type: ignore[arg-type]
            right += int((model(batch).logits.argmax(1) == batch.target).sum())
        return {"accuracy": right / len(held), "valid_loss": total / len(held)}

    plateau = recipe.schedule == "plateau"
    monitor = "accuracy" if held is not None and not plateau else "loss" if held is None else "valid_loss"
    return training.fit(
        model,
        batches,
        loss=loss,
        config=recipe.config(seed=seed, minutes=minutes),
        validate=None if held is None else validate,
        monitor=monitor,
        mode="max" if monitor == "accuracy" else "min",
        checkpoint=checkpoint,
        identity={"recipe": repr(recipe), "model": repr(model.config), "problems": len(known)},
        steps_per_epoch=ceil(len(known) / size),
        shard=lambda batch, index, count: batch.part(index, count),
        weight=len,
        on_epoch=on_epoch,
        progress=progress,
    )


def run_reasoner(trial: Trial) -> Measured:
    """Train one model on all configurations together and measure it on each.

    Settings: ``model`` and its config, the fields of `Recipe`, ``per_configuration`` problems (in all three
    parts), optionally ``validated`` problems a configuration to measure on after each epoch, and ``ship``: a
    finished run at ``paper`` then replaces the file of `SHIPPED` for this model and data. The data names how
    the candidates were made that it learns from and is measured on. ``accuracy_on_raven`` and so on are
    accuracies on the same test questions with candidates made otherwise.
    """
    settings = trial.settings
    splits = datasets.load(trial.data, per_configuration=settings["per_configuration"])
    model = build(settings, trial.seed).to(trial.device)
    known, test = encode(model, splits.train), encode(model, splits.test)
    step = max(1, len(splits.valid) // (len(CONFIGURATIONS) * settings.get("validated", 200)))
    history = learn(
        model,
        known,
        Recipe(**_pick(Recipe, settings)),
        valid=splits.valid[::step],
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    metrics = accuracy(model, test)
    for name in ANSWERS:
        other = datasets.load(name, per_configuration=settings["per_configuration"]).test
        metrics[f"accuracy_on_{name}"] = accuracy(model, other)["accuracy"]
    metrics["valid"] = accuracy(model, splits.valid)["accuracy"]
    metrics["problems_per_second"] = len(known) * len(history) / max(history.seconds, 1e-9)
    ship = _SHIPS.get((settings.get("model", "reasoner"), trial.data)) if settings.get("ship") else None
    if ship is not None and trial.scale == "paper" and history.stopped == "finished":
        made = {
            "command": f"reasonlib run {trial.experiment} --row {trial.row} --scale paper --data {trial.data}"
            f" --seed {trial.seed}",
            "steps": history.steps_done,
            "accuracy": round(metrics["accuracy"], 4),
        }
        save_solver(SHIPPED[ship], model, made)
    return Measured(
        metrics=metrics,
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        details={
            "parameters": training.parameter_count(model),
            "curve": [
                {name: row[name] for name in ("epoch", "seconds", "loss", "accuracy", "valid_loss")}
                for row in history
            ],
        },
    )


# Trained models ---------------------------------------------------------------------------------------------


class Shipped(NamedTuple):
    """A trained model and how it was made."""

    model: Solver
    made: Mapping[str, Any]


def save_solver(path: str | Path, model: Solver, made: Mapping[str, Any], *, half: bool = True) -> Path:
    """Write a trained model as one safetensors file: whole, or not at all.

    Parameters
    ----------
    path
        The file.
    model
        Trained.
    made
        How: anything JSON can hold.
    half
        Store 16 bits a number.
    """
    about = {
        "kind": "reasonlib visual reasoner",
        "model": type(model).__name__,
        "config": asdict(model.config),
        "made": dict(made),
    }
    return save_weights(path, model, half=half, metadata=about)


def load_solver(name: str | Path = "reasoner") -> Shipped:
    """Read what `save_solver` wrote.

    Parameters
    ----------
    name
        ``reasoner``, ``reasoner-fair`` or ``relational`` for those that ship with the library, or a file.

    Returns
    -------
    Shipped
        The model in float32 on the CPU, ready to answer.

    Raises
    ------
    UserError
        If the file is absent, damaged, or holds something else.
    """
    path = SHIPPED[name] if isinstance(name, str) and name in SHIPPED else Path(name)
    if not path.is_file():
        remedy = (
            "install the library again" if name in SHIPPED else f"choose {' or '.join(SHIPPED)}, or a file"
        )
        raise UserError(f"there is no trained reasoner at {path}; {remedy}")
    about: dict[str, Any] = dict(weights_metadata(path))
    if about.get("kind") != "reasonlib visual reasoner":
        raise UserError(f"{path}: holds no visual reasoner; give a file that save_solver wrote")
    try:
        config = json.loads(about["config"])
        model: Solver = (
            Relational(RelationalConfig(**config))
            if about["model"] == "Relational"
            else Reasoner(ReasonerConfig(**config))
        )
        model.load_state_dict({key: tensor.float() for key, tensor in load_weights(path).items()})
        made = json.loads(about.get("made", "{}"))
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()
        raise UserError(f"{path}: a damaged visual reasoner ({line}); make it again") from error
    return Shipped(model.eval(), made)
