"""Metrics of a detector: what it finds on panels, beside what is there.

Source: An (2021), section 3.3.3 and table 3.1.

Axes: M panels, S 9 slots, D detections, A 4 attributes, E located entities, L levels.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from reasonlib.visual_iq.data import render
from reasonlib.visual_iq.data.example import POSITION_OF
from reasonlib.visual_iq.data.panels import Panels
from reasonlib.visual_iq.data.symmetry import indistinguishable_levels, symmetric_angles
from reasonlib.visual_iq.models.detector.boxes import iou
from reasonlib.visual_iq.models.detector.detector import Detector
from reasonlib.visual_iq.models.detector.perceive import nearest_positions

__all__ = ["measure"]

# Measuring --------------------------------------------------------------------------------------------------


def measure(
    model: Detector, panels: Panels, *, threshold: float = 0.9, batch: int = 64, overlap: float = 0.5
) -> dict[str, float]:
    """Compare what is found on panels with what is there.

    Parameters
    ----------
    model
        A trained model.
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
    boxes, scores, levels = _detect(model, panels, threshold=threshold, batch=batch)
    positions = POSITION_OF[panels.configuration]  # (M, S), -1 where the configuration has no slot
    true_boxes = render.entity_boxes(*panels).astype(np.float32)
    located, object_index = _locate(boxes, scores, torch.from_numpy(true_boxes), positions >= 0, overlap)
    row, detection = np.nonzero(located)
    slot = object_index[row, detection]
    guess, truth = levels.numpy()[row, detection], panels.entities[row, slot].astype(int)
    detected_positions = nearest_positions(boxes.numpy()[row, detection], guess)
    right = guess[:, 0] == truth[:, 0]
    entity = (truth[:, 0] > 0) & (guess[:, 0] > 0)
    result = {
        "recall": _share(_marked(positions.shape, row[right], slot[right])[positions >= 0]),
        "precision": float(right.sum() / max(1, int((scores > 0).sum()))),
        "type": _share(right),
    }
    same_drawing = {
        name: indistinguishable_levels(panels, name)[row, slot][entity] for name in ("size", "angle")
    }
    result |= _level_metrics(guess[entity], truth[entity], same_drawing)
    fair = _allowed(same_drawing["size"], guess[entity, 1]) & (guess[entity, 2] == truth[entity, 2])
    all_correct = right & (detected_positions == positions[row, slot])
    all_correct[np.flatnonzero(entity)[~fair]] = False
    result["position"] = _share(detected_positions == positions[row, slot])
    result["box_l1"] = _share(np.abs(boxes.numpy()[row, detection] - true_boxes[row, slot]))
    correct_slots = _marked(positions.shape, row[all_correct], slot[all_correct])
    extra = (scores > 0).sum(-1).numpy() > (positions >= 0).sum(-1)
    result["panel"] = _share((correct_slots | (positions < 0)).all(-1) & ~extra)
    return result


def _detect(
    model: Detector, panels: Panels, *, threshold: float, batch: int
) -> tuple[Float[Tensor, "M D 4"], Float[Tensor, "M D"], Int[Tensor, "M D A"]]:
    """Draw panels, 512 at a time, and return the boxes, probabilities and levels of what is detected."""
    columns: list[list[Tensor]] = [[] for _ in range(3)]
    for start in range(0, len(panels.configuration), 512):
        chunk = Panels(*(tensor[start : start + 512] for tensor in panels))
        detected = model.detect_batch(render.render_panels(*chunk), threshold=threshold, batch=batch)
        for column, tensor in zip(columns, detected, strict=True):
            column.append(tensor)
    boxes, scores, levels = (torch.cat(column) for column in columns)
    return boxes, scores, levels


def _locate(
    boxes: Float[Tensor, "M D 4"],
    scores: Float[Tensor, "M D"],
    true_boxes: Float[Tensor, "M S 4"],
    present: Bool[ndarray, "M S"],
    overlap: float,
) -> tuple[Bool[ndarray, "M D"], Int[ndarray, "M D"]]:
    """Find the slot that each detection overlaps most, and whether by as much as `overlap`."""
    table = iou(boxes, true_boxes).masked_fill(~torch.from_numpy(present)[:, None], -1.0)
    overlaps, slot = table.max(-1)
    return ((overlaps >= overlap) & (scores > 0)).numpy(), slot.numpy()


def _level_metrics(
    guess: Int[ndarray, "E A"], truth: Int[ndarray, "E A"], same_drawing: dict[str, Bool[ndarray, "E _"]]
) -> dict[str, float]:
    """Compare the size, colour and angle of located entities with what was drawn, exactly and fairly."""
    same_by_symmetry = symmetric_angles()[truth[:, 0], truth[:, 3]]
    return {
        "size": _share(guess[:, 1] == truth[:, 1]),
        "colour": _share(guess[:, 2] == truth[:, 2]),
        "angle": _share(guess[:, 3] == truth[:, 3]),
        "size_fair": _share(_allowed(same_drawing["size"], guess[:, 1])),
        "angle_fair": _share(_allowed(same_by_symmetry, guess[:, 3])),
        "size_limit": _share(1 / same_drawing["size"].sum(-1)),
        "angle_limit": _share(1 / same_drawing["angle"].sum(-1)),
        "angle_blind": _share(1 / same_by_symmetry.sum(-1)),
    }


def _allowed(levels: Bool[ndarray, "E L"], guess: Int[ndarray, "E"]) -> Bool[ndarray, "E"]:
    """Tell which guesses are among the levels that count as right."""
    return levels[np.arange(len(guess)), guess]


def _marked(shape: tuple[int, ...], row: ndarray, slot: ndarray) -> Bool[ndarray, "M S"]:
    marked = np.zeros(shape, dtype=bool)
    marked[row, slot] = True
    return marked


def _share(values: ndarray) -> float:
    return float(np.mean(values)) if np.size(values) else float("nan")
