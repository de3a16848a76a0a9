"""Seven wrong answers beside the right one: the released way, and two ways that do not give it away.

Axes: N problems, E 8 candidates (the right one first), S slots of a component, A 4 attributes, G 4 groups.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Int
from numpy import ndarray
from numpy.random import Generator

from reasonlib.visual_iq import grammar
from reasonlib.visual_iq.parts import UNIFORM, Parts, below, fresh_looks, masks, orders, redrawn
from reasonlib.visual_iq.puzzle import CONFIGURATIONS, CONTEXT, GOVERNED, PANELS, Component

__all__ = ["ANSWERS", "CHANGED", "available", "raven"]

CANDIDATES = PANELS - CONTEXT
CHANGED = ("number", "position", "type", "size", "colour")
"""What a wrong candidate may change in a component."""

Maker = Callable[
    [int, ndarray, ndarray, ndarray, Sequence[Parts], Generator],
    list[Parts],
]


def available(
    configuration: int,
    rules: Int[ndarray, "N K G 3"],
    uniformity: Int[ndarray, "N K"],
    right: Sequence[Parts],
) -> Int[ndarray, "N K 5"]:
    """Count how many wrong values each attribute has to offer; none where a change would break no rule.

    A number can always be wrong. A position can, unless the rule governs the number. A look under a rule can,
    and a constant look unless it is noise.
    """
    components = CONFIGURATIONS[configuration].components
    times = np.zeros((len(rules), len(components), len(CHANGED)), np.int64)
    for part, component in enumerate(components):
        size = len(component.slots)
        sets = np.array([_choose(size, k) for k in range(size + 1)])[right[part].number]
        times[:, part, 0] = 2**size - 1 - sets
        times[:, part, 1] = np.where(rules[:, part, 0, 1] == GOVERNED.index("number"), 0, sets - 1)
        noise = redrawn(rules[:, part]) & (uniformity[:, part] != UNIFORM)
        for group in (1, 2, 3):
            low, high = grammar.root_range(component, group)
            free = noise & (rules[:, part, group, 0] == grammar.CONSTANT)
            times[:, part, group + 1] = np.where(free, 0, high - low)
    return times


def _choose(size: int, chosen: int) -> int:
    from math import comb

    return comb(size, chosen)


def raven(
    configuration: int,
    rules: Int[ndarray, "N K G 3"],
    ranges: Int[ndarray, "N K G 2"],
    uniformity: Int[ndarray, "N K"],
    right: Sequence[Parts],
    generator: Generator,
) -> list[Parts]:
    """Make wrong answers as the released set does: each changes one attribute of the right one (section 3.3).

    So the right answer has the most common value of each attribute, and a vote among the candidates finds it.
    """
    components = CONFIGURATIONS[configuration].components
    every = np.arange(len(rules))
    made = [_eight(part) for part in right]
    others = [
        {group: _other_levels(component, group, part, generator) for group in (1, 2, 3)}
        for component, part in zip(components, right, strict=True)
    ]
    sets = [masks(part.number, part.order) for part in made]
    times = available(configuration, rules, uniformity, right).reshape(len(rules), -1)
    used = np.zeros_like(times)
    for step in range(1, CANDIDATES):
        picked = _pick(times > 0, generator)
        nth = used[every, picked]
        times[every, picked] -= 1
        used[every, picked] += 1
        for part, component in enumerate(components):
            for place, changed in enumerate(CHANGED):
                index = np.flatnonzero(picked == part * len(CHANGED) + place)
                if not len(index):
                    continue
                if changed in ("number", "position"):
                    number, order = _other_slots(
                        component, made[part], sets[part], index, changed == "number", generator
                    )
                    made[part].number[index, step], made[part].order[index, step] = number, order
                    sets[part][index, step] = masks(number, order)
                    if changed == "number":
                        fresh = fresh_looks(
                            (len(index), len(component.slots)), ranges[index, part], generator
                        )
                        made[part].look[index, step] = fresh
                else:
                    levels = others[part][place - 1][index, :, nth[index]]
                    made[part].look[index, step, :, place - 2] = levels
    return made


def _eight(part: Parts) -> Parts:
    """Repeat the right answer for all candidates."""
    return Parts(
        *(np.repeat(one[:, None], CANDIDATES, axis=1) for one in (part.number, part.order, part.look))
    )


def _pick(open_: ndarray, generator: Generator) -> Int[ndarray, "N"]:
    """Draw one of the open columns of each row."""
    place = below(generator, (len(open_),), open_.sum(axis=1))
    return np.argmax(np.cumsum(open_, axis=1) > place[:, None], axis=1)


def _other_levels(
    component: Component, group: int, right: Parts, generator: Generator
) -> Int[ndarray, "N S L"]:
    """Give for each entity the levels that it does not have, in random order."""
    low, high = grammar.root_range(component, group)
    own = right.look[..., group - 1]
    keys = generator.random((*own.shape, high - low + 1), dtype=np.float32)
    keys[np.arange(low, high + 1) == own[..., None]] = 2
    return (low + np.argsort(keys, axis=-1)).astype(np.int8)


def _other_slots(
    component: Component,
    made: Parts,
    sets: Int[ndarray, "N E"],
    index: Int[ndarray, "M"],
    renumber: bool,
    generator: Generator,
) -> tuple[Int[ndarray, "M"], Int[ndarray, "M S"]]:
    """Draw slots that no candidate has so far: as many as in the right answer, or another number of them."""
    size = len(component.slots)
    own = made.number[index, 0]
    number, order = own.copy(), np.empty((len(index), size), np.int8)
    left = np.arange(len(index))
    while len(left):
        if renumber:
            drawn = 1 + below(generator, (len(left),), np.full(len(left), size - 1))
            number[left] = drawn + (drawn >= own[left])
        order[left] = orders(generator, (len(left),), size)
        found = masks(number[left], order[left])
        left = left[(found[:, None] == sets[index[left]]).any(axis=1)]
    return number, order


ANSWERS: dict[str, Maker] = {"raven": raven}
"""Ways to make the candidates, by name."""
