"""Indistinguishable levels: those drawn with the same pixels, and angles that turn a shape onto itself.

Axes: M panels, S 9 slots, L levels of one attribute.
"""

from functools import cache

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from reasonlib.visual_iq.data import render
from reasonlib.visual_iq.data.example import (
    ANGLES,
    CANVAS,
    FOLDS,
    LEVELS,
    POSITION_OF,
    POSITIONS,
    SLOTS,
    TYPES,
)
from reasonlib.visual_iq.data.panels import Panels

__all__ = ["same_pixels", "symmetric_angles"]

GREY = 5  # a grey filling, to compare pictures by: what differs in it, differs in any other


@cache
def same_pixels(attribute: str) -> Bool[ndarray, "22 6 6 8 L"]:
    """Tell which levels of an attribute give the same picture as an entity's own, pixel for pixel.

    A square looks the same at any quarter turn; a small one may be drawn with as many pixels as the next
    smaller. A circle's outline is not round to the pixel, so that a large one shows how it was turned.

    Parameters
    ----------
    attribute
        ``angle`` or ``size``.

    Returns
    -------
    array of bool
        ``[place, type, size, angle, level]``: whether that level would look the same there.
    """
    axis = {"size": 1, "angle": 3}[attribute]
    same = np.zeros((len(POSITIONS), LEVELS[0], LEVELS[1], LEVELS[3], LEVELS[axis]), dtype=bool)
    size, angle = (
        axis_levels.ravel()
        for axis_levels in np.meshgrid(*map(np.arange, (LEVELS[1], LEVELS[3])), indexing="ij")
    )
    for position, (row, column, height, width) in enumerate(POSITIONS):
        configuration, slot = (int(axis_levels[0]) for axis_levels in np.nonzero(POSITION_OF == position))
        rows, columns = (
            slice(max(0, int((middle - side / 2) * CANVAS) - 1), int((middle + side / 2) * CANVAS) + 2)
            for middle, side in ((row, height), (column, width))
        )
        for kind in range(1, LEVELS[0]):
            entities = np.zeros((len(size), SLOTS, len(LEVELS)), dtype=np.int8)
            entities[:, slot] = np.stack([0 * size + kind, size, 0 * size + GREY, angle], -1)
            pictures_of_slot = render.render_panels(np.full(len(size), configuration), entities)[
                :, rows, columns
            ]
            pictures = pictures_of_slot.reshape(LEVELS[1], LEVELS[3], -1)
            for level in range(LEVELS[axis]):
                other = pictures[:, level, None] if attribute == "angle" else pictures[level]
                same[position, kind, ..., level] = (pictures == other).all(-1)
    return same


@cache
def symmetric_angles() -> Bool[ndarray, "6 8 8"]:
    """Tell which angles are the same to the eye: those that turn a shape of a type onto itself.

    >>> [int(symmetric_angles()[kind, 0].sum()) for kind in range(1, 6)]
    [1, 4, 1, 2, 8]
    """
    same = np.zeros((LEVELS[0], LEVELS[3], LEVELS[3]), dtype=bool)
    turns = np.subtract.outer(ANGLES, ANGLES)
    for kind, name in enumerate(TYPES[1:], 1):
        folds = FOLDS[name]
        same[kind] = True if folds is None else turns * folds % 360 == 0
    return same


def indistinguishable_levels(panels: Panels, attribute: str) -> Bool[ndarray, "M S L"]:
    """Which levels look like an entity's own, for each slot of panels."""
    kind, size, _, angle = np.moveaxis(panels.entities.astype(int), -1, 0)
    return same_pixels(attribute)[POSITION_OF[panels.configuration], kind, size, angle]
