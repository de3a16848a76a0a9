"""Boxes to a fraction of a pixel: the detector's first head trained further, on patches cut out once.

Training a detector spends nearly all its time on the pyramid. Once the pyramid is as it should be, patches
of features can be cut out and kept, and the head that reads type and box from them learns a hundred times
faster: the boxes from the absolute error of their edges, in pixels, which is what the source reports; the
types from what the head itself said before, on objects and on proposals that hold none, so that nothing it
knew is lost.

Source: An (2021), section 3.3.3 (mean L1 error of a box, 0.13 pixels).

Axes: R boxes, F features of a patch and where it lies.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Unpack

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.training import RunOptions
from reasonlib.visual_iq.data import detection_targets, render
from reasonlib.visual_iq.data.example import CANVAS
from reasonlib.visual_iq.data.panels import random_panels
from reasonlib.visual_iq.experiments import detection
from reasonlib.visual_iq.models.detector.boxes import clip, decode
from reasonlib.visual_iq.models.detector.detector import Detector
from reasonlib.visual_iq.models.detector.heads import CLASSES, Head

__all__ = ["Patches", "Recipe", "box_error", "extract_patches", "finetune"]

JITTER = (0.05, 0.01, 0.003)
"""How far boxes are moved before a patch is cut out of them, in sides of the box: a first look, a second."""
PROPOSALS_PER_PANEL = 8
"""Proposals of a panel that are cut out beside, to remember what background looks like."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the head is trained further.

    Raises `ValueError` if a number is below 1.
    """

    panels: int = 4000
    steps: int = 6000
    batch_size: int = 256  # boxes
    lr: float = 1e-3
    keep: float = 1.0  # weight of what was said of the types

    def __post_init__(self) -> None:
        check_at_least(self, 1, "panels", "steps", "batch_size")


class Patches(NamedTuple):
    """What the head reads, and what it should say.

    Attributes
    ----------
    inputs : (R, F)
        A patch of features and where it lies.
    boxes : (R, 4)
        The boxes they were cut out of, in pixels.
    true : (R, 4)
        The boxes of the objects; of a proposal, its own.
    is_object : (R,)
        1 for a box around an object, 0 for a proposal, of which only the type is learned.
    types : (R, 7)
        Probabilities of the classes, as the head said before.
    """

    inputs: Float[Tensor, "R F"]
    boxes: Float[Tensor, "R 4"]
    true: Float[Tensor, "R 4"]
    is_object: Float[Tensor, "R"]
    types: Float[Tensor, "R T"]

    def take(self, items: Int[Tensor, "M"]) -> "Patches":
        """Take some of them, in 32 bits."""
        return Patches(*(part[items].float() for part in self))


@torch.no_grad()
def extract_patches(model: Detector, panels: int, *, seed: int, batch: int = 64) -> Patches:
    """Cut patches out of random panels, around their objects and around proposals.

    Parameters
    ----------
    model
        A trained model.
    panels
        How many to draw.
    seed
        Draws the panels, and by how much boxes miss the objects.
    """
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    patches = []
    for start in range(0, panels, batch):
        panels_of_batch = random_panels(min(batch, panels - start), rng, detection.Recipe().weights)
        targets = detection_targets.detection_targets(panels_of_batch)
        pyramid = model.features(torch.from_numpy(render.render_panels(*panels_of_batch)))
        panel, slot = targets.present.nonzero(as_tuple=True)
        true = targets.boxes[panel, slot]
        side = (true[:, 2:] - true[:, :2]).repeat(1, 2)
        box_sets = [
            (clip(true + jitter * side * torch.randn(true.shape, generator=generator), CANVAS), true, panel)
            for jitter in JITTER
        ]
        proposed = model._propose(pyramid)
        priority = torch.rand(proposed.scores.shape, generator=generator) * (proposed.scores > 0)
        index = priority.argsort(1, descending=True)[:, :PROPOSALS_PER_PANEL]
        boxes = proposed.boxes.gather(1, index[..., None].expand(-1, -1, 4)).flatten(0, 1)
        box_sets.append((boxes, boxes, torch.arange(len(index)).repeat_interleave(index.shape[1])))
        for number, (boxes, wanted_boxes, panel_of_box) in enumerate(box_sets):
            patch = model._patches(pyramid, boxes, panel_of_box).flatten(1)
            inputs = torch.cat([patch, model.heads.box_features(boxes)], -1)
            types = model.heads.type_and_box(patch, boxes)[0].softmax(-1)
            is_object = torch.full((len(boxes),), float(number < len(JITTER)))
            patches.append((inputs.half(), boxes, wanted_boxes, is_object, types))
    return Patches(*(torch.cat(column) for column in zip(*patches, strict=True)))


def _predict(head: Head, patches: Patches, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Logits of the classes, and edges in pixels, from stored patches."""
    width = patches.inputs.shape[-1] - 6
    answer = head(patches.inputs[:, :width], patches.inputs[:, width:])
    return answer[:, : len(CLASSES)], decode(answer[:, len(CLASSES) :] / scale, patches.boxes)


@torch.no_grad()
def box_error(model: Detector, patches: Patches) -> float:
    """Mean absolute error of an edge of an object after one look, in pixels."""
    total = 0.0
    for items in torch.arange(len(patches.boxes)).split(4096):
        batch = patches.take(items)
        edges = clip(_predict(model.heads.object, batch, model.heads.scale)[1], CANVAS)
        total += float(((edges - batch.true).abs().mean(-1) * batch.is_object).sum())
    return total / float(patches.is_object.sum())


def finetune(
    model: Detector, recipe: Recipe | None = None, **options: Unpack[RunOptions]
) -> training.History:
    """Train the head of types and boxes further, in place; everything else of the detector stays.

    Parameters
    ----------
    model
        A trained model.
    recipe
        How many panels and steps.
    **options
        Of the run, see `RunOptions`; the seed draws panels and batches. Validation has panels of its own.

    Returns
    -------
    History
        A row every tenth of the steps: the loss (pixels, and nats of the types), and ``box_l1``, the error on
        other panels after one look.
    """
    recipe, seed = recipe or Recipe(), options.get("seed", 0)
    train_set = extract_patches(model, recipe.panels, seed=seed)
    valid_set = extract_patches(model, max(1, recipe.panels // 8), seed=seed + 1_000_003)
    epochs, steps_per_epoch = training.divide_steps(recipe.steps)
    head, scale = model.heads.object, model.heads.scale

    def batches(epoch: int) -> Iterator[Patches]:
        generator = torch.Generator().manual_seed(1000 * seed + epoch)
        for _ in range(steps_per_epoch):
            yield train_set.take(
                torch.randint(len(train_set.boxes), (recipe.batch_size,), generator=generator)
            )

    def loss(head: torch.nn.Module, batch: Patches) -> Tensor:
        logits, edges = _predict(head, batch, scale)  # type: ignore[arg-type]
        error = ((edges - batch.true).abs().mean(-1) * batch.is_object).sum() / batch.is_object.sum().clamp(
            min=1
        )
        return error + recipe.keep * functional.cross_entropy(logits, batch.types)

    settings = {"epochs": epochs, "schedule": "linear"}
    return training.fit_recipe(
        head,
        batches,
        recipe,
        validate=lambda _: {"box_l1": box_error(model, valid_set)},
        loss=loss,
        settings=settings,
        monitor="box_l1",
        mode="min",
        steps_per_epoch=steps_per_epoch,
        **options,
    )
