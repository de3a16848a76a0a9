"""Panels: what is drawn where, and that the pixels are those of the released panels."""

import hashlib

import numpy as np
import pytest

from reasonlib.visual_iq.data import raster, render
from reasonlib.visual_iq.data.example import (
    CANVAS,
    COLOURS,
    CONFIGURATIONS,
    KEYS,
    LEVELS,
    POSITION_OF,
    POSITIONS,
    SLOTS,
)
from reasonlib.visual_iq.data.render import entity_boxes, render_panels, render_problems
from reasonlib.visual_iq.data.simulator import simulate

TRIANGLE, SQUARE, PENTAGON, HEXAGON, CIRCLE = range(1, 6)
UPRIGHT, QUARTER, EIGHTH = 3, 5, 4  # levels of the angles 0, 90 and 45


def panel(configuration_index, *entities):
    """Entities of one panel: (slot, type, size, colour, angle) each."""
    table = np.zeros((1, SLOTS, 4), dtype=np.int8)
    for slot, *levels in entities:
        table[0, slot] = levels
    return np.array([configuration_index]), table


def drawn(configuration_index, *entities):
    return render_panels(*panel(configuration_index, *entities))[0]


def some(configuration_index, count, seed=0):
    """Panels of one configuration with random entities, slots being empty at random."""
    draw = np.random.default_rng(seed)
    table = np.stack([draw.integers(0, levels, (count, SLOTS)) for levels in LEVELS], -1).astype(np.int8)
    table[table[..., 0] == 0] = 0
    table[:, POSITION_OF[configuration_index] < 0] = 0
    return np.full(count, configuration_index), table


# Contract ---------------------------------------------------------------------------------------------------


def test_shapes():
    configuration, entities = some(1, 3)
    assert render_panels(configuration, entities).shape == (3, 160, 160)
    assert render_panels(configuration, entities).dtype == np.uint8
    assert entity_boxes(configuration, entities).shape == (3, 9, 4)
    assert entity_boxes(configuration, entities).dtype == np.float32
    assert render_panels(configuration[:0], entities[:0]).shape == (0, 160, 160)


@pytest.mark.parametrize(
    ("configuration", "change", "message"),
    [
        (7, {}, "configuration must be 0 to 6, got 7"),
        (-1, {}, "configuration must be 0 to 6, got -1"),
        (0, {(0, 0, 2): 10}, "levels of entities must be below"),
        (0, {(0, 0, 1): -1}, "levels of entities must be below"),
    ],
)
def test_levels_out_of_range_are_said(configuration, change, message):
    _, entities = panel(0, (0, SQUARE, 1, 1, 1))
    for location, level in change.items():
        entities[location] = level
    for call in (render_panels, entity_boxes):
        with pytest.raises(ValueError, match=message):
            call(np.array([configuration]), entities)


def test_shapes_that_are_no_panels_are_said():
    with pytest.raises(ValueError, match="entities must be"):
        render_panels(np.array([0, 0]), np.zeros((1, SLOTS, 4), int))
    with pytest.raises(ValueError, match="entities must be"):
        render_panels(np.array([0]), np.zeros((1, 4, 4), int))


def test_images_of_problems_are_their_panels():
    problems = simulate("O-IG", 5, seed=3)
    images = render_problems(problems)
    assert images.shape == (5, 16, 160, 160)
    assert (images[2] == render_panels(np.full(16, 6), problems.entities[2])).all()
    assert (render_problems(problems, [4, 2]) == images[[4, 2]]).all()
    assert (render_problems(problems, slice(1, 3)) == images[1:3]).all()


# What is drawn ----------------------------------------------------------------------------------------------


def test_an_empty_panel_is_paper_and_a_line_between_two_parts():
    for index, layout in enumerate(CONFIGURATIONS):
        image = drawn(index)
        black = np.argwhere(image < 255)
        if layout.structure == "Left_Right":
            assert (black[:, 1] == 80).all() and len(black) == 160
        elif layout.structure == "Up_Down":
            assert (black[:, 0] == 80).all() and len(black) == 160
        else:
            assert not len(black)
        assert set(np.unique(image)) <= {0, 255}


@pytest.mark.parametrize("configuration_index", range(7), ids=KEYS)
def test_order_and_company_of_panels_do_not_matter(configuration_index):
    configuration, entities = some(configuration_index, 300, seed=1)
    mixed, others = some((configuration_index + 1) % 7, 2)
    images = render_panels(configuration, entities)
    order = np.random.default_rng(0).permutation(300)
    both = render_panels(
        np.concatenate([configuration[order], mixed]), np.concatenate([entities[order], others])
    )
    assert (both[:300] == images[order]).all()
    assert (both[300:] == render_panels(mixed, others)).all()


@pytest.mark.parametrize("configuration_index", [1, 2, 3, 4])
def test_slots_beside_each_other_do_not_touch(configuration_index):
    configuration, entities = some(configuration_index, 20)
    alone = []
    for slot in range(SLOTS):
        single = np.zeros_like(entities)
        single[:, slot] = entities[:, slot]
        alone.append(render_panels(configuration, single))
    assert (render_panels(configuration, entities) == np.min(alone, axis=0)).all()
    blank = drawn(configuration_index)
    assert ((np.stack(alone) < blank).sum(0) <= 1).all()


def test_the_inner_entity_hides_the_outer_one_unless_it_is_white():
    outer = (0, TRIANGLE, 5, 9, UPRIGHT)  # filled: in no released panel, but it shows what hides what
    alone = drawn(5, outer)
    grey = drawn(5, outer, (1, SQUARE, 5, 3, UPRIGHT))
    white = drawn(5, outer, (1, SQUARE, 5, 0, UPRIGHT))
    assert grey[80, 80] == COLOURS[3]
    assert (white == alone).all()


@pytest.mark.parametrize("kind", [TRIANGLE, SQUARE, PENTAGON, HEXAGON, CIRCLE])
@pytest.mark.parametrize("colour", range(10))
def test_the_filling_is_the_colour_and_the_outline_black(kind, colour):
    image = drawn(0, (0, kind, 3, colour, UPRIGHT))
    assert image[80, 80] == COLOURS[colour]
    assert set(np.unique(image)) == {0, 255, COLOURS[colour]}
    row = image[80]
    first = np.flatnonzero(row < 255)[0]
    assert (row[first : first + 2] == 0).all()


def test_turning():
    for angle in (1, 3, 5, 7):  # right angles keep every pixel whole
        assert set(np.unique(drawn(0, (0, PENTAGON, 5, 4, angle)))) == {0, 140, 255}
    assert len(np.unique(drawn(0, (0, PENTAGON, 5, 4, EIGHTH)))) > 3
    upright, quarter = (drawn(0, (0, TRIANGLE, 5, 4, angle)) for angle in (UPRIGHT, QUARTER))
    window = upright[1:, 1:]  # the rows and columns around pixel 80, as many on either side
    assert (np.rot90(window) == quarter[1:, 1:]).all()
    assert (drawn(0, (0, SQUARE, 5, 4, UPRIGHT)) == drawn(0, (0, SQUARE, 5, 4, QUARTER))).all()


def test_weights_of_a_turned_picture_are_whole():
    rows, columns, weights = raster.rotation_samples(80, 80, 45, slice(20, 140), slice(20, 140))
    assert rows.shape == columns.shape == weights.shape == (4, 120, 120)
    assert (weights.sum(0) == 1024).all() and (weights >= 0).all()
    still = raster.rotation_samples(80, 80, 0, slice(0, 3), slice(5, 8))
    assert (still[0][0] == [[0], [1], [2]]).all() and (still[1][0] == [[5, 6, 7]]).all()
    assert (still[2][0] == 1024).all()


def test_runs_of_a_mask():
    mask = np.zeros((2, 5), dtype=bool)
    assert raster.run_lengths(mask) == []
    mask[0, 3:] = mask[1, 0] = mask[1, 4] = True
    assert raster.run_lengths(mask) == [4, 3, 10, 1]


# Against a rasteriser of another kind -----------------------------------------------------------------------


def signed_distance(configuration_index, slot, kind, size, degrees):
    """How far each pixel lies outside an entity, by geometry alone."""
    row, column, height, width = CONFIGURATIONS[configuration_index].slots[slot]
    unit = min(height, width) * 80
    y, x = np.mgrid[:CANVAS, :CANVAS] - np.array([int(row * 160), int(column * 160)])[:, None, None]
    radius = int(unit * (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)[size])
    if kind == CIRCLE:
        return np.hypot(x, y) - radius
    count = {TRIANGLE: 3, SQUARE: 4, PENTAGON: 5, HEXAGON: 6}[kind]
    start = 45 if kind == SQUARE else 90
    normals = np.deg2rad(start + degrees + 180 / count + 360 / count * np.arange(count))
    along = [np.cos(normal) * x - np.sin(normal) * y for normal in normals]
    return np.max(along, axis=0) - radius * np.cos(np.pi / count)


@pytest.mark.parametrize("kind", [TRIANGLE, SQUARE, PENTAGON, HEXAGON, CIRCLE])
@pytest.mark.parametrize(("configuration_index", "slot"), [(0, 0), (1, 2), (2, 5), (5, 1), (6, 3)])
def test_shapes_are_those_of_geometry(kind, configuration_index, slot):
    for size in (2, 5):
        for angle, degrees in ((UPRIGHT, 0), (EIGHTH, 45), (0, -135)):
            away = signed_distance(configuration_index, slot, kind, size, degrees)
            image = drawn(configuration_index, (slot, kind, size, 9, angle))
            assert (image[away > 3.5] == 255).all()
            assert (image[away < -1] == 0).all()
            hollow = drawn(configuration_index, (slot, kind, size, 0, angle))
            assert (hollow[away < -4.5] == 255).all()


CHECKSUMS = {
    "center_single": "f938feb5a33a957c",
    "distribute_four": "064102772f1624fa",
    "distribute_nine": "ce07354536dd50f1",
    "left_center_single_right_center_single": "7fc5b6df0453fedf",
    "up_center_single_down_center_single": "87404cae60c55521",
    "in_center_single_out_center_single": "887ef6218ac55f46",
    "in_distribute_four_out_center_single": "eded3a6d199b17d6",
}


@pytest.mark.parametrize("configuration_index", range(7), ids=KEYS)
def test_pixels_are_those_of_the_released_panels(configuration_index):
    """These panels were compared with the public renderer (OpenCV 4.8 and 4.14): no pixel differed."""
    image = render_panels(*some(configuration_index, 200, seed=5))
    assert hashlib.sha256(image.tobytes()).hexdigest()[:16] == CHECKSUMS[KEYS[configuration_index]]


# Boxes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("configuration_index", range(7), ids=KEYS)
def test_a_box_is_around_its_entity(configuration_index):
    """To a pixel and a half: as in the released files, an edge that a turn has blurred may lie outside."""
    draw = np.random.default_rng(configuration_index)
    for _ in range(60):
        slot = int(draw.integers(len(CONFIGURATIONS[configuration_index].slots)))
        levels = [int(draw.integers(least, count)) for least, count in zip((1, 0, 0, 0), LEVELS, strict=True)]
        panels = panel(configuration_index, (slot, *levels))
        ink = np.argwhere(render_panels(*panels)[0] < drawn(configuration_index))
        left, top, right, bottom = entity_boxes(*panels)[0, slot]
        (first_row, first_column), (last_row, last_column) = ink.min(0), ink.max(0)
        assert np.allclose([left, top], [first_column, first_row], atol=1.6)
        assert np.allclose([right, bottom], [last_column, last_row], atol=1.6)


def test_boxes_known_by_hand():
    # a square of half side int(40 * sqrt(2) * 0.9) = 50 in the middle, and 1.5 pixels around it
    assert entity_boxes(*panel(0, (0, SQUARE, 5, 0, UPRIGHT)))[0, 0].tolist() == [28.5, 28.5, 131.5, 131.5]
    # a circle's is that of its radius 0.4 * 40 before it is rounded, wherever it is turned
    assert np.allclose(entity_boxes(*panel(3, (1, CIRCLE, 0, 0, EIGHTH)))[0, 1], [102.5, 62.5, 137.5, 97.5])


def test_the_box_of_an_empty_slot_is_the_slot():
    boxes = entity_boxes(*panel(1, (0, SQUARE, 0, 0, 0)))[0]
    assert boxes[1:4].tolist() == [[80, 0, 160, 80], [0, 80, 80, 160], [80, 80, 160, 160]]
    assert (boxes[4:] == 0).all()


def test_a_mask_is_what_an_entity_covers():
    for position in (0, 3, len(POSITIONS) - 1):
        covered = render.entity_mask(position, HEXAGON, 4, UPRIGHT)
        row, column = (int(part * 160) for part in POSITIONS[position][:2])
        assert covered.shape == (160, 160) and covered[row, column] and not covered[0, 0]
