"""What is read from a patch: type and a better box, size, colour and angle, each by a head of its own.

Source: An (2021), section 3.2.1.

Axes: R boxes, F features of a patch, O outputs.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.visual_iq.data.example import CANVAS, LEVELS, TYPES

__all__ = ["BACKGROUND", "CLASSES", "Heads"]

CLASSES = (*TYPES, "background")
"""Classes of a box; the first is a vacant slot."""
BACKGROUND = len(TYPES)
ATTRIBUTE_LEVELS = LEVELS[1:]  # levels of size, colour and angle


class Head(nn.Module):
    """Two hidden layers from a patch of features, and where it lies, to some numbers."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(inputs + 6, hidden), nn.Linear(hidden, hidden)
        self.answer = nn.Linear(hidden, outputs)

    def forward(
        self, patch: Float[Tensor, "R F"], box_features: Float[Tensor, "R 6"]
    ) -> Float[Tensor, "R O"]:
        """Answer for each box."""
        hidden = functional.relu(self.first(torch.cat([patch, box_features.to(patch.dtype)], -1)))
        return self.answer(functional.relu(self.second(hidden))).float()


class Heads(nn.Module):
    """One head for type and box, and one for each other attribute."""

    scale: Tensor
    SCALE = (10.0, 10.0, 5.0, 5.0)  # of the four numbers of a box's code, as in the source's library

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.object = Head(inputs, hidden + hidden // 2, len(CLASSES) + 4)
        self.attributes = nn.ModuleList(Head(inputs, hidden, levels) for levels in ATTRIBUTE_LEVELS)
        self.register_buffer("scale", torch.tensor(self.SCALE), persistent=False)

    @staticmethod
    def box_features(boxes: Float[Tensor, "R 4"]) -> Float[Tensor, "R 6"]:
        """Tell a head where a box lies: its edges from -1 to 1 and its sides on a logarithmic scale."""
        side = (boxes[:, 2:] - boxes[:, :2]).clamp(min=1)
        return torch.cat([boxes / (CANVAS / 2) - 1, torch.log(side / CANVAS) + 1], -1)

    def type_and_box(self, patch: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of the classes (R, 7) and the code of a better box (R, 4)."""
        # excerpt: heads
        # type, background or empty: seven logits; then four numbers of a better box
        answer = self.object(patch.flatten(1), self.box_features(boxes))
        # end excerpt
        return answer[:, : len(CLASSES)], answer[:, len(CLASSES) :] / self.scale

    def attribute_logits(self, patch: Tensor, boxes: Tensor) -> list[Float[Tensor, "R _"]]:
        """Return the logits of size, colour and angle."""
        # excerpt: heads
        # every head reads the patch and where its box lies
        flat, box_features = patch.flatten(1), self.box_features(boxes)
        # size, colour, angle
        return [head(flat, box_features) for head in self.attributes]
        # end excerpt

    def forward(self, patch: Tensor, boxes: Tensor, entity: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Answer for all boxes, and for those with an `entity` in them read its attributes too."""
        with torch.autocast(patch.device.type, enabled=False):  # an edge of a pixel is lost in 16 bits
            logits, code = self.type_and_box(patch, boxes)
            return logits, code, self.attribute_logits(patch[entity], boxes[entity])
