"""Training and measuring the detector: from random panels to the numbers of the source's Table 3.1.

The source trains on panels of the training split. We train on panels drawn at random from all that a layout
may hold, which are as many as one likes, and measure on panels of the test split.

Source: An (2021), sections 3.3.2 and 3.3.3.

Axes: M panels, S 9 slots (the objects of a panel), D detections, A 4 attributes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.tracking.experiment import Experiment, Measured, Trial, subset
from reasonlib.training import RunOptions
from reasonlib.training.settings import construct
from reasonlib.visual_iq.data import datasets, render
from reasonlib.visual_iq.data.detection_targets import DetectionTargets, detection_targets
from reasonlib.visual_iq.data.example import CONFIGURATIONS
from reasonlib.visual_iq.data.panels import held_out_panels, random_panels
from reasonlib.visual_iq.experiments.detection_metrics import measure
from reasonlib.visual_iq.models.detector.detector import Detector, DetectorConfig
from reasonlib.visual_iq.models.pretrained import from_pretrained

__all__ = ["EXPERIMENTS", "Recipe", "new_detector", "run_detector", "train"]


# Learning ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a detector is trained.

    Raises `ValueError` if a number is out of range.
    """

    steps: int = 6000
    batch_size: int = 16  # panels
    lr: float = 3e-3
    warmup: int = 100  # steps
    weight_decay: float = 1e-4
    clip: float = 5.0  # largest norm of all gradients
    half: bool = True  # features in 16 bits (bfloat16) while learning; the heads keep 32
    every: int = 100  # steps of an epoch: of a row in the history
    weights: tuple[float, ...] = (
        1,
        2,
        2,
        1,
        1,
        1.5,
        3,
    )  # share of each configuration: more of the intricate ones

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(self.weights))
        check_at_least(self, 1, "steps", "batch_size", "every")
        if len(self.weights) != len(CONFIGURATIONS) or not all(share >= 0 for share in self.weights):
            raise ValueError(f"weights must be {len(CONFIGURATIONS)} shares, got {self.weights}")


class Batch(NamedTuple):
    """Panels to learn from."""

    images: Tensor
    targets: DetectionTargets


def train(
    model: Detector,
    recipe: Recipe,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train a detector in place, on panels drawn afresh for every batch.

    Parameters
    ----------
    model
        Freshly made, or one to train further.
    recipe
        Number and size of batches, rates.
    **options
        Of the run, see `RunOptions`; the seed draws the panels, and the boxes to learn from.

    Returns
    -------
    History
        One row every `recipe.every` steps: the sum of all losses.
    """
    device = model.anchors.device
    steps, seed = min(recipe.steps, recipe.every), options.get("seed", 0)

    def batches(epoch: int) -> Iterator[Batch]:
        generator = np.random.default_rng([seed, epoch])
        for _ in range(steps):
            panels = random_panels(recipe.batch_size, generator, recipe.weights)
            images = torch.from_numpy(render.render_panels(*panels)).to(device)
            tensors = (None if tensor is None else tensor.to(device) for tensor in detection_targets(panels))
            yield Batch(images, DetectionTargets(*tensors))  # type: ignore[arg-type]  # only the last may be None

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        with torch.autocast(device.type, torch.bfloat16, enabled=recipe.half):
            losses = model(batch.images, batch.targets)
        return torch.stack(list(losses.values())).sum()

    settings = {
        "epochs": -(-recipe.steps // recipe.every),
        "optimiser": "adamw",
        "schedule": "linear",
    }
    identity = {"model": repr(model.config)}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        loss=loss,
        settings=settings,
        identity=identity,
        steps_per_epoch=steps,
        weight=lambda batch: len(batch.images),
        **options,
    )


def new_detector(settings: Mapping[str, Any], seed: int) -> Detector:
    """Make a fresh detector, or load the bundled one where ``start`` is ``bundled``."""
    config = construct(DetectorConfig, settings)
    if settings.get("start") == "bundled" and config.backbone == "small":
        return from_pretrained("detector")
    with training.seeded(seed):
        return Detector(config)


def run_detector(trial: Trial) -> Measured:
    """Train one detector and measure it on panels of the test split (see `detection_metrics.measure`).

    Settings are those of `DetectorConfig` and `Recipe`; ``start``, ``bundled`` to continue from the bundled
    weights; ``panels``, the number to measure on. ``steps`` 0 only measures.
    """
    return measure_trained(*train_detector(trial), trial)


def train_detector(trial: Trial) -> tuple[Detector, training.History | None]:
    """Train the detector of a trial; without steps there is no history."""
    settings = trial.settings
    model = new_detector(settings, trial.seed).to(trial.device)
    if settings.get("steps") == 0:
        return model, None
    return model, train(model, construct(Recipe, settings), **trial.options)


def measure_trained(model: Detector, history: training.History | None, trial: Trial) -> Measured:
    """Measure a detector on panels of the test split."""
    return Measured(
        metrics=measure(model, held_out_panels(trial.settings["panels"])),
        steps_done=1 if history is None else history.steps_done,
        steps_planned=1 if history is None else history.steps_planned,
        stopped="finished" if history is None else history.stopped,
        details={"curve": [{"epoch": row["epoch"], "loss": row["loss"]} for row in history or ()]},
    )


# Experiments ------------------------------------------------------------------------------------------------

DETECTOR = Experiment(
    name="visual_iq/detector",
    title="The detector of entities and their attributes",
    rows={
        "small": {"backbone": "small"},
        "resnet-50": {"backbone": "microsoft/resnet-50", "width": 256, "hidden": 1024, "lr": 2e-4},
        "bundled": {"start": "bundled", "steps": 0},
    },
    scales={
        "smoke": {"steps": 2, "batch_size": 4, "every": 2, "warmup": 1, "panels": 28},
        "quick": {"steps": 30, "every": 10, "warmup": 5, "panels": 560},
        "paper": {"panels": 14_000},
    },
    data=subset(datasets.KINDS, "raven"),
    run=run_detector,
    bundled=("bundled",),
)

EXPERIMENTS = (DETECTOR,)
