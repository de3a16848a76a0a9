"""Panels as inline SVG and in words, straight from the table of attributes.

A panel is drawn on the renderer's own canvas of 160 by 160, with its rounding to whole pixels, so that the
picture is the pixel image seen sharply: black outlines two pixels wide, grey fillings, a white filling that
hides nothing. In words it is what a reader who cannot see it needs to solve the puzzle.

Axes: S slots, A attributes (type, size, colour, angle), P panels.
"""

import base64
import html
import math
import struct
import zlib
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Int, UInt8
from numpy import ndarray

from reasonlib.visual_iq.data.example import (
    ANGLES,
    CANVAS,
    COLOURS,
    CONFIGURATIONS,
    GOVERNED,
    GROUPS,
    RULES,
    SIZES,
    TYPES,
    Problems,
    configuration_index,
)

__all__ = [
    "bounds",
    "describe",
    "drawn",
    "image_svg",
    "panel_svg",
    "rules_in_words",
    "slot_bounds",
]

EDGE = 3.0  # width of an outline: what the renderer's lines cover

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in pixels of the canvas."""


def panel_svg(
    configuration: int | str,
    entities: Int[ndarray, "S A"],
    *,
    over: str = "",
    label: str | None = None,
    box: Box | None = None,
) -> str:
    """Draw a panel as one SVG element.

    Parameters
    ----------
    configuration
        Index, key or title of its layout.
    entities
        Levels of what each slot holds; at least as many rows as the layout has slots.
    over
        More SVG, drawn above the entities.
    label
        What is read to those who cannot see it; by default `describe`. Empty: nothing, as the words stand
        elsewhere.
    box
        Left, top, right and bottom inside another SVG element.
    """
    words = describe(configuration, entities) if label is None else label
    aria = f'role="img" aria-label="{html.escape(words)}"' if words else 'aria-hidden="true"'
    viewport = ""
    if box is not None:
        left, top, right, bottom = box
        viewport = f' x="{left:g}" y="{top:g}" width="{right - left:g}" height="{bottom - top:g}"'
    return (
        f'<svg class="rr-iq-panel"{viewport} viewBox="0 0 {CANVAS} {CANVAS}" {aria}>'
        f'<rect width="{CANVAS}" height="{CANVAS}" fill="#fff"/>'
        f"{drawn(configuration, entities)}"
        f'<rect class="rr-iq-dim" width="{CANVAS}" height="{CANVAS}" fill="none"/>{over}</svg>'
    )


def drawn(configuration: int | str, entities: Int[ndarray, "S A"], *, edge: float = EDGE) -> str:
    """Draw what stands on a panel: the entities, later ones above earlier ones, and the dividing line."""
    layout = CONFIGURATIONS[configuration_index(configuration)]
    shapes = [
        _shape(slot, *(int(level) for level in entity))
        for slot, entity in zip(layout.slots, entities, strict=False)
        if entity[0] > 0
    ]
    middle = f"{CANVAS / 2 + 0.5:g}"
    if layout.structure == "Left_Right":
        shapes.append(f'<path d="M{middle} 0V{CANVAS}" stroke-width="1"/>')
    if layout.structure == "Up_Down":
        shapes.append(f'<path d="M0 {middle}H{CANVAS}" stroke-width="1"/>')
    return (
        f'<g fill="none" stroke="#000" stroke-width="{edge:g}" stroke-linejoin="round">{"".join(shapes)}</g>'
    )


def _centre(slot: Box) -> tuple[int, int]:
    return int(slot[1] * CANVAS), int(slot[0] * CANVAS)


def _corners(slot: Box, kind: int, size: int, angle: int) -> list[tuple[float, float]]:
    """Corners of a polygon on the canvas; before it is turned they are whole pixels, as in the renderer."""
    across, down = _centre(slot)
    unit = min(slot[2], slot[3]) * CANVAS / 2
    reach = int(unit * SIZES[size])
    if TYPES[kind] == "square":
        reach = int(unit / 2 * math.sqrt(2) * SIZES[size])
        points = [(-reach, -reach), (reach, -reach), (reach, reach), (-reach, reach)]
    elif TYPES[kind] == "pentagon":
        high, wide = int(reach * math.sin(math.pi / 10)), int(reach * math.cos(math.pi / 10))
        low, narrow = int(reach * math.cos(math.pi / 5)), int(reach * math.sin(math.pi / 5))
        points = [(0, -reach), (wide, -high), (narrow, low), (-narrow, low), (-wide, -high)]
    else:
        half, side = int(reach / 2), int(reach / 2 * math.sqrt(3))
        points = [(0, -reach), (side, half), (-side, half)]
        if TYPES[kind] == "hexagon":
            points = [(0, -reach), (side, -half), (side, half), (0, reach), (-side, half), (-side, -half)]
    turn = math.radians(ANGLES[angle])  # counter-clockwise, while the canvas counts downwards
    cosine, sine = math.cos(turn), math.sin(turn)
    return [(across + 0.5 + x * cosine + y * sine, down + 0.5 - x * sine + y * cosine) for x, y in points]


def _shape(slot: Box, kind: int, size: int, colour: int, angle: int) -> str:
    fill = "" if colour == 0 else f' fill="#{COLOURS[colour]:02x}{COLOURS[colour]:02x}{COLOURS[colour]:02x}"'
    if TYPES[kind] == "circle":
        across, down = _centre(slot)
        radius = int(min(slot[2], slot[3]) * CANVAS / 2 * SIZES[size])
        return f'<circle cx="{across + 0.5:g}" cy="{down + 0.5:g}" r="{radius}"{fill}/>'
    corners = _corners(slot, kind, size, angle)
    return f'<path d="M{"L".join(f"{_short(x)} {_short(y)}" for x, y in corners)}z"{fill}/>'


def _short(number: float) -> str:
    return f"{round(number, 1) + 0.0:g}"


def bounds(slot: Box, entity: Sequence[int]) -> Box:
    """Find the box around an entity, its outline included."""
    kind, size, _, angle = (int(level) for level in entity)
    if TYPES[kind] == "circle":
        across, down = _centre(slot)
        radius = int(min(slot[2], slot[3]) * CANVAS / 2 * SIZES[size])
        xs, ys = [across + 0.5 - radius, across + 0.5 + radius], [down + 0.5 - radius, down + 0.5 + radius]
    else:
        corners = _corners(slot, kind, size, angle)
        xs, ys = [x for x, _ in corners], [y for _, y in corners]
    out = EDGE / 2
    return min(xs) - out, min(ys) - out, max(xs) + out, max(ys) + out


def slot_bounds(slot: Box) -> Box:
    """Find the box of a place of a layout."""
    row, column, height, width = slot
    return (
        (column - width / 2) * CANVAS,
        (row - height / 2) * CANVAS,
        (column + width / 2) * CANVAS,
        (row + height / 2) * CANVAS,
    )


def image_svg(pixels: UInt8[ndarray, "H W"], *, over: str = "", label: str) -> str:
    """Show a grey pixel image as one SVG element, such as the one a detector was given."""
    height, width = pixels.shape
    return (
        f'<svg class="rr-iq-panel" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{html.escape(label)}">'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{_png(pixels)}"/>'
        f'<rect class="rr-iq-dim" width="{width}" height="{height}" fill="none"/>{over}</svg>'
    )


def _png(pixels: UInt8[ndarray, "H W"]) -> str:
    """Write a grey image as a PNG file in base64."""
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels, dtype=np.uint8))

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


# In words ---------------------------------------------------------------------------------------------------


def describe(configuration: int | str, entities: Int[ndarray, "S A"]) -> str:
    """Say what a panel shows: everything the rules may speak of. The angle is noise and is left out.

    >>> describe("L-R", np.array([[5, 2, 9, 0], [1, 0, 3, 4]]))
    'left: a black circle of size 3; right: a triangle of shade 3, size 1'
    """
    layout = CONFIGURATIONS[configuration_index(configuration)]
    descriptions = []
    for component, part in zip(layout.components, layout.component_slices, strict=True):
        groups: dict[tuple[int, int, int], list[int]] = {}
        for slot, entity in enumerate(np.asarray(entities)[part]):
            if entity[0] > 0:
                kind, size, colour = (int(level) for level in entity[:3])
                groups.setdefault((kind, size, colour), []).append(slot + 1)
        words = [
            (f"at {_and(slots)}: " if len(component.slots) > 1 else "") + _entity(*levels)
            for levels, slots in groups.items()
        ]
        name = {"Grid": "", "Out": "outside: ", "In": "inside: "}.get(
            component.name, f"{component.name.lower()}: "
        )
        descriptions.append(name + (", ".join(words) or "nothing"))
    return "; ".join(descriptions)


def _and(numbers: Iterable[int]) -> str:
    return " ".join(str(number) for number in numbers)


def _entity(kind: int, size: int, colour: int) -> str:
    shade = {0: "white ", 9: "black "}.get(colour)
    name = TYPES[kind]
    return f"a {shade}{name} of size {size + 1}" if shade else f"a {name} of shade {colour}, size {size + 1}"


def rules_in_words(problems: Problems, index: int = 0) -> tuple[str, ...]:
    """Say the rules of a problem, one line each, those of the first component first.

    What a layout with a single place leaves no choice about (number and position), and the colour of an outer
    entity, are not mentioned. An attribute that no rule holds, as it is drawn afresh in every panel, is named
    as noise.
    """
    layout = CONFIGURATIONS[int(problems.configuration[index])]
    lines = []
    for number, component in enumerate(layout.components):
        prefix = f"{component.name} " if len(layout.components) > 1 else ""
        rules = [tuple(int(value) for value in rule) for rule in problems.rules[index, number]]
        several = len(component.slots) > 1
        free = several and int(problems.uniformity[index, number]) != 3 and _rebuilds(*rules[0][:2])
        for group, (rule, governed, value) in zip(GROUPS, rules, strict=True):
            if rule < 0 or (group == "number/position" and not several):
                continue
            if group == "colour" and component.colour[0] == component.colour[1]:
                continue
            if group != "number/position" and RULES[rule] == "constant" and free:
                words = f"{group}: no rule, drawn at random in every panel"
            else:
                words = _rule(RULES[rule], GOVERNED[governed], value)
            lines.append(prefix + words if prefix else words[0].upper() + words[1:])
    return tuple(lines)


def _rebuilds(rule: int, governed: int) -> bool:
    """Tell whether a rule on number or position draws the entities of a panel afresh."""
    if rule < 0:
        return False
    kept = {("constant", "number/position"), ("progression", "position"), ("distribute three", "position")}
    return (RULES[rule], GOVERNED[governed]) not in kept


STEPS = {
    "number": ("{n} more", "{n} fewer"),
    "type": ("{n} corner{s} more (a circle comes after the hexagon)", "{n} corner{s} fewer"),
    "size": ("{n} size{s} larger", "{n} size{s} smaller"),
    "colour": ("{n} shade{s} darker", "{n} shade{s} lighter"),
}
SUMS = {
    "number": (
        "the third panel holds as many shapes as the first two together",
        "the third panel holds as many shapes as the first minus the second",
    ),
    "position": (
        "the third panel fills every slot that the first or the second fills",
        "the third panel fills the slots of the first that the second leaves empty",
    ),
    "size": ("the third size is the sum of the first two", "the third size is the first minus the second"),
    "colour": (
        "the third shade is the sum of the first two (white counts as 0)",
        "the third shade is the first minus the second (white counts as 0)",
    ),
}
THREE = {
    "number": "three numbers, each once in every row",
    "position": "three arrangements, each once in every row",
    "type": "three types, each once in every row",
    "size": "three sizes, each once in every row",
    "colour": "three shades, each once in every row",
}


def _rule(rule: str, governed: str, value: int) -> str:
    if rule == "constant":
        both = "number and position" if governed == "number/position" else governed
        return f"{both}: the same along each row"
    if rule == "progression":
        count = ("", "one", "two", "three")[min(abs(value), 3)]
        if not value:
            return f"{governed}: the same step from panel to panel"
        if governed == "position":
            turn = "on" if value > 0 else "back"
            return f"position: every entity moves {turn} by {count} from panel to panel and wraps around"
        words = STEPS[governed][value < 0].format(n=count, s="s" if abs(value) > 1 else "")
        return f"{governed}: {words} from panel to panel"
    if rule == "arithmetic":
        if not value:
            return f"{governed}: the third panel is the sum or the difference of the first two"
        return f"{governed}: {SUMS[governed][value < 0]}"
    return f"{governed}: {THREE[governed]}"
