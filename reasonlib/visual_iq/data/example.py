"""What a problem is: seven layouts, four attributes on a ladder of levels, sixteen panels as one table.

Source: Zhang et al. (2019), "RAVEN: A Dataset for Relational and Analogical Visual Reasoning", section 3.
https://arxiv.org/abs/1903.02741

A problem shows eight context panels, row by row, and eight candidates, one of which is the missing ninth.
A panel is a table of slots: each slot of the layout holds one entity or is empty. So a problem, pictures and
all, is sixteen panels of nine slots of four small numbers, and a hundred thousand problems are an array.

Axes: N problems, P 16 panels (0 to 7 context, 8 to 15 candidates), S 9 slots, A 4 attributes of an entity,
K 2 components of a layout, G 4 groups of rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

__all__ = [
    "ANGLES",
    "ATTRIBUTES",
    "CANVAS",
    "COLOURS",
    "CONFIGURATIONS",
    "CONTEXT",
    "FOLDS",
    "GOVERNED",
    "GROUPS",
    "KEYS",
    "LEVELS",
    "PANELS",
    "POSITIONS",
    "POSITION_OF",
    "RULES",
    "SIZES",
    "SLOTS",
    "TYPES",
    "Component",
    "Configuration",
    "Problems",
    "configuration_index",
]

CANVAS = 160
"""Side of a panel, in pixels."""
PANELS = 16
"""Panels of a problem: the context, then the candidates."""
CONTEXT = 8
"""Panels of the context; the candidates follow."""
SLOTS = 9
"""Most slots of a panel: the slot axis of `Problems.entities`."""

TYPES = ("empty", "triangle", "square", "pentagon", "hexagon", "circle")
SIZES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # circumradius, as a part of half the slot's side
COLOURS = (255, 224, 196, 168, 140, 112, 84, 56, 28, 0)  # grey of the filling: level 0 is white
ANGLES = (-135, -90, -45, 0, 45, 90, 135, 180)  # degrees; noise, which no rule governs
FOLDS = {"triangle": 3, "square": 4, "pentagon": 5, "hexagon": 6, "circle": None}
"""Turns, up to a full one, after which a type looks as before; a circle does after any."""

ATTRIBUTES = ("type", "size", "colour", "angle")
"""The last axis of `Problems.entities`."""
LEVELS = (len(TYPES), len(SIZES), len(COLOURS), len(ANGLES))

RULES = ("constant", "progression", "arithmetic", "distribute three")
GROUPS = ("number/position", "type", "size", "colour")
GOVERNED = ("number/position", "number", "position", "type", "size", "colour")
"""What a rule may govern. ``number/position`` is the constant of both."""


@dataclass(frozen=True, kw_only=True)
class Component:
    """One part of a layout: its slots and the levels its entities may take.

    Parameters
    ----------
    name, layout
        As the released files call them.
    slots
        ``(row, column, height, width)`` of each slot: its centre and sides, as fractions of the canvas.
    number
        Fewest and most entities.
    size, colour
        Lowest and highest level allowed at the root of the grammar.
    """

    name: str
    layout: str
    slots: tuple[tuple[float, float, float, float], ...]
    number: tuple[int, int] = (1, 1)
    size: tuple[int, int] = (0, 5)
    colour: tuple[int, int] = (0, 9)


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One of the seven layouts of the test.

    Parameters
    ----------
    key
        Its folder in the released set.
    title
        Its name in tables: Center, 2x2Grid, 3x3Grid, L-R, U-D, O-IC, O-IG.
    structure
        As the released files call it.
    components
        One or two.
    """

    key: str
    title: str
    structure: str
    components: tuple[Component, ...]

    @property
    def slots(self) -> tuple[tuple[float, float, float, float], ...]:
        """All slots, those of the first component first: the slot axis of `Problems.entities`."""
        return tuple(slot for component in self.components for slot in component.slots)

    @property
    def component_slices(self) -> tuple[slice, ...]:
        """Where each component's slots stand on the slot axis."""
        ends = np.cumsum([len(component.slots) for component in self.components]).tolist()
        return tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False))


def _grid(centres: Sequence[float], side: float) -> tuple[tuple[float, float, float, float], ...]:
    return tuple((row, column, side, side) for row in centres for column in centres)


_OUT = Component(
    name="Out", layout="Out_Center_Single", slots=((0.5, 0.5, 1, 1),), size=(3, 5), colour=(0, 0)
)

CONFIGURATIONS = (
    Configuration(
        key="center_single",
        title="Center",
        structure="Singleton",
        components=(Component(name="Grid", layout="Center_Single", slots=((0.5, 0.5, 1, 1),)),),
    ),
    Configuration(
        key="distribute_four",
        title="2x2Grid",
        structure="Singleton",
        components=(
            Component(name="Grid", layout="Distribute_Four", slots=_grid((0.25, 0.75), 0.5), number=(1, 4)),
        ),
    ),
    Configuration(
        key="distribute_nine",
        title="3x3Grid",
        structure="Singleton",
        components=(
            Component(
                name="Grid", layout="Distribute_Nine", slots=_grid((0.16, 0.5, 0.83), 0.33), number=(1, 9)
            ),
        ),
    ),
    Configuration(
        key="left_center_single_right_center_single",
        title="L-R",
        structure="Left_Right",
        components=(
            Component(name="Left", layout="Left_Center_Single", slots=((0.5, 0.25, 0.5, 0.5),)),
            Component(name="Right", layout="Right_Center_Single", slots=((0.5, 0.75, 0.5, 0.5),)),
        ),
    ),
    Configuration(
        key="up_center_single_down_center_single",
        title="U-D",
        structure="Up_Down",
        components=(
            Component(name="Up", layout="Up_Center_Single", slots=((0.25, 0.5, 0.5, 0.5),)),
            Component(name="Down", layout="Down_Center_Single", slots=((0.75, 0.5, 0.5, 0.5),)),
        ),
    ),
    Configuration(
        key="in_center_single_out_center_single",
        title="O-IC",
        structure="Out_In",
        components=(
            _OUT,
            Component(name="In", layout="In_Center_Single", slots=((0.5, 0.5, 0.33, 0.33),)),
        ),
    ),
    Configuration(
        key="in_distribute_four_out_center_single",
        title="O-IG",
        structure="Out_In",
        components=(
            _OUT,
            Component(
                name="In",
                layout="In_Distribute_Four",
                slots=_grid((0.42, 0.58), 0.15),
                number=(1, 4),
                size=(2, 5),
            ),
        ),
    ),
)
KEYS = tuple(configuration.key for configuration in CONFIGURATIONS)

POSITIONS = tuple(dict.fromkeys(slot for configuration in CONFIGURATIONS for slot in configuration.slots))
"""The 22 different places of all layouts, as ``(row, column, height, width)``."""
POSITION_OF: Int[ndarray, "7 S"] = np.array(
    [
        [POSITIONS.index(slot) for slot in configuration.slots] + [-1] * (SLOTS - len(configuration.slots))
        for configuration in CONFIGURATIONS
    ],
    dtype=np.int8,
)
"""Place of each slot of each configuration; -1 where the configuration has fewer slots."""


def configuration_index(configuration: str | int) -> int:
    """Find a configuration by its key, title or index.

    Raises
    ------
    ValueError
        If there is none.

    >>> configuration_index("2x2Grid") == configuration_index("distribute_four") == configuration_index(1)
    True
    """
    if not isinstance(configuration, str):
        if not 0 <= configuration < len(CONFIGURATIONS):
            raise ValueError(f"configuration must be 0 to {len(CONFIGURATIONS) - 1}, got {configuration}")
        return int(configuration)
    for index, layout in enumerate(CONFIGURATIONS):
        if configuration in (layout.key, layout.title):
            return index
    titles = ", ".join(layout.title for layout in CONFIGURATIONS)
    raise ValueError(
        f"configuration must be one of {', '.join(KEYS)}, or by title {titles}, got {configuration!r}"
    )


@dataclass(frozen=True, eq=False)
class Problems:
    """Any number of problems, as arrays.

    Parameters
    ----------
    configuration
        Index into `CONFIGURATIONS`.
    entities
        Levels of type, size, colour and angle of what each slot holds. An empty slot is four zeros, and so
        is a slot that the configuration does not have.
    uniformity
        Level of the noise attribute of each component: 3 where all entities of a panel are alike.
    rules
        For each component and group ``(rule, governed, value)``: indices into `RULES` and `GOVERNED`, and the
        step of a progression or the sign of an arithmetic rule (0 where there is none, or where a file does
        not tell). All are -1 for a component that the configuration does not have.
    target
        The right candidate, 0 to 7.
    """

    configuration: Int[ndarray, "N"]
    entities: Int[ndarray, "N P S A"]
    uniformity: Int[ndarray, "N K"]
    rules: Int[ndarray, "N K G 3"]
    target: Int[ndarray, "N"]

    def __len__(self) -> int:
        return len(self.target)

    def __getitem__(self, index: slice | Sequence[int] | ndarray) -> Self:
        """Choose some of the problems: a slice, indices or a mask."""
        selection = index if isinstance(index, slice) else np.asarray(index)
        return type(self)(*(getattr(self, field.name)[selection] for field in fields(self)))

    @classmethod
    def concatenate(cls, parts: Sequence["Problems"]) -> Self:
        """Put problems one after another."""
        return cls(
            *(np.concatenate([getattr(problems, field.name) for problems in parts]) for field in fields(cls))
        )

    @property
    def filled(self) -> Bool[ndarray, "N P S"]:
        """Slots that hold an entity."""
        return self.entities[..., 0] > 0

    @property
    def answer(self) -> Int[ndarray, "N S A"]:
        """The right candidate's panel."""
        return self.entities[np.arange(len(self)), CONTEXT + self.target.astype(int)]
