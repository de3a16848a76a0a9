"""Boxes: how much two overlap, how one is written relative to another, and which of many to keep.

A box is ``(x0, y0, x1, y1)`` in pixels: its left, upper, right and lower edge. All functions take any leading
axes, so that a batch of panels is one call.

Source: Girshick et al. (2014), "Rich feature hierarchies", appendix C (the coding); Ren et al. (2015),
"Faster R-CNN", section 3.1.2. https://arxiv.org/abs/1506.01497

Axes: N boxes, M other boxes.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

__all__ = ["area", "clip", "decode", "encode", "iou", "nms", "sides"]

LARGEST = math.log(1000 / 16)  # greatest step of log width: keeps the exponential of a wild guess finite


def sides(boxes: Float[Tensor, "*N 4"]) -> Float[Tensor, "*N 2"]:
    """Width and height, in pixels."""
    return boxes[..., 2:] - boxes[..., :2]


def area(boxes: Float[Tensor, "*N 4"]) -> Float[Tensor, "*N"]:
    """Area in square pixels; 0 for a box without extent."""
    return sides(boxes).clamp(min=0).prod(-1)


def iou(boxes: Float[Tensor, "*B N 4"], others: Float[Tensor, "*B M 4"]) -> Float[Tensor, "*B N M"]:
    """Intersection over union of every box with every other: 1 where they agree, 0 where they are apart.

    >>> iou(torch.tensor([[0., 0., 2., 2.]]), torch.tensor([[1., 0., 3., 2.], [2., 0., 4., 2.]]))
    tensor([[0.3333, 0.0000]])
    """
    # excerpt: iou
    first, second = boxes.unsqueeze(-2), others.unsqueeze(-3)  # every pair
    # width and height of the shared part: least right edge less greatest left edge
    shared = torch.minimum(
        first[..., 2:],
        second[..., 2:],
    ) - torch.maximum(first[..., :2], second[..., :2])
    intersection = shared.clamp(min=0).prod(-1)  # 0 where they are apart
    return intersection / (
        area(first) + area(second) - intersection  # the union
    ).clamp(min=1e-9)
    # end excerpt


def encode(boxes: Float[Tensor, "*N 4"], anchors: Float[Tensor, "*N 4"]) -> Float[Tensor, "*N 4"]:
    """Write a box relative to an anchor: shift of its centre, and logarithm of the ratio of sides.

    Ren et al. (2015), eq. 2: ``((x - x_a) / w_a, (y - y_a) / h_a, log(w / w_a), log(h / h_a))``.
    """
    # excerpt: encode
    size, anchor = sides(boxes), sides(anchors)  # width and height of each
    shift = (
        (
            boxes[..., :2]
            + boxes[..., 2:]  # twice the centre of the box
            - anchors[..., :2]
            - anchors[..., 2:]  # twice that of the anchor
        )
        / 2
    )
    return torch.cat([shift / anchor, torch.log(size / anchor)], -1)
    # end excerpt


def decode(code: Float[Tensor, "*N 4"], anchors: Float[Tensor, "*N 4"]) -> Float[Tensor, "*N 4"]:
    """Read what `encode` wrote: ``decode(encode(boxes, anchors), anchors)`` is ``boxes``."""
    anchor = sides(anchors)
    centre = (anchors[..., :2] + anchors[..., 2:]) / 2 + code[..., :2] * anchor
    half = torch.exp(code[..., 2:].clamp(max=LARGEST)) * anchor / 2
    return torch.cat([centre - half, centre + half], -1)


def clip(boxes: Float[Tensor, "*N 4"], side: float) -> Float[Tensor, "*N 4"]:
    """Cut boxes to a canvas, leaving each at least a pixel."""
    low = boxes[..., :2].clamp(0, side - 1)
    return torch.cat([low, torch.maximum(boxes[..., 2:].clamp(max=side), low + 1)], -1)


def nms(
    boxes: Float[Tensor, "*B N 4"], scores: Float[Tensor, "*B N"], threshold: float
) -> Bool[Tensor, "*B N"]:
    """Suppress boxes that overlap a better one: which to keep.

    The rule goes from the best box to the worst: keep a box unless it overlaps one already kept by more than
    `threshold`. Here all boxes decide at once, again and again until nothing changes. After round ``n`` the
    best ``n`` boxes are as the rule wants them, so the end is exactly its result, mostly after a few rounds.

    Parameters
    ----------
    boxes, scores
        Of equal scores the first box is the better one.
    threshold
        Largest intersection over union that two kept boxes may have.
    """
    order = scores.argsort(dim=-1, descending=True, stable=True)
    ranked = torch.gather(boxes, -2, order.unsqueeze(-1).expand_as(boxes))
    better = torch.ones(boxes.shape[-2], boxes.shape[-2], dtype=torch.bool, device=boxes.device).tril(-1)
    rivals = (
        iou(ranked, ranked) > threshold
    ) & better  # (*B, N, N): row n lists the better boxes that n overlaps
    keep = torch.ones_like(scores, dtype=torch.bool)
    while True:
        now = ~(rivals & keep.unsqueeze(-2)).any(-1)
        if torch.equal(now, keep):
            return torch.zeros_like(keep).scatter(-1, order, keep)
        keep = now
