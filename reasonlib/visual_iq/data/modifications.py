"""Changes of one attribute that make a wrong answer: how many each attribute has to offer, and new slots.

Axes: N problems, M some of them, E 8 candidates (the right one first), K components, S slots of a component,
G 4 groups of rules.
"""

from collections.abc import Sequence
from math import comb

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray
from numpy.random import Generator

from reasonlib.visual_iq.data import grammar
from reasonlib.visual_iq.data.components import (
    UNIFORM,
    EntityLists,
    random_integers,
    random_permutations,
    resamples_entities,
    slot_bitmasks,
)
from reasonlib.visual_iq.data.example import CONFIGURATIONS, CONTEXT, GOVERNED, PANELS

__all__ = ["CANDIDATES", "MODIFIABLE", "count_alternatives"]

CANDIDATES = PANELS - CONTEXT
MODIFIABLE = ("number", "position", "type", "size", "colour")
"""What a wrong candidate may change in a component."""
NUMBER, POSITION = 0, 1
ENTITY_ATTRIBUTES = (2, 3, 4)  # places in CHANGED; the group of rules is one less, the attribute two less


def count_alternatives(
    configuration: int,
    rules: Int[ndarray, "N K G 3"],
    uniformity: Int[ndarray, "N K"],
    numbers: Sequence[Int[ndarray, "N"]],
) -> Int[ndarray, "N K 5"]:
    """Count how many wrong values each attribute has to offer; none where a change would break no rule.

    A number can always be wrong. A position can, unless the rule governs the number. A look under a rule can,
    and a constant look unless it is noise.

    Parameters
    ----------
    configuration
        Index into `CONFIGURATIONS`.
    rules, uniformity
        Of the problems.
    numbers
        How many entities each component has in the panel to change.
    """
    components = CONFIGURATIONS[configuration].components
    counts = np.zeros((len(rules), len(components), len(MODIFIABLE)), np.int64)
    for component_index, component in enumerate(components):
        size = len(component.slots)
        slot_sets = np.array([comb(size, count) for count in range(size + 1)])[numbers[component_index]]
        counts[:, component_index, NUMBER] = 2**size - 1 - slot_sets
        governs = rules[:, component_index, 0, 1] == GOVERNED.index("number")
        counts[:, component_index, POSITION] = np.where(governs, 0, slot_sets - 1)
        noise = resamples_entities(rules[:, component_index]) & (uniformity[:, component_index] != UNIFORM)
        for attribute in ENTITY_ATTRIBUTES:
            low, high = grammar.root_range(component, attribute - 1)
            is_noise = noise & (rules[:, component_index, attribute - 1, 0] == grammar.CONSTANT)
            counts[:, component_index, attribute] = np.where(is_noise, 0, high - low)
    return counts


# Both -------------------------------------------------------------------------------------------------------


def arrays_of(lists: EntityLists) -> tuple[ndarray, ndarray, ndarray]:
    return lists.number, lists.order, lists.attributes


def repeat_for_candidates(lists: EntityLists) -> EntityLists:
    """Repeat the right answer for all candidates."""
    return EntityLists(*(np.repeat(array[:, None], CANDIDATES, axis=1) for array in arrays_of(lists)))


def random_true_column(allowed: Bool[ndarray, "M C"], generator: Generator) -> Int[ndarray, "M"]:
    """Draw one of the open columns of each row."""
    rank = random_integers(generator, (len(allowed),), allowed.sum(axis=1))
    return np.argmax(np.cumsum(allowed, axis=1) > rank[:, None], axis=1)


def sample_other_slots(
    size: int, counts: Int[ndarray, "M"], used_sets: Int[ndarray, "M E"], renumber: bool, generator: Generator
) -> tuple[Int[ndarray, "M"], Int[ndarray, "M S"]]:
    """Draw slots that are not known yet: as many as there are, or any other number of them."""
    number, order = counts.copy(), np.empty((len(counts), size), np.int8)
    unfinished = np.arange(len(counts))
    while len(unfinished):
        if renumber:
            other = 1 + random_integers(generator, (len(unfinished),), np.full(len(unfinished), size - 1))
            number[unfinished] = other + (other >= counts[unfinished])
        order[unfinished] = random_permutations(generator, (len(unfinished),), size)
        unfinished = unfinished[
            (slot_bitmasks(number[unfinished], order[unfinished])[:, None] == used_sets[unfinished]).any(
                axis=1
            )
        ]
    return number, order


def sample_slots(
    size: int, number: Int[ndarray, "M"], used_sets: Int[ndarray, "M E"], generator: Generator
) -> Int[ndarray, "M S"]:
    """Draw a set of `number` slots for each problem, other than its `used_sets`."""
    return sample_other_slots(size, number, used_sets, False, generator)[1]
