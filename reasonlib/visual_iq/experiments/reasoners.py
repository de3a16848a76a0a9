"""Training the reasoners on tables of entities, and the experiments that measure them.

    Problems -> TokenSet or SymbolSet -> batches -> training.fit -> accuracy by configuration

Problems may come from the simulator, from released files or from a detector: they are the same arrays.

Source: An (2021), "Towards mastering complex reasoning with Transformers", sections 3.3.2 to 3.3.5.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Unpack

import numpy as np
from torch import Tensor

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.tracking.experiment import Measured, Trial, by_scale, extend_scales, family, subset
from reasonlib.tracking.trials import measured
from reasonlib.training import RunOptions
from reasonlib.training.settings import construct, with_defaults
from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.data.encoding import TokenBatch
from reasonlib.visual_iq.data.example import CONFIGURATIONS, Problems
from reasonlib.visual_iq.data.symbols import SymbolBatch
from reasonlib.visual_iq.experiments.metrics import accuracy
from reasonlib.visual_iq.models.pretrained import BUNDLED, save_pretrained
from reasonlib.visual_iq.models.reasoner import ReasonerConfig
from reasonlib.visual_iq.models.solvers import EncodedProblems, Solver, build, encode

__all__ = ["BRISK", "EXPERIMENTS", "SCALES", "SHORT", "STEADY", "Recipe", "run_reasoner", "train"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a reasoner is trained; the defaults are the source's (section 3.3.2).

    Raises `ValueError` if the batch size is below 1.
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
        check_at_least(self, 1, "batch_size")


SHORT: dict[str, Any] = {"lr": 0.005, "schedule": "linear", "warmup": 200, "clip": 1.0, "batch_size": 64}
"""A recipe for few passes over the problems, where the source takes 400: a higher rate that ends at zero."""

BRISK: dict[str, Any] = {**SHORT, "lr": 0.003, "batch_size": 256}
"""The same for the relational model, which learns from three rows of each problem."""

STEADY: dict[str, Any] = {**SHORT, "lr": 0.002, "warmup": 500}
"""The same for the hierarchical reasoner, which at 0.005 falls to a constant answer in the second pass."""

BUNDLED_BY = {
    ("reasoner", "raven"): "reasoner",
    ("reasoner", "i-raven"): "reasoner-fair",
    ("relational", "i-raven"): "relational",
}
"""Name of the bundled weights that a model and its training data make."""


def train(
    model: Solver,
    train_set: Problems | EncodedProblems,
    recipe: Recipe,
    *,
    valid_set: Problems | EncodedProblems | None = None,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train a model in place.

    Parameters
    ----------
    model
        Fresh, or one to train further.
    train_set, valid_set
        Problems to train on, and problems to measure on after every epoch.
    recipe
        Batch size, rates, whether rows are swapped.
    **options
        Of the run, see `RunOptions`; the seed orders the batches and swaps rows.

    Returns
    -------
    History
        One row an epoch: loss (nats; see each model's ``loss``) and, with `valid_set`, ``valid_loss`` and
        ``accuracy`` there.
    """
    train_set = encode(model, train_set) if isinstance(train_set, Problems) else train_set
    valid_set = encode(model, valid_set) if isinstance(valid_set, Problems) else valid_set
    size, seed = recipe.batch_size, options.get("seed", 0)

    def batches(epoch: int) -> Iterator[TokenBatch | SymbolBatch]:
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(train_set))
        for start in range(0, len(train_set), size):
            items = order[start : start + size]
            yield train_set.batch(items, rng.random(len(items)) < 0.5 if recipe.swap else None)

    def loss(model: Solver, batch: TokenBatch | SymbolBatch) -> Tensor:
        return model.loss(batch)  # type: ignore[arg-type]

    def validate(model: Solver) -> dict[str, float]:
        assert valid_set is not None
        device = next(model.parameters()).device
        total, correct = 0.0, 0
        for start in range(0, len(valid_set), 256):
            batch = valid_set.batch(range(start, min(start + 256, len(valid_set)))).to(device)
            total += model.loss(batch).item() * len(batch)  # type: ignore[arg-type]
            correct += int((model(batch).logits.argmax(1) == batch.target).sum())
        return {"accuracy": correct / len(valid_set), "valid_loss": total / len(valid_set)}

    monitor = "loss" if valid_set is None else "valid_loss" if recipe.schedule == "plateau" else "accuracy"
    settings = {"step_every": recipe.halve_after}
    identity = {"model": repr(model.config), "problems": len(train_set)}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        validate=None if valid_set is None else validate,
        loss=loss,
        settings=settings,
        monitor=monitor,
        identity=identity,
        steps_per_epoch=ceil(len(train_set) / size),
        shard=lambda batch, index, count: batch.shard(index, count),
        weight=len,
        **options,
    )


def run_reasoner(trial: Trial) -> Measured:
    """Train one model on all configurations together and measure it on each.

    Settings: ``model`` and its config, the fields of `Recipe`, ``per_configuration`` problems (in all three
    splits), optionally ``validated`` problems a configuration to measure on after each epoch, and ``bundle``:
    a finished run at ``paper`` then replaces the bundled weights of this model and data. The data names the
    answer set of the training and test problems. ``accuracy_on_raven`` and so on are accuracies on the same
    test questions with the candidates of another answer set.
    """
    settings = trial.settings
    splits = datasets.load(trial.data, per_configuration=settings["per_configuration"])
    model = build(settings, trial.seed).to(trial.device)
    train_set, test_set = encode(model, splits.train), encode(model, splits.test)
    step = max(1, len(splits.valid) // (len(CONFIGURATIONS) * settings.get("validated", 200)))
    history = train(
        model,
        train_set,
        construct(Recipe, settings),
        valid_set=splits.valid[::step],
        **trial.options,
    )
    metrics = accuracy(model, test_set)
    for name in datasets.ANSWER_SETS:
        other = datasets.load(name, per_configuration=settings["per_configuration"]).test
        metrics[f"accuracy_on_{name}"] = accuracy(model, other)["accuracy"]
    metrics["valid"] = accuracy(model, splits.valid)["accuracy"]
    metrics["problems_per_second"] = len(train_set) * len(history) / max(history.seconds, 1e-9)
    _bundle(trial, model, history, metrics["accuracy"])
    return measured(
        history,
        metrics,
        curve=("epoch", "seconds", "loss", "accuracy", "valid_loss"),
        details={"parameters": training.parameter_count(model)},
    )


def _bundle(trial: Trial, model: Solver, history: training.History, accuracy: float) -> None:
    """Replace the bundled weights after a finished run at ``paper`` whose row asks for it."""
    name = BUNDLED_BY.get((trial.settings.get("model", "reasoner"), trial.data))
    should_bundle = trial.settings.get("bundle") and trial.scale == "paper" and history.stopped == "finished"
    if name is None or not should_bundle:
        return
    command = f"reasonlib run {trial.experiment} --row {trial.row} --scale paper --data {trial.data}"
    provenance = {
        "command": f"{command} --seed {trial.seed}",
        "steps": history.steps_done,
        "accuracy": round(accuracy, 4),
    }
    save_pretrained(BUNDLED[name], model, provenance)


# Experiments ------------------------------------------------------------------------------------------------


def _resolve(settings: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """Fill in what a row leaves to the defaults."""
    return with_defaults(settings, ReasonerConfig, Recipe)


SCALES: Mapping[str, Mapping[str, Any]] = {
    "smoke": {"per_configuration": 20, "epochs": 1, "warmup": 1},
    "quick": {"per_configuration": 500, "epochs": 20, "warmup": 100},
    "paper": {"per_configuration": 10_000, "epochs": 10},
}


_reasoners = family("visual_iq", scales=SCALES, data=datasets.KINDS, run=run_reasoner, resolve=_resolve)

REASONER = _reasoners(
    "reasoner",
    "The hierarchical Transformer and its ablations, few passes with a decaying rate",
    {
        "full": {"model": "reasoner", "bundle": True, **STEADY},
        "no-panel": {"model": "reasoner", "panel_layers": 0, **STEADY},
        "no-entity": {"model": "reasoner", "entity_layers": 0, **STEADY},
        "neither": {"model": "reasoner", "panel_layers": 0, "entity_layers": 0, **STEADY},
        "no-contrast": {"model": "reasoner", "contrast": False, **STEADY},
        "no-separators": {"model": "reasoner", "separators": False, **STEADY},
        "no-swap": {"model": "reasoner", "swap": False, **STEADY},
        "cross-entropy": {"model": "reasoner", "loss": "ce", **STEADY},
    },
)

AS_PUBLISHED = _reasoners(
    "as-published",
    "The hierarchical Transformer with the source's recipe: 400 passes, the rate halved on a plateau",
    {"full": {"model": "reasoner"}},
    scales=by_scale(per_configuration=(20, 500, 10_000), epochs=(1, 20, 400)),
)

LONGER = _reasoners(
    "longer",
    "The full hierarchical Transformer, with more passes than its ablations",
    {
        "full": {"model": "reasoner", "bundle": True, **STEADY},
        "cross-entropy": {"model": "reasoner", "loss": "ce", **STEADY},
    },
    scales=extend_scales(SCALES, quick={"epochs": 40}, paper={"epochs": 50}),
)

RELATIONAL = _reasoners(
    "relational",
    "A reasoner that predicts the missing panel, and its ablations",
    {
        "full": {"model": "relational", "bundle": True, **BRISK},
        "no-rows": {"model": "relational", "rows": False, **BRISK},
        "no-alike": {"model": "relational", "alike": False, **BRISK},
        "third-row": {"model": "relational", "every_row": False, **BRISK},
        "choose": {"model": "relational", "predict": False, "every_row": False, **BRISK},
    },
    scales={
        "smoke": {"per_configuration": 20, "epochs": 1, "warmup": 1},
        "quick": {"per_configuration": 500, "epochs": 40},
        "paper": {"per_configuration": 10_000, "epochs": 25},
    },
    data=subset(datasets.KINDS, "i-raven", "raven", "raven-fair"),
)

EXPERIMENTS = (REASONER, AS_PUBLISHED, LONGER, RELATIONAL)
