"""Rules read back from the panels, and two solvers: one by the rules, one that never looks at the question.

The rules of a problem are what rows one and two have in common, and what the two panels of row three do not
contradict. Nothing is asked of whoever made the problem: it works on the released files, which name the rules
but not their steps, as on our own. Where rows agree with a rule on slots and with one on numbers, the slots
count, for they say more.

Axes: N problems, E candidates, P panels, S slots of a component, A 4 attributes, G 4 groups of rules.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from reasonlib.errors import UserError
from reasonlib.visual_iq.data import grammar
from reasonlib.visual_iq.data.example import (
    ATTRIBUTES,
    CONFIGURATIONS,
    CONTEXT,
    GROUPS,
    PANELS,
    Component,
    Problems,
)
from reasonlib.visual_iq.data.grammar import Option

__all__ = [
    "Deduction",
    "check",
    "consistent",
    "derive",
    "distinct",
    "majority_vote",
    "read",
    "solve",
    "votes",
]


class Deduction(NamedTuple):
    """What the eight panels of a question say.

    Parameters
    ----------
    rules
        As in `Problems.rules`. Where the rows follow more than one rule, the first of `grammar.OPTIONS`,
        rules on slots before rules on numbers; where they follow none, -1.
    follows
        Candidates that follow the rules.
    open
        Whether the rules that fit the rows foretell different answers.
    """

    rules: Int[ndarray, "N K G 3"]
    follows: Bool[ndarray, "N E"]
    open: Bool[ndarray, "N"]


def derive(problems: Problems) -> Int[ndarray, "N K G 3"]:
    """Read the rules from the eight panels of each question, in the form of `Problems.rules`."""
    return read(problems).rules


def consistent(problems: Problems, *, named: bool = False) -> Bool[ndarray, "N E"]:
    """Tell which candidates follow the rules that the question shows: in a sound problem exactly one.

    Parameters
    ----------
    problems
        With or without rules.
    named
        Consider only rules of the kind that `Problems.rules` names, whose step or sign may be missing.
    """
    return read(problems, named=named).follows


def solve(problems: Problems) -> Int[ndarray, "N"]:
    """Choose the candidate that follows the rules: the first of several, -1 where there is none."""
    follows = consistent(problems)
    return np.where(follows.any(axis=1), follows.argmax(axis=1), -1)


def read(problems: Problems, *, named: bool = False) -> Deduction:
    """Read the rules and judge the candidates; see `Deduction`."""
    number = len(problems)
    rules = np.full((number, 2, len(GROUPS), 3), -1, np.int8)
    follows = np.ones((number, PANELS - CONTEXT), bool)
    doubtful = np.zeros(number, bool)
    for index, configuration in enumerate(CONFIGURATIONS):
        here = np.flatnonzero(problems.configuration == index)
        if not len(here):
            continue
        entities = problems.entities[here]
        for part, (component, place) in enumerate(
            zip(configuration.components, configuration.parts, strict=True)
        ):
            told = problems.rules[here, part] if named else None
            found = explain(component, entities[:, :, place], told)
            rules[here, part] = found.rules
            follows[here] &= found.follows
            doubtful[here] |= found.open_places | found.open_looks
    return Deduction(rules, follows, doubtful)


class Explanation(NamedTuple):
    """What the panels of one component say.

    Parameters
    ----------
    rules
        As in `Deduction`.
    copied
        Candidates that follow a rule on slots whose entities are copied from panel to panel.
    remade
        Candidates that follow a rule on slots whose entities are made anew.
    numbered
        Candidates that follow a rule on numbers.
    by_copies, by_slots
        Whether a rule of the first or second kind fits the rows.
    open_places
        Whether rules that fit foretell different numbers or slots.
    open_looks
        Whether rules that fit foretell different types, sizes or colours.
    """

    rules: Int[ndarray, "N G 3"]
    copied: Bool[ndarray, "N E"]
    remade: Bool[ndarray, "N E"]
    numbered: Bool[ndarray, "N E"]
    by_copies: Bool[ndarray, "N"]
    by_slots: Bool[ndarray, "N"]
    open_places: Bool[ndarray, "N"]
    open_looks: Bool[ndarray, "N"]

    @property
    def follows(self) -> Bool[ndarray, "N E"]:
        """Candidates that follow the rules that say most, of those that any candidate follows."""
        slotted = np.where(self.copied.any(axis=1, keepdims=True), self.copied, self.remade)
        return np.where(slotted.any(axis=1, keepdims=True), slotted, self.numbered)

    @property
    def right(self) -> Bool[ndarray, "N"]:
        """Where the first candidate follows the rules that say most, of those that fit the rows."""
        slotted = np.where(self.by_copies, self.copied[:, 0], self.remade[:, 0])
        return np.where(self.by_copies | self.by_slots, slotted, self.numbered[:, 0])


def explain(
    component: Component, entities: Int[ndarray, "N P S A"], named: Int[ndarray, "N G 3"] | None = None
) -> Explanation:
    """Read the rules of one component, and judge its candidates: the panels after the first eight."""
    number = len(entities)
    filled = entities[..., 0] > 0
    sets = (filled << np.arange(filled.shape[-1])).sum(axis=-1)
    counts = filled.sum(axis=-1)
    looks = [_Look(component, group, entities[..., group - 1], filled, named) for group in (1, 2, 3)]

    rules = np.full((number, len(GROUPS), 3), -1, np.int8)
    for group, look in enumerate(looks, start=1):
        rules[:, group] = look.rules
    shape = (number, entities.shape[1] - CONTEXT)
    tiers = {"copied": np.zeros(shape, bool), "remade": np.zeros(shape, bool)}
    fitting = {"copied": np.zeros(number, bool), "remade": np.zeros(number, bool)}
    foretold = np.full(number, -1)
    doubtful = np.zeros(number, bool)
    for option in grammar.possible(component, 0):
        if option.governed == "number":
            continue
        fits, third = _SLOTS[option.rule](sets[:, :CONTEXT], option.value, filled.shape[-1])
        index = np.flatnonzero(fits & _called(named, 0, option))
        if not len(index):
            continue
        tier = "remade" if option.rule == "arithmetic" else "copied"
        good = sets[index, CONTEXT:] == third[index, None]
        holds = np.ones(len(index), bool)
        for look in looks:
            if tier == "remade":
                good &= look.free_or_follows[index]
            else:
                kept, follows = look.kept(option, entities, sets, index)
                holds &= kept
                good &= follows
        index, good = index[holds], good[holds]
        tiers[tier][index] |= good
        fitting[tier][index] = True
        doubtful[index] |= (foretold[index] >= 0) & (foretold[index] != third[index])
        first = index[foretold[index] < 0]
        foretold[first] = third[first]
        rules[first, 0] = option.code

    expected = np.zeros(number, np.int64)
    for option in grammar.possible(component, 0):
        if option.governed != "number":
            continue
        fits, third = _LEVELS[option.rule](counts[:, :CONTEXT], option.value, 0)
        fits &= _called(named, 0, option) & (third >= 1) & (third <= component.number[1])
        fits = np.flatnonzero(fits)
        expected[fits] |= 1 << third[fits]
        first = fits[rules[fits, 0, 0] < 0]
        rules[first, 0] = option.code
    numbered = (expected[:, None] >> counts[:, CONTEXT:] & 1).astype(bool)
    for look in looks:
        numbered &= look.free_or_follows
    return Explanation(
        rules,
        copied=tiers["copied"],
        remade=tiers["remade"],
        numbered=numbered,
        by_copies=fitting["copied"],
        by_slots=fitting["remade"],
        open_places=doubtful | (foretold < 0) & _several(expected),
        open_looks=np.any([_several(look.expected) for look in looks], axis=0),
    )


def _several(bits: Int[ndarray, "N"]) -> Bool[ndarray, "N"]:
    return (bits & (bits - 1)) > 0


def _called(named: Int[ndarray, "N G 3"] | None, group: int, option: Option) -> ndarray | bool:
    """Tell where a rule is of the kind that the problem names, or none is named."""
    if named is None:
        return True
    return (named[:, group, 0] == option.code[0]) & (named[:, group, 1] == option.code[1])


# A row's rules ----------------------------------------------------------------------------------------------
# Each takes eight values a problem (levels, counts, or slots as bits), a step or sign, and one more number:
# of slots, or what two levels add besides. It tells where rows one and two follow the rule and row three may,
# and what the last panel then is.

Rule = Callable[[Int[ndarray, "N 8"], int, int], tuple[Bool[ndarray, "N"], Int[ndarray, "N"]]]


def _constant(values: ndarray, step: int, extra: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    return _both(a == b, b == c), values[:, 7]


def _progression(values: ndarray, step: int, extra: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    return _both(b == a + step, c == b + step), values[:, 7] + step


def _arithmetic(values: ndarray, sign: int, extra: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    third = values[:, 6] + sign * (values[:, 7] + extra)
    return _both(np.ones_like(a, bool), c == a + sign * (b + extra)), third


def _colour_arithmetic(values: ndarray, sign: int, extra: int) -> tuple[ndarray, ndarray]:
    fits, third = _arithmetic(values, sign, extra)
    return fits & ((values[:, 1] > 0) | (values[:, 4] > 0)), third  # twice white is never meant as a sum


def _distribute_three(values: ndarray, step: int, extra: int) -> tuple[ndarray, ndarray]:
    first, second, third = values[:, :3], values[:, 3:6], values[:, 6:]
    different = (first != np.roll(first, 1, axis=1)).all(axis=1)
    left, right = np.roll(first, -1, axis=1), np.roll(first, 1, axis=1)
    one = (second == left).all(axis=1) & (third == right[:, :2]).all(axis=1)
    other = (second == right).all(axis=1) & (third == left[:, :2]).all(axis=1)
    return different & (one | other), np.where(one, right[:, 2], left[:, 2])


def _moved(values: ndarray, step: int, size: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    return _both(b == _turn(a, step, size), c == _turn(b, step, size)), _turn(values[:, 7], step, size)


def _set_arithmetic(values: ndarray, sign: int, size: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    together = np.where(sign > 0, a | b, a & ~b)
    grows = np.where(sign > 0, b & ~a, a & ~b) != 0
    return _both(grows, c == together), together[:, 2]


def _columns(values: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Give the first and second values of three rows, and the third of two."""
    return values[:, [0, 3, 6]], values[:, [1, 4, 7]], values[:, [2, 5, 5]]


def _both(start: Bool[ndarray, "N 3"], end: Bool[ndarray, "N 3"]) -> Bool[ndarray, "N"]:
    return np.asarray(np.logical_and.reduce([*start.T, *end[:, :2].T]))


def _turn(sets: ndarray, step: int, size: int) -> ndarray:
    """Move every slot of a set on by some steps, the last to the first."""
    step %= size
    return (sets << step | sets >> (size - step)) & ((1 << size) - 1)


_LEVELS: dict[str, Rule] = {
    "constant": _constant,
    "progression": _progression,
    "arithmetic": _arithmetic,
    "distribute three": _distribute_three,
}
_SLOTS: dict[str, Rule] = {
    "constant": _constant,
    "progression": _moved,
    "arithmetic": _set_arithmetic,
    "distribute three": _distribute_three,
}


# A component's looks ----------------------------------------------------------------------------------------


class _Look:
    """One attribute of a component, and what its panels say of it."""

    def __init__(
        self,
        component: Component,
        group: int,
        levels: Int[ndarray, "N P S"],
        filled: Bool[ndarray, "N P S"],
        named: Int[ndarray, "N G 3"] | None,
    ) -> None:
        self.group = group
        low, high = grammar.root_range(component, group)
        most = np.where(filled, levels, -1).max(axis=-1)
        self.alike = most == np.where(filled, levels, 99).min(axis=-1)  # (N, P)
        self.single = self.alike[:, :CONTEXT].all(axis=1)
        self.expected = np.zeros(len(levels), np.int64)  # levels foretold, as bits
        self.rules = np.full((len(levels), 3), -1, np.int8)
        constant = np.array(grammar.possible(component, group)[-1].code, np.int8)
        for option in grammar.possible(component, group):
            rule = _colour_arithmetic if (option.rule, group) == ("arithmetic", 3) else _LEVELS[option.rule]
            fits, third = rule(most[:, :CONTEXT].astype(np.int64), option.value, int(group == 2))
            fits &= self.single & (third >= low) & (third <= high) & _called(named, group, option)
            self.expected |= np.where(fits, 1 << np.clip(third, 0, 62), 0)
            self.rules[fits & (self.rules[:, 0] < 0)] = option.code
        self.rules[self.rules[:, 0] < 0] = constant  # entities differ, and are copied or noise
        self.allows_copies = np.ones(len(levels), bool)
        if named is not None:
            self.allows_copies &= named[:, group, 0] == constant[0]
        level = np.clip(most[:, CONTEXT:], 0, 62)
        self.foretold = self.alike[:, CONTEXT:] & (self.expected[:, None] >> level & 1).astype(bool)

    @property
    def free_or_follows(self) -> Bool[ndarray, "N E"]:
        """Candidates that are right where entities are made anew: an attribute under no rule is noise."""
        return np.where((self.expected != 0)[:, None], self.foretold, True)

    def kept(
        self, option: Option, entities: ndarray, sets: ndarray, index: Int[ndarray, "M"]
    ) -> tuple[Bool[ndarray, "M"], Bool[ndarray, "M E"]]:
        """Tell where copied entities explain the question of some problems, and which candidates follow."""
        holds, good = self.expected[index] != 0, self.foretold[index]
        differing = np.flatnonzero(~holds & self.allows_copies[index])
        if len(differing):
            levels = np.where(entities[..., 0] > 0, entities[..., self.group - 1], -1)[index[differing]]
            holds[differing], good[differing] = _copied(levels, sets[index[differing]], option)
        return holds, good


def _copied(
    levels: Int[ndarray, "N P S"], sets: Int[ndarray, "N P"], option: Option
) -> tuple[Bool[ndarray, "N"], Bool[ndarray, "N E"]]:
    """Tell where the entities of a row are copies of each other, and which candidates continue that.

    Where the rule moves all slots on, an entity moves with its slot. Where three sets take turns, the
    entities of one set go to those of another in an order that is unknown, but the same in each row: so over
    all rows the slots of both sets must have seen the same levels.
    """
    if option.rule != "distribute three":
        holds = np.ones(len(levels), bool)
        for left, right in ((0, 1), (1, 2), (3, 4), (4, 5), (6, 7)):
            holds &= (np.roll(levels[:, left], option.value, axis=-1) == levels[:, right]).all(axis=-1)
        ninth = np.roll(levels[:, 7], option.value, axis=-1)
        return holds, holds[:, None] & (ninth[:, None] == levels[:, CONTEXT:]).all(axis=-1)
    every = np.arange(len(levels))
    # Where each of the three sets of row one stands in rows two and three; one of them is the answer's.
    second = (sets[:, 3:6, None] == sets[:, None, :3]).argmax(axis=1)
    in_third = sets[:, 6:8, None] == sets[:, None, :3]
    third, missing = in_third.argmax(axis=1), ~in_third.any(axis=1)
    pairs = np.stack(
        [
            (levels[:, column].astype(np.int64) + 1) * 16 + levels[every, 3 + second[:, column]] + 1
            for column in range(3)
        ],
        axis=1,
    )  # (N, 3, S)
    seen = np.stack([levels[every, 6 + third[:, column]].astype(np.int64) + 1 for column in range(3)], axis=1)

    def agree(codes: Int[ndarray, "N 3 S"], columns: Bool[ndarray, "N 3"]) -> Bool[ndarray, "N"]:
        ordered = np.sort(codes, axis=-1)
        one = ordered[every, columns.argmax(axis=1)]
        return ((ordered == one[:, None]).all(axis=-1) | ~columns).all(axis=1)

    holds = agree(pairs, np.ones_like(missing)) & agree(pairs * 16 + seen, ~missing)
    good = np.zeros((len(levels), levels.shape[1] - CONTEXT), bool)
    for candidate in range(good.shape[1]):
        ninth = levels[:, CONTEXT + candidate].astype(np.int64) + 1
        whole = pairs * 16 + np.where(missing[..., None], ninth[:, None], seen)
        good[:, candidate] = holds & agree(whole, np.ones_like(missing))
    return holds, good


# Without the question ---------------------------------------------------------------------------------------


def majority_vote(problems: Problems, *, seed: int = 0) -> Int[ndarray, "N"]:
    """Choose the candidate whose attributes most other candidates share, and never look at the question.

    Parameters
    ----------
    problems
        Only candidates are read.
    seed
        Of the draw between candidates with as many votes.
    """
    # excerpt: majority vote
    count = votes(problems)
    tie = np.random.default_rng(seed).random(count.shape)
    return (count + tie).argmax(axis=1)
    # end excerpt


def votes(problems: Problems) -> Int[ndarray, "N E"]:
    """Count for each candidate the candidates that agree with it, over all attributes of all components.

    The attributes are number, position, type, size and colour of each component.
    """
    # excerpt: votes
    count = np.zeros((len(problems), PANELS - CONTEXT), np.int64)  # of each
    for index, configuration in enumerate(CONFIGURATIONS):
        here = np.flatnonzero(problems.configuration == index)
        candidates = problems.entities[here, CONTEXT:]
        for place in configuration.parts:
            for value in _values(candidates[:, :, place]):  # each attribute
                # how many of the eight candidates show the same value as this one
                count[here] += (value[:, :, None] == value[:, None]).sum(axis=-1)
    return count
    # end excerpt


def _values(entities: Int[ndarray, "N E S A"]) -> list[Int[ndarray, "N E"]]:
    """Write each attribute of a component as one integer; of differing entities, their levels in order."""
    filled = entities[..., 0] > 0
    sets = (filled << np.arange(filled.shape[-1])).sum(axis=-1)
    values = [filled.sum(axis=-1), sets]
    for attribute in range(len(ATTRIBUTES) - 1):
        levels = np.where(filled, entities[..., attribute].astype(np.int64) + 1, 0)
        ordered = np.sort(levels, axis=-1)
        values.append((ordered * 11 ** np.arange(ordered.shape[-1])).sum(axis=-1))
    return values


# Soundness --------------------------------------------------------------------------------------------------


def distinct(problems: Problems) -> Bool[ndarray, "N"]:
    """Tell where all eight candidates differ in type, size or colour of some slot; angles do not count."""
    shown = problems.entities[:, CONTEXT:].copy()
    shown[..., -1] = 0
    flat = shown.reshape(len(shown), PANELS - CONTEXT, -1)
    keys = (flat[..., None, :] == flat[:, None]).all(axis=-1).sum(axis=(1, 2))
    return keys == PANELS - CONTEXT


def check(problems: Problems) -> None:
    """Make sure that every problem has eight different candidates, and that only the right one follows.

    Raises
    ------
    UserError
        At the first problem that is not sound: which one, and why.
    """
    follows = consistent(problems)
    different = distinct(problems)
    right = follows[np.arange(len(problems)), problems.target.astype(int)]
    for index in np.flatnonzero(~different | ~right | (follows.sum(axis=1) != 1)):
        found = ", ".join(str(candidate + 1) for candidate in np.flatnonzero(follows[index]))
        if not different[index]:
            raise UserError(f"problem {index}: two of its candidates look the same")
        if not found:
            raise UserError(f"problem {index}: no candidate follows the rules of its first two rows")
        target = problems.target[index] + 1
        raise UserError(f"problem {index}: candidate {target} is right, but the rules allow {found}")
