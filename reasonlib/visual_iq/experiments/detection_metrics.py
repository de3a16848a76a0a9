"""Metrics of a detector: what it finds on panels, beside what is there.

Source: An (2021), section 3.3.3 and table 3.1.

Axes: M panels, S 9 slots, D detections.
"""

import numpy as np
import torch
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
    columns: list[list[Tensor]] = [[] for _ in range(3)]
    for start in range(0, len(panels.configuration), 512):
        chunk = Panels(*(tensor[start : start + 512] for tensor in panels))
        for column, tensor in zip(
            columns,
            model.detect_batch(render.render_panels(*chunk), threshold=threshold, batch=batch),
            strict=True,
        ):
            column.append(tensor)
    boxes, scores, levels = (torch.cat(column) for column in columns)
    positions = POSITION_OF[panels.configuration]
    present, true_boxes = (
        torch.from_numpy(positions >= 0),
        torch.from_numpy(render.entity_boxes(*panels).astype(np.float32)),
    )
    iou_table = iou(boxes, true_boxes).masked_fill(~present[:, None], -1.0)
    overlaps, object_index = iou_table.max(-1)
    located = ((overlaps >= overlap) & (scores > 0)).numpy()
    row, which = np.nonzero(located)
    slot = object_index.numpy()[row, which]
    guess, truth = levels.numpy()[row, which], panels.entities[row, slot].astype(int)
    detected_positions = nearest_positions(boxes.numpy()[row, which], guess)
    right = guess[:, 0] == truth[:, 0]
    entity = (truth[:, 0] > 0) & (guess[:, 0] > 0)
    hit = np.zeros(positions.shape, dtype=bool)
    hit[row[right], slot[right]] = True

    def share(values: ndarray) -> float:
        return float(np.mean(values)) if np.size(values) else float("nan")

    result = {
        "recall": share(hit[positions >= 0]),
        "precision": float(right.sum() / max(1, int((scores > 0).sum()))),
        "type": share(right),
    }
    true_levels, read_levels = truth[entity], guess[entity]
    same_drawing = {
        name: indistinguishable_levels(panels, name)[row, slot][entity] for name in ("size", "angle")
    }
    same_by_symmetry = symmetric_angles()[true_levels[:, 0], true_levels[:, 3]]
    rows = np.arange(len(true_levels))
    for name, axis in (("size", 1), ("colour", 2), ("angle", 3)):
        result[name] = share(read_levels[:, axis] == true_levels[:, axis])
    fair = same_drawing["size"][rows, read_levels[:, 1]]
    result |= {
        "size_fair": share(fair),
        "angle_fair": share(same_by_symmetry[rows, read_levels[:, 3]]),
        "size_limit": share(1 / same_drawing["size"].sum(-1)),
        "angle_limit": share(1 / same_drawing["angle"].sum(-1)),
        "angle_blind": share(1 / same_by_symmetry.sum(-1)),
    }
    all_correct = right & (detected_positions == positions[row, slot])
    all_correct[np.flatnonzero(entity)[~(fair & (read_levels[:, 2] == true_levels[:, 2]))]] = False
    result["position"] = share(detected_positions == positions[row, slot])
    result["box_l1"] = share(np.abs(boxes.numpy()[row, which] - true_boxes.numpy()[row, slot]))
    correct_slots = np.zeros(positions.shape, dtype=bool)
    correct_slots[row[all_correct], slot[all_correct]] = True
    extra = (scores > 0).sum(-1).numpy() > (positions >= 0).sum(-1)
    result["panel"] = share((correct_slots | (positions < 0)).all(-1) & ~extra)
    return result
