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

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.arguments import check_at_least
from reasonlib.visual_iq.data.detection_targets import DetectionTargets
from reasonlib.visual_iq.data.example import CANVAS, LEVELS
from reasonlib.visual_iq.models.detector.backbone import STRIDES, Pyramid, ResNet, SmallBackbone, to_ink
from reasonlib.visual_iq.models.detector.boxes import clip, decode, encode, nms
from reasonlib.visual_iq.models.detector.heads import BACKGROUND, Heads
from reasonlib.visual_iq.models.detector.outputs import (
    DetectionBatch,
    Detections,
    DetectionStages,
    split_panels,
)
from reasonlib.visual_iq.models.detector.proposals import (
    ProposalNetwork,
    Proposals,
    anchors,
    match,
    sample_balanced,
    top_boxes,
)
from reasonlib.visual_iq.models.detector.roi import roi_align

__all__ = ["Detector", "DetectorConfig"]


@dataclass(frozen=True, kw_only=True)
class DetectorConfig:
    """Sizes and thresholds of a detector.

    Raises `ValueError` if a number is out of its range.
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
                self, name, tuple(tuple(item) if isinstance(item, Sequence) else item for item in value)
            )
        if len(self.widths) != len(STRIDES) + 1:
            raise ValueError(f"widths must be {len(STRIDES) + 1} numbers, got {self.widths}")
        if len(self.anchors) != len(STRIDES) or len({len(item) for item in self.anchors}) != 1:
            raise ValueError(f"anchors must be as many on each of {len(STRIDES)} levels, got {self.anchors}")
        check_at_least(self, 1, "width", "hidden", "bins", "points", "looked_at", "kept", "found")
        if not all(0 < item < 1 for item in self.suppress):
            raise ValueError(f"suppress must be two numbers between 0 and 1, got {self.suppress}")


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
        return self.pyramid(self.backbone(to_ink(images).contiguous(memory_format=torch.channels_last)))

    def _propose(self, pyramid: list[Tensor]) -> Proposals:
        config = self.config
        return self.proposal.propose(
            pyramid,
            self.anchors,
            side=CANVAS,
            pre_nms=config.looked_at,
            post_nms=config.kept,
            iou_threshold=config.suppress[0],
        )

    def _patches(self, pyramid: list[Tensor], boxes: Tensor, panel: Tensor) -> Tensor:
        fine, strides = pyramid[:3], STRIDES[:3]
        return roi_align(fine, strides, boxes, panel, bins=self.config.bins, points=self.config.points)

    # Learning

    def forward(self, images: Tensor, targets: DetectionTargets) -> dict[str, Float[Tensor, ""]]:
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
            boxes, panel, object_index, is_object = self._examples(proposals.boxes, targets)
            levels = targets.entities[panel, object_index]
            kind = torch.where(is_object, levels[:, 0], BACKGROUND)
            code = encode(targets.boxes[panel, object_index], boxes)[is_object]
            entity = is_object & (levels[:, 0] > 0)
        patch = self._patches(pyramid, boxes, panel)
        logits, predicted, logits_by_attribute = self.heads(patch, boxes, entity)
        losses["type"] = functional.cross_entropy(logits, kind)
        size_weight = (
            (boxes[is_object, 2:] - boxes[is_object, :2]).clamp(min=1).prod(-1, keepdim=True) / 32**2
        ) ** 0.25
        difference = (
            (predicted[is_object] - code) * self.heads.scale * size_weight
        )  # else large boxes are off by more pixels
        losses["box"] = difference.abs().sum(-1).sum() / is_object.sum().clamp(min=1)
        entity_count = entity.sum().clamp(min=1)
        for attribute, (name, attribute_logits) in enumerate(
            zip(("size", "colour", "angle"), logits_by_attribute, strict=True), 1
        ):
            target = levels[entity, attribute]
            if name == "angle" and targets.angles is not None:
                target = targets.angles[panel, object_index][entity]
            losses[name] = functional.cross_entropy(attribute_logits, target, reduction="sum") / entity_count
        return losses

    def _examples(
        self, proposals: Tensor, targets: DetectionTargets
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
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
        sample = sample_balanced(
            matched.positive & real, matched.negative & real, number=self.config.sampled[1], share=0.6
        )
        panel, column = sample.valid.nonzero(as_tuple=True)
        index = sample.chosen[panel, column]
        return boxes[panel, index], panel, matched.object[panel, index], sample.positive[panel, column]

    # Looking

    def _first(self, pyramid: list[Tensor], boxes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Look at boxes (B, K, 4): better boxes, the class that suits each best, and its probability."""
        panel = torch.arange(len(boxes), device=boxes.device).repeat_interleave(boxes.shape[1])
        flat = boxes.flatten(0, 1)
        logits, code = self.heads.type_and_box(self._patches(pyramid, flat, panel), flat)
        score, kind = logits.softmax(-1)[:, :BACKGROUND].max(-1)
        better = clip(decode(code, flat), CANVAS)
        return better.view_as(boxes), kind.view(boxes.shape[:2]), score.view(boxes.shape[:2])

    def refine(self, pyramid: list[Tensor], proposals: Proposals, threshold: float) -> DetectionBatch:
        """Look twice at what was proposed, and read the attributes of what is there."""
        boxes, _, scores = self._first(pyramid, proposals.boxes)
        scores = torch.where(proposals.scores > 0, scores, 0)
        scores = torch.where(nms(boxes, scores, self.config.suppress[1]), scores, 0)
        boxes, scores = top_boxes(boxes, scores, self.config.found)
        panel, index = (scores > threshold / 3).nonzero(as_tuple=True)
        flat = boxes[panel, index]
        patch = self._patches(pyramid, flat, panel)
        logits, code = self.heads.type_and_box(patch, flat)
        confidence, kind = logits.softmax(-1)[:, :BACKGROUND].max(-1)
        levels = torch.stack(
            [kind, *(head_logits.argmax(-1) for head_logits in self.heads.attribute_logits(patch, flat))], -1
        )
        scores, refined = torch.zeros_like(scores), torch.zeros_like(boxes)
        scores[panel, index], refined[panel, index] = confidence, clip(decode(code, flat), CANVAS)
        all_levels = torch.zeros(*scores.shape, len(LEVELS), dtype=torch.long, device=scores.device)
        all_levels[panel, index] = levels
        scores = torch.where((scores >= threshold) & nms(refined, scores, self.config.suppress[1]), scores, 0)
        return DetectionBatch(refined, scores, all_levels)

    @torch.no_grad()
    def detect_batch(
        self, images: ndarray | Tensor, *, threshold: float = 0.9, batch: int = 64
    ) -> DetectionBatch:
        """Find what panels show, as arrays; see `detect`."""
        images = torch.as_tensor(images)
        if images.dim() != 3 or images.shape[1:] != (CANVAS, CANVAS):
            raise ValueError(f"images must be (M, {CANVAS}, {CANVAS}), got {tuple(images.shape)}")
        was_training = self.training
        self.eval()
        batches = [
            DetectionBatch(torch.zeros(0, 1, 4), torch.zeros(0, 1), torch.zeros(0, 1, 4, dtype=torch.long))
        ]
        for chunk in images.split(batch) if len(images) else ():
            pyramid = self.features(chunk.to(self.anchors.device))
            detections = self.refine(pyramid, self._propose(pyramid), threshold)
            batches.append(DetectionBatch(*(tensor.cpu() for tensor in detections)))
        self.train(was_training)
        return DetectionBatch(*(torch.cat(column) for column in zip(*batches[1:] or batches, strict=True)))

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
        return split_panels(self.detect_batch(images, threshold=threshold, batch=batch))

    @torch.no_grad()
    def inspect(self, image: ndarray | Tensor, *, threshold: float = 0.9) -> DetectionStages:
        """Show every stage of looking at one panel ``(160, 160)``.

        Raises
        ------
        ValueError
            If the image is no panel.
        """
        images = torch.as_tensor(np.asarray(image)).to(self.anchors.device)[None]
        if images.shape[1:] != (CANVAS, CANVAS):
            raise ValueError(f"image must be ({CANVAS}, {CANVAS}), got {tuple(images.shape[1:])}")
        was_training = self.training
        self.eval()
        pyramid = self.features(images)
        proposals = self._propose(pyramid)
        first, _, first_scores = self._first(pyramid, proposals.boxes)
        detections = self.refine(pyramid, proposals, threshold)
        self.train(was_training)
        proposed = proposals.scores[0] > 0
        return DetectionStages(
            pyramid=[level[0].float().cpu().numpy() for level in pyramid],
            anchors=self.anchors.cpu().numpy(),
            objectness=proposals.objectness[0].sigmoid().cpu().numpy(),
            proposals=proposals.boxes[0, proposed].cpu().numpy(),
            proposal_scores=proposals.scores[0, proposed].cpu().numpy(),
            first=first[0, proposed].cpu().numpy(),
            first_scores=first_scores[0, proposed].cpu().numpy(),
            detections=split_panels(detections)[0],
        )
