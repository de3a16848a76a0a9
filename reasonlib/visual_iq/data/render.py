"""Panels as the test shows them: 160 x 160 grey pixels, drawn from the table of slots.

An entity is drawn by filling its shape, tracing the outline two pixels wide in black, and turning the picture
about the centre of its slot. Whatever a panel may hold at one place is drawn once, as a sprite, and kept; a
panel is then put together by copying sprites::

    entities (M, 9, 4) --> place, number of the sprite --> gather --> panels (M, 160, 160)

The pixels are those of the public generators with OpenCV 4: of 140 problems drawn by them (20 of each
configuration, 57,344,000 pixels) and of every type, size and angle at every place, none differs. OpenCV 5
samples pictures turned by an odd multiple of 45 degrees more finely and differs there in 0.8 % of the pixels
of a panel, by at most 7 grey levels.

Source: Zhang et al. (2019), "RAVEN: A Dataset for Relational and Analogical Visual Reasoning", section 3, and
the geometry of the released files. https://arxiv.org/abs/1903.02741

Axes: M panels, N problems, S 9 slots, A 4 attributes.
"""

from functools import cache

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from numpy import ndarray

from reasonlib.visual_iq.data import raster
from reasonlib.visual_iq.data.example import (
    ANGLES,
    CANVAS,
    COLOURS,
    CONFIGURATIONS,
    LEVELS,
    POSITION_OF,
    POSITIONS,
    SIZES,
    SLOTS,
    TYPES,
    Problems,
)

__all__ = ["entity_box", "entity_boxes", "entity_mask", "render_panels", "render_problems"]

BLACK, WHITE = 0, 255
EDGE = 2  # width of an outline, in pixels
CHUNK_SIZE = 128  # panels drawn in one step: as many as stay in a processor's cache
MARGIN = 1.5  # of a box around an entity, on each side
SPRITE_SHAPE = (len(TYPES) - 1, len(SIZES), len(COLOURS), len(ANGLES))  # of sprites at one place


# The geometry of an entity ----------------------------------------------------------------------------------


def centre(position: int) -> tuple[int, int]:
    """Column and row of a place's centre, in pixels."""
    row, column, _, _ = POSITIONS[position]
    return int(column * CANVAS), int(row * CANVAS)


def half_side(position: int) -> float:
    """Half the shorter side of a place, in pixels."""
    return min(POSITIONS[position][2:]) * CANVAS / 2


def corners(position: int, kind: int, size: int) -> Int[ndarray, "V 2"]:
    """Corners of an entity before it is turned: column and row, relative to the place's centre.

    A circle's are those of the square around it.
    """
    name, part = TYPES[kind], SIZES[size]
    radius = int(half_side(position) * part)
    if name == "square":
        half = int(half_side(position) / 2 * np.sqrt(2) * part)
        points = [(-half, -half), (half, -half), (half, half), (-half, half)]
    elif name == "circle":
        points = [(-radius, -radius), (radius, -radius), (radius, radius), (-radius, radius)]
    elif name == "pentagon":
        wide, high = int(radius * np.cos(np.pi / 10)), int(radius * np.sin(np.pi / 10))
        near, low = int(radius * np.sin(np.pi / 5)), int(radius * np.cos(np.pi / 5))
        points = [(0, -radius), (-wide, -high), (-near, low), (near, low), (wide, -high)]
    else:
        wide, high = int(radius / 2 * np.sqrt(3)), int(radius / 2)
        if name == "triangle":
            points = [(0, -radius), (wide, high), (-wide, high)]
        else:
            points = [(0, -radius), (-wide, -high), (-wide, high), (0, radius), (wide, high), (wide, -high)]
    return np.array(points)


@cache
def _window(position: int) -> tuple[slice, slice]:
    """Rows and columns of a panel that an entity of this place can touch."""
    column, row = centre(position)
    reach = int(half_side(position) * max(SIZES)) + EDGE
    rows, columns = (
        slice(max(middle - reach, 0), min(middle + reach + 1, CANVAS)) for middle in (row, column)
    )
    return rows, columns


# Sprites ----------------------------------------------------------------------------------------------------


def _masks_of(position: int, kind: int, size: int) -> tuple[ndarray, ndarray]:
    """Pixels of an entity's filling and of its outline before it is turned: two masks of a panel."""
    middle = centre(position)
    if TYPES[kind] == "circle":
        radius = int(half_side(position) * SIZES[size])
        return raster.filled_circle(CANVAS, *middle, radius), raster.circle_outline(CANVAS, *middle, radius)
    points = corners(position, kind, size) + middle
    return raster.filled_polygon(CANVAS, points), raster.polygon_outline(CANVAS, points)


@cache
def _rotation_table(position: int, angle: int) -> tuple[ndarray, ndarray]:
    """Which four pixels become each pixel of the window, and their weights in 1024ths: both (4, h, w)."""
    rows, columns, weights = raster.rotation_samples(*centre(position), ANGLES[angle], *_window(position))
    outside = (rows < 0) | (rows >= CANVAS) | (columns < 0) | (columns >= CANVAS)
    return np.where(outside, 0, rows * CANVAS + columns), np.where(outside, 0, weights)


class _Sprites:
    """All that one place may show: `table` (type, size, colour, angle, h, w), drawn when first asked for."""

    def __init__(self, position: int):
        self.position, self.window = position, _window(position)
        rows, columns = self.window
        shape = rows.stop - rows.start, columns.stop - columns.start
        self.table = np.zeros(
            (*SPRITE_SHAPE, *shape), dtype=np.uint8
        )  # takes memory as it fills: 229 MB for all places
        self.flat = self.table.reshape(-1, *shape)
        self.rendered = np.zeros(SPRITE_SHAPE[:2], dtype=bool)

    def draw(self, kind: int, size: int) -> None:
        """Draw an entity in all colours and at all angles."""
        fill, edge = (mask.reshape(-1) for mask in _masks_of(self.position, kind + 1, size))
        fill = fill & ~edge
        ink = WHITE - np.array(COLOURS)[:, None, None]  # what a filling takes from white paper
        for angle in range(len(ANGLES)):
            pixels, weights = _rotation_table(self.position, angle)
            black, grey = (weights * edge[pixels]).sum(0), (weights * fill[pixels]).sum(0)
            self.table[kind, size, :, angle] = WHITE - ((black * WHITE + grey * ink + 512) >> 10)
        self.rendered[kind, size] = True

    def take(self, entities: Int[ndarray, "n A"]) -> UInt8[ndarray, "n h w"]:
        """Pictures of some entities."""
        kind, size, colour, angle = entities.astype(np.intp).T
        kind = kind - 1
        if not self.rendered[kind, size].all():
            for missing in np.unique(np.stack([kind, size]), axis=1).T:
                if not self.rendered[tuple(missing)]:
                    self.draw(*missing.tolist())
        return self.flat[
            ((kind * SPRITE_SHAPE[1] + size) * SPRITE_SHAPE[2] + colour) * SPRITE_SHAPE[3] + angle
        ]


@cache
def _sprites(position: int) -> _Sprites:
    return _Sprites(position)


# Panels -----------------------------------------------------------------------------------------------------


def _check(configuration: ndarray, entities: ndarray) -> tuple[ndarray, ndarray]:
    configuration, entities = np.atleast_1d(configuration), np.asarray(entities)
    expected_shape = (len(configuration), SLOTS, len(LEVELS))
    if configuration.ndim != 1 or entities.shape != expected_shape:
        raise ValueError(
            f"entities must be (panels, {SLOTS}, {len(LEVELS)}) with a configuration each, "
            f"got {entities.shape} and {configuration.shape}"
        )
    if len(configuration):
        low, high = configuration.min(), configuration.max()
        if low < 0 or high >= len(CONFIGURATIONS):
            raise ValueError(
                f"configuration must be 0 to {len(CONFIGURATIONS) - 1}, got {low if low < 0 else high}"
            )
        low, high = entities.min(), entities.max((0, 1))
        if low < 0 or (high >= LEVELS).any():
            raise ValueError(f"levels of entities must be below {LEVELS}, got {low} to {high.tolist()}")
    return configuration, entities


def render_panels(
    configuration: Int[ndarray, "M"], entities: Int[ndarray, "M S A"]
) -> UInt8[ndarray, "M 160 160"]:
    """Draw panels.

    Parameters
    ----------
    configuration
        Index into `CONFIGURATIONS` of each panel.
    entities
        Levels of what each slot holds; type 0 is an empty slot.

    Returns
    -------
    array of uint8
        Grey values, white paper being 255.

    Raises
    ------
    ValueError
        If shapes or levels are not those of panels.
    """
    configuration, entities = _check(configuration, entities)
    images = np.full((len(configuration), CANVAS, CANVAS), WHITE, dtype=np.uint8)
    for index in np.unique(configuration).tolist():
        members = np.flatnonzero(configuration == index)
        for start in range(0, len(members), CHUNK_SIZE):
            _compose(images, index, members[start : start + CHUNK_SIZE], entities)
    return images


def _compose(images: ndarray, configuration: int, members: Int[ndarray, "m"], entities: ndarray) -> None:
    """Draw panels of one configuration onto white paper."""
    structure = CONFIGURATIONS[configuration].structure
    for slot, position in enumerate(POSITION_OF[configuration].tolist()):
        rows = members[entities[members, slot, 0] > 0] if position >= 0 else members[:0]
        if not len(rows):
            continue
        sprites = _sprites(position)
        sprites_of_rows = sprites.take(entities[rows, slot])
        window = (rows, *sprites.window)
        if structure == "Out_In" and slot:  # whatever is not white hides what lies below it
            sprites_of_rows = np.where(sprites_of_rows < WHITE, sprites_of_rows, images[window])
        images[window] = sprites_of_rows
    if structure == "Left_Right":
        images[members, :, CANVAS // 2] = BLACK
    elif structure == "Up_Down":
        images[members, CANVAS // 2, :] = BLACK


def render_problems(problems: Problems, index=None) -> UInt8[ndarray, "N 16 160 160"]:
    """Draw all sixteen panels of problems, or of those that `index` chooses (a slice, indices or a mask)."""
    if index is not None:
        problems = problems[index]
    count, number = problems.entities.shape[:2]
    entities = problems.entities.reshape(-1, *problems.entities.shape[2:])
    return render_panels(np.repeat(problems.configuration, number), entities).reshape(
        count, number, CANVAS, CANVAS
    )


@cache
def box_table() -> Float[ndarray, "22 6 6 8 4"]:
    """Box of what each place may show: ``[place, type, size, angle]``; of type 0, that of the place."""
    table = np.zeros((len(POSITIONS), len(TYPES), len(SIZES), len(ANGLES), 4))
    for position, (row, column, height, width) in enumerate(POSITIONS):
        x, y = column - width / 2, row - height / 2
        table[position, 0] = CANVAS * np.array([x, y, x + width, y + height])
        for kind, size in np.ndindex(len(TYPES) - 1, len(SIZES)):
            points = corners(position, kind + 1, size)
            for angle, degrees in enumerate(ANGLES):
                turned = points @ _rotation(degrees)
                if TYPES[kind + 1] == "circle":
                    turned = np.array([[-1], [1]]) * np.full(2, half_side(position) * SIZES[size])
                ends = np.concatenate([turned.min(0) - MARGIN, turned.max(0) + MARGIN])
                table[position, kind + 1, size, angle] = np.tile(centre(position), 2) + ends
    return table


def _rotation(degrees: float) -> Float[ndarray, "2 2"]:
    """Matrix that turns rows ``(x, y)`` counter-clockwise, as seen with y pointing down."""
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    return np.array([[cos, -sin], [sin, cos]])


def entity_boxes(
    configuration: Int[ndarray, "M"], entities: Int[ndarray, "M S A"]
) -> Float[ndarray, "M S 4"]:
    """Box around each entity: left, top, right, bottom, in pixels.

    The box of an entity is the released files' ``real_bbox``: its corners and 1.5 pixels more on each side,
    pixel k standing at k. The box of an empty slot is the slot, and that of a slot which the configuration
    does not have is zeros.

    Raises
    ------
    ValueError
        If shapes or levels are not those of panels.
    """
    configuration, entities = _check(configuration, entities)
    position = POSITION_OF[configuration]
    kind, size, _, angle = np.moveaxis(entities, -1, 0)
    return np.where(position[..., None] >= 0, box_table()[position, kind, size, angle], 0).astype(np.float32)


def entity_box(position: int, kind: int, size: int, angle: int) -> Float[ndarray, "4"]:
    """Box around one entity, as in `entity_boxes`: place in `PLACES`, levels of type, size and angle."""
    return box_table()[position, kind, size, angle]


def entity_mask(position: int, kind: int, size: int, angle: int) -> Bool[ndarray, "160 160"]:
    """Pixels that one entity covers wholly: place in `PLACES`, levels of type, size and angle."""
    sprites = _sprites(position)
    covered = np.zeros((CANVAS, CANVAS), dtype=bool)
    covered[sprites.window] = sprites.take(np.array([[kind, size, COLOURS.index(0), angle]]))[0] == BLACK
    return covered
