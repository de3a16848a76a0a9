"""Rules read back from the panels, and two solvers: one by the rules, one that never looks at the question.

The rules of a problem are what rows one and two have in common, and what the two panels of row three do not
contradict. Nothing is asked of whoever made the problem: it works on the released files, which name the rules
but not their steps, as on our own. Where rows agree with a rule on slots and with one on numbers, the slots
count, for they say more.

Axes: N problems, E candidates, P panels, S slots of a component, A 4 attributes, G 4 groups of rules.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from reasonlib.visual_iq.data import grammar
from reasonlib.visual_iq.data.example import (
    CONFIGURATIONS,
    CONTEXT,
    GROUPS,
    PANELS,
    Component,
    Problems,
)
from reasonlib.visual_iq.data.grammar import RuleOption

__all__ = ["InferredRules", "consistent_candidates", "infer", "infer_rules", "solve"]


class InferredRules(NamedTuple):
    """What the eight panels of a question say.

    Parameters
    ----------
    rules
        As in `Problems.rules`. Where the rows follow more than one rule, the first of `grammar.RULE_OPTIONS`,
        rules on slots before rules on numbers; where they follow none, -1.
    follows
        Candidates that follow the rules.
    open
        Whether the rules that fit the rows foretell different answers.
    """

    rules: Int[ndarray, "N K G 3"]
    follows: Bool[ndarray, "N E"]
    open: Bool[ndarray, "N"]


def infer_rules(problems: Problems) -> Int[ndarray, "N K G 3"]:
    """Read the rules from the eight panels of each question, in the form of `Problems.rules`."""
    return infer(problems).rules


def consistent_candidates(problems: Problems, *, named: bool = False) -> Bool[ndarray, "N E"]:
    """Tell which candidates follow the rules that the question shows: in a sound problem exactly one.

    Parameters
    ----------
    problems
        With or without rules.
    named
        Consider only rules of the kind that `Problems.rules` names, whose step or sign may be missing.
    """
    return infer(problems, named=named).follows


def solve(problems: Problems) -> Int[ndarray, "N"]:
    """Choose the candidate that follows the rules: the first of several, -1 where there is none."""
    follows = consistent_candidates(problems)
    return np.where(follows.any(axis=1), follows.argmax(axis=1), -1)


def infer(problems: Problems, *, named: bool = False) -> InferredRules:
    """Read the rules and judge the candidates; see `InferredRules`."""
    number = len(problems)
    rules = np.full((number, 2, len(GROUPS), 3), -1, np.int8)
    follows = np.ones((number, PANELS - CONTEXT), bool)
    ambiguous = np.zeros(number, bool)
    for index, configuration in enumerate(CONFIGURATIONS):
        members = np.flatnonzero(problems.configuration == index)
        if not len(members):
            continue
        entities = problems.entities[members]
        for component_index, (component, slots) in enumerate(
            zip(configuration.components, configuration.component_slices, strict=True)
        ):
            rule_names = problems.rules[members, component_index] if named else None
            inference = infer_component(component, entities[:, :, slots], rule_names)
            rules[members, component_index] = inference.rules
            follows[members] &= inference.follows
            ambiguous[members] |= inference.open_places | inference.open_looks
    return InferredRules(rules, follows, ambiguous)


class ComponentInference(NamedTuple):
    """What the panels of one component say.

    Parameters
    ----------
    rules
        As in `InferredRules`.
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


def infer_component(
    component: Component, entities: Int[ndarray, "N P S A"], named: Int[ndarray, "N G 3"] | None = None
) -> ComponentInference:
    """Read the rules of one component, and judge its candidates: the panels after the first eight."""
    filled = entities[..., 0] > 0
    attributes = [
        _AttributeInference(component, group, entities[..., group - 1], filled, named) for group in (1, 2, 3)
    ]
    slots = _infer_slots(component, entities, filled, attributes, named)
    number_rule, expected, numbered = _infer_number(component, filled, attributes, named)
    rules = np.full((len(entities), len(GROUPS), 3), -1, np.int8)
    rules[:, 0] = np.where(slots.rule[:, :1] >= 0, slots.rule, number_rule)
    for group, attribute in enumerate(attributes, start=1):
        rules[:, group] = attribute.rules
    return ComponentInference(
        rules,
        copied=slots.consistent["copied"],
        remade=slots.consistent["remade"],
        numbered=numbered,
        by_copies=slots.fits["copied"],
        by_slots=slots.fits["remade"],
        open_places=slots.open | (slots.rule[:, 0] < 0) & _has_several(expected),
        open_looks=np.any([_has_several(attribute.expected) for attribute in attributes], axis=0),
    )


class _SlotInference(NamedTuple):
    """What the rules on the slots of a component say.

    Parameters
    ----------
    rule
        Code of the first rule that fits the rows and explains the question; -1 where there is none.
    consistent
        Candidates that follow such a rule: on slots whose entities are ``copied``, or ``remade``.
    fits
        Whether such a rule fits the rows, for both kinds.
    open
        Whether rules that fit foretell different slots.
    """

    rule: Int[ndarray, "N 3"]
    consistent: dict[str, Bool[ndarray, "N E"]]
    fits: dict[str, Bool[ndarray, "N"]]
    open: Bool[ndarray, "N"]


def _infer_slots(
    component: Component,
    entities: Int[ndarray, "N P S A"],
    filled: Bool[ndarray, "N P S"],
    attributes: Sequence["_AttributeInference"],
    named: Int[ndarray, "N G 3"] | None,
) -> _SlotInference:
    """Read the rules on slots, and judge the candidates by them and by the attributes of the entities."""
    number = len(entities)
    sets = (filled << np.arange(filled.shape[-1])).sum(axis=-1)  # (N, P), slots as bits
    shape = (number, entities.shape[1] - CONTEXT)
    rule = np.full((number, 3), -1, np.int8)
    consistent_by_tier = {"copied": np.zeros(shape, bool), "remade": np.zeros(shape, bool)}
    fits_by_tier = {"copied": np.zeros(number, bool), "remade": np.zeros(number, bool)}
    predicted = np.full(number, -1)
    ambiguous = np.zeros(number, bool)
    for option in grammar.possible_rules(component, 0):
        if option.governed == "number":
            continue
        fits, third = _SLOT_RULES[option.rule](sets[:, :CONTEXT], option.value, filled.shape[-1])
        index = np.flatnonzero(fits & _matches_named(named, 0, option))
        if not len(index):
            continue
        tier = "remade" if option.rule == "arithmetic" else "copied"
        consistent = sets[index, CONTEXT:] == third[index, None]
        explained = np.ones(len(index), bool)
        for attribute in attributes:
            if tier == "remade":
                consistent &= attribute.free_or_follows[index]
            else:
                kept, follows = attribute.kept(option, entities, sets, index)
                explained &= kept
                consistent &= follows
        index, consistent = index[explained], consistent[explained]
        consistent_by_tier[tier][index] |= consistent
        fits_by_tier[tier][index] = True
        ambiguous[index] |= (predicted[index] >= 0) & (predicted[index] != third[index])
        first = index[predicted[index] < 0]
        predicted[first] = third[first]
        rule[first] = option.code
    return _SlotInference(rule, consistent_by_tier, fits_by_tier, ambiguous)


def _infer_number(
    component: Component,
    filled: Bool[ndarray, "N P S"],
    attributes: Sequence["_AttributeInference"],
    named: Int[ndarray, "N G 3"] | None,
) -> tuple[Int[ndarray, "N 3"], Int[ndarray, "N"], Bool[ndarray, "N E"]]:
    """Read the rules on numbers: the code of the first, the numbers foretold (as bits), who follows them."""
    counts = filled.sum(axis=-1)
    rule = np.full((len(filled), 3), -1, np.int8)
    expected = np.zeros(len(filled), np.int64)
    for option in grammar.possible_rules(component, 0):
        if option.governed != "number":
            continue
        fits, third = _LEVEL_RULES[option.rule](counts[:, :CONTEXT], option.value, 0)
        fits &= _matches_named(named, 0, option) & (third >= 1) & (third <= component.number[1])
        fits = np.flatnonzero(fits)
        expected[fits] |= 1 << third[fits]
        rule[fits[rule[fits, 0] < 0]] = option.code
    numbered = (expected[:, None] >> counts[:, CONTEXT:] & 1).astype(bool)
    for attribute in attributes:
        numbered &= attribute.free_or_follows
    return rule, expected, numbered


def _has_several(bits: Int[ndarray, "N"]) -> Bool[ndarray, "N"]:
    return (bits & (bits - 1)) > 0


def _matches_named(named: Int[ndarray, "N G 3"] | None, group: int, option: RuleOption) -> ndarray | bool:
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
    return _rows_agree(a == b, b == c), values[:, 7]


def _progression(values: ndarray, step: int, extra: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    return _rows_agree(b == a + step, c == b + step), values[:, 7] + step


def _arithmetic(values: ndarray, sign: int, extra: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    third = values[:, 6] + sign * (values[:, 7] + extra)
    return _rows_agree(np.ones_like(a, bool), c == a + sign * (b + extra)), third


def _colour_arithmetic(values: ndarray, sign: int, extra: int) -> tuple[ndarray, ndarray]:
    fits, third = _arithmetic(values, sign, extra)
    return fits & ((values[:, 1] > 0) | (values[:, 4] > 0)), third  # twice white is never meant as a sum


def _distribute_three(values: ndarray, step: int, extra: int) -> tuple[ndarray, ndarray]:
    first, second, third = values[:, :3], values[:, 3:6], values[:, 6:]
    different = (first != np.roll(first, 1, axis=1)).all(axis=1)
    left, right = np.roll(first, -1, axis=1), np.roll(first, 1, axis=1)
    leftward = (second == left).all(axis=1) & (third == right[:, :2]).all(axis=1)
    rightward = (second == right).all(axis=1) & (third == left[:, :2]).all(axis=1)
    return different & (leftward | rightward), np.where(leftward, right[:, 2], left[:, 2])


def _moved_slots(values: ndarray, step: int, size: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    return _rows_agree(b == _rotate_slots(a, step, size), c == _rotate_slots(b, step, size)), _rotate_slots(
        values[:, 7], step, size
    )


def _set_arithmetic(values: ndarray, sign: int, size: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    together = np.where(sign > 0, a | b, a & ~b)
    grows = np.where(sign > 0, b & ~a, a & ~b) != 0
    return _rows_agree(grows, c == together), together[:, 2]


def _columns(values: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Give the first and second values of three rows, and the third of two."""
    return values[:, [0, 3, 6]], values[:, [1, 4, 7]], values[:, [2, 5, 5]]


def _rows_agree(start: Bool[ndarray, "N 3"], end: Bool[ndarray, "N 3"]) -> Bool[ndarray, "N"]:
    return np.asarray(np.logical_and.reduce([*start.T, *end[:, :2].T]))


def _rotate_slots(sets: ndarray, step: int, size: int) -> ndarray:
    """Move every slot of a set on by some steps, the last to the first."""
    step %= size
    return (sets << step | sets >> (size - step)) & ((1 << size) - 1)


_LEVEL_RULES: dict[str, Rule] = {
    "constant": _constant,
    "progression": _progression,
    "arithmetic": _arithmetic,
    "distribute three": _distribute_three,
}
_SLOT_RULES: dict[str, Rule] = {
    "constant": _constant,
    "progression": _moved_slots,
    "arithmetic": _set_arithmetic,
    "distribute three": _distribute_three,
}


# A component's looks ----------------------------------------------------------------------------------------


class _AttributeInference:
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
        constant = np.array(grammar.possible_rules(component, group)[-1].code, np.int8)
        for option in grammar.possible_rules(component, group):
            rule = (
                _colour_arithmetic if (option.rule, group) == ("arithmetic", 3) else _LEVEL_RULES[option.rule]
            )
            fits, third = rule(most[:, :CONTEXT].astype(np.int64), option.value, int(group == 2))
            fits &= self.single & (third >= low) & (third <= high) & _matches_named(named, group, option)
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
        self, option: RuleOption, entities: ndarray, sets: ndarray, index: Int[ndarray, "M"]
    ) -> tuple[Bool[ndarray, "M"], Bool[ndarray, "M E"]]:
        """Tell where copied entities explain the question of some problems, and which candidates follow."""
        explained, consistent = self.expected[index] != 0, self.foretold[index]
        differing = np.flatnonzero(~explained & self.allows_copies[index])
        if len(differing):
            levels = np.where(entities[..., 0] > 0, entities[..., self.group - 1], -1)[index[differing]]
            explained[differing], consistent[differing] = _continues_copies(
                levels, sets[index[differing]], option
            )
        return explained, consistent


def _continues_copies(
    levels: Int[ndarray, "N P S"], sets: Int[ndarray, "N P"], option: RuleOption
) -> tuple[Bool[ndarray, "N"], Bool[ndarray, "N E"]]:
    """Tell where the entities of a row are copies of each other, and which candidates continue that.

    Where the rule moves all slots on, an entity moves with its slot. Where three sets take turns, the
    entities of one set go to those of another in an order that is unknown, but the same in each row: so over
    all rows the slots of both sets must have seen the same levels.
    """
    if option.rule != "distribute three":
        explained = np.ones(len(levels), bool)
        for left, right in ((0, 1), (1, 2), (3, 4), (4, 5), (6, 7)):
            explained &= (np.roll(levels[:, left], option.value, axis=-1) == levels[:, right]).all(axis=-1)
        ninth = np.roll(levels[:, 7], option.value, axis=-1)
        return explained, explained[:, None] & (ninth[:, None] == levels[:, CONTEXT:]).all(axis=-1)
    problems = np.arange(len(levels))
    # Where each of the three sets of row one stands in rows two and three; one of them is the answer's.
    second = (sets[:, 3:6, None] == sets[:, None, :3]).argmax(axis=1)
    in_third = sets[:, 6:8, None] == sets[:, None, :3]
    third, missing = in_third.argmax(axis=1), ~in_third.any(axis=1)
    pairs = np.stack(
        [
            (levels[:, column].astype(np.int64) + 1) * 16 + levels[problems, 3 + second[:, column]] + 1
            for column in range(3)
        ],
        axis=1,
    )  # (N, 3, S)
    third_levels = np.stack(
        [levels[problems, 6 + third[:, column]].astype(np.int64) + 1 for column in range(3)], axis=1
    )

    def agree(codes: Int[ndarray, "N 3 S"], columns: Bool[ndarray, "N 3"]) -> Bool[ndarray, "N"]:
        ordered = np.sort(codes, axis=-1)
        reference = ordered[problems, columns.argmax(axis=1)]
        return ((ordered == reference[:, None]).all(axis=-1) | ~columns).all(axis=1)

    explained = agree(pairs, np.ones_like(missing)) & agree(pairs * 16 + third_levels, ~missing)
    consistent = np.zeros((len(levels), levels.shape[1] - CONTEXT), bool)
    for candidate in range(consistent.shape[1]):
        ninth = levels[:, CONTEXT + candidate].astype(np.int64) + 1
        codes = pairs * 16 + np.where(missing[..., None], ninth[:, None], third_levels)
        consistent[:, candidate] = explained & agree(codes, np.ones_like(missing))
    return explained, consistent
