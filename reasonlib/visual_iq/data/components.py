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

__all__ = [
    "UNIFORM",
    "EntityLists",
    "random_integers",
    "random_permutations",
    "resamples_entities",
    "sample_attributes",
    "slot_bitmasks",
    "stable_argsort",
    "to_slots",
]

UNIFORM = 3
"""The one level of uniformity, of four, at which all entities of a panel are alike."""


@dataclass(frozen=True, eq=False)
class EntityLists:
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
    attributes: Int[ndarray, "N ... S A"]

    def __getitem__(self, index: Any) -> "EntityLists":
        """Choose problems, or problems and panels, as of an array."""
        return EntityLists(self.number[index], self.order[index], self.attributes[index])

    @property
    def present(self) -> Bool[ndarray, "N ... S"]:
        """Places of the list that hold an entity."""
        return np.arange(self.order.shape[-1]) < self.number[..., None]


def to_slots(component: EntityLists) -> Int[ndarray, "N ... S A"]:
    """Put the entities of a list into their slots; vacant slots are zero."""
    entities = np.zeros_like(component.attributes)
    np.put_along_axis(
        entities,
        component.order[..., None],
        np.where(component.present[..., None], component.attributes, 0),
        axis=-2,
    )
    return entities


def resamples_entities(rules: Int[ndarray, "N G 3"]) -> Bool[ndarray, "N"]:
    """Tell where a rule on number or position makes new entities, so that a constant look is noise."""
    return (rules[:, 0, 1] == GOVERNED.index("number")) | (rules[:, 0, 0] == RULES.index("arithmetic"))


def sample_attributes(
    shape: tuple[int, ...], ranges: Int[ndarray, "N G 2"], generator: Generator
) -> Int[ndarray, "N ... S A"]:
    """Draw type, size, colour and angle of every entity anew, within the ranges of the first column."""
    attributes = np.empty((*shape, len(ATTRIBUTES)), np.int8)
    for group in (1, 2, 3):
        low, high = (np.expand_dims(ranges[:, group, end], tuple(range(1, len(shape)))) for end in (0, 1))
        attributes[..., group - 1] = low + random_integers(generator, shape, high - low + 1)
    attributes[..., -1] = random_integers(generator, shape, np.array(len(ANGLES)))
    return attributes


def random_integers(generator: Generator, shape: tuple[int, ...], count: ndarray) -> ndarray:
    """Draw integers from 0 to `count` - 1, in whole numbers alone, so that all machines agree."""
    bits = generator.integers(0, 1 << 32, shape, dtype=np.uint32).astype(np.uint64)
    return (bits * count.astype(np.uint64) >> np.uint64(32)).astype(np.int8)


def random_permutations(generator: Generator, shape: tuple[int, ...], size: int) -> Int[ndarray, "*P S"]:
    """Draw slots in random order."""
    keys = generator.random((*shape, size), dtype=np.float32)
    return stable_argsort(keys).astype(np.int8)


def stable_argsort(keys: ndarray) -> ndarray:
    """Sort the last axis and give places; equal keys keep their order, on every machine."""
    return np.argsort(keys, axis=-1, kind="stable")


def slot_bitmasks(number: Int[ndarray, "*P"], order: Int[ndarray, "*P S"]) -> Int[ndarray, "*P"]:
    """Write a set of slots as one integer: bit i for slot i."""
    inside = np.arange(order.shape[-1]) < np.asarray(number)[..., None]
    return np.where(inside, 1 << order.astype(np.int64), 0).sum(-1)
