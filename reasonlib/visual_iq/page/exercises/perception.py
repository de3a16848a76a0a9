"""Exercises of the chapter "Perception".

Axes: N problems, B problems of a batch, C 8 candidates, D width, S slots, A attributes.
"""

import random

import torch

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, expect_equal, hint
from reasonlib.visual_iq.data.example import ANGLES, FOLDS
from reasonlib.visual_iq.models.detector.boxes import iou

__all__ = ["check_angle_ceiling", "check_keep_best", "check_overlap"]


@exercise(title="How much do two boxes overlap?", minutes=10, points=2)
@hint("The intersection starts at the larger left and top and ends at the smaller right and bottom.")
def check_overlap(answer: Answer, seed: int) -> None:
    """Check ``overlap(ours, theirs)``: intersection over union of boxes (N, 4) with boxes (M, 4), as (N, M).

    A box is ``(left, top, right, bottom)``.
    """
    draw = torch.Generator().manual_seed(3 + 100 * seed)
    corners = 100 * torch.rand(9, 2, 2, generator=draw)
    boxes = torch.cat([corners.amin(1), corners.amax(1)], -1)
    boxes = torch.cat([boxes, torch.tensor([[200.0, 200.0, 210.0, 210.0]])])
    boxes[4] = boxes[0]  # the same box on both sides
    ours, theirs = boxes[:4], boxes[4:]

    def sides(clip: bool) -> torch.Tensor:
        low = torch.maximum(ours[:, None, :2], theirs[None, :, :2])
        high = torch.minimum(ours[:, None, 2:], theirs[None, :, 2:])
        size = high - low
        return (size.clamp(min=0) if clip else size).prod(-1)

    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    both = area[:4, None] + area[None, 4:]
    inside, unclipped = sides(True), sides(False)
    expect_close(
        answer(ours.clone(), theirs.clone()),
        inside / (both - inside),
        "the shares of the union are not right",
        wrong={
            "boxes that do not touch share nothing: clip the sides at zero before you multiply": (
                unclipped / (both - unclipped)
            ),
            "the intersection is counted twice: the union is both areas less the intersection": inside / both,
            "the axes are exchanged: a row for each of `ours`, a column for each of `theirs`": (
                inside / (both - inside)
            ).T,
            "that is the intersection itself: divide it by the union": inside,
        },
        what="the result",
    )


@exercise(title="Keep one box for each object", minutes=20, points=2)
@hint("Go through the boxes from the highest score down, and compare each with those that you have kept.")
def check_keep_best(answer: Answer, seed: int) -> None:
    """Check ``keep_best(overlaps, scores, threshold)``: non-maximum suppression, as a list of box numbers.

    ``overlaps`` (N, N) is the intersection over union of each box with each box, ``scores`` (N,) is how
    likely each holds something; no two are equal. From the best score down, a box is kept unless its overlap
    with a box kept before it is larger than ``threshold``. The result lists the kept boxes, the best first.
    """
    draw = torch.Generator().manual_seed(11 + 100 * seed)
    cases = []
    for threshold in (0.5, 0.3, 0.7, 0.5):
        # rows of boxes, each shifted a little, so that one overlaps its neighbours and not the box after next
        starts = 120 * torch.arange(3.0)[:, None] + (28 - 30 * threshold) * torch.arange(4.0)
        left = starts.flatten() + torch.rand(12, generator=draw)
        boxes = torch.stack([left, 0 * left, left + 40, 0 * left + 40], 1)
        cases.append((boxes, torch.rand(12, generator=draw), threshold))
    # three in a row, the middle one second best: it is dropped, and must not drop the third
    chain = torch.tensor([[0.0, 0, 40, 40], [10, 0, 50, 40], [20, 0, 60, 40], [200, 0, 240, 40]])
    turn = torch.randperm(4, generator=draw)
    cases.insert(0, (chain[turn], torch.tensor([0.9, 0.8, 0.7, 0.6])[turn], 0.5))
    for boxes, scores, threshold in cases:
        table = iou(boxes, boxes)
        order = scores.argsort(descending=True).tolist()
        near = (table > threshold).tolist()
        right = _apart(order, near)
        kept = answer(table.clone(), scores.clone(), threshold)
        kept = kept.tolist() if hasattr(kept, "tolist") else kept
        expect(
            isinstance(kept, (list, tuple)) and all(isinstance(number, int) for number in kept),
            "return a list of the numbers of the boxes that are kept, as Python integers, such as [4, 0]",
        )
        expect_equal(
            list(kept),
            right,
            f"keep {len(right)} of these {len(order)} boxes at threshold {threshold}, the best first",
            wrong={
                "a box that was dropped must not drop others: compare only with the boxes that are kept": [
                    box
                    for rank, box in enumerate(order)
                    if not any(near[box][other] for other in order[:rank])
                ],
                "those are the right boxes: list the one with the highest score first": sorted(right),
                "go from the highest score down: yours keeps the least likely of boxes that overlap": (
                    _apart(order[::-1], near)
                ),
                "sort by score first: yours goes through the boxes in the order in which they came": (
                    _apart(sorted(order), near)
                ),
                "that is the box with the highest score alone: boxes apart from it stay, too": order[:1],
                "that keeps every box: drop those that overlap a kept box too much": order,
            },
        )


def _apart(order: list[int], near: list[list[bool]]) -> list[int]:
    """Keep each box, in this order, that is near none of those kept before it."""
    kept: list[int] = []
    for box in order:
        if not any(near[box][other] for other in kept):
            kept.append(box)
    return kept


@exercise(title="Angles that look alike", minutes=20, points=2)
@hint("Which of the eight angles give the same picture as another? Turn the shape by each and compare.")
def check_angle_ceiling(answer: Answer, seed: int) -> None:
    """Check ``angle_ceiling(fold)``: the best share of angles that pixels allow to name.

    ``fold`` is the number of turns, up to a full one, after which a shape looks as before: 3 for a
    triangle, 4 for a square. Angles are the eight of `reasonlib.visual_iq.data.example.ANGLES`, in degrees,
    each as likely as the others. Angles that look alike cannot be told apart, so one of them is a guess.
    """
    shapes = {fold: f"a {name}" for name, fold in FOLDS.items() if fold is not None}  # a circle has no angle
    shapes |= {fold: "a shape" for fold in random.Random(seed).sample([*range(7, 25), 1, 2], 6)}
    for fold, name in shapes.items():
        angles = {(angle * fold) % 360 for angle in ANGLES}
        expect_close(
            answer(fold),
            len(angles) / len(ANGLES),
            f"for {name} with {fold} turns, {len(angles)} of the 8 angles look different",
            wrong={
                "that is how many look different: divide by the number of angles": float(len(angles)),
                "the turn is 360 / fold, not fold": len({angle % fold for angle in ANGLES}) / len(ANGLES),
                f"for {name} with {fold} turns, not every fold of 8 angles looks alike: turn each angle and "
                "compare": 1 / fold,
            },
            what="the share",
        )
