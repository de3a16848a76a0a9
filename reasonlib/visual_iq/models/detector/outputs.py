"""What a detector gives: detections of one panel, of a batch as arrays, and every stage of one detection.

Axes: B panels, D detections, A anchors, K proposals, C features.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

__all__ = ["DetectionStages", "Detections"]


class Detections(NamedTuple):
    """What was found on one panel, the surest first.

    Attributes
    ----------
    boxes
        In pixels.
    scores
        Probability of the type.
    type, size, colour, angle
        Levels; type 0 is a vacant slot, whose other levels mean nothing.
    """

    boxes: Float[ndarray, "D 4"]
    scores: Float[ndarray, "D"]
    type: Int[ndarray, "D"]
    size: Int[ndarray, "D"]
    colour: Int[ndarray, "D"]
    angle: Int[ndarray, "D"]


class DetectionBatch(NamedTuple):
    """What was found on a batch of panels, in arrays; a score of 0 is where nothing is."""

    boxes: Float[Tensor, "B D 4"]
    scores: Float[Tensor, "B D"]
    levels: Int[Tensor, "B D 4"]


class DetectionStages(NamedTuple):
    """Every stage of looking at one panel, as a chapter draws them.

    Attributes
    ----------
    pyramid
        Features of each level, the finest first.
    anchors, objectness
        All boxes that are tried, and the probability that each stands for something.
    proposals, proposal_scores
        The boxes proposed, the best first.
    first
        The same boxes after the first look, and ``first_scores`` of the type that suits each best.
    detections
        What is found in the end.
    """

    pyramid: list[Float[ndarray, "C _ _"]]
    anchors: Float[ndarray, "A 4"]
    objectness: Float[ndarray, "A"]
    proposals: Float[ndarray, "K 4"]
    proposal_scores: Float[ndarray, "K"]
    first: Float[ndarray, "K 4"]
    first_scores: Float[ndarray, "K"]
    detections: Detections


def split_panels(batch: DetectionBatch) -> list[Detections]:
    """Split what was found by panel, the surest first."""
    result = []
    for boxes, scores, levels in zip(*(tensor.cpu().numpy() for tensor in batch), strict=True):
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] > 0]
        result.append(Detections(boxes[order], scores[order], *levels[order].T))
    return result
