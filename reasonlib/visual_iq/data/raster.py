"""Shapes to pixels in whole numbers: the arithmetic by which the released panels were drawn.

The released panels were drawn with OpenCV, and their edges show it: a line is a quadrilateral two pixels
wide with a dot at either end, a circle is a polygon of chords, a turned picture is sampled at 32nds of a
pixel. The same steps are taken here, in numpy, so that pixels agree and not only shapes.

Points are ``(x, y)``: column first, in 65536ths of a pixel (`FIXED_POINT_ONE`). All
points lie inside the canvas.

Axes: V corners of an outline, H and W sides of a canvas.
"""

from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

__all__ = [
    "FIXED_POINT_ONE",
    "circle_outline",
    "filled_circle",
    "filled_polygon",
    "polygon_outline",
    "rotation_samples",
    "run_lengths",
]

FIXED_POINT_ONE = 1 << 16
SAMPLES = 32  # places between two pixels at which a turned picture is sampled


def _round_to_pixel(value):
    return (value + FIXED_POINT_ONE // 2) >> 16


def _truncated_division(above: int, below: int) -> int:
    """Divide as C does: towards zero."""
    return abs(above) // below * (1 if above >= 0 else -1)


def _draw_line(mask: Bool[ndarray, "H W"], start: tuple[int, int], end: tuple[int, int]) -> None:
    """Mark a line one pixel wide: one pixel for each step along the longer of its sides."""
    mask[_round_to_pixel(end[1]), _round_to_pixel(end[0])] = True
    long = 0 if abs(end[0] - start[0]) > abs(end[1] - start[1]) else 1
    first, last = (start, end) if end[long] >= start[long] else (end, start)
    length = last[long] - first[long]
    steps = np.arange((length >> 16) + 1)
    slope = _truncated_division((last[1 - long] - first[1 - long]) << 16, length | 1)
    along = _round_to_pixel(first[long]) + steps
    across = _round_to_pixel(first[1 - long] + steps * slope)
    mask[(across, along) if long == 0 else (along, across)] = True


def _fill_convex(mask: Bool[ndarray, "H W"], corners: list[tuple[int, int]]) -> None:
    """Fill a convex outline: its edges, and in each row whatever lies between two of them."""
    low = np.full(len(mask), mask.shape[1])
    high = np.full(len(mask), -1)
    for start, end in zip([corners[-1], *corners[:-1]], corners, strict=True):
        _draw_line(mask, start, end)
        (x, y), (to, below) = (start, end) if start[1] <= end[1] else (end, start)
        top, bottom = _round_to_pixel(y), _round_to_pixel(below)
        if rows := bottom - top:
            slope = _truncated_division(2 * (to - x) + rows, 2 * rows)
            columns = _round_to_pixel(x + np.arange(rows) * slope)
            low[top:bottom] = np.minimum(low[top:bottom], columns)
            high[top:bottom] = np.maximum(high[top:bottom], columns)
    column = np.arange(mask.shape[1])
    mask |= (column >= low[:, None]) & (column <= high[:, None])


def _draw_stroke(mask: Bool[ndarray, "H W"], start: tuple[int, int], end: tuple[int, int]) -> None:
    """Draw a line two pixels wide, with a dot of five pixels at its end."""
    dx, dy = (start[0] - end[0]) / FIXED_POINT_ONE, (end[1] - start[1]) / FIXED_POINT_ONE
    if length := float(np.sqrt(dx * dx + dy * dy)):
        half = FIXED_POINT_ONE / length
        x, y = int(np.rint(dy * half)), int(np.rint(dx * half))
        (ax, ay), (bx, by) = start, end
        _fill_convex(mask, [(ax + x, ay + y), (ax - x, ay - y), (bx - x, by - y), (bx + x, by + y)])
    column, row = _round_to_pixel(end[0]), _round_to_pixel(end[1])
    mask[row, column - 1 : column + 2] = True
    mask[row - 1 : row + 2, column] = True


def polygon_outline(side: int, corners: Int[ndarray, "V 2"]) -> Bool[ndarray, "H W"]:
    """Trace a polygon, two pixels wide, on a square canvas; corners in pixels."""
    mask = np.zeros((side, side), dtype=bool)
    points = [(int(x) * FIXED_POINT_ONE, int(y) * FIXED_POINT_ONE) for x, y in corners]
    for start, end in zip([points[-1], *points[:-1]], points, strict=True):
        _draw_stroke(mask, start, end)
    return mask


def filled_polygon(side: int, corners: Int[ndarray, "V 2"]) -> Bool[ndarray, "H W"]:
    """Fill a convex polygon on a square canvas; corners in pixels."""
    mask = np.zeros((side, side), dtype=bool)
    _fill_convex(mask, [(int(x) * FIXED_POINT_ONE, int(y) * FIXED_POINT_ONE) for x, y in corners])
    return mask


def circle_outline(side: int, x: int, y: int, radius: int) -> Bool[ndarray, "H W"]:
    """Trace a circle, two pixels wide: a polygon with a corner at every 5, 18, 30 or 90 degrees."""
    mask = np.zeros((side, side), dtype=bool)
    every = 90 if radius < 3 else 30 if radius < 10 else 18 if radius < 15 else 5
    degrees = np.arange(0, 360 + every, every)
    # sines as OpenCV tabulates them: seven decimals, single precision
    sine, cosine = (
        np.round(np.sin(np.deg2rad(each)), 7).astype(np.float32) for each in (degrees, degrees + 90)
    )
    columns = np.rint((x + radius * cosine.astype(float)) * FIXED_POINT_ONE).astype(int).tolist()
    rows = np.rint((y + radius * sine.astype(float)) * FIXED_POINT_ONE).astype(int).tolist()
    points = list(zip(columns, rows, strict=True))
    for start, end in pairwise(points):
        if start != end:
            _draw_stroke(mask, start, end)
    return mask


def filled_circle(side: int, x: int, y: int, radius: int) -> Bool[ndarray, "H W"]:
    """Fill a circle (what a `circle_outline` hides of its rim is not that of OpenCV)."""
    coordinates = np.arange(side)
    return (coordinates[None, :] - x) ** 2 + (coordinates[:, None] - y) ** 2 <= radius**2


def rotation_samples(
    x: int, y: int, degrees: float, rows: slice, columns: slice
) -> tuple[Int[ndarray, "4 h w"], Int[ndarray, "4 h w"], Int[ndarray, "4 h w"]]:
    """Where the pixels of a turned picture come from.

    Parameters
    ----------
    x, y
        The pixel that stays where it is.
    degrees
        Counter-clockwise.
    rows, columns
        The part of the turned picture that is wanted.

    Returns
    -------
    tuple of arrays
        Row and column of four neighbours of each pixel's origin, and their weights in 1024ths.
    """
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    # column and row of the origin of (column, row): both are linear, in 1024ths, and rounded in two parts
    row = np.arange(rows.start, rows.stop)[:, None]
    column = np.arange(columns.start, columns.stop)[None, :]
    parts = []
    for by_column, by_row, offset in (
        (cos, -sin, x - cos * x + sin * y),
        (sin, cos, y - sin * x - cos * y),
    ):
        fixed = np.rint((by_row * row + offset) * 1024) + np.rint(by_column * column * 1024)
        parts.append((fixed.astype(int) + 1024 // SAMPLES // 2) >> 5)
    left, top = (part >> 5 for part in parts)
    right, below = (part & (SAMPLES - 1) for part in parts)
    across, down = (SAMPLES - right, right), (SAMPLES - below, below)
    return (
        np.stack([top, top, top + 1, top + 1]),
        np.stack([left, left + 1, left, left + 1]),
        np.stack([vertical * horizontal for vertical in down for horizontal in across]),
    )


def run_lengths(mask: Bool[ndarray, "H W"]) -> list[int]:
    """Write a mask as runs, row by row: where each starts, counted from 1, and how long it is.

    >>> run_lengths(np.array([[False, True], [True, False]]))
    [2, 2]
    """
    padded = np.concatenate([[False], mask.ravel(), [False]])
    changes = np.flatnonzero(padded[1:] != padded[:-1]) + 1
    changes[1::2] -= changes[::2]
    return changes.tolist()
