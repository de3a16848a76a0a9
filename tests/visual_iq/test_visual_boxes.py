"""Boxes, suppression, RoI align and matching, each beside a plain transcription."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from reasonlib.visual_iq.models.detector.boxes import area, clip, decode, encode, iou, nms, sides
from reasonlib.visual_iq.models.detector.proposals import anchors, match, sample_balanced, top_boxes
from reasonlib.visual_iq.models.detector.roi import bilinear, level_of, roi_align


def some_boxes(*shape, seed=0, side=100.0):
    generator = torch.Generator().manual_seed(seed)
    low = torch.rand(*shape, 2, generator=generator) * side * 0.7
    return torch.cat([low, low + 1 + torch.rand(*shape, 2, generator=generator) * side * 0.3], -1)


# Overlap and coding -----------------------------------------------------------------------------------------


def plain_iou(first, second):
    wide = min(first[2], second[2]) - max(first[0], second[0])
    high = min(first[3], second[3]) - max(first[1], second[1])
    both = max(wide, 0) * max(high, 0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    return both / (sum(areas) - both)


def test_overlap_is_that_of_a_plain_transcription():
    boxes, others = some_boxes(2, 5), some_boxes(2, 7, seed=1)
    overlaps = iou(boxes, others)
    assert overlaps.shape == (2, 5, 7)
    for b in range(2):
        for i in range(5):
            for j in range(7):
                assert overlaps[b, i, j].item() == pytest.approx(
                    plain_iou(boxes[b, i].tolist(), others[b, j].tolist()), abs=1e-5
                )


def test_a_box_overlaps_itself_wholly_and_a_distant_one_not_at_all():
    boxes = some_boxes(6)
    assert torch.allclose(iou(boxes, boxes).diagonal(), torch.ones(6))
    assert not iou(boxes, boxes + 500).any()
    empty = torch.zeros(1, 4)
    assert iou(empty, empty).item() == 0 and area(empty).item() == 0


def test_coding_is_that_of_the_source():
    anchor, box = torch.tensor([[10.0, 20.0, 30.0, 60.0]]), torch.tensor([[15.0, 20.0, 55.0, 40.0]])
    x, y, w, h, xa, ya, wa, ha = 35, 30, 40, 20, 20, 40, 20, 40
    expected = [(x - xa) / wa, (y - ya) / ha, np.log(w / wa), np.log(h / ha)]
    assert np.allclose(encode(box, anchor)[0], expected)


def test_coding_there_and_back_returns_the_box():
    boxes, others = some_boxes(3, 50), some_boxes(3, 50, seed=3)
    assert torch.allclose(decode(encode(boxes, others), others), boxes, atol=1e-4)
    assert torch.allclose(encode(boxes, boxes), torch.zeros_like(boxes), atol=1e-5)
    assert torch.isfinite(decode(torch.full((1, 4), 1e4), boxes[0, :1])).all()


def test_clipped_boxes_lie_on_the_canvas_and_keep_a_pixel():
    boxes = clip(
        torch.tensor([[-5.0, -5.0, 200.0, 20.0], [180.0, 10.0, 190.0, 12.0], [3.0, 4.0, 5.0, 6.0]]), 160
    )
    assert boxes.min() >= 0 and boxes.max() <= 160 and (sides(boxes) >= 1).all()
    assert boxes[0].tolist() == [0, 0, 160, 20] and boxes[2].tolist() == [3, 4, 5, 6]


# Suppression ------------------------------------------------------------------------------------------------


def plain_nms(boxes, scores, threshold):
    keep = np.zeros(len(boxes), dtype=bool)
    for index in sorted(range(len(boxes)), key=lambda candidate: (-scores[candidate], candidate)):
        if all(plain_iou(boxes[index], boxes[other]) <= threshold for other in np.flatnonzero(keep)):
            keep[index] = True
    return keep


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.6])
def test_suppression_is_that_of_a_plain_transcription(threshold):
    boxes = some_boxes(8, 60, side=20)
    scores = (torch.rand(8, 60, generator=torch.Generator().manual_seed(5)) * 10).round()  # with ties
    keep = nms(boxes, scores, threshold)
    assert 0 < keep.sum() < keep.numel()
    for b in range(8):
        assert np.array_equal(keep[b].numpy(), plain_nms(boxes[b].tolist(), scores[b].tolist(), threshold))


def test_a_chain_is_suppressed_link_by_link():
    """Each box overlaps its neighbours alone: the longest way to the fixed point."""
    start = torch.arange(21.0)
    boxes = torch.stack([start, 0 * start, start + 2, 0 * start + 1], -1)
    keep = nms(boxes, -start, 0.3)
    assert keep.tolist() == [index % 2 == 0 for index in range(21)]


def test_best_takes_the_highest_scores_in_order():
    boxes, scores = top_boxes(some_boxes(2, 5), torch.tensor([[1.0, 5, 2, 4, 3], [5, 4, 3, 2, 1]]), 3)
    assert scores.tolist() == [[5, 4, 3], [5, 4, 3]]
    assert torch.equal(boxes[0], some_boxes(2, 5)[0, [1, 3, 4]])


# RoI align --------------------------------------------------------------------------------------------------


def test_places_between_cells_share_their_weight():
    index, share = bilinear(torch.tensor([-3.0, 0.25, 4.0, 9.0]), torch.tensor([5, 5, 5, 5]))
    assert (index * share).sum(-1).tolist() == pytest.approx([0, 0.25, 4, 4])
    assert torch.allclose(share.sum(-1), torch.ones(4))
    assert bilinear(torch.tensor([0.7]), torch.tensor([1]))[0].tolist() == [[0, 0]]


@pytest.mark.parametrize("points", [1, 2, 3])
def test_roi_align_is_grid_sample_averaged_over_bins(points):
    """On one level, against torch's own bilinear reading at the same points."""
    generator = torch.Generator().manual_seed(2)
    features, bins, stride = torch.randn(2, 3, 12, 16, generator=generator), 4, 8
    boxes, panel = some_boxes(9, side=110) - 4, torch.tensor([0, 1, 0, 1, 1, 0, 0, 1, 0])
    pooled = roi_align([features], [stride], boxes, panel, bins=bins, points=points)
    assert pooled.shape == (9, 3, bins, bins)
    step = (torch.arange(bins * points) + 0.5) / (bins * points)
    for number, box in enumerate(boxes):
        x, y = (box[axis] + step * (box[axis + 2] - box[axis]) for axis in (0, 1))
        grid = torch.stack(
            torch.meshgrid(2 * x / (16 * stride) - 1, 2 * y / (12 * stride) - 1, indexing="xy"), -1
        )
        read = functional.grid_sample(
            features[panel[number]][None], grid[None], padding_mode="border", align_corners=False
        )
        assert torch.allclose(pooled[number], functional.avg_pool2d(read, points)[0], atol=1e-5)


def test_each_box_is_read_from_its_level():
    pyramid = [torch.full((2, 1, 40 // 2**level, 40 // 2**level), 10.0 + level) for level in range(3)]
    boxes = torch.tensor([[5.0, 5, 25, 25], [0, 0, 70, 70], [0, 0, 150, 150]])
    assert level_of(boxes, (4, 8, 16), 7).tolist() == [0, 1, 2]
    pooled = roi_align(pyramid, (4, 8, 16), boxes, torch.tensor([1, 0, 1]))
    assert torch.allclose(pooled, torch.tensor([10.0, 11, 12])[:, None, None, None].expand(3, 1, 7, 7))


def test_a_ramp_is_read_as_a_ramp_and_gradients_reach_what_was_read():
    ramp = (torch.arange(20.0) * 4 + 2).expand(1, 1, 20, 20).clone().requires_grad_()  # value = x in pixels
    pooled = roi_align([ramp], [4], torch.tensor([[10.0, 10, 38, 38]]), torch.tensor([0]))
    assert torch.allclose(pooled[0, 0, 0], 10 + 4 * (torch.arange(7) + 0.5), atol=1e-4)
    pooled.sum().backward()
    touched = ramp.grad[0, 0].nonzero()
    assert ramp.grad.sum().item() == pytest.approx(49, rel=1e-5)
    assert touched.min() >= 1 and touched.max() <= 10


def test_a_panel_is_read_from_no_other():
    features = torch.randn(2, 3, 10, 10, generator=torch.Generator().manual_seed(0))
    boxes, panel = some_boxes(4, side=30), torch.tensor([0, 0, 0, 0])
    before = roi_align([features], [4], boxes, panel)
    features[1] += 1
    assert torch.equal(roi_align([features], [4], boxes, panel), before)


# Anchors and matching ---------------------------------------------------------------------------------------


def test_anchors_are_squares_around_the_cells():
    boxes = anchors((8, 16), ((4, 6), (20, 30)), 32)
    assert boxes.shape == (4 * 4 * 2 + 2 * 2 * 2, 4)
    assert boxes[:2].tolist() == [[2, 2, 6, 6], [1, 1, 7, 7]]
    assert boxes[2].tolist() == [10, 2, 14, 6]  # the next cell to the right
    assert boxes[-1].tolist() == [9, 9, 39, 39]


def test_matching_goes_by_overlap():
    objects = torch.tensor([[0.0, 0, 10, 10], [20, 20, 30, 30], [0, 0, 10, 10]])
    present = torch.tensor([True, True, False])
    boxes = torch.tensor([[0.0, 0, 10, 9], [0, 0, 10, 4], [50, 50, 60, 60], [24, 24, 40, 40]])
    matches = match(boxes, objects, present, low=0.3, high=0.6)
    assert matches.object[:2].tolist() == [0, 0]
    assert matches.positive.tolist() == [True, False, False, False]
    assert matches.negative.tolist() == [False, False, True, True]
    every = match(boxes, objects, present, low=0.3, high=0.6, every=True)
    assert every.positive.tolist() == [True, False, False, True] and every.object[3] == 1


def test_absent_objects_match_nothing():
    matches = match(
        some_boxes(5), some_boxes(5), torch.zeros(5, dtype=torch.bool), low=0.3, high=0.6, every=True
    )
    assert not matches.positive.any() and matches.negative.all()


def test_samples_are_balanced_and_drawn_from_the_right_side():
    positive = torch.zeros(3, 50, dtype=torch.bool)
    positive[0, :30] = True
    positive[1, :2] = True
    negative = ~positive
    negative[:, 45:] = False
    sample = sample_balanced(positive, negative, number=16, share=0.5)
    for row, taken in enumerate((8, 2, 0)):
        yes, counted = sample.positive[row], sample.valid[row]
        assert yes.sum() == taken and counted.sum() == 16
        chosen = sample.chosen[row, counted]
        assert len(set(chosen.tolist())) == 16
        assert (
            positive[row, sample.chosen[row, yes]].all()
            and negative[row, sample.chosen[row, counted & ~yes]].all()
        )
