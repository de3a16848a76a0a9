"""From pictures to the table of slots: what the detector found, put in its places.

::

    detections ─> nearest place of each ─> layout that most panels of the problem show ─> slots

Source: An (2021), section 3.2.1, "we match the regression output of bounding box coordinates with the
closest ground truth bounding box position".

Axes: N problems, P panels of each, M panels, D detections, S 9 slots, A 4 attributes.
"""

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from reasonlib.errors import UserError
from reasonlib.training.checkpoints import load_weights, save_weights, weights_metadata
from reasonlib.visual_iq.data import render
from reasonlib.visual_iq.data.example import CANVAS, CONFIGURATIONS, LEVELS, PLACE_OF, PLACES, SLOTS
from reasonlib.visual_iq.models.detector.detector import Detector, DetectorConfig, Found

__all__ = ["SHIPPED", "Perceived", "load_detector", "perceive", "places", "save_detector"]

SHIPPED = Path(__file__).parents[2] / "weights" / "detector.safetensors"
KIND = "reasonlib detector of entities"


class Perceived(NamedTuple):
    """What problems show: the same two arrays as `Problems` has.

    Attributes
    ----------
    configuration
        Index into `puzzle.CONFIGURATIONS`.
    entities
        Levels of what each slot holds; zeros for a vacant slot, and for one where nothing was found.
    """

    configuration: Int[ndarray, "N"]
    entities: Int[ndarray, "N P S A"]


@cache
def slot_of() -> Int[ndarray, "7 22"]:
    """Slot of each place in each configuration; -1 where it has no such place."""
    table = np.full((len(CONFIGURATIONS), len(PLACES)), -1)
    for which, row in enumerate(PLACE_OF):
        for slot, place in enumerate(row):
            if place >= 0:
                table[which, place] = slot
    return table


@cache
def box_table() -> Float[ndarray, "22 6 6 8 4"]:
    """Box of what each place may show: ``[place, type, size, angle]``; of type 0, the place itself."""
    levels = np.stack(np.meshgrid(*(np.arange(LEVELS[one]) for one in (0, 1, 3)), indexing="ij"), -1)
    kind, size, angle = levels.reshape(-1, 3).T
    table = []
    for place in range(len(PLACES)):
        which, slot = (int(one[0]) for one in np.nonzero(PLACE_OF == place))
        entities = np.zeros((len(kind), SLOTS, len(LEVELS)), dtype=int)
        entities[:, slot] = np.stack([kind, size, 0 * kind, angle], -1)
        table.append(render.boxes(np.full(len(kind), which), entities)[:, slot])
    return np.stack(table).reshape(len(PLACES), *levels.shape[:3], 4).astype(np.float32)


def places(boxes: Float[ndarray, "*D 4"], levels: Int[ndarray, "*D 4"]) -> Int[ndarray, "*D"]:
    """Find the place of each box: the one where an entity of such type, size and angle has the nearest box.

    Parameters
    ----------
    boxes
        In pixels.
    levels
        Of type, size, colour and angle. A small square in a large slot and a large one in a small slot may
        have the same box; only the level of size tells them apart.

    Returns
    -------
    array of int
        Index into `puzzle.PLACES`.
    """
    kind, size, _, angle = np.moveaxis(np.asarray(levels), -1, 0)
    there = box_table()[:, kind, size, angle]  # (22, *D, 4)
    return np.abs(there - boxes).sum(-1).argmin(0)


def named(place: Int[ndarray, "N P D"], sure: Float[ndarray, "N P D"]) -> Int[ndarray, "N"]:
    """Name the configuration of each problem: its slots agree best with the places seen on its panels.

    Agreement of a panel is the number of places both seen and in the layout, as a part of those in either.
    """
    seen = np.zeros((*place.shape[:2], len(PLACES) + 1), dtype=bool)
    np.put_along_axis(seen, np.where(sure > 0, place, len(PLACES)), True, -1)
    seen, has = seen[..., None, :-1], slot_of() >= 0
    return ((seen & has).sum(-1) / (seen | has).sum(-1)).sum(1).argmax(-1)


def perceive(
    detector: Detector,
    images: Int[ndarray, "N P 160 160"] | Tensor,
    *,
    threshold: float = 0.9,
    batch: int = 64,
) -> Perceived:
    """Read problems from their pictures.

    Parameters
    ----------
    detector
        Trained, such as `load_detector` returns.
    images
        Grey panels, 0 to 255; all panels of a problem have one layout.
    threshold
        Least probability of a type.
    batch
        Panels looked at together.

    Raises
    ------
    ValueError
        If the images are no problems.
    """
    shape = tuple(images.shape)
    if len(shape) != 4 or shape[2:] != (CANVAS, CANVAS):
        raise ValueError(f"images must be (N, P, {CANVAS}, {CANVAS}), got {shape}")
    found = detector.survey(images.reshape(-1, CANVAS, CANVAS), threshold=threshold, batch=batch)
    return arranged(found, shape[1])


def arranged(found: Found, panels: int) -> Perceived:
    """Put detections, of so many panels a problem, into slots; of two in one slot the surer stays."""
    boxes, sure, levels = (one.numpy().reshape(-1, panels, *one.shape[1:]) for one in found)
    place = places(boxes, levels)
    configuration = named(place, sure)
    slot = slot_of()[configuration[:, None, None], place]
    entities = np.zeros((*place.shape[:2], SLOTS, len(LEVELS)), dtype=np.int8)
    problem, panel, which = np.nonzero((sure > 0) & (slot >= 0))
    order = np.argsort(sure[problem, panel, which], kind="stable")  # the surest is written last
    problem, panel, which = problem[order], panel[order], which[order]
    shown = levels[problem, panel, which] * (levels[problem, panel, which, :1] > 0)
    entities[problem, panel, slot[problem, panel, which]] = shown
    return Perceived(configuration, entities)


# The trained detector that travels with the library ---------------------------------------------------------


def save_detector(detector: Detector, path: str | Path, made: dict[str, Any], *, half: bool = True) -> Path:
    """Write a detector as one file, with its sizes and how it was `made` (anything JSON can hold)."""
    about = {"kind": KIND, "config": asdict(detector.config), "made": dict(made)}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return save_weights(path, detector, half=half, metadata=about)


def read_detector(path: str | Path) -> Detector:
    """Read what `save_detector` wrote, on the CPU and ready to look.

    Raises
    ------
    UserError
        If the file is absent, damaged, or holds something else.
    """
    path = Path(path)
    if not path.is_file():
        remedy = "install the library again" if path == SHIPPED else "give the path that save_detector wrote"
        raise UserError(f"there is no detector at {path}; {remedy}")
    about = weights_metadata(path)
    if about.get("kind") != KIND:
        raise UserError(f"{path}: holds no detector; give the path that save_detector wrote")
    try:
        config = about["config"]
        detector = Detector(DetectorConfig(**(json.loads(config) if isinstance(config, str) else config)))
        detector.load_state_dict({name: one.float() for name, one in load_weights(path).items()})
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        line = " ".join(str(error).split())[:200]
        raise UserError(f"{path}: a damaged detector ({line}); make it again") from error
    return detector.eval()


@cache
def load_detector(path: str | Path | None = None) -> Detector:
    """Load a trained detector once; by default the one that ships with this library."""
    return read_detector(SHIPPED if path is None else path)
