"""Parts of panels as lists of entities, and the chance they are drawn from.

Axes: N problems, P any axes of panels, S slots of a component, A 4 attributes, G 4 groups of rules.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray
from numpy.random import Generator

from reasonlib.visual_iq.data.example import ANGLES, ATTRIBUTES, GOVERNED, RULES

__all__ = ["UNIFORM", "Parts", "below", "fresh_looks", "masks", "orders", "ranking", "redrawn", "slots"]

UNIFORM = 3
"""The one level of uniformity, of four, at which all entities of a panel are alike."""


@dataclass(frozen=True, eq=False)
class Parts:
    r"""One component in any panels of N problems, its entities as a list.

    Parameters
    ----------
    number
        How many entities. The axes P are any axes of panels.
    order
        The slots in the order of the list; those after the first `number` are vacant.
    look
        Levels of type, size, colour and angle in the order of the list.
    """

    number: Int[ndarray, "N ..."]
    order: Int[ndarray, "N ... S"]
    look: Int[ndarray, "N ... S A"]

    def __getitem__(self, index: Any) -> "Parts":
        """Choose problems, or problems and panels, as of an array."""
        return Parts(self.number[index], self.order[index], self.look[index])

    @property
    def present(self) -> Bool[ndarray, "N ... S"]:
        """Places of the list that hold an entity."""
        return np.arange(self.order.shape[-1]) < self.number[..., None]


def slots(part: Parts) -> Int[ndarray, "N ... S A"]:
    """Put the entities of a list into their slots; vacant slots are zero."""
    found = np.zeros_like(part.look)
    np.put_along_axis(found, part.order[..., None], np.where(part.present[..., None], part.look, 0), axis=-2)
    return found


def redrawn(rules: Int[ndarray, "N G 3"]) -> Bool[ndarray, "N"]:
    """Tell where a rule on number or position makes new entities, so that a constant look is noise."""
    return (rules[:, 0, 1] == GOVERNED.index("number")) | (rules[:, 0, 0] == RULES.index("arithmetic"))


def fresh_looks(
    shape: tuple[int, ...], ranges: Int[ndarray, "N G 2"], generator: Generator
) -> Int[ndarray, "N ... S A"]:
    """Draw type, size, colour and angle of every entity anew, within the ranges of the first column."""
    look = np.empty((*shape, len(ATTRIBUTES)), np.int8)
    for group in (1, 2, 3):
        low, high = (np.expand_dims(ranges[:, group, end], tuple(range(1, len(shape)))) for end in (0, 1))
        look[..., group - 1] = low + below(generator, shape, high - low + 1)
    look[..., -1] = below(generator, shape, np.array(len(ANGLES)))
    return look


def below(generator: Generator, shape: tuple[int, ...], count: ndarray) -> ndarray:
    """Draw integers from 0 to `count` - 1, in whole numbers alone, so that all machines agree."""
    bits = generator.integers(0, 1 << 32, shape, dtype=np.uint32).astype(np.uint64)
    return (bits * count.astype(np.uint64) >> np.uint64(32)).astype(np.int8)


def orders(generator: Generator, shape: tuple[int, ...], size: int) -> Int[ndarray, "*P S"]:
    """Draw slots in random order."""
    keys = generator.random((*shape, size), dtype=np.float32)
    return ranking(keys).astype(np.int8)


def ranking(keys: ndarray) -> ndarray:
    """Sort the last axis and give places; equal keys keep their order, on every machine."""
    return np.argsort(keys, axis=-1, kind="stable")


def masks(number: Int[ndarray, "*P"], order: Int[ndarray, "*P S"]) -> Int[ndarray, "*P"]:
    """Write a set of slots as one integer: bit i for slot i."""
    inside = np.arange(order.shape[-1]) < np.asarray(number)[..., None]
    return np.where(inside, 1 << order.astype(np.int64), 0).sum(-1)
