"""From a recipe to a training run: what the training functions of all topics share.

    recipe ─> TrainingConfig ─┐
    batches, loss, validate ──┴─> fit ─> History

A topic's training function says what is its own, the batches, the loss and the metric; the rest is here:

    def train(model, train_set, recipe, *, valid_set=None, **options: Unpack[RunOptions]) -> History:
        return fit_recipe(model, batches, recipe, loss=loss, validate=..., **options)

A run function then calls ``train(model, data, recipe, **trial.options)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypedDict, Unpack

import torch
from torch import Tensor, nn

from reasonlib.training.config import TrainingConfig
from reasonlib.training.history import History
from reasonlib.training.loop import fit
from reasonlib.training.nested import batch_weight, split_batch

__all__ = ["ADAMW_LINEAR", "RunOptions", "divide_steps", "fit_recipe", "training_config"]


ADAMW_LINEAR: Mapping[str, Any] = {
    "optimiser": "adamw",
    "weight_decay": 0.01,
    "schedule": "linear",
    "clip": 1.0,
}
"""How BERT is trained (Devlin et al. 2019, appendix A.2): a rate that rises over the warm-up, then falls."""


class RunOptions(TypedDict, total=False):
    """What a training function takes beside its model, its data and its recipe; all of it may be left out.

    Attributes
    ----------
    seed
        Orders the batches and draws whatever the model draws; 0 by default.
    minutes
        Budget; training stops cleanly when it is used up.
    checkpoint
        Folder to resume from and to write to.
    progress
        Whether to show a progress line; None: only in a terminal or a notebook.
    on_epoch
        Called with the row of each epoch.
    """

    seed: int
    minutes: float | None
    checkpoint: Path | None
    progress: bool | None
    on_epoch: Callable[[dict[str, Any]], None] | None


def training_config(recipe: Any, **settings: Any) -> TrainingConfig:
    """Translate a recipe into the settings of the training loop.

    Parameters
    ----------
    recipe
        A dataclass. Fields that `TrainingConfig` has too are taken over; others, such as a batch size, are
        the topic's own.
    **settings
        Fields of `TrainingConfig` that the recipe lacks, or means in another way.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> recipe = make_dataclass("Recipe", ["lr", "batch_size"])(lr=0.1, batch_size=32)
    >>> config = training_config(recipe, optimiser="sgd")
    >>> config.lr, config.optimiser, config.epochs
    (0.1, 'sgd', 10)
    """
    names = {field.name for field in fields(TrainingConfig)}
    shared = {field.name: getattr(recipe, field.name) for field in fields(recipe) if field.name in names}
    return TrainingConfig(**{**shared, **settings})


def divide_steps(steps: int, most: int = 10) -> tuple[int, int]:
    """Divide optimiser steps into at most `most` epochs of equal length; return epochs and steps per epoch.

    Examples
    --------
    >>> divide_steps(2000), divide_steps(4), divide_steps(15)
    ((10, 200), (4, 1), (10, 2))
    """
    epochs = min(most, steps)
    return epochs, -(-steps // epochs)


def fit_recipe(
    model: nn.Module,
    batches: Callable[[int], Iterable[Any]],
    recipe: Any,
    *,
    loss: Callable[[Any, Any], Tensor],
    settings: Mapping[str, Any] | None = None,
    validate: Callable[[Any], Mapping[str, float]] | None = None,
    monitor: str | None = None,
    mode: str | None = None,
    identity: Mapping[str, Any] | None = None,
    generators: Mapping[str, torch.Generator] | None = None,
    steps_per_epoch: int | None = None,
    shard: Callable[[Any, int, int], Any] = split_batch,
    weight: Callable[[Any], float] = batch_weight,
    on_epoch_start: Callable[[int, list[dict[str, float]]], None] | None = None,
    **options: Unpack[RunOptions],
) -> History:
    """Train a model in place as a recipe says; see `reasonlib.training.fit`.

    Parameters
    ----------
    model, batches, loss, validate, generators, steps_per_epoch, shard, weight, on_epoch_start
        As in `fit`.
    recipe, settings
        As in `training_config`; the recipe is part of the checkpoint's identity.
    monitor, mode
        The metric that decides on the best epoch: by default "accuracy", or "loss" where nothing is
        validated. "min" is best by default of names that end with "loss", "max" of others.
    identity
        What else must be equal for a checkpoint to be this run's.
    **options
        Seed, budget, checkpoint and progress of this run.
    """
    if monitor is None:
        monitor = "loss" if validate is None else "accuracy"
    config = training_config(
        recipe, **(settings or {}), seed=options.get("seed", 0), minutes=options.get("minutes")
    )
    return fit(
        model,
        batches,
        loss=loss,
        config=config,
        validate=validate,
        monitor=monitor,
        mode=mode or ("min" if monitor.endswith("loss") else "max"),
        checkpoint=options.get("checkpoint"),
        identity={"recipe": repr(recipe), **(identity or {})},
        generators=generators,
        steps_per_epoch=steps_per_epoch,
        shard=shard,
        weight=weight,
        on_epoch_start=on_epoch_start,
        on_epoch=options.get("on_epoch"),
        progress=options.get("progress"),
    )
