r"""The source's perception: Faster R-CNN whose classes are types of entities, with a head for each attribute.

::

    panel ─> backbone ─> pyramid ─┬─> proposal network ─> boxes ─┐
                                  │                              v
                                  └────────────────────────> RoI align ─> patch ─┬─> type | background, box
                                                                                 ├─> size
                                                                                 ├─> colour
                                                                                 └─> angle

A vacant slot is an object too: it has a class of its own, "empty", and the slot's box. Only the rest of the
layout tells where it is.

Source: An (2021), section 3.2.1; Ren et al. (2015). https://arxiv.org/abs/1506.01497

Axes: B panels, G objects of a panel, A anchors, K proposals, R sampled boxes, C features.

Notes
-----
Departures from the source: every head is also told where its box lies (four numbers), since the same circle
has another size level in a larger slot; and the boxes found are looked at a second time, by the same heads,
before their attributes are read, which takes a fifth off the error of the boxes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.visual_iq.data.example import CANVAS, LEVELS, TYPES
from reasonlib.visual_iq.models.detector.backbone import STRIDES, Pyramid, ResNet, SmallBackbone, ink_of
from reasonlib.visual_iq.models.detector.boxes import clip, decode, encode, nms
from reasonlib.visual_iq.models.detector.proposals import (
    ProposalNetwork,
    Proposals,
    anchors,
    balanced,
    best,
    match,
)
from reasonlib.visual_iq.models.detector.roi import roi_align

__all__ = ["BACKGROUND", "CLASSES", "Detections", "Detector", "DetectorConfig", "Heads", "Look", "Targets"]

CLASSES = (*TYPES, "background")
"""Classes of a box; the first is a vacant slot."""
BACKGROUND = len(TYPES)
EXTRA = LEVELS[1:]  # levels of size, colour and angle


@dataclass(frozen=True, kw_only=True)
class DetectorConfig:
    """Sizes and thresholds of a detector.

    Raises
    ------
    ValueError
        If a number is out of its range.
    """

    backbone: str = "small"  # or a name or folder of a ResNet; the source has microsoft/resnet-50
    widths: tuple[int, ...] = (16, 32, 48, 64, 96)  # of the small backbone, after each halving
    width: int = 32  # C, of the pyramid; 256 in Lin et al. (2017)
    hidden: int = 96  # units of each head; 1024 in Lin et al. (2017)
    bins: int = 7  # side of a patch
    points: int = 1  # readings along a side of a bin
    anchors: tuple[tuple[float, ...], ...] = ((12, 18), (26, 38), (52, 76), (104, 148))  # pixels, by level
    looked_at: int = 100  # anchors that may become proposals
    kept: int = 24  # K, proposals
    found: int = 12  # most objects of a panel; there are nine at most
    suppress: tuple[float, float] = (0.7, 0.4)  # greatest overlap of two proposals, and of two objects
    sampled: tuple[int, int] = (96, 20)  # anchors and boxes of a panel to learn from
    jitter: float = 0.08  # shift of true boxes among them, in sides of the box

    def __post_init__(self) -> None:
        for name in ("widths", "anchors", "suppress", "sampled"):
            value = getattr(self, name)
            object.__setattr__(
                self, name, tuple(tuple(one) if isinstance(one, Sequence) else one for one in value)
            )
        if len(self.widths) != len(STRIDES) + 1:
            raise ValueError(f"widths must be {len(STRIDES) + 1} numbers, got {self.widths}")
        if len(self.anchors) != len(STRIDES) or len({len(one) for one in self.anchors}) != 1:
            raise ValueError(f"anchors must be as many on each of {len(STRIDES)} levels, got {self.anchors}")
        for name in ("width", "hidden", "bins", "points", "looked_at", "kept", "found"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not all(0 < one < 1 for one in self.suppress):
            raise ValueError(f"suppress must be two numbers between 0 and 1, got {self.suppress}")


class Targets(NamedTuple):
    """What there is on a batch of panels.

    Attributes
    ----------
    boxes
        In pixels.
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


class Found(NamedTuple):
    """What was found on a batch of panels, in arrays; a score of 0 is where nothing is."""

    boxes: Float[Tensor, "B D 4"]
    scores: Float[Tensor, "B D"]
    levels: Int[Tensor, "B D 4"]


class Look(NamedTuple):
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


class Head(nn.Module):
    """Two hidden layers from a patch of features, and where it lies, to some numbers."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(inputs + 6, hidden), nn.Linear(hidden, hidden)
        self.answer = nn.Linear(hidden, outputs)

    def forward(self, patch: Float[Tensor, "R F"], where: Float[Tensor, "R 6"]) -> Float[Tensor, "R O"]:
        """Answer for each box."""
        hidden = functional.relu(self.first(torch.cat([patch, where.to(patch.dtype)], -1)))
        return self.answer(functional.relu(self.second(hidden))).float()


class Heads(nn.Module):
    """One head for type and box, and one for each other attribute."""

    scale: Tensor
    SCALE = (10.0, 10.0, 5.0, 5.0)  # of the four numbers of a box's code, as in the source's library

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.object = Head(inputs, hidden + hidden // 2, len(CLASSES) + 4)
        self.attributes = nn.ModuleList(Head(inputs, hidden, levels) for levels in EXTRA)
        self.register_buffer("scale", torch.tensor(self.SCALE), persistent=False)

    @staticmethod
    def where(boxes: Float[Tensor, "R 4"]) -> Float[Tensor, "R 6"]:
        """Tell a head where a box lies: its edges from -1 to 1 and its sides on a logarithmic scale."""
        side = (boxes[:, 2:] - boxes[:, :2]).clamp(min=1)
        return torch.cat([boxes / (CANVAS / 2) - 1, torch.log(side / CANVAS) + 1], -1)

    def type_and_box(self, patch: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of the classes (R, 7) and the code of a better box (R, 4)."""
        answer = self.object(patch.flatten(1), self.where(boxes))
        return answer[:, : len(CLASSES)], answer[:, len(CLASSES) :] / self.scale

    def others(self, patch: Tensor, boxes: Tensor) -> list[Float[Tensor, "R _"]]:
        """Return the logits of size, colour and angle."""
        flat, where = patch.flatten(1), self.where(boxes)
        return [head(flat, where) for head in self.attributes]

    def forward(self, patch: Tensor, boxes: Tensor, entity: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Answer for all boxes, and for those with an `entity` in them read its attributes too."""
        with torch.autocast(patch.device.type, enabled=False):  # an edge of a pixel is lost in 16 bits
            logits, code = self.type_and_box(patch, boxes)
            return logits, code, self.others(patch[entity], boxes[entity])


class Detector(nn.Module):
    """Find the entities and the vacant slots of panels.

    Parameters
    ----------
    config
        Sizes and thresholds.
    """

    anchors: Tensor

    def __init__(self, config: DetectorConfig | None = None) -> None:
        super().__init__()
        self.config = config = DetectorConfig() if config is None else config
        small = config.backbone == "small"
        self.backbone: SmallBackbone | ResNet = (
            SmallBackbone(config.widths) if small else ResNet(config.backbone)
        )
        self.pyramid = Pyramid(self.backbone.widths, config.width)
        self.proposal = ProposalNetwork(config.width, len(config.anchors[0]))
        self.heads = Heads(config.width * config.bins**2, config.hidden)
        self.register_buffer("anchors", anchors(STRIDES, config.anchors, CANVAS), persistent=False)

    def features(self, images: Tensor) -> list[Float[Tensor, "B C _ _"]]:
        """Return the pyramid of panels of 0 (black) to 255 (white).

        A cell's features lie side by side in memory, which is faster on a CPU and what RoI align reads.
        """
        return self.pyramid(self.backbone(ink_of(images).contiguous(memory_format=torch.channels_last)))

    def _propose(self, pyramid: list[Tensor]) -> Proposals:
        config = self.config
        return self.proposal.propose(
            pyramid,
            self.anchors,
            side=CANVAS,
            looked_at=config.looked_at,
            kept=config.kept,
            overlap=config.suppress[0],
        )

    def _patches(self, pyramid: list[Tensor], boxes: Tensor, panel: Tensor) -> Tensor:
        fine, strides = pyramid[:3], STRIDES[:3]
        return roi_align(fine, strides, boxes, panel, bins=self.config.bins, points=self.config.points)

    # Learning

    def forward(self, images: Tensor, targets: Targets) -> dict[str, Float[Tensor, ""]]:
        """Return the losses: of the proposals, of type and box, and of each other attribute.

        Classification is in nats, boxes in the units of their code.
        """
        pyramid = self.features(images)
        proposals = self._propose(pyramid)
        losses = dict(
            zip(
                ("objectness", "proposal"),
                ProposalNetwork.loss(
                    proposals, self.anchors, targets.boxes, targets.present, number=self.config.sampled[0]
                ),
                strict=True,
            )
        )
        with torch.no_grad():
            boxes, panel, mine, positive = self._examples(proposals.boxes, targets)
            levels = targets.entities[panel, mine]
            kind = torch.where(positive, levels[:, 0], BACKGROUND)
            code = encode(targets.boxes[panel, mine], boxes)[positive]
            entity = positive & (levels[:, 0] > 0)
        patch = self._patches(pyramid, boxes, panel)
        logits, guess, others = self.heads(patch, boxes, entity)
        losses["type"] = functional.cross_entropy(logits, kind)
        large = (
            (boxes[positive, 2:] - boxes[positive, :2]).clamp(min=1).prod(-1, keepdim=True) / 32**2
        ) ** 0.25
        apart = (guess[positive] - code) * self.heads.scale * large  # else large boxes are off by more pixels
        losses["box"] = apart.abs().sum(-1).sum() / positive.sum().clamp(min=1)
        many = entity.sum().clamp(min=1)
        for place, (name, found) in enumerate(zip(("size", "colour", "angle"), others, strict=True), 1):
            wanted = levels[entity, place]
            if name == "angle" and targets.angles is not None:
                wanted = targets.angles[panel, mine][entity]
            losses[name] = functional.cross_entropy(found, wanted, reduction="sum") / many
        return losses

    def _examples(self, proposals: Tensor, targets: Targets) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Choose boxes to learn from: among proposals, and true boxes moved by more or less."""
        true = targets.boxes
        noise = (
            torch.randn(true.shape, device=true.device) * torch.rand_like(true[..., :1]) * self.config.jitter
        )
        size = (true[..., 2:] - true[..., :2]).repeat(1, 1, 2)
        moved = torch.where(
            targets.present[..., None], clip(true + noise * size, CANVAS), true.new_tensor([0, 0, 1, 1])
        )
        boxes = torch.cat([proposals, moved], 1)
        matched = match(boxes, true, targets.present, low=0.5, high=0.5)
        real = torch.cat([torch.ones_like(proposals[..., 0], dtype=torch.bool), targets.present], 1)
        sample = balanced(
            matched.positive & real, matched.negative & real, number=self.config.sampled[1], share=0.6
        )
        panel, which = sample.valid.nonzero(as_tuple=True)
        index = sample.chosen[panel, which]
        return boxes[panel, index], panel, matched.object[panel, index], sample.positive[panel, which]

    # Looking

    def _first(self, pyramid: list[Tensor], boxes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Look at boxes (B, K, 4): better boxes, the class that suits each best, and its probability."""
        panel = torch.arange(len(boxes), device=boxes.device).repeat_interleave(boxes.shape[1])
        flat = boxes.flatten(0, 1)
        logits, code = self.heads.type_and_box(self._patches(pyramid, flat, panel), flat)
        score, kind = logits.softmax(-1)[:, :BACKGROUND].max(-1)
        better = clip(decode(code, flat), CANVAS)
        return better.view_as(boxes), kind.view(boxes.shape[:2]), score.view(boxes.shape[:2])

    def find(self, pyramid: list[Tensor], proposals: Proposals, threshold: float) -> Found:
        """Look twice at what was proposed, and read the attributes of what is there."""
        boxes, _, scores = self._first(pyramid, proposals.boxes)
        scores = torch.where(proposals.scores > 0, scores, 0)
        scores = torch.where(nms(boxes, scores, self.config.suppress[1]), scores, 0)
        boxes, scores = best(boxes, scores, self.config.found)
        panel, which = (scores > threshold / 3).nonzero(as_tuple=True)
        flat = boxes[panel, which]
        patch = self._patches(pyramid, flat, panel)
        logits, code = self.heads.type_and_box(patch, flat)
        sure, kind = logits.softmax(-1)[:, :BACKGROUND].max(-1)
        levels = torch.stack([kind, *(one.argmax(-1) for one in self.heads.others(patch, flat))], -1)
        scores, ends = torch.zeros_like(scores), torch.zeros_like(boxes)
        scores[panel, which], ends[panel, which] = sure, clip(decode(code, flat), CANVAS)
        every = torch.zeros(*scores.shape, len(LEVELS), dtype=torch.long, device=scores.device)
        every[panel, which] = levels
        scores = torch.where((scores >= threshold) & nms(ends, scores, self.config.suppress[1]), scores, 0)
        return Found(ends, scores, every)

    @torch.no_grad()
    def survey(self, images: ndarray | Tensor, *, threshold: float = 0.9, batch: int = 64) -> Found:
        """Find what panels show, as arrays; see `detect`."""
        images = torch.as_tensor(images)
        if images.dim() != 3 or images.shape[1:] != (CANVAS, CANVAS):
            raise ValueError(f"images must be (M, {CANVAS}, {CANVAS}), got {tuple(images.shape)}")
        learning = self.training
        self.eval()
        parts = [Found(torch.zeros(0, 1, 4), torch.zeros(0, 1), torch.zeros(0, 1, 4, dtype=torch.long))]
        for some in images.split(batch) if len(images) else ():
            pyramid = self.features(some.to(self.anchors.device))
            found = self.find(pyramid, self._propose(pyramid), threshold)
            parts.append(Found(*(one.cpu() for one in found)))
        self.train(learning)
        return Found(*(torch.cat(column) for column in zip(*parts[1:] or parts, strict=True)))

    def detect(
        self, images: ndarray | Tensor, *, threshold: float = 0.9, batch: int = 64
    ) -> list[Detections]:
        """Find what panels show.

        Parameters
        ----------
        images
            ``(M, 160, 160)``, grey from 0 to 255.
        threshold
            Least probability of a type; 0.9 in the source.
        batch
            Panels looked at together.

        Raises
        ------
        ValueError
            If the images are no panels.
        """
        return unpacked(self.survey(images, threshold=threshold, batch=batch))

    @torch.no_grad()
    def look(self, image: ndarray | Tensor, *, threshold: float = 0.9) -> Look:
        """Show every stage of looking at one panel ``(160, 160)``.

        Raises
        ------
        ValueError
            If the image is no panel.
        """
        images = torch.as_tensor(np.asarray(image)).to(self.anchors.device)[None]
        if images.shape[1:] != (CANVAS, CANVAS):
            raise ValueError(f"image must be ({CANVAS}, {CANVAS}), got {tuple(images.shape[1:])}")
        learning = self.training
        self.eval()
        pyramid = self.features(images)
        proposals = self._propose(pyramid)
        first, _, first_scores = self._first(pyramid, proposals.boxes)
        found = self.find(pyramid, proposals, threshold)
        self.train(learning)
        kept = proposals.scores[0] > 0
        return Look(
            pyramid=[level[0].float().cpu().numpy() for level in pyramid],
            anchors=self.anchors.cpu().numpy(),
            objectness=proposals.objectness[0].sigmoid().cpu().numpy(),
            proposals=proposals.boxes[0, kept].cpu().numpy(),
            proposal_scores=proposals.scores[0, kept].cpu().numpy(),
            first=first[0, kept].cpu().numpy(),
            first_scores=first_scores[0, kept].cpu().numpy(),
            detections=unpacked(found)[0],
        )


def unpacked(found: Found) -> list[Detections]:
    """Split what was found by panel, the surest first."""
    result = []
    for boxes, scores, levels in zip(*(one.cpu().numpy() for one in found), strict=True):
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] > 0]
        result.append(Detections(boxes[order], scores[order], *levels[order].T))
    return result
