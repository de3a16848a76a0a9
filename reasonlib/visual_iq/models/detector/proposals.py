"""Where something may be: anchors, the region proposal network, and which box stands for which object.

Source: Ren et al. (2015), "Faster R-CNN", section 3.1; Lin et al. (2017), section 4.1 (one size of anchor for
each level of a pyramid). https://arxiv.org/abs/1506.01497

Axes: B panels, C features, A anchors of all levels, G objects of a panel, present or not, K chosen.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.visual_iq.models.detector.boxes import clip, decode, encode, iou, nms

__all__ = ["Match", "ProposalNetwork", "Proposals", "anchors", "match", "sample_balanced", "top_boxes"]


def anchors(
    strides: Sequence[int], sizes: Sequence[Sequence[float]], side: int, device: torch.device | None = None
) -> Float[Tensor, "A 4"]:
    """Place square boxes around the centre of every cell of every level.

    Parameters
    ----------
    strides
        Pixels from cell to cell, of each level.
    sizes
        Sides of the anchors of each level, in pixels.
    side
        Of the canvas, in pixels.
    """
    levels = []
    for stride, of_level in zip(strides, sizes, strict=True):
        middle = (torch.arange(-(-side // stride), device=device) + 0.5) * stride
        y, x = torch.meshgrid(middle, middle, indexing="ij")
        half = torch.tensor(of_level, device=device) / 2
        centre = torch.stack([x, y, x, y], -1)[:, :, None]  # (H, W, 1, 4)
        levels.append((centre + half[:, None] * torch.tensor([-1, -1, 1, 1], device=device)).reshape(-1, 4))
    return torch.cat(levels)


class Match(NamedTuple):
    """How boxes are matched with objects.

    Attributes
    ----------
    object
        Index of the object that each box overlaps most; it is given for boxes that match no object, too.
    positive, negative
        Whether the box matches that object, or counts as background. A box may be neither.
    """

    object: Int[Tensor, "... A"]
    positive: Bool[Tensor, "... A"]
    negative: Bool[Tensor, "... A"]


def match(
    boxes: Float[Tensor, "*B A 4"],
    objects: Float[Tensor, "*B G 4"],
    present: Bool[Tensor, "*B G"],
    *,
    low: float,
    high: float,
    every: bool = False,
) -> Match:
    """Give each box the object that it overlaps most.

    Parameters
    ----------
    boxes
        Corners of the boxes.
    objects, present
        The boxes of the objects, and which of them are there.
    low, high
        A box stands for an object from an overlap of `high`, and for none below `low`.
    every
        Give every object at least the box that overlaps it most, however little that is.
    """
    overlap = iou(boxes, objects).masked_fill(~present.unsqueeze(-2), -1.0)  # (*B, A, G)
    value, index = overlap.max(-1)
    positive = value >= high
    if every:
        most = overlap.amax(-2, keepdim=True)
        closest = (overlap == most) & (most > 0)
        positive = positive | closest.any(-1)
        index = torch.where(closest.any(-1), closest.to(overlap.dtype).mul(overlap).argmax(-1), index)
    return Match(index, positive, (value < low) & ~positive)


class Sample(NamedTuple):
    """Boxes chosen to learn from: their indices, which stand for an object, and which count at all."""

    chosen: Int[Tensor, "... K"]
    positive: Bool[Tensor, "... K"]
    valid: Bool[Tensor, "... K"]


def sample_balanced(
    positive: Bool[Tensor, "*B A"], negative: Bool[Tensor, "*B A"], *, number: int, share: float
) -> Sample:
    """Draw boxes so that the many that show nothing do not drown the few that show something.

    Parameters
    ----------
    number
        K, how many to draw.
    share
        Largest part of them that may be positive; negative ones fill the rest.
    """
    noise = torch.rand(positive.shape, device=positive.device)
    positive_limit = min(max(1, round(number * share)), positive.shape[-1])
    number = min(number, positive.shape[-1])
    positive_key, positive_index = (noise * positive).topk(
        positive_limit, -1
    )  # the noise is 0 on what is not positive
    negative_key, negative_index = (noise * negative).topk(number, -1)
    positive_count = (positive_key > 0).sum(-1, keepdim=True)
    room = torch.arange(number, device=positive.device) < number - positive_count
    index, is_positive = (
        torch.cat([positive_index, negative_index], -1),
        torch.cat([positive_key > 0, torch.zeros_like(negative_key, dtype=torch.bool)], -1),
    )
    return Sample(index, is_positive, torch.cat([positive_key > 0, (negative_key > 0) & room], -1))


def top_boxes(
    boxes: Float[Tensor, "*B A 4"], scores: Float[Tensor, "*B A"], number: int
) -> tuple[Tensor, Tensor]:
    """Take the boxes of the highest scores, in descending order."""
    scores, index = scores.topk(min(number, scores.shape[-1]), -1)
    return torch.gather(boxes, -2, index.unsqueeze(-1).expand(*index.shape, 4)), scores


class Proposals(NamedTuple):
    """What the network proposes.

    Attributes
    ----------
    boxes
        In pixels, the best first.
    scores
        Probability that there is something; 0 for a box that was suppressed.
    objectness, code
        Of every anchor: log-odds that it stands for something, and the box relative to it.
    """

    boxes: Float[Tensor, "B K 4"]
    scores: Float[Tensor, "B K"]
    objectness: Float[Tensor, "B A"]
    code: Float[Tensor, "B A 4"]


class ProposalNetwork(nn.Module):
    """Say of every anchor whether it stands for something, and where exactly that is.

    Parameters
    ----------
    width
        C, of the pyramid.
    per_cell
        Anchors around each cell: the same number on every level, as all levels share one set of weights.
    """

    def __init__(self, width: int, per_cell: int) -> None:
        super().__init__()
        self.hidden = nn.Conv2d(width, width, 3, padding=1)
        self.answer = nn.Conv2d(width, 5 * per_cell, 1)

    def forward(self, pyramid: Sequence[Float[Tensor, "B C _ _"]]) -> tuple[Tensor, Tensor]:
        """Return ``objectness`` (B, A) and ``code`` (B, A, 4)."""
        answers = [self.answer(functional.relu(self.hidden(level))) for level in pyramid]
        flat = torch.cat(
            [answer.permute(0, 2, 3, 1).reshape(len(answer), -1, 5) for answer in answers], 1
        ).float()
        return flat[..., 0], flat[..., 1:]

    def propose(
        self,
        pyramid: Sequence[Float[Tensor, "B C _ _"]],
        anchors: Float[Tensor, "A 4"],
        *,
        side: int,
        pre_nms: int,
        post_nms: int,
        iou_threshold: float,
    ) -> Proposals:
        """Propose the best `post_nms` boxes: of the best `pre_nms` anchors, without near copies."""
        objectness, code = self(pyramid)
        with torch.no_grad():
            scores, index = objectness.topk(min(pre_nms, len(anchors)), -1)
            chosen = torch.gather(code, 1, index.unsqueeze(-1).expand(*index.shape, 4))
            boxes = clip(decode(chosen, anchors[index]), side)
            scores = scores.sigmoid() * nms(boxes, scores, iou_threshold)
            boxes, scores = top_boxes(boxes, scores, post_nms)
        return Proposals(boxes, scores, objectness, code)

    @staticmethod
    def loss(
        proposals: Proposals,
        anchors: Float[Tensor, "A 4"],
        objects: Float[Tensor, "B G 4"],
        present: Bool[Tensor, "B G"],
        *,
        number: int,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the losses of objectness, in nats, and of the boxes (Ren et al. 2015, eq. 1)."""
        with torch.no_grad():
            matched = match(
                anchors.expand(len(objects), -1, -1), objects, present, low=0.3, high=0.6, every=True
            )
            sample = sample_balanced(matched.positive, matched.negative, number=number, share=0.5)
            object_index = torch.gather(matched.object, 1, sample.chosen)
            target_boxes = torch.gather(objects, 1, object_index.unsqueeze(-1).expand(*object_index.shape, 4))
            code = encode(target_boxes, anchors[sample.chosen])
        logits = torch.gather(proposals.objectness, 1, sample.chosen)
        predicted = torch.gather(
            proposals.code, 1, sample.chosen.unsqueeze(-1).expand(*sample.chosen.shape, 4)
        )
        cross_entropy = functional.binary_cross_entropy_with_logits(
            logits, sample.positive.float(), reduction="none"
        )
        box_error = functional.smooth_l1_loss(predicted, code, beta=0.1, reduction="none").sum(-1)
        positive = sample.positive.sum().clamp(min=1)
        return (cross_entropy * sample.valid).sum() / sample.valid.sum().clamp(min=1), box_error[
            sample.positive
        ].sum() / positive
