"""Training and measuring the detector: from random panels to the numbers of the source's Table 3.1.

The source trains on panels of the training split. We train on panels drawn at random from all that a layout
may hold, which are as many as one likes, and measure on panels of the test split.

Source: An (2021), sections 3.3.2 and 3.3.3.

Axes: M panels, S 9 slots (the objects of a panel), D detections, A 4 attributes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy import ndarray
from torch import Tensor, nn

from reasonlib import training
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.visual_iq.data import datasets, render
from reasonlib.visual_iq.data.example import (
    ANGLES,
    CANVAS,
    CONFIGURATIONS,
    FOLDS,
    LEVELS,
    PLACE_OF,
    PLACES,
    SLOTS,
    TYPES,
    Problems,
)
from reasonlib.visual_iq.models.detector.boxes import iou
from reasonlib.visual_iq.models.detector.detector import Detector, DetectorConfig, Targets
from reasonlib.visual_iq.models.detector.perceive import (
    SHIPPED,
    load_detector,
    places,
    read_detector,
    save_detector,
)

__all__ = [
    "Panels",
    "Recipe",
    "alike",
    "learn",
    "make_detector",
    "measure",
    "panels_of",
    "random_panels",
    "run_detector",
    "symmetric",
    "targets",
]

PLAIN = 5  # a grey filling, to compare pictures by: what differs in it, differs in any other

# Panels and what is on them ---------------------------------------------------------------------------------


class Panels(NamedTuple):
    """Panels without problems: a configuration each, and the table of slots."""

    configuration: Int[ndarray, "M"]
    entities: Int[ndarray, "M S A"]


def random_panels(
    number: int, generator: np.random.Generator, weights: Sequence[float] | None = None
) -> Panels:
    """Draw panels: a layout, how many entities, in which slots, and every attribute on its own.

    Parameters
    ----------
    number
        M.
    generator
        Draws them.
    weights
        Share of each configuration; by default all alike.
    """
    share = np.ones(len(CONFIGURATIONS)) if weights is None else np.asarray(weights, dtype=float)
    configuration = generator.choice(len(CONFIGURATIONS), number, p=share / share.sum())
    entities = np.zeros((number, SLOTS, len(LEVELS)), dtype=np.int8)
    for which, layout in enumerate(CONFIGURATIONS):
        members = np.flatnonzero(configuration == which)
        for part, slots in zip(layout.components, layout.parts, strict=True):
            shape = len(members), len(part.slots)
            fewest, most = part.number
            count = generator.integers(fewest, most + 1, shape[0])
            filled = generator.random(shape).argsort(1).argsort(1) < count[:, None]
            drawn = [
                generator.integers(low, high + 1, shape)
                for low, high in ((1, LEVELS[0] - 1), part.size, part.colour, (0, LEVELS[3] - 1))
            ]
            entities[members, slots] = np.stack(drawn, -1) * filled[..., None]
    return Panels(configuration, entities)


def panels_of(problems: Problems, number: int | None = None, seed: int = 0) -> Panels:
    """Take panels of problems, context and candidates: all of them, or some at random."""
    count = problems.entities.shape[1]
    entities = problems.entities.reshape(-1, *problems.entities.shape[2:])
    configuration = np.repeat(problems.configuration, count)
    if number is not None and number < len(entities):
        chosen = np.sort(np.random.default_rng(seed).choice(len(entities), number, replace=False))
        configuration, entities = configuration[chosen], entities[chosen]
    return Panels(configuration, entities)


@cache
def alike(attribute: str) -> Bool[ndarray, "22 6 6 8 L"]:
    """Tell which levels of an attribute give the same picture as an entity's own, pixel for pixel.

    A square looks the same at any quarter turn; a small one may be drawn with as many pixels as the next
    smaller. A circle's outline is not round to the pixel, so that a large one shows how it was turned.

    Parameters
    ----------
    attribute
        ``angle`` or ``size``.

    Returns
    -------
    array of bool
        ``[place, type, size, angle, level]``: whether that level would look the same there.
    """
    axis = {"size": 1, "angle": 3}[attribute]
    same = np.zeros((len(PLACES), LEVELS[0], LEVELS[1], LEVELS[3], LEVELS[axis]), dtype=bool)
    size, angle = (one.ravel() for one in np.meshgrid(*map(np.arange, (LEVELS[1], LEVELS[3])), indexing="ij"))
    for place, (row, column, height, width) in enumerate(PLACES):
        which, slot = (int(one[0]) for one in np.nonzero(PLACE_OF == place))
        rows, columns = (
            slice(max(0, int((at - side / 2) * CANVAS) - 1), int((at + side / 2) * CANVAS) + 2)
            for at, side in ((row, height), (column, width))
        )
        for kind in range(1, LEVELS[0]):
            entities = np.zeros((len(size), SLOTS, len(LEVELS)), dtype=np.int8)
            entities[:, slot] = np.stack([0 * size + kind, size, 0 * size + PLAIN, angle], -1)
            drawn = render.panels(np.full(len(size), which), entities)[:, rows, columns]
            pictures = drawn.reshape(LEVELS[1], LEVELS[3], -1)
            for level in range(LEVELS[axis]):
                other = pictures[:, level, None] if attribute == "angle" else pictures[level]
                same[place, kind, ..., level] = (pictures == other).all(-1)
    return same


@cache
def symmetric() -> Bool[ndarray, "6 8 8"]:
    """Tell which angles are the same to the eye: those that turn a shape of a type onto itself.

    >>> [int(symmetric()[kind, 0].sum()) for kind in range(1, 6)]
    [1, 4, 1, 2, 8]
    """
    same = np.zeros((LEVELS[0], LEVELS[3], LEVELS[3]), dtype=bool)
    turns = np.subtract.outer(ANGLES, ANGLES)
    for kind, name in enumerate(TYPES[1:], 1):
        folds = FOLDS[name]
        same[kind] = True if folds is None else turns * folds % 360 == 0
    return same


def _likeness(panels: Panels, attribute: str) -> Bool[ndarray, "M S L"]:
    """Which levels look like an entity's own, for each slot of panels."""
    kind, size, _, angle = np.moveaxis(panels.entities.astype(int), -1, 0)
    return alike(attribute)[PLACE_OF[panels.configuration], kind, size, angle]


def targets(panels: Panels) -> Targets:
    """Write down what there is on panels; angles that look the same are equally right."""
    same = _likeness(panels, "angle").astype(np.float32)
    return Targets(
        boxes=torch.from_numpy(render.boxes(*panels).astype(np.float32)),
        entities=torch.from_numpy(panels.entities.astype(np.int64)),
        present=torch.from_numpy(PLACE_OF[panels.configuration] >= 0),
        angles=torch.from_numpy(same / same.sum(-1, keepdims=True).clip(1)),
    )


# Learning ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a detector is trained.

    Raises
    ------
    ValueError
        If a number is out of range.
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
        for name in ("steps", "batch_size", "every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if len(self.weights) != len(CONFIGURATIONS) or not all(one >= 0 for one in self.weights):
            raise ValueError(f"weights must be {len(CONFIGURATIONS)} shares, got {self.weights}")

    def config(self, *, seed: int = 0, minutes: float | None = None) -> training.TrainingConfig:
        """Translate into the settings of the common training loop."""
        return training.TrainingConfig(
            epochs=-(-self.steps // self.every),
            lr=self.lr,
            optimiser="adamw",
            weight_decay=self.weight_decay,
            schedule="linear",
            warmup=self.warmup,
            clip=self.clip,
            seed=seed,
            minutes=minutes,
        )


class Batch(NamedTuple):
    """Panels to learn from."""

    images: Tensor
    targets: Targets


def learn(
    model: Detector,
    recipe: Recipe,
    *,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> training.History:
    """Train a detector in place, on panels drawn afresh for every batch.

    Parameters
    ----------
    model
        Freshly made, or one to train further.
    recipe
        Number and size of batches, rates.
    seed
        Draws the panels, and the boxes to learn from.
    minutes
        Budget; training stops cleanly when it is used up.
    checkpoint
        Folder to resume from and to write to.
    progress, on_epoch
        As in `reasonlib.training.fit`.

    Returns
    -------
    History
        One row every `recipe.every` steps: the sum of all losses.
    """
    device = model.anchors.device
    steps = min(recipe.steps, recipe.every)

    def batches(epoch: int) -> Iterator[Batch]:
        generator = np.random.default_rng([seed, epoch])
        for _ in range(steps):
            panels = random_panels(recipe.batch_size, generator, recipe.weights)
            images = torch.from_numpy(render.panels(*panels)).to(device)
            moved = (None if one is None else one.to(device) for one in targets(panels))
            yield Batch(images, Targets(*moved))  # type: ignore[arg-type]  # only the last may be None

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        with torch.autocast(device.type, torch.bfloat16, enabled=recipe.half):
            losses = model(batch.images, batch.targets)
        return torch.stack(list(losses.values())).sum()

    return training.fit(
        model,
        batches,
        loss=loss,
        config=recipe.config(seed=seed, minutes=minutes),
        monitor="loss",
        mode="min",
        checkpoint=checkpoint,
        identity={"recipe": repr(recipe), "model": repr(model.config)},
        steps_per_epoch=steps,
        weight=lambda batch: len(batch.images),
        progress=progress,
        on_epoch=on_epoch,
    )


# Measuring --------------------------------------------------------------------------------------------------


def measure(
    model: Detector, panels: Panels, *, threshold: float = 0.9, batch: int = 64, overlap: float = 0.5
) -> dict[str, float]:
    """Compare what is found on panels with what is there.

    Parameters
    ----------
    model
        Trained.
    panels
        Held out.
    threshold
        Least probability of a detection.
    overlap
        Least intersection over union of a detection with the object that it stands for.

    Returns
    -------
    dict
        ``recall`` (share of entities and vacant slots found, with their type), ``precision`` (share of
        detections that are right in it), ``type`` (of located ones), ``size``, ``colour``, ``angle`` (of
        located entities), ``position`` (of located ones), ``box_l1`` (pixels, mean over the four edges),
        ``panel`` (share of panels right in all but the angles). Also ``angle_fair``, which takes any angle
        for right that turns the shape onto itself, and ``size_fair``, which takes any size that is drawn
        with the same pixels; ``size_limit`` and ``angle_limit``: what a reader can reach who sees every
        pixel, but must guess among levels drawn with the same; ``angle_blind``: one who must guess among
        all angles that turn a shape onto itself.
    """
    found: list[list[Tensor]] = [[] for _ in range(3)]
    for start in range(0, len(panels.configuration), 512):
        few = Panels(*(one[start : start + 512] for one in panels))
        for column, one in zip(
            found, model.survey(render.panels(*few), threshold=threshold, batch=batch), strict=True
        ):
            column.append(one)
    boxes, sure, levels = (torch.cat(column) for column in found)
    place = PLACE_OF[panels.configuration]
    present, there = torch.from_numpy(place >= 0), torch.from_numpy(render.boxes(*panels).astype(np.float32))
    shared = iou(boxes, there).masked_fill(~present[:, None], -1.0)
    value, mine = shared.max(-1)
    located = ((value >= overlap) & (sure > 0)).numpy()
    row, which = np.nonzero(located)
    slot = mine.numpy()[row, which]
    guess, truth = levels.numpy()[row, which], panels.entities[row, slot].astype(int)
    where = places(boxes.numpy()[row, which], guess)
    right = guess[:, 0] == truth[:, 0]
    entity = (truth[:, 0] > 0) & (guess[:, 0] > 0)
    hit = np.zeros(place.shape, dtype=bool)
    hit[row[right], slot[right]] = True

    def share(values: ndarray) -> float:
        return float(np.mean(values)) if np.size(values) else float("nan")

    result = {
        "recall": share(hit[place >= 0]),
        "precision": float(right.sum() / max(1, int((sure > 0).sum()))),
        "type": share(right),
    }
    own, read = truth[entity], guess[entity]
    drawn = {name: _likeness(panels, name)[row, slot][entity] for name in ("size", "angle")}
    turned = symmetric()[own[:, 0], own[:, 3]]
    each = np.arange(len(own))
    for name, axis in (("size", 1), ("colour", 2), ("angle", 3)):
        result[name] = share(read[:, axis] == own[:, axis])
    fair = drawn["size"][each, read[:, 1]]
    result |= {
        "size_fair": share(fair),
        "angle_fair": share(turned[each, read[:, 3]]),
        "size_limit": share(1 / drawn["size"].sum(-1)),
        "angle_limit": share(1 / drawn["angle"].sum(-1)),
        "angle_blind": share(1 / turned.sum(-1)),
    }
    every = right & (where == place[row, slot])
    every[np.flatnonzero(entity)[~(fair & (read[:, 2] == own[:, 2]))]] = False
    result["position"] = share(where == place[row, slot])
    result["box_l1"] = share(np.abs(boxes.numpy()[row, which] - there.numpy()[row, slot]))
    whole = np.zeros(place.shape, dtype=bool)
    whole[row[every], slot[every]] = True
    extra = (sure > 0).sum(-1).numpy() > (place >= 0).sum(-1)
    result["panel"] = share((whole | (place < 0)).all(-1) & ~extra)
    return result


# The experiment ---------------------------------------------------------------------------------------------


def _pick(kind: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    names = {one.name for one in fields(kind)}
    return {name: value for name, value in settings.items() if name in names}


def new_detector(settings: Mapping[str, Any], seed: int) -> Detector:
    """Make a detector: a fresh one, or the shipped one where ``start`` says so."""
    config = DetectorConfig(**_pick(DetectorConfig, settings))
    if settings.get("start") == "shipped" and config.backbone == "small":
        return read_detector(SHIPPED)
    with training.seeded(seed):
        return Detector(config)


def run_detector(trial: Trial) -> Measured:
    """Train one detector and measure it on panels of the test split (see `measure`).

    Settings are those of `DetectorConfig` and `Recipe`; ``start``, ``shipped`` to go on from the weights that
    travel with the library; ``panels``, how many to measure on. ``steps`` 0 only measures.
    """
    model, history = _trained(trial)
    return _measured(model, history, trial)


def _measured(model: Detector, history: training.History | None, trial: Trial) -> Measured:
    return Measured(
        metrics=measure(model, test_panels(trial.settings["panels"])),
        steps_done=history.steps_done if history else 1,
        steps_planned=history.steps_planned if history else 1,
        stopped=history.stopped if history else "finished",
        details={"curve": [{"epoch": row["epoch"], "loss": row["loss"]} for row in history or ()]},
    )


def test_panels(number: int) -> Panels:
    """Take panels of the test split of the simulated set, as many of each layout."""
    per_configuration = max(10, 5 * -(-number // (len(CONFIGURATIONS) * 16)))
    return panels_of(datasets.load(per_configuration=min(per_configuration, 10_000)).test, number)


test_panels.__test__ = False  # type: ignore[attr-defined]  # no test, whatever pytest thinks of its name


def _trained(trial: Trial) -> tuple[Detector, training.History | None]:
    settings = trial.settings
    model = new_detector(settings, trial.seed).to(trial.device)
    if settings.get("steps") == 0:
        return model, None
    history = learn(
        model,
        Recipe(**_pick(Recipe, settings)),
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    return model, history


def make_detector(trial: Trial) -> Measured:
    """Do as `run_detector` does, and at ``paper`` scale write the detector where the library looks for it."""
    model, history = _trained(trial)
    measured = _measured(model, history, trial)
    if trial.scale == "paper" and history is not None and history.stopped == "finished":
        made = {
            "command": f"reasonlib run {trial.experiment} --row {trial.row} --scale paper",
            "seed": trial.seed,
            "data": trial.data,
            "steps": history.steps_done,
        }
        save_detector(model.cpu(), SHIPPED, made)
        load_detector.cache_clear()
    return measured
