"""The answer set of I-RAVEN: three attributes with one wrong value each, in all eight combinations.

    right
      + type
      + size     + size
      + colour   + colour   + colour   + colour
      two, four, eight candidates

Source: Hu et al. (2021), "Stratified Rule-Aware Network for Abstract Visual Reasoning", section 4 (the
attribute bisection tree). https://arxiv.org/abs/2002.06838

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
    slot_bitmasks,
    stable_argsort,
)
from reasonlib.visual_iq.data.example import CONFIGURATIONS, Component
from reasonlib.visual_iq.data.modifications import (
    CANDIDATES,
    ENTITY_ATTRIBUTES,
    MODIFIABLE,
    NUMBER,
    POSITION,
    count_alternatives,
    random_true_column,
    repeat_for_candidates,
    sample_other_slots,
    sample_slots,
)

__all__ = ["i_raven"]

# All at once ------------------------------------------------------------------------------------------------


def i_raven(
    configuration: int,
    rules: Int[ndarray, "N K G 3"],
    ranges: Int[ndarray, "N K G 2"],
    uniformity: Int[ndarray, "N K"],
    right: Sequence[EntityLists],
    generator: Generator,
) -> list[EntityLists]:
    """Give three attributes a wrong value each, and make all eight combinations.

    Each value then stands in four candidates, and no vote tells one from another. Where fewer attributes can
    be wrong, one of them is the number of a grid: it takes three wrong values, each with and without a change
    of the other, or seven; and where position and number are the two, one candidate changes the position and
    six the number.
    """
    candidates = [repeat_for_candidates(answer) for answer in right]
    choices = count_alternatives(configuration, rules, uniformity, [answer.number for answer in right])
    keys = np.where(choices.reshape(len(rules), -1) > 0, generator.random((len(rules), choices[0].size)), 2)
    modification_count = np.minimum((keys < 2).sum(axis=1), 3)
    rank = stable_argsort(stable_argsort(keys))
    chosen = (rank < modification_count[:, None]).reshape(choices.shape)
    # Candidate e has a change if e has the change's bit; the number's is the last.
    order_of_bits = np.where(np.arange(len(MODIFIABLE)) == NUMBER, 99, rank.reshape(choices.shape))
    order_of_bits = np.where(chosen, order_of_bits, 999).reshape(len(rules), -1)
    bit = stable_argsort(stable_argsort(order_of_bits)).reshape(choices.shape)
    candidate = np.arange(CANDIDATES)
    number_and_position = chosen[..., NUMBER].any(axis=1) & chosen[..., POSITION].any(axis=1)
    # Which wrong number each candidate has, 0 for none: one change, two, two with a position, three.
    number_schemes = np.stack([candidate, candidate >> 1, np.maximum(candidate - 1, 0), candidate >> 2])
    number_scheme = np.where(
        modification_count == 2, 1 + number_and_position, np.where(modification_count == 3, 3, 0)
    )
    for component_index, component in enumerate(CONFIGURATIONS[configuration].components):
        for attribute in ENTITY_ATTRIBUTES:
            members = np.flatnonzero(chosen[:, component_index, attribute])
            levels = _wrong_levels(
                component, attribute - 1, rules, uniformity, right, component_index, members, generator
            )
            modified = candidate >> bit[members, component_index, attribute][:, None] & 1 == 1
            attributes = candidates[component_index].attributes
            attributes[members, :, :, attribute - 2] = np.where(
                modified[..., None], levels[:, None], attributes[members, :, :, attribute - 2]
            )
        size = len(component.slots)
        if size == 1:
            continue
        members = np.flatnonzero(chosen[:, component_index, POSITION])
        modified = candidate >> bit[members, component_index, POSITION][:, None] & 1 == 1
        modified &= (modification_count[members] == 3)[:, None] | (candidate == 1)
        counts = right[component_index].number[members]
        used_sets = slot_bitmasks(counts, right[component_index].order[members])[:, None]
        _, new_order = sample_other_slots(size, counts, used_sets, False, generator)
        candidates[component_index].order[members] = np.where(
            modified[..., None], new_order[:, None], candidates[component_index].order[members]
        )
        members = np.flatnonzero(chosen[:, component_index, NUMBER])
        wrong_number = number_schemes[number_scheme[members]]
        _renumber(
            candidates[component_index],
            members,
            wrong_number,
            number_and_position[members] & (modification_count[members] == 3),
            generator,
        )
    return candidates


def _wrong_levels(
    component: Component,
    group: int,
    rules: Int[ndarray, "N K G 3"],
    uniformity: Int[ndarray, "N K"],
    right: Sequence[EntityLists],
    component_index: int,
    index: Int[ndarray, "M"],
    generator: Generator,
) -> Int[ndarray, "M S"]:
    """Draw a wrong level for every entity, the same for all where the right answer has but one."""
    low, high = grammar.root_range(component, group)
    right_levels = right[component_index].attributes[index, :, group - 1]
    levels = low + random_integers(generator, right_levels.shape, np.full(right_levels.shape, high - low))
    levels += levels >= right_levels
    shared = (rules[index, component_index, group, 0] != grammar.CONSTANT) | (
        uniformity[index, component_index] == UNIFORM
    )
    levels[shared] = levels[shared, :1]
    return levels


def _renumber(
    lists: EntityLists,
    index: Int[ndarray, "M"],
    nth: Int[ndarray, "M E"],
    twice: Bool[ndarray, "M"],
    generator: Generator,
) -> None:
    """Give candidates their n-th wrong number of entities, where n is not 0.

    Wrong numbers take turns, and no set of slots comes twice. The entities are those of the candidate, some
    left out or repeated. Where candidates also differ in position (`twice`), those that were moved get other
    slots than those that were not.
    """
    size = lists.order.shape[-1]
    rows = np.arange(len(index))
    counts = lists.number[index, 0]
    right_set = slot_bitmasks(counts, lists.order[index, 0])
    moved = slot_bitmasks(counts[:, None], lists.order[index]) != right_set[:, None]
    remaining = np.repeat(
        np.array([0] + [comb(size, chosen) for chosen in range(1, size + 1)])[None], len(index), axis=0
    )
    remaining[rows, counts] = 0
    turn = remaining > 0
    used_sets = right_set[:, None]
    for value in range(1, int(nth.max(initial=0)) + 1):
        needed = (nth == value).any(axis=1)
        turn = np.where(turn.any(axis=1, keepdims=True), turn, remaining > 0)
        allowed = np.where(needed[:, None], turn & (remaining > twice[:, None]), remaining >= 0)
        number = random_true_column(allowed, generator).astype(np.int8)
        number = np.where(needed, number, counts)
        turn[rows, number] = False
        orders = []
        for time in range(2):
            members = np.flatnonzero(needed & (twice | (time == 0)))
            order = np.zeros((len(index), size), np.int8)
            slots = sample_slots(size, number[members], used_sets[members], generator)
            order[members] = slots
            remaining[members, number[members]] -= 1
            new_sets = np.full(len(index), -1)
            new_sets[members] = slot_bitmasks(number[members], slots)
            used_sets = np.concatenate([used_sets, new_sets[:, None]], axis=1)
            orders.append(order)
        repeated = _repeated_entities(counts, number, size, generator)
        selected = nth == value
        row, column = np.nonzero(selected)
        use_second = moved[row, column] & twice[row]
        lists.attributes[index[row], column] = np.take_along_axis(
            lists.attributes[index[row], column], repeated[row][..., None].astype(np.int64), axis=1
        )
        lists.number[index[row], column] = number[row]
        lists.order[index[row], column] = np.where(use_second[:, None], orders[1][row], orders[0][row])


def _repeated_entities(
    counts: Int[ndarray, "M"], number: Int[ndarray, "M"], size: int, generator: Generator
) -> Int[ndarray, "M S"]:
    """Say which entity each of another number repeats: all as often as can be, the rest by chance."""
    shuffled = stable_argsort(
        np.where(np.arange(size) < counts[:, None], generator.random((len(counts), size)), 2)
    )
    index = np.arange(size)
    full_repeats = np.where(number > counts, (number - 1) // counts * counts, 0)[:, None]
    return np.where(
        index < full_repeats,
        index % counts[:, None],
        np.take_along_axis(shuffled, np.clip(index - full_repeats, 0, size - 1), axis=1),
    )
