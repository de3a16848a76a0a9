"""Seven wrong answers beside the right one: the released way, and two ways that do not give it away.

- ``raven``: each wrong answer changes one attribute of the right one. Zhang et al. (2019), "RAVEN: A Dataset
  for Relational and Analogical Visual Reasoning", section 3.3. https://arxiv.org/abs/1903.02741
- ``i-raven``: three attributes get one wrong value each, and the eight candidates are all ways to have or not
  to have them: the attribute bisection tree. Hu et al. (2021), "Stratified Rule-Aware Network for Abstract
  Visual Reasoning", section 4. https://arxiv.org/abs/2002.06838
- ``raven-fair``: each wrong answer changes one attribute of any candidate made before. Benny et al. (2021),
  "Scale-Localized Abstract Reasoning", section 3. https://arxiv.org/abs/2009.09405

::

    raven                 i-raven                            raven-fair
    right                 right                              right
      +-- type                + type                           +-- type
      +-- size                  + size     + size              |     +-- size
      +-- type                    + colour   + colour  ...     +-- colour
      ... seven               ... two, four, eight                   +-- type ... seven

Axes: N problems, M some of them, E 8 candidates (the right one first), K components, S slots of a component,
L levels of an attribute, A 4 attributes, G 4 groups of rules.
"""

from collections.abc import Callable, Sequence
from math import comb

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray
from numpy.random import Generator

from reasonlib.visual_iq.data import grammar
from reasonlib.visual_iq.data.components import (
    UNIFORM,
    Parts,
    below,
    fresh_looks,
    masks,
    orders,
    ranking,
    redrawn,
    slots,
)
from reasonlib.visual_iq.data.example import CONFIGURATIONS, CONTEXT, GOVERNED, PANELS, Component

__all__ = ["ANSWERS", "CANDIDATES", "CHANGED", "available", "i_raven", "raven", "raven_fair"]

CANDIDATES = PANELS - CONTEXT
CHANGED = ("number", "position", "type", "size", "colour")
"""What a wrong candidate may change in a component."""
_NUMBER, _POSITION = 0, 1
_LOOKS = (2, 3, 4)  # places in CHANGED; the group of rules is one less, the attribute two less

Maker = Callable[
    [int, Int[ndarray, "N K G 3"], Int[ndarray, "N K G 2"], Int[ndarray, "N K"], Sequence[Parts], Generator],
    list[Parts],
]
"""Takes configuration, rules, ranges, uniformity, right answer by component and a source of chance; gives the
candidates by component, with axes (N, E)."""


def available(
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
    times = np.zeros((len(rules), len(components), len(CHANGED)), np.int64)
    for part, component in enumerate(components):
        size = len(component.slots)
        sets = np.array([comb(size, chosen) for chosen in range(size + 1)])[numbers[part]]
        times[:, part, _NUMBER] = 2**size - 1 - sets
        governs = rules[:, part, 0, 1] == GOVERNED.index("number")
        times[:, part, _POSITION] = np.where(governs, 0, sets - 1)
        noise = redrawn(rules[:, part]) & (uniformity[:, part] != UNIFORM)
        for place in _LOOKS:
            low, high = grammar.root_range(component, place - 1)
            free = noise & (rules[:, part, place - 1, 0] == grammar.CONSTANT)
            times[:, part, place] = np.where(free, 0, high - low)
    return times


# One attribute at a time ------------------------------------------------------------------------------------


def raven(
    configuration: int,
    rules: Int[ndarray, "N K G 3"],
    ranges: Int[ndarray, "N K G 2"],
    uniformity: Int[ndarray, "N K"],
    right: Sequence[Parts],
    generator: Generator,
) -> list[Parts]:
    """Change one attribute of the right answer, seven times, as the released set does.

    So the right answer has the most common value of each attribute, and a vote among the candidates finds it.
    """
    grown = _Grown(configuration, ranges, right)
    every = np.arange(len(rules))
    times = available(configuration, rules, uniformity, [part.number for part in right])
    times = times.reshape(len(rules), -1)
    for child in range(1, CANDIDATES):
        changed = _pick(times > 0, generator)
        times[every, changed] -= 1
        grown.grow(every, child, np.zeros_like(every), changed, generator)
    return grown.parts


def raven_fair(
    configuration: int,
    rules: Int[ndarray, "N K G 3"],
    ranges: Int[ndarray, "N K G 2"],
    uniformity: Int[ndarray, "N K"],
    right: Sequence[Parts],
    generator: Generator,
) -> list[Parts]:
    """Change one attribute of any candidate made so far, the right one included, seven times.

    An attribute that led to a candidate is not changed again on the way from it.
    """
    grown = _Grown(configuration, ranges, right)
    number = len(rules)
    columns = rules.shape[1] * len(CHANGED)
    times = np.zeros((number, CANDIDATES, columns), np.int64)
    times[:, 0] = available(configuration, rules, uniformity, [part.number for part in right]).reshape(
        number, -1
    )
    barred = np.zeros((number, CANDIDATES, len(CHANGED)), bool)
    for child in range(1, CANDIDATES):
        left = np.arange(number)
        while len(left):
            parent = _pick(times[left].max(axis=2) > 0, generator)
            changed = _pick(times[left, parent] > 0, generator)
            times[left, parent, changed] -= 1
            fine = grown.grow(left, child, parent, changed, generator)
            barred[left, child] = barred[left, parent]
            barred[left, child, changed % len(CHANGED)] = True
            left = left[~fine | grown.repeats(left, child)]
        numbers = [part.number[:, child] for part in grown.parts]
        times[:, child] = available(configuration, rules, uniformity, numbers).reshape(number, -1)
        times[:, child][np.tile(barred[:, child], rules.shape[1])] = 0
    return grown.parts


class _Grown:
    """Candidates that grow from one another, each by one change."""

    def __init__(self, configuration: int, ranges: Int[ndarray, "N K G 2"], right: Sequence[Parts]) -> None:
        self.components = CONFIGURATIONS[configuration].components
        self.ranges = ranges
        self.parts = [_eight(part) for part in right]
        self.sets = [masks(part.number, part.order) for part in self.parts]
        self.parent = np.full((len(ranges), CANDIDATES), -1)
        # Levels that an entity has, or that its children got, as bits: they are not given again.
        self.given = [1 << part.look[..., :-1].astype(np.int16) for part in self.parts]

    def grow(
        self,
        index: Int[ndarray, "M"],
        child: int,
        parent: Int[ndarray, "M"],
        changed: Int[ndarray, "M"],
        generator: Generator,
    ) -> Bool[ndarray, "M"]:
        """Make a candidate from its parent, and tell where that could be done."""
        fine = np.ones(len(index), bool)
        for part, component in enumerate(self.components):
            for array in (*_arrays(self.parts[part]), self.sets[part], self.given[part]):
                array[index, child] = array[index, parent]
            for place in range(len(CHANGED)):
                here = np.flatnonzero(changed == part * len(CHANGED) + place)
                if not len(here):
                    continue
                if place in _LOOKS:
                    fine[here] = self._look(part, place - 2, index[here], child, parent[here], generator)
                else:
                    self._slots(part, component, place, index[here], child, parent[here], generator)
        self.parent[index, child] = parent
        return fine

    def _look(
        self,
        part: int,
        attribute: int,
        index: Int[ndarray, "M"],
        child: int,
        parent: Int[ndarray, "M"],
        generator: Generator,
    ) -> Bool[ndarray, "M"]:
        """Give every entity a level of its own that neither it nor an earlier child had."""
        low, high = grammar.root_range(self.components[part], attribute + 1)
        given = self.given[part]
        fresh = given[index, parent, :, attribute][..., None] >> np.arange(low, high + 1) & 1 == 0
        place = below(generator, fresh.shape[:-1], np.maximum(fresh.sum(axis=-1), 1))
        levels = low + np.argmax(np.cumsum(fresh, axis=-1) > place[..., None], axis=-1)
        self.parts[part].look[index, child, :, attribute] = levels
        given[index, parent, :, attribute] |= (1 << levels).astype(np.int16)
        given[index, child, :, attribute] = given[index, parent, :, attribute]
        present = self.parts[part].present[index, child]
        return (fresh.any(axis=-1) | ~present).all(axis=-1)

    def _slots(
        self,
        part: int,
        component: Component,
        place: int,
        index: Int[ndarray, "M"],
        child: int,
        parent: Int[ndarray, "M"],
        generator: Generator,
    ) -> None:
        """Move the entities, or make another number of new ones, where no earlier child has them."""
        made, sets = self.parts[part], self.sets[part]
        family = (self.parent[index] == parent[:, None]) | (np.arange(CANDIDATES) == parent[:, None])
        family[:, child:] = False
        known = np.where(family, sets[index], -1)
        own = made.number[index, parent]
        number, order = _other_slots(len(component.slots), own, known, place == _NUMBER, generator)
        made.number[index, child], made.order[index, child] = number, order
        sets[index, child] = masks(number, order)
        if place == _NUMBER:
            look = fresh_looks(order.shape, self.ranges[index, part], generator)
            made.look[index, child] = look
            self.given[part][index, child] = 1 << look[..., :-1].astype(np.int16)

    def repeats(self, index: Int[ndarray, "M"], child: int) -> Bool[ndarray, "M"]:
        """Tell where a candidate looks like an earlier one; angles do not count."""
        shown = [
            slots(Parts(*(array[index, : child + 1] for array in _arrays(part))))[..., :-1]
            for part in self.parts
        ]
        flat = np.concatenate([one.reshape(*one.shape[:2], -1) for one in shown], axis=2)
        return (flat[:, :child] == flat[:, child:]).all(axis=2).any(axis=1)


# All at once ------------------------------------------------------------------------------------------------


def i_raven(
    configuration: int,
    rules: Int[ndarray, "N K G 3"],
    ranges: Int[ndarray, "N K G 2"],
    uniformity: Int[ndarray, "N K"],
    right: Sequence[Parts],
    generator: Generator,
) -> list[Parts]:
    """Give three attributes a wrong value each, and make all eight combinations.

    Each value then stands in four candidates, and no vote tells one from another. Where fewer attributes can
    be wrong, one of them is the number of a grid: it takes three wrong values, each with and without a change
    of the other, or seven; and where position and number are the two, one candidate changes the position and
    six the number.
    """
    parts = [_eight(part) for part in right]
    choices = available(configuration, rules, uniformity, [part.number for part in right])
    keys = np.where(choices.reshape(len(rules), -1) > 0, generator.random((len(rules), choices[0].size)), 2)
    most = np.minimum((keys < 2).sum(axis=1), 3)
    rank = ranking(ranking(keys))
    chosen = (rank < most[:, None]).reshape(choices.shape)
    # Candidate e has a change if e has the change's bit; the number's is the last.
    late = np.where(np.arange(len(CHANGED)) == _NUMBER, 99, rank.reshape(choices.shape))
    late = np.where(chosen, late, 999).reshape(len(rules), -1)
    bit = ranking(ranking(late)).reshape(choices.shape)
    candidate = np.arange(CANDIDATES)
    both = chosen[..., _NUMBER].any(axis=1) & chosen[..., _POSITION].any(axis=1)
    # Which wrong number each candidate has, 0 for none: one change, two, two with a position, three.
    turns = np.stack([candidate, candidate >> 1, np.maximum(candidate - 1, 0), candidate >> 2])
    way = np.where(most == 2, 1 + both, np.where(most == 3, 3, 0))
    for part, component in enumerate(CONFIGURATIONS[configuration].components):
        for place in _LOOKS:
            here = np.flatnonzero(chosen[:, part, place])
            levels = _wrong_levels(component, place - 1, rules, uniformity, right, part, here, generator)
            has = candidate >> bit[here, part, place][:, None] & 1 == 1
            look = parts[part].look
            look[here, :, :, place - 2] = np.where(
                has[..., None], levels[:, None], look[here, :, :, place - 2]
            )
        size = len(component.slots)
        if size == 1:
            continue
        here = np.flatnonzero(chosen[:, part, _POSITION])
        has = candidate >> bit[here, part, _POSITION][:, None] & 1 == 1
        has &= (most[here] == 3)[:, None] | (candidate == 1)
        own = right[part].number[here]
        known = masks(own, right[part].order[here])[:, None]
        _, moved = _other_slots(size, own, known, False, generator)
        parts[part].order[here] = np.where(has[..., None], moved[:, None], parts[part].order[here])
        here = np.flatnonzero(chosen[:, part, _NUMBER])
        nth = turns[way[here]]
        _renumber(parts[part], here, nth, both[here] & (most[here] == 3), generator)
    return parts


def _wrong_levels(
    component: Component,
    group: int,
    rules: Int[ndarray, "N K G 3"],
    uniformity: Int[ndarray, "N K"],
    right: Sequence[Parts],
    part: int,
    index: Int[ndarray, "M"],
    generator: Generator,
) -> Int[ndarray, "M S"]:
    """Draw a wrong level for every entity, the same for all where the right answer has but one."""
    low, high = grammar.root_range(component, group)
    own = right[part].look[index, :, group - 1]
    levels = low + below(generator, own.shape, np.full(own.shape, high - low))
    levels += levels >= own
    one = (rules[index, part, group, 0] != grammar.CONSTANT) | (uniformity[index, part] == UNIFORM)
    levels[one] = levels[one, :1]
    return levels


def _renumber(
    part: Parts,
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
    size = part.order.shape[-1]
    every = np.arange(len(index))
    own = part.number[index, 0]
    first = masks(own, part.order[index, 0])
    moved = masks(own[:, None], part.order[index]) != first[:, None]
    remaining = np.repeat(
        np.array([0] + [comb(size, chosen) for chosen in range(1, size + 1)])[None], len(index), axis=0
    )
    remaining[every, own] = 0
    turn = remaining > 0
    known = first[:, None]
    for value in range(1, int(nth.max(initial=0)) + 1):
        needed = (nth == value).any(axis=1)
        turn = np.where(turn.any(axis=1, keepdims=True), turn, remaining > 0)
        open_ = np.where(needed[:, None], turn & (remaining > twice[:, None]), remaining >= 0)
        number = _pick(open_, generator).astype(np.int8)
        number = np.where(needed, number, own)
        turn[every, number] = False
        orders_ = []
        for time in range(2):
            here = np.flatnonzero(needed & (twice | (time == 0)))
            order = np.zeros((len(index), size), np.int8)
            drawn = _sets_of(size, number[here], known[here], generator)
            order[here] = drawn
            remaining[here, number[here]] -= 1
            fresh = np.full(len(index), -1)
            fresh[here] = masks(number[here], drawn)
            known = np.concatenate([known, fresh[:, None]], axis=1)
            orders_.append(order)
        kept = _kept(own, number, size, generator)
        has = nth == value
        row, column = np.nonzero(has)
        other = moved[row, column] & twice[row]
        part.look[index[row], column] = np.take_along_axis(
            part.look[index[row], column], kept[row][..., None].astype(np.int64), axis=1
        )
        part.number[index[row], column] = number[row]
        part.order[index[row], column] = np.where(other[:, None], orders_[1][row], orders_[0][row])


def _kept(
    own: Int[ndarray, "M"], number: Int[ndarray, "M"], size: int, generator: Generator
) -> Int[ndarray, "M S"]:
    """Say which entity each of another number repeats: all as often as can be, the rest by chance."""
    shuffled = ranking(np.where(np.arange(size) < own[:, None], generator.random((len(own), size)), 2))
    place = np.arange(size)
    whole = np.where(number > own, (number - 1) // own * own, 0)[:, None]
    return np.where(
        place < whole,
        place % own[:, None],
        np.take_along_axis(shuffled, np.clip(place - whole, 0, size - 1), axis=1),
    )


# Both -------------------------------------------------------------------------------------------------------


def _arrays(part: Parts) -> tuple[ndarray, ndarray, ndarray]:
    return part.number, part.order, part.look


def _eight(part: Parts) -> Parts:
    """Repeat the right answer for all candidates."""
    return Parts(*(np.repeat(array[:, None], CANDIDATES, axis=1) for array in _arrays(part)))


def _pick(open_: Bool[ndarray, "M C"], generator: Generator) -> Int[ndarray, "M"]:
    """Draw one of the open columns of each row."""
    place = below(generator, (len(open_),), open_.sum(axis=1))
    return np.argmax(np.cumsum(open_, axis=1) > place[:, None], axis=1)


def _other_slots(
    size: int, own: Int[ndarray, "M"], known: Int[ndarray, "M E"], renumber: bool, generator: Generator
) -> tuple[Int[ndarray, "M"], Int[ndarray, "M S"]]:
    """Draw slots that are not known yet: as many as there are, or any other number of them."""
    number, order = own.copy(), np.empty((len(own), size), np.int8)
    left = np.arange(len(own))
    while len(left):
        if renumber:
            drawn = 1 + below(generator, (len(left),), np.full(len(left), size - 1))
            number[left] = drawn + (drawn >= own[left])
        order[left] = orders(generator, (len(left),), size)
        left = left[(masks(number[left], order[left])[:, None] == known[left]).any(axis=1)]
    return number, order


def _sets_of(
    size: int, number: Int[ndarray, "M"], known: Int[ndarray, "M E"], generator: Generator
) -> Int[ndarray, "M S"]:
    """Draw so many slots, other than those known."""
    return _other_slots(size, number, known, False, generator)[1]


ANSWERS: dict[str, Maker] = {"raven": raven, "i-raven": i_raven, "raven-fair": raven_fair}
"""Ways to make the candidates, by name."""
