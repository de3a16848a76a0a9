"""Training models on pictures, and the experiments that measure them: the baselines of table 3.2.

    PixelSet ─ (B, 16, 80, 80) ─ model ─ (B, 8) scores

Sources: Zhang et al. (2019b), section 4 and its published code (rate, batch, epochs, size); Barrett et al.
(2018), section 4 (auxiliary training).

Axes: B problems, P 16 panels, H x W pixels, M 9 meta-targets.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least, check_choice
from reasonlib.tracking.experiment import Experiment, Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training import RunOptions
from reasonlib.training.settings import construct
from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.data.pixels import PixelBatch, PixelSet
from reasonlib.visual_iq.experiments.metrics import accuracy_by_configuration
from reasonlib.visual_iq.models.contrast import LOSSES, choice_loss
from reasonlib.visual_iq.models.pixel_models import build, forward, predict_scores

__all__ = ["EXPERIMENTS", "PIXELS", "Recipe", "evaluate", "run_pixels", "train"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model on pictures is trained; the defaults are those of CoPINet's authors.

    Raises `ValueError` if a number is out of range or the loss unknown.
    """

    epochs: int = 200
    batch_size: int = 32
    lr: float = 1e-3  # of Adam
    loss: str = "ce"  # or bce, as CoPINet's authors
    auxiliary: float = 0.0  # weight of the meta-targets' loss; 10 where WReN is published with it

    def __post_init__(self) -> None:
        check_at_least(self, 1, "batch_size")
        check_choice("loss", self.loss, LOSSES)
        check_at_least(self, 0, "auxiliary")


def evaluate(model: nn.Module, pixels: PixelSet) -> dict[str, float]:
    """Measure the share of problems that a model solves; see `metrics.accuracy_by_configuration`."""
    correct = predict_scores(model, pixels).argmax(1) == pixels.problems.target
    return accuracy_by_configuration(pixels.problems.configuration, correct)


def train(
    model: nn.Module,
    train_set: PixelSet,
    recipe: Recipe,
    *,
    valid_set: PixelSet | None = None,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train a model on pictures in place.

    Parameters
    ----------
    model
        Any that `build` makes; its `forward` takes the pictures and gives `logits`.
    train_set, valid_set
        Problems to train on, and problems to measure on after every epoch. With `valid_set`, training ends
        with the weights of the epoch that scored best there.
    recipe
        Epochs, batch, rate, loss.
    **options
        Of the run, see `RunOptions`; the seed orders the batches and draws dropout.

    Returns
    -------
    History
        One row an epoch: loss (nats) and, with `valid_set`, its accuracy.
    """
    device = next(model.parameters()).device
    steps, seed = -(-len(train_set) // recipe.batch_size), options.get("seed", 0)

    def batches(epoch: int) -> Iterator[PixelBatch]:
        order = np.random.default_rng([seed, epoch]).permutation(len(train_set))
        for items in np.array_split(order, range(recipe.batch_size, len(train_set), recipe.batch_size)):
            yield train_set.batch(items).to(device)

    def loss(model: nn.Module, batch: PixelBatch) -> Tensor:
        output = forward(model, batch)
        value = choice_loss(output.logits, batch.target, recipe.loss)
        if recipe.auxiliary:
            meta_loss = functional.binary_cross_entropy_with_logits(output.meta, batch.meta)
            value = value + recipe.auxiliary * meta_loss
        return value

    def validate(model: nn.Module) -> dict[str, float]:
        return {"accuracy": evaluate(model, valid_set)["accuracy"]} if valid_set is not None else {}

    settings = {"restore_best": valid_set is not None}
    identity = {"model": repr(model), "problems": len(train_set), "size": train_set.size}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        validate=None if valid_set is None else validate,
        loss=loss,
        settings=settings,
        identity=identity,
        steps_per_epoch=steps,
        weight=lambda batch: len(batch.target),
        **options,
    )


def run_pixels(trial: Trial) -> Measured:
    """Train one model on pictures of all configurations together and test it on each.

    Beside what `build` and `Recipe` take, its settings are ``problems`` of each configuration, 60 % to
    learn from; ``keep``, the memory of each `PixelSet` in MB; and ``lr_limit``, the highest rate that a row
    bears, chosen on validation problems: with the rates of the short scales a ResNet answers with one
    constant.
    """
    settings = {**trial.settings}
    settings["lr"] = min(settings.get("lr", Recipe.lr), settings.get("lr_limit", math.inf))
    splits = datasets.load(trial.data, per_configuration=settings["problems"])
    pixels = {
        name: PixelSet(getattr(splits, name), settings["size"], settings["keep"]) for name in splits._fields
    }
    model = build(settings, trial.seed).to(trial.device)
    history = train(
        model,
        pixels["train"],
        construct(Recipe, settings),
        valid_set=pixels["valid"],
        **trial.options,
    )
    return measured(
        history,
        {
            **evaluate(model, pixels["test"]),
            "valid": max((row["accuracy"] for row in history), default=float("nan")),
            "parameters": training.parameter_count(model),
            "problems_per_second": len(pixels["train"]) * len(history) / max(history.seconds, 1e-9),
        },
        curve=("epoch", "loss", "accuracy"),
    )


# Experiments ------------------------------------------------------------------------------------------------

PIXELS = Experiment(
    name="visual_iq/pixels",
    title="The baselines on pictures",
    rows={  # the epochs are those of the quick scale: what some minutes on one processor core allow
        "lstm": {"model": "lstm", "epochs": 4, "lr": 1e-4},
        "lstm-by-candidate": {"model": "lstm-by-candidate", "epochs": 4, "lr": 1e-4},
        "wren": {"model": "wren", "tags": True, "auxiliary": 0.0, "epochs": 4, "lr": 1e-4},
        "wren-notag-aux": {"model": "wren", "tags": False, "auxiliary": 10.0, "epochs": 4, "lr": 1e-4},
        "wren-tag-aux": {"model": "wren", "tags": True, "auxiliary": 10.0, "epochs": 4, "lr": 1e-4},
        "cnn": {"model": "cnn", "epochs": 40, "lr": 1e-4},
        "resnet": {"model": "resnet", "epochs": 10, "lr": 1e-4, "lr_limit": 3e-4},
        "resnet-drt": {"model": "resnet-drt", "epochs": 10, "lr": 1e-4, "lr_limit": 3e-4},
        "copinet": {"model": "copinet", "loss": "bce", "epochs": 2},
        "copinet-ce": {"model": "copinet", "loss": "ce", "epochs": 2},
        "copinet-no-inference": {"model": "copinet", "inference": False, "loss": "bce", "epochs": 2},
        "copinet-no-inference-ce": {"model": "copinet", "inference": False, "loss": "ce", "epochs": 2},
        "copinet-no-contrast": {
            "model": "copinet",
            "inference": False,
            "contrast": False,
            "loss": "ce",
            "epochs": 2,
        },
        "cnn-reasoner": {"model": "grid-reasoner", "loss": "bce", "epochs": 3},
        "blind-cnn": {"model": "blind-cnn", "epochs": 5},
        "blind-resnet": {"model": "blind-resnet", "epochs": 5, "lr": 1e-4, "lr_limit": 3e-4},
    },
    scales={
        "smoke": {"problems": 20, "epochs": 1, "narrow": 16, "size": 40, "lr": 1e-3, "keep": 256},
        "quick": {"problems": 10_000, "narrow": 4, "size": 40, "lr": 1e-3, "keep": 2048},
        "paper": {"problems": 10_000, "epochs": 200, "narrow": 1, "size": 80, "keep": 8192},
    },
    data=datasets.KINDS,
    run=run_pixels,
)

EXPERIMENTS = (PIXELS,)
