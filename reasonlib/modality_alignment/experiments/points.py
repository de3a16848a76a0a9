"""Learn cosine similarity from pairs of points, with and without CKA (section 5.3.1, figures 5.3 and 5.4).

::

    pairs -> PairedEncoders -> -(cosine + lambda CKA)  -> fit -> cosine and CKA of all pairs, held-out pairs
                               -CKA for the first steps (warm-up)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from torch import Tensor

from reasonlib import training
from reasonlib.arguments import check_choice
from reasonlib.modality_alignment.data.datasets import load_points
from reasonlib.modality_alignment.data.points import PairedPoints
from reasonlib.modality_alignment.models.encoders import Embedded, PairedEncoders
from reasonlib.modality_alignment.models.objectives import ALIGNMENTS, cosine, retrieval
from reasonlib.nn.similarity import cka
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.settings import construct

__all__ = ["PointsRecipe", "TrainedEncoders", "draw_map", "measure_pairs", "run_points", "train_encoders"]


@dataclass(frozen=True, kw_only=True)
class PointsRecipe:
    """How two encoders are trained; the defaults are the source's (section 5.3.1).

    Raises
    ------
    ValueError
        If a count is out of range, or a name unknown.
    """

    objective: str = "cosine"  # cosine | none
    alignment: str = "cka-linear"  # a key of ALIGNMENTS
    weight: float = 0.1  # lambda; the factor of the alignment where there is an objective
    warmup_steps: int = 20  # of the alignment alone, before the epochs; "few" in the source
    epochs: int = 10
    batch_size: int = 512
    lr: float = 1e-3
    measured: int = 2  # measurements an epoch
    width: int = 32
    layers: int = 3

    def __post_init__(self) -> None:
        if self.objective not in ("cosine", "none"):
            raise ValueError(f"objective must be cosine or none, got {self.objective!r}")
        check_choice("alignment", self.alignment, ALIGNMENTS)
        if min(self.epochs, self.batch_size, self.measured) < 1 or self.warmup_steps < 0:
            raise ValueError("epochs, batch_size and measured must be at least 1, warmup_steps at least 0")


DRAWN_EPOCHS = (1, 5, 10)
"""The epochs of figure 5.4."""


class PointsBatch(NamedTuple):
    """Some pairs, and whether this step only aligns."""

    points: PairedPoints
    warming: bool


@dataclass(frozen=True)
class TrainedEncoders:
    """Encoders after training.

    Attributes
    ----------
    model
        The encoders.
    history
        One row a measurement; ``history[n]["epoch"]`` counts measurements, ``step`` optimiser steps.
    start
        Cosine and CKA before training.
    snapshots
        Embedded training pairs after some epochs.
    """

    model: PairedEncoders
    history: training.History
    start: dict[str, float]
    snapshots: dict[int, Embedded] = field(default_factory=dict)


@torch.no_grad()
def measure_pairs(model: PairedEncoders, points: PairedPoints) -> dict[str, float]:
    """Measure the representations of a set of pairs.

    Returns
    -------
    dict
        ``cosine``, the source's criterion; ``cosine.centred``, after the mean of each cloud is subtracted;
        ``cka`` and ``cka.debiased``; ``top1`` and ``rank`` of `retrieval` among at most 1,000 pairs.
    """
    a, b = model(*points)
    return {
        "cosine": float(cosine(a, b)),
        "cosine.centred": float(cosine(a - a.mean(0), b - b.mean(0))),
        "cka": float(cka(a, b)),
        "cka.debiased": float(cka(a, b, debiased=True)),
        **retrieval(a[:1000], b[:1000]),
    }


def train_encoders(
    points: PairedPoints,
    recipe: PointsRecipe,
    *,
    snapshots: Sequence[int] = (),
    **options: Unpack[training.RunOptions],
) -> TrainedEncoders:
    """Train two encoders on pairs of points.

    Parameters
    ----------
    points
        Training pairs.
    recipe
        Settings of the training.
    snapshots
        Epochs, counted from 1, after which the embedded pairs are kept.
    **options
        See `training.RunOptions`.
    """
    seed = options.get("seed", 0)
    model = PairedEncoders(points.a.shape[1], recipe.width, recipe.layers, seed=seed)
    align = ALIGNMENTS[recipe.alignment]
    kept: dict[int, Embedded] = {}

    def loss(model: PairedEncoders, batch: PointsBatch) -> Tensor:
        # excerpt: loss
        embedded = model(*batch.points)
        alignment = align(*embedded)
        if recipe.objective == "none" or batch.warming:
            return -alignment
        return -cosine(*embedded) - recipe.weight * alignment  # equation 5.4
        # end excerpt

    steps = -(-len(points.a) // recipe.batch_size)  # of one epoch
    every = max(1, steps // recipe.measured)  # steps between two measurements
    warmup = recipe.warmup_steps if recipe.alignment != "none" and recipe.objective != "none" else 0

    def batches(number: int) -> Iterator[PointsBatch]:
        between = range(number * every, (number + 1) * every)
        for done, batch in zip(between, _shuffled(points, recipe.batch_size, between, seed), strict=True):
            yield PointsBatch(batch, warming=done < warmup)

    def keep(row: dict[str, Any]) -> None:
        epoch, rest = divmod(row["step"] - warmup, steps)
        if not rest and epoch in snapshots:
            with torch.no_grad():
                kept[epoch] = model(*points)

    measure = partial(_cosine_and_cka, points)
    start = measure(model)
    history = training.fit_recipe(
        model,
        batches,
        recipe,
        settings={"epochs": -(-(warmup + recipe.epochs * steps) // every)},
        steps_per_epoch=every,
        loss=loss,
        validate=measure,
        monitor="cosine",
        on_epoch=keep,
        **{key: value for key, value in options.items() if key != "on_epoch"},  # type: ignore[arg-type]
    )
    return TrainedEncoders(model, history, start, kept)


def _shuffled(points: PairedPoints, size: int, steps: range, seed: int) -> Iterator[PairedPoints]:
    """Give the batches of some steps, counted from the start of training; each epoch has its own order."""
    each = -(-len(points.a) // size)
    for epoch, members in groupby(steps, key=lambda step: step // each):
        generator = torch.Generator().manual_seed(seed * 1_000 + epoch)
        order = torch.randperm(len(points.a), generator=generator)
        for step in members:
            rows = order[step % each * size :][:size]
            yield PairedPoints(points.a[rows], points.b[rows])


@torch.no_grad()
def _cosine_and_cka(points: PairedPoints, model: PairedEncoders) -> dict[str, float]:
    a, b = model(*points)
    return {"cosine": float(cosine(a, b)), "cka": float(cka(a, b))}


def run_points(trial: Trial) -> Measured:
    """Train one row and measure training pairs and held-out pairs.

    Metrics
    -------
    Those of `measure_pairs` on all training pairs; with ``.held_out`` on pairs that training did not see;
    ``cosine`` and ``cka`` also with ``.start``, ``.epoch_1``, ``.epoch_5`` and ``.epoch_10``. Details: the
    curve of both, and from seed 0 maps by t-SNE of some pairs, of the points themselves and after epochs.
    """
    recipe = construct(PointsRecipe, trial.settings)
    settings = trial.settings
    points, held_out = load_points(
        trial.data, pairs=settings["pairs"], held_out=settings["held_out"], seed=trial.seed
    )
    snapshots = DRAWN_EPOCHS if trial.seed == 0 else ()
    trained = train_encoders(points, recipe, snapshots=snapshots, **trial.options)
    metrics = measure_pairs(trained.model, points)
    metrics |= {f"{name}.held_out": value for name, value in measure_pairs(trained.model, held_out).items()}
    rows = [{**trained.start, "step": 0}, *trained.history]
    steps = -(-settings["pairs"] // recipe.batch_size)
    warmup = trained.history.steps_planned - recipe.epochs * steps
    for name in ("cosine", "cka"):
        metrics[f"{name}.start"] = trained.start[name]
        for row in trained.history:
            epoch, rest = divmod(row["step"] - warmup, steps)
            if not rest and epoch in DRAWN_EPOCHS:
                metrics[f"{name}.epoch_{epoch}"] = row[name]
    details: dict[str, Any] = {
        "curve": {name: [round(row[name], 4) for row in rows] for name in ("step", "cosine", "cka")}
    }
    if trial.seed == 0:
        count = settings["drawn"]
        details["tsne"] = {"data": draw_map(points, count)}
        details["tsne"] |= {str(epoch): draw_map(pair, count) for epoch, pair in trained.snapshots.items()}
    return Measured(
        metrics=metrics,
        steps_done=trained.history.steps_done,
        steps_planned=trained.history.steps_planned,
        details=details,
    )


def draw_map(pair: PairedPoints | Embedded, count: int, *, seed: int = 0) -> dict[str, list[list[float]]]:
    """Place the first points of both clouds on one map by t-SNE; returns ``a`` and ``b``, lists of (x, y)."""
    from sklearn.manifold import TSNE

    count = min(count, len(pair.a))
    both = torch.cat((pair.a[:count], pair.b[:count])).numpy()
    tsne = TSNE(perplexity=min(30.0, count / 2), init="pca", random_state=seed)
    places = np.round(tsne.fit_transform(both).astype(float), 1).tolist()
    return {"a": places[:count], "b": places[count:]}
