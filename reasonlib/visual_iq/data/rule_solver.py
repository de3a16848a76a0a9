"""Rules read back from the panels of a question, and a solver that chooses the candidate that follows them.

The rules of a problem are what rows one and two have in common, and what the two panels of row three do not
contradict. Nothing is asked of whoever made the problem: it works on the released files, which name the rules
but not their steps, as on our own. Where rows agree with a rule on slots and with one on numbers, the slots
count, for they say more.

Axes: N problems, E candidates, P panels, S slots of a component, A 4 attributes, G 4 groups of rules.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from reasonlib.visual_iq.data import grammar
from reasonlib.visual_iq.data.attribute_inference import AttributeInference
from reasonlib.visual_iq.data.example import CONFIGURATIONS, CONTEXT, GROUPS, PANELS, Component, Problems
from reasonlib.visual_iq.data.row_rules import LEVEL_RULES, SLOT_RULES, matches_named

__all__ = [
    "ComponentInference",
    "InferredRules",
    "consistent_candidates",
    "infer",
    "infer_component",
    "infer_rules",
    "solve",
]


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
        AttributeInference(component, group, entities[..., group - 1], filled, named) for group in (1, 2, 3)
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
    attributes: Sequence[AttributeInference],
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
        fits, third = SLOT_RULES[option.rule](sets[:, :CONTEXT], option.value, filled.shape[-1])
        index = np.flatnonzero(fits & matches_named(named, 0, option))
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
    attributes: Sequence[AttributeInference],
    named: Int[ndarray, "N G 3"] | None,
) -> tuple[Int[ndarray, "N 3"], Int[ndarray, "N"], Bool[ndarray, "N E"]]:
    """Read the rules on numbers: the code of the first, the numbers foretold (as bits), who follows them."""
    counts = filled.sum(axis=-1)
    rule = np.full((len(filled), 3), -1, np.int8)
    expected = np.zeros(len(filled), np.int64)
    for option in grammar.possible_rules(component, 0):
        if option.governed != "number":
            continue
        fits, third = LEVEL_RULES[option.rule](counts[:, :CONTEXT], option.value, 0)
        fits &= matches_named(named, 0, option) & (third >= 1) & (third <= component.number[1])
        fits = np.flatnonzero(fits)
        expected[fits] |= 1 << third[fits]
        rule[fits[rule[fits, 0] < 0]] = option.code
    numbered = (expected[:, None] >> counts[:, CONTEXT:] & 1).astype(bool)
    for attribute in attributes:
        numbered &= attribute.free_or_follows
    return rule, expected, numbered


def _has_several(bits: Int[ndarray, "N"]) -> Bool[ndarray, "N"]:
    return (bits & (bits - 1)) > 0
