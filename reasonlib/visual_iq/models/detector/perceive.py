"""From pictures to the table of slots: what the detector found, put in its places.

::

    detections ─> nearest place of each ─> layout that most panels of the problem show ─> slots

Source: An (2021), section 3.2.1, "we match the regression output of bounding box coordinates with the
closest ground truth bounding box position".

Axes: N problems, P panels of each, M panels, D detections, S 9 slots, A 4 attributes.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from reasonlib.visual_iq.data import render
from reasonlib.visual_iq.data.example import CANVAS, CONFIGURATIONS, LEVELS, POSITION_OF, POSITIONS, SLOTS
from reasonlib.visual_iq.models.detector.detector import Detector
from reasonlib.visual_iq.models.detector.outputs import DetectionBatch

__all__ = ["PerceivedProblems", "nearest_positions", "perceive"]


class PerceivedProblems(NamedTuple):
    """What problems show: the same two arrays as `Problems` has.

    Attributes
    ----------
    configuration
        Index into `example.CONFIGURATIONS`.
    entities
        Levels of what each slot holds; zeros for a vacant slot, and for one where nothing was found.
    """

    configuration: Int[ndarray, "N"]
    entities: Int[ndarray, "N P S A"]


@cache
def slot_table() -> Int[ndarray, "7 22"]:
    """Slot of each place in each configuration; -1 where it has no such place."""
    table = np.full((len(CONFIGURATIONS), len(POSITIONS)), -1)
    for configuration, row in enumerate(POSITION_OF):
        for slot, position in enumerate(row):
            if position >= 0:
                table[configuration, position] = slot
    return table


@cache
def box_table() -> Float[ndarray, "22 6 6 8 4"]:
    """Box of what each position may show: ``[position, type, size, angle]``; of type 0, the slot itself."""
    levels = np.stack(
        np.meshgrid(*(np.arange(LEVELS[attribute]) for attribute in (0, 1, 3)), indexing="ij"), -1
    )
    kind, size, angle = levels.reshape(-1, 3).T
    table = []
    for position in range(len(POSITIONS)):
        configuration, slot = (int(indices[0]) for indices in np.nonzero(POSITION_OF == position))
        entities = np.zeros((len(kind), SLOTS, len(LEVELS)), dtype=int)
        entities[:, slot] = np.stack([kind, size, 0 * kind, angle], -1)
        table.append(render.entity_boxes(np.full(len(kind), configuration), entities)[:, slot])
    return np.stack(table).reshape(len(POSITIONS), *levels.shape[:3], 4).astype(np.float32)


def nearest_positions(boxes: Float[ndarray, "*D 4"], levels: Int[ndarray, "*D 4"]) -> Int[ndarray, "*D"]:
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
        Index into `example.PLACES`.
    """
    kind, size, _, angle = np.moveaxis(np.asarray(levels), -1, 0)
    candidates = box_table()[:, kind, size, angle]  # (22, *D, 4)
    return np.abs(candidates - boxes).sum(-1).argmin(0)


def infer_configuration(
    position: Int[ndarray, "N P D"], scores: Float[ndarray, "N P D"]
) -> Int[ndarray, "N"]:
    """Name the configuration of each problem: its slots agree best with the places seen on its panels.

    Agreement of a panel is the number of places both seen and in the layout, as a part of those in either.
    """
    occupied = np.zeros((*position.shape[:2], len(POSITIONS) + 1), dtype=bool)
    np.put_along_axis(occupied, np.where(scores > 0, position, len(POSITIONS)), True, -1)
    occupied, in_layout = occupied[..., None, :-1], slot_table() >= 0
    return ((occupied & in_layout).sum(-1) / (occupied | in_layout).sum(-1)).sum(1).argmax(-1)


def perceive(
    detector: Detector,
    images: Int[ndarray, "N P 160 160"] | Tensor,
    *,
    threshold: float = 0.9,
    batch_size: int = 64,
) -> PerceivedProblems:
    """Read problems from their pictures.

    Parameters
    ----------
    detector
        Trained, such as ``from_pretrained("detector")``.
    images
        Grey panels, 0 to 255; all panels of a problem have one layout.
    threshold
        Least probability of a type.
    batch_size
        Panels that the detector reads at once.

    Raises
    ------
    ValueError
        If the images are no problems.
    """
    shape = tuple(images.shape)
    if len(shape) != 4 or shape[2:] != (CANVAS, CANVAS):
        raise ValueError(f"images must be (N, P, {CANVAS}, {CANVAS}), got {shape}")
    detections = detector.detect_batch(
        images.reshape(-1, CANVAS, CANVAS), threshold=threshold, batch=batch_size
    )
    return assign_slots(detections, shape[1])


def assign_slots(detections: DetectionBatch, panels: int) -> PerceivedProblems:
    """Assign the detections in each problem's panels to slots; of two in one slot, keep the more certain."""
    boxes, scores, levels = (tensor.numpy().reshape(-1, panels, *tensor.shape[1:]) for tensor in detections)
    # excerpt: slots
    position = nearest_positions(boxes, levels)  # of each box, among all layouts
    configuration = infer_configuration(position, scores)  # of the whole problem
    slot = slot_table()[configuration[:, None, None], position]
    # end excerpt
    entities = np.zeros((*position.shape[:2], SLOTS, len(LEVELS)), dtype=np.int8)
    problem, panel, detection = np.nonzero((scores > 0) & (slot >= 0))
    order = np.argsort(scores[problem, panel, detection], kind="stable")  # the surest is written last
    problem, panel, detection = problem[order], panel[order], detection[order]
    levels_by_entity = levels[problem, panel, detection] * (levels[problem, panel, detection, :1] > 0)
    entities[problem, panel, slot[problem, panel, detection]] = levels_by_entity
    return PerceivedProblems(configuration, entities)
