"""Nine panels that follow given rules: numbers and slots first, then the attributes of entities.

A component of many problems is three tables over rows and columns: how many entities, in which slots, and
their attributes. A rule fills the second and third column of all problems that it governs in one step.

Source: Zhang et al. (2019), "RAVEN: A Dataset for Relational and Analogical Visual Reasoning", section 3.2.
https://arxiv.org/abs/1903.02741

Axes: N problems, R 3 rows, C 3 columns, S slots of a component.
"""

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray
from numpy.random import Generator

from reasonlib.visual_iq.data import grammar
from reasonlib.visual_iq.data.components import (
    EntityLists,
    random_integers,
    random_permutations,
    resamples_entities,
    sample_attributes,
    slot_bitmasks,
    stable_argsort,
)
from reasonlib.visual_iq.data.example import GOVERNED, GROUPS, Component
from reasonlib.visual_iq.data.grammar import ARITHMETIC, CONSTANT, DISTRIBUTE_THREE, PROGRESSION

_NUMBER, _POSITION = GOVERNED.index("number"), GOVERNED.index("position")


def sample_matrix(
    component: Component,
    rules: Int[ndarray, "N G 3"],
    ranges: Int[ndarray, "N G 2"],
    uniform: Bool[ndarray, "N"],
    generator: Generator,
) -> EntityLists:
    """Draw a component of nine panels: numbers and slots first, then looks, as the source does."""
    number, order = _sample_layouts(component, rules[:, 0], ranges[:, 0], generator)
    attributes = sample_attributes((*number.shape, len(component.slots)), ranges, generator)
    attributes[uniform] = attributes[uniform, :, :1, :1]
    copied = ~uniform & ~resamples_entities(rules)
    attributes[copied] = attributes[copied, :, :1]
    for group in (1, 2, 3):
        governed = np.flatnonzero(rules[:, group, 0] != CONSTANT)
        levels = _sample_levels(
            group,
            rules[governed, group],
            ranges[governed, group],
            attributes[governed, :, 0, 0, group - 1],
            grammar.root_range(component, group)[1],
            generator,
        )
        attributes[governed, ..., group - 1] = levels[..., None]
    nine = (len(rules), 9)
    return EntityLists(
        number.reshape(nine),
        order.reshape(*nine, order.shape[-1]),
        attributes.reshape(*nine, *attributes.shape[3:]),
    )


def _sample_layouts(
    component: Component, rules: Int[ndarray, "N 3"], ranges: Int[ndarray, "N 2"], generator: Generator
) -> tuple[Int[ndarray, "N R C"], Int[ndarray, "N R C S"]]:
    """Draw how many entities there are and in which slots, under the rules of the first group."""
    size = len(component.slots)
    low, high = ranges[:, 0], ranges[:, 1]
    shape = (len(rules), 3, 3)
    if size == 1:
        return np.ones(shape, np.int8), np.zeros((*shape, 1), np.int8)
    number = np.empty(shape, np.int8)
    number[:] = (low[:, None] + random_integers(generator, shape[:2], (high - low + 1)[:, None]))[..., None]
    order = random_permutations(generator, shape, size)

    kind, governed, value = rules.T
    for index, step in _rows_under((kind == PROGRESSION) & (governed == _NUMBER), value):
        number[index] += step[:, None, None] * np.arange(3, dtype=np.int8)
    for index, step in _rows_under((kind == PROGRESSION) & (governed == _POSITION), value):
        order[index] = (order[index, :, :1] + step[:, None, None, None] * np.arange(3)[:, None]) % size
    for index, _ in _rows_under(kind == CONSTANT, value):
        order[index] = order[index, :, :1]
    for index, sign in _rows_under((kind == ARITHMETIC) & (governed == _NUMBER), value):
        number[index] = _sample_sums(number[index, :, 0], sign, 1, component.number[1], 0, generator)
    for index, _ in _rows_under((kind == DISTRIBUTE_THREE) & (governed == _NUMBER), value):
        number[index] = _sample_triples(low[index], high[index], generator)
    for index, sign in _rows_under((kind == ARITHMETIC) & (governed == _POSITION), value):
        number[index], order[index] = _sample_slot_sets(
            number[index], order[index], sign, low[index], high[index], generator
        )
    for index, _ in _rows_under((kind == DISTRIBUTE_THREE) & (governed == _POSITION), value):
        number[index] = number[index, :1, :1]
        order[index] = _sample_three_sets(number[index, 0, 0], order[index, 0], generator)
    return number, order


def _rows_under(mask: Bool[ndarray, "N"], value: Int[ndarray, "N"]) -> list[tuple[ndarray, ndarray]]:
    """Give the problems under a mask and their rules' values, or nothing if there are none."""
    index = np.flatnonzero(mask)
    return [(index, value[index])] if len(index) else []


def _sample_levels(
    group: int,
    rules: Int[ndarray, "N 3"],
    ranges: Int[ndarray, "N 2"],
    first: Int[ndarray, "N R"],
    highest: int,
    generator: Generator,
) -> Int[ndarray, "N R C"]:
    """Draw the one level of each panel under a rule on type, size or colour."""
    kind, _, value = rules.T
    levels = np.repeat(first[..., None], 3, axis=2)
    for index, step in _rows_under(kind == PROGRESSION, value):
        levels[index] += step[:, None, None] * np.arange(3, dtype=np.int8)
    for index, _ in _rows_under(kind == DISTRIBUTE_THREE, value):
        levels[index] = _sample_triples(ranges[index, 0], ranges[index, 1], generator)
    for index, sign in _rows_under(kind == ARITHMETIC, value):
        if GROUPS[group] == "colour":
            levels[index] = _sample_colour_sums(first[index], sign, highest, generator)
        else:
            lowest = np.where(sign > 0, ranges[index, 0], (ranges[index, 0] - 1) // 2)
            levels[index] = _sample_sums(first[index], sign, lowest[:, None], highest, 1, generator)
    return levels


def _sample_sums(
    first: Int[ndarray, "N R"],
    sign: Int[ndarray, "N"],
    lowest: int | ndarray,
    highest: int,
    extra: int,
    generator: Generator,
) -> Int[ndarray, "N R C"]:
    """Draw a second column, and give the third: the sum or difference of the first two.

    `extra` is 1 where levels count from zero what their values count from one.
    """
    sign = sign[:, None]
    room = np.where(sign > 0, highest - first - extra, first - lowest - extra)
    second = lowest + random_integers(generator, first.shape, room - lowest + 1)
    return np.stack([first, second, first + sign * (second + extra)], axis=2).astype(np.int8)


def _sample_colour_sums(
    first: Int[ndarray, "N R"], sign: Int[ndarray, "N"], highest: int, generator: Generator
) -> Int[ndarray, "N R C"]:
    """Draw colours whose third is the sum or difference of the first two.

    White adds nothing, so were it in the second column of the first two rows, a sum could not be told from
    a difference: if it is in the first row, the second row is kept from it.
    """
    first = first.copy()
    adds = sign > 0
    second = np.empty_like(first)
    second[:, 0] = random_integers(
        generator, first[:, 0].shape, np.where(adds, highest - first[:, 0], first[:, 0]) + 1
    )
    first_is_white = second[:, 0] == 0
    only_white_left = first_is_white & (
        first[:, 1] == np.where(adds, highest, 0)
    )  # only white is left for the second column
    other = random_integers(generator, first_is_white.shape, np.full_like(sign, highest)) + np.where(
        adds, 0, 1
    )
    first[:, 1] = np.where(only_white_left, other, first[:, 1])
    span = np.where(adds[:, None], highest - first, first)
    second[:, 1:] = random_integers(generator, first[:, 1:].shape, span[:, 1:] + 1)
    coloured = 1 + random_integers(generator, first_is_white.shape, np.maximum(span[:, 1], 1))
    second[:, 1] = np.where(first_is_white & (second[:, 1] == 0), coloured, second[:, 1])
    return np.stack([first, second, first + sign[:, None] * second], axis=2).astype(np.int8)


def _sample_triples(
    low: Int[ndarray, "N"], high: Int[ndarray, "N"], generator: Generator
) -> Int[ndarray, "N R C"]:
    """Draw three different levels, and shift them cyclically from row to row."""
    keys = generator.random((len(low), int((high - low).max()) + 1))
    keys[np.arange(keys.shape[1]) > (high - low)[:, None]] = 2
    three = low[:, None] + stable_argsort(keys)[:, :3]
    return np.take_along_axis(three[:, None], _sample_shifts(len(low), generator), axis=2).astype(np.int8)


def _sample_shifts(number: int, generator: Generator) -> Int[ndarray, "N R C"]:
    """Say which of the three stands where: the second and third row shift by one and two, or two and one."""
    first = 1 + random_integers(generator, (number,), np.full(number, 2, np.int8))
    rows = np.stack([np.zeros_like(first), first, 3 - first], axis=1)
    return (rows[..., None] + np.arange(3)) % 3


def _sample_slot_sets(
    number: Int[ndarray, "N R C"],
    order: Int[ndarray, "N R C S"],
    sign: Int[ndarray, "N"],
    low: Int[ndarray, "N"],
    high: Int[ndarray, "N"],
    generator: Generator,
) -> tuple[ndarray, ndarray]:
    """Draw second columns until the union grows or the difference is not empty; give all three columns."""
    number, order = number.copy(), order.copy()
    size = order.shape[-1]
    shape = number.shape[:2]
    adds, low, span = (np.repeat(values[:, None], 3, 1) for values in (sign > 0, low, high - low + 1))
    first = slot_bitmasks(number[..., 0], order[..., 0, :])
    second = np.zeros_like(first)
    unfinished = np.ones(shape, bool)
    while unfinished.any():
        counts = low[unfinished] + random_integers(generator, (int(unfinished.sum()),), span[unfinished])
        slots = random_permutations(generator, counts.shape, size)
        number[unfinished, 1], order[unfinished, 1] = counts, slots
        second[unfinished] = slot_bitmasks(counts, slots)
        unfinished = np.where(adds, second & ~first, first & ~second) == 0
    third = np.where(adds, first | second, first & ~second)
    inside = third[..., None] >> np.arange(size) & 1
    number[..., 2] = inside.sum(-1)
    order[..., 2, :] = stable_argsort(-inside)
    return number, order


def _sample_three_sets(
    number: Int[ndarray, "N"], order: Int[ndarray, "N C S"], generator: Generator
) -> Int[ndarray, "N R C S"]:
    """Draw three different sets of slots, and shift them cyclically from row to row."""
    order = order.copy()
    unfinished = np.arange(len(number))
    while len(unfinished):
        slot_sets = slot_bitmasks(number[unfinished, None], order[unfinished])
        repeated = (slot_sets == np.roll(slot_sets, 1, axis=1)).any(axis=1)
        unfinished = unfinished[repeated]
        order[unfinished] = random_permutations(generator, (len(unfinished), 3), order.shape[-1])
    return np.take_along_axis(order[:, None], _sample_shifts(len(number), generator)[..., None], axis=2)
