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
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from reasonlib import training
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.visual_iq.data import render
from reasonlib.visual_iq.data.example import CANVAS
from reasonlib.visual_iq.experiments import train_detector
from reasonlib.visual_iq.models.detector.boxes import clip, decode
from reasonlib.visual_iq.models.detector.detector import CLASSES, Detector, Head
from reasonlib.visual_iq.models.detector.perceive import SHIPPED, load_detector, read_detector, save_detector

__all__ = ["Patches", "Recipe", "box_error", "cut", "make_sharp", "sharpen"]

AHEAD = (0.05, 0.01, 0.003)
"""How far boxes are moved before a patch is cut out of them, in sides of the box: a first look, a second."""
GUARDED = ("recall", "precision", "type", "size_fair", "colour", "angle_fair", "position")
"""Shares that may not fall."""
PROPOSED = 8
"""Proposals of a panel that are cut out beside, to remember what background looks like."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the head is trained further.

    Raises
    ------
    ValueError
        If a number is below 1.
    """

    panels: int = 4000
    steps: int = 6000
    batch_size: int = 256  # boxes
    lr: float = 1e-3
    keep: float = 1.0  # weight of what was said of the types

    def __post_init__(self) -> None:
        for name in ("panels", "steps", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


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
    held : (R,)
        1 for a box around an object, 0 for a proposal, of which only the type is learnt.
    types : (R, 7)
        Probabilities of the classes, as the head said before.
    """

    inputs: Float[Tensor, "R F"]
    boxes: Float[Tensor, "R 4"]
    true: Float[Tensor, "R 4"]
    held: Float[Tensor, "R"]
    types: Float[Tensor, "R T"]

    def __len__(self) -> int:
        return len(self.boxes)

    def take(self, items: Int[Tensor, "M"]) -> "Patches":
        """Take some of them, in 32 bits."""
        return Patches(*(part[items].float() for part in self))


@torch.no_grad()
def cut(model: Detector, panels: int, *, seed: int, batch: int = 64) -> Patches:
    """Cut patches out of random panels, around their objects and around proposals.

    Parameters
    ----------
    model
        Trained.
    panels
        How many to draw.
    seed
        Draws the panels, and by how much boxes miss the objects.
    """
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    found = []
    for start in range(0, panels, batch):
        some = train_detector.random_panels(min(batch, panels - start), rng, train_detector.Recipe().weights)
        wanted = train_detector.targets(some)
        pyramid = model.features(torch.from_numpy(render.panels(*some)))
        panel, slot = wanted.present.nonzero(as_tuple=True)
        true = wanted.boxes[panel, slot]
        side = (true[:, 2:] - true[:, :2]).repeat(1, 2)
        looks = [
            (clip(true + far * side * torch.randn(true.shape, generator=generator), CANVAS), true, panel)
            for far in AHEAD
        ]
        proposed = model._propose(pyramid)
        which = torch.rand(proposed.scores.shape, generator=generator) * (proposed.scores > 0)
        index = which.argsort(1, descending=True)[:, :PROPOSED]
        boxes = proposed.boxes.gather(1, index[..., None].expand(-1, -1, 4)).flatten(0, 1)
        looks.append((boxes, boxes, torch.arange(len(index)).repeat_interleave(index.shape[1])))
        for number, (boxes, wanted_boxes, where) in enumerate(looks):
            patch = model._patches(pyramid, boxes, where).flatten(1)
            inputs = torch.cat([patch, model.heads.where(boxes)], -1)
            types = model.heads.type_and_box(patch, boxes)[0].softmax(-1)
            held = torch.full((len(boxes),), float(number < len(AHEAD)))
            found.append((inputs.half(), boxes, wanted_boxes, held, types))
    return Patches(*(torch.cat(column) for column in zip(*found, strict=True)))


def _answer(head: Head, patches: Patches, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Logits of the classes, and edges in pixels, from stored patches."""
    width = patches.inputs.shape[-1] - 6
    answer = head(patches.inputs[:, :width], patches.inputs[:, width:])
    return answer[:, : len(CLASSES)], decode(answer[:, len(CLASSES) :] / scale, patches.boxes)


@torch.no_grad()
def box_error(model: Detector, patches: Patches) -> float:
    """Mean absolute error of an edge of an object after one look, in pixels."""
    total = 0.0
    for items in torch.arange(len(patches)).split(4096):
        some = patches.take(items)
        edges = clip(_answer(model.heads.object, some, model.heads.scale)[1], CANVAS)
        total += float(((edges - some.true).abs().mean(-1) * some.held).sum())
    return total / float(patches.held.sum())


def sharpen(
    model: Detector,
    recipe: Recipe | None = None,
    *,
    seed: int = 0,
    minutes: float | None = None,
    progress: bool | None = None,
) -> training.History:
    """Train the head of types and boxes further, in place; everything else of the detector stays.

    Parameters
    ----------
    model
        Trained.
    recipe
        How many panels and steps.
    seed
        Draws panels and batches; validation has panels of its own.
    minutes
        Budget of the steps.
    progress
        As in `reasonlib.training.fit`.

    Returns
    -------
    History
        A row every tenth of the steps: the loss (pixels, and nats of the types), and ``box_l1``, the error on
        other panels after one look.
    """
    recipe = Recipe() if recipe is None else recipe
    known = cut(model, recipe.panels, seed=seed)
    held = cut(model, max(1, recipe.panels // 8), seed=seed + 1_000_003)
    epochs = min(10, recipe.steps)
    each = -(-recipe.steps // epochs)
    head, scale = model.heads.object, model.heads.scale

    def batches(epoch: int) -> Iterator[Patches]:
        generator = torch.Generator().manual_seed(1000 * seed + epoch)
        for _ in range(each):
            yield known.take(torch.randint(len(known), (recipe.batch_size,), generator=generator))

    def loss(head: torch.nn.Module, batch: Patches) -> Tensor:
        logits, edges = _answer(head, batch, scale)  # type: ignore[arg-type]
        apart = ((edges - batch.true).abs().mean(-1) * batch.held).sum() / batch.held.sum().clamp(min=1)
        return apart + recipe.keep * functional.cross_entropy(logits, batch.types)

    return training.fit(
        head,
        batches,
        loss=loss,
        config=training.TrainingConfig(
            epochs=epochs, lr=recipe.lr, schedule="linear", seed=seed, minutes=minutes
        ),
        validate=lambda _: {"box_l1": box_error(model, held)},
        monitor="box_l1",
        mode="min",
        steps_per_epoch=each,
        weight=len,
        progress=progress,
    )


def make_sharp(trial: Trial) -> Measured:
    """Sharpen the boxes of the shipped detector, measure it, and at ``paper`` scale write it in its place.

    It is written only where no share of what is found or read has fallen by more than one in a thousand.

    Settings: those of `Recipe`, and ``test_panels`` to measure on. ``before`` and ``after`` are errors of
    boxes on panels held out, after one look.
    """
    settings = trial.settings
    model = read_detector(SHIPPED)
    recipe = Recipe(panels=settings["panels"], steps=settings["steps"])
    held = cut(model, max(1, recipe.panels // 8), seed=trial.seed + 1_000_003)
    before = box_error(model, held)
    history = sharpen(model, recipe, seed=trial.seed, minutes=trial.minutes, progress=trial.progress)
    panels = train_detector.test_panels(settings["test_panels"])
    measured, shipped = (train_detector.measure(one, panels) for one in (model, read_detector(SHIPPED)))
    sound = all(measured[name] >= shipped[name] - 0.001 for name in GUARDED)
    if trial.scale == "paper" and history.stopped == "finished" and sound:
        made = {
            "command": "reasonlib run visual_iq/ship --row detector --scale paper --seed 0; then"
            f" reasonlib run {trial.experiment} --row {trial.row} --scale paper --seed {trial.seed}",
            "data": trial.data,
            "steps": f"6000, then {history.steps_done} of the head of types and boxes",
        }
        save_detector(model, SHIPPED, made)
        load_detector.cache_clear()
    return Measured(
        metrics={
            **measured,
            "before": before,
            "after": box_error(model, held),
            "box_l1_before": shipped["box_l1"],
            "written": float(sound and trial.scale == "paper" and history.stopped == "finished"),
        },
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        details={"curve": [{name: row[name] for name in ("epoch", "loss", "box_l1")} for row in history]},
    )
