"""What a detector is trained on: boxes, attributes and which slots exist.

Axes: B or M panels, G objects of a panel.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from reasonlib.visual_iq.data import render
from reasonlib.visual_iq.data.example import POSITION_OF
from reasonlib.visual_iq.data.panels import Panels
from reasonlib.visual_iq.data.symmetry import indistinguishable_levels

__all__ = ["DetectionTargets", "detection_targets"]


class DetectionTargets(NamedTuple):
    """What there is on a batch of panels.

    Attributes
    ----------
    boxes
        Left, top, right and bottom in pixels.
    entities
        Levels of type (0 for a vacant slot), size, colour and angle.
    present
        Which of the G rows stand for something.
    angles
        Probability of each angle label, where several look the same; None takes the label alone.
    """

    boxes: Float[Tensor, "B G 4"]
    entities: Int[Tensor, "B G 4"]
    present: Bool[Tensor, "B G"]
    angles: Float[Tensor, "B G 8"] | None = None


def detection_targets(panels: Panels) -> DetectionTargets:
    """Write down what there is on panels; angles that look the same are equally right."""
    same = indistinguishable_levels(panels, "angle").astype(np.float32)
    return DetectionTargets(
        boxes=torch.from_numpy(render.entity_boxes(*panels).astype(np.float32)),
        entities=torch.from_numpy(panels.entities.astype(np.int64)),
        present=torch.from_numpy(POSITION_OF[panels.configuration] >= 0),
        angles=torch.from_numpy(same / same.sum(-1, keepdims=True).clip(1)),
    )
