"""From detections to the table of slots."""

import numpy as np
import pytest
import torch

from reasonlib.visual_iq.data import render
from reasonlib.visual_iq.data.example import CONFIGURATIONS, LEVELS, POSITION_OF, POSITIONS, Problems
from reasonlib.visual_iq.data.panels import panels_of
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.models.detector import Detector, DetectorConfig, perceive
from reasonlib.visual_iq.models.detector.outputs import DetectionBatch
from reasonlib.visual_iq.models.detector.perceive import (
    assign_slots,
    box_table,
    infer_configuration,
    nearest_positions,
    slot_table,
)
from reasonlib.visual_iq.models.pretrained import from_pretrained

ALL = range(len(CONFIGURATIONS))


@pytest.fixture(scope="module")
def problems():
    return Problems.concatenate([simulate(index, 4, seed=3) for index in ALL])


@pytest.fixture(scope="module")
def truth(problems):
    """What a detector that sees all would find."""
    panels = panels_of(problems)
    sure = (POSITION_OF[panels.configuration] >= 0).astype(np.float32)
    return DetectionBatch(
        torch.from_numpy(render.entity_boxes(*panels)).float(),
        torch.from_numpy(sure),
        torch.from_numpy(panels.entities.astype(np.int64)),
    )


def test_slots_and_places_are_each_others_inverse():
    for configuration in ALL:
        for slot, position in enumerate(POSITION_OF[configuration]):
            if position >= 0:
                assert slot_table()[configuration, position] == slot
    assert (slot_table() >= 0).sum() == (POSITION_OF >= 0).sum()


def test_every_entity_lies_nearest_to_its_own_place():
    """Whatever it is, even a pixel off: all 22 places, all types, sizes and angles that occur there."""
    table = box_table()
    assert table.shape == (len(POSITIONS), LEVELS[0], LEVELS[1], LEVELS[3], 4)
    index = np.stack(np.meshgrid(*map(np.arange, table.shape[:4]), indexing="ij"), -1).reshape(-1, 4)
    boxes = table.reshape(-1, 4)
    levels = np.stack([index[:, 1], index[:, 2], 0 * index[:, 0], index[:, 3]], -1)
    for shift in (0, 1, -1):
        assert np.array_equal(nearest_positions(boxes + shift, levels), index[:, 0])


def test_what_is_seen_whole_is_perceived_whole(problems, truth):
    result = assign_slots(truth, problems.entities.shape[1])
    assert np.array_equal(result.configuration, problems.configuration)
    assert np.array_equal(result.entities, problems.entities)


def test_the_order_of_detections_does_not_matter(problems, truth):
    order = torch.from_numpy(np.random.default_rng(0).permutation(9))
    mixed = DetectionBatch(*(tensor[:, order] for tensor in truth))
    assert np.array_equal(assign_slots(mixed, 16).entities, problems.entities)


def test_a_layout_is_named_though_some_panels_are_misread(problems, truth):
    sure = truth.scores.clone().view(-1, 16, 9)
    sure[:, ::3] = 0  # a third of the panels is not seen at all
    sure[:, 1, 0] = 0
    result = assign_slots(truth._replace(scores=sure.view(-1, 9)), 16)
    assert np.array_equal(result.configuration, problems.configuration)
    assert not result.entities[:, ::3].any()
    assert np.array_equal(result.entities[:, 2], problems.entities[:, 2])


def test_of_two_detections_in_one_slot_the_surer_stays():
    centre = render.entity_boxes(np.zeros(1, int), np.zeros((1, 9, 4), int))[0, 0]
    boxes = torch.from_numpy(np.stack([centre, centre])[None]).float()
    levels = torch.tensor([[[5, 5, 3, 0], [5, 5, 7, 0]]])
    for sure, colour in (([0.99, 0.95], 3), ([0.95, 0.99], 7)):
        result = assign_slots(DetectionBatch(boxes, torch.tensor([sure]), levels), 1)
        assert result.entities[0, 0, 0].tolist() == [5, 5, colour, 0]


def test_agreement_goes_by_places_seen_and_not_seen():
    inner = int(POSITION_OF[5, 1])
    outer = int(POSITION_OF[5, 0])
    positions = np.array([[[outer, inner, 0]], [[outer, 0, 0]]])
    sure = np.array([[[1.0, 1, 0]], [[1.0, 0, 0]]])
    assert infer_configuration(positions, sure).tolist() == [5, 0]  # O-IC, and Center where nothing is inside


def test_pictures_go_in_and_a_table_comes_out():
    model = Detector(DetectorConfig(widths=(4, 4, 4, 4, 4), width=4, hidden=8))
    result = perceive(model, np.full((2, 3, 160, 160), 255, np.uint8))
    assert result.configuration.shape == (2,) and result.entities.shape == (2, 3, 9, 4)
    assert not result.entities.any()
    with pytest.raises(ValueError, match=r"images must be \(N, P, 160, 160\), got \(2, 160, 160\)"):
        perceive(model, np.zeros((2, 160, 160), np.uint8))


def test_the_shipped_detector_reads_problems():
    problems = Problems.concatenate([simulate(index, 1, seed=8) for index in ALL])
    result = perceive(from_pretrained("detector"), render.render_problems(problems))
    assert np.array_equal(result.configuration, problems.configuration)
    right = (result.entities[..., 0] == problems.entities[..., 0]) & (
        result.entities[..., 2] == problems.entities[..., 2]
    )
    assert right.all(-1).mean() > 0.9
