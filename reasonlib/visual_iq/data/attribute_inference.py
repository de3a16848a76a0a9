"""What the panels of a component say of one attribute of its entities: their type, size or colour.

An attribute follows a rule on its level where the entities of a panel are alike. Where they differ, they are
copied from panel to panel in the slots that a rule moves them to, or the attribute is noise.

Axes: N problems, M some of them, E candidates, P panels, S slots of a component, A 4 attributes,
G 4 groups of rules.
"""

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from reasonlib.visual_iq.data import grammar
from reasonlib.visual_iq.data.example import CONTEXT, Component
from reasonlib.visual_iq.data.grammar import RuleOption
from reasonlib.visual_iq.data.row_rules import LEVEL_RULES, colour_arithmetic, matches_named

__all__ = ["AttributeInference"]


class AttributeInference:
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
        self.expected = np.zeros(len(levels), np.int64)  # predicted levels, as bits
        self.rules = np.full((len(levels), 3), -1, np.int8)
        constant = np.array(grammar.possible_rules(component, group)[-1].code, np.int8)
        for option in grammar.possible_rules(component, group):
            rule = (
                colour_arithmetic if (option.rule, group) == ("arithmetic", 3) else LEVEL_RULES[option.rule]
            )
            fits, third = rule(most[:, :CONTEXT].astype(np.int64), option.value, int(group == 2))
            fits &= self.single & (third >= low) & (third <= high) & matches_named(named, group, option)
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
