"""The answer sets of RAVEN and RAVEN-FAIR: each candidate grows from another by one change.

    raven                 raven-fair
    right                 right
      +-- type              +-- type
      +-- size              |     +-- size
      +-- type              +-- colour
      ... seven                   +-- type ... seven

Sources: Zhang et al. (2019), "RAVEN: A Dataset for Relational and Analogical Visual Reasoning", section 3.3;
Benny et al. (2021), "Scale-Localized Abstract Reasoning", section 3. https://arxiv.org/abs/1903.02741
https://arxiv.org/abs/2009.09405

Axes: N problems, M some of them, E 8 candidates (the right one first), K components, S slots of a component,
G 4 groups of rules.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray
from numpy.random import Generator

from reasonlib.visual_iq.data import grammar
from reasonlib.visual_iq.data.components import (
    EntityLists,
    random_integers,
    sample_attributes,
    slot_bitmasks,
    to_slots,
)
from reasonlib.visual_iq.data.example import CONFIGURATIONS, Component
from reasonlib.visual_iq.data.modifications import (
    CANDIDATES,
    ENTITY_ATTRIBUTES,
    MODIFIABLE,
    NUMBER,
    arrays_of,
    count_alternatives,
    random_true_column,
    repeat_for_candidates,
    sample_other_slots,
)

__all__ = ["raven", "raven_fair"]

# One attribute at a time ------------------------------------------------------------------------------------


def raven(
    configuration: int,
    rules: Int[ndarray, "N K G 3"],
    ranges: Int[ndarray, "N K G 2"],
    uniformity: Int[ndarray, "N K"],
    right: Sequence[EntityLists],
    generator: Generator,
) -> list[EntityLists]:
    """Change one attribute of the right answer, seven times, as the released set does.

    So the right answer has the most common value of each attribute, and a vote among the candidates finds it.
    """
    candidates = _CandidateTree(configuration, ranges, right)
    problems = np.arange(len(rules))
    remaining = count_alternatives(
        configuration, rules, uniformity, [component.number for component in right]
    )
    remaining = remaining.reshape(len(rules), -1)
    for child in range(1, CANDIDATES):
        modification = random_true_column(remaining > 0, generator)
        remaining[problems, modification] -= 1
        candidates.grow(problems, child, np.zeros_like(problems), modification, generator)
    return candidates.lists


def raven_fair(
    configuration: int,
    rules: Int[ndarray, "N K G 3"],
    ranges: Int[ndarray, "N K G 2"],
    uniformity: Int[ndarray, "N K"],
    right: Sequence[EntityLists],
    generator: Generator,
) -> list[EntityLists]:
    """Change one attribute of any candidate made so far, the right one included, seven times.

    An attribute that led to a candidate is not changed again on the way from it.
    """
    candidates = _CandidateTree(configuration, ranges, right)
    number = len(rules)
    columns = rules.shape[1] * len(MODIFIABLE)
    remaining = np.zeros((number, CANDIDATES, columns), np.int64)
    remaining[:, 0] = count_alternatives(
        configuration, rules, uniformity, [component.number for component in right]
    ).reshape(number, -1)
    excluded = np.zeros((number, CANDIDATES, len(MODIFIABLE)), bool)
    for child in range(1, CANDIDATES):
        unfinished = np.arange(number)
        while len(unfinished):
            parent = random_true_column(remaining[unfinished].max(axis=2) > 0, generator)
            modification = random_true_column(remaining[unfinished, parent] > 0, generator)
            remaining[unfinished, parent, modification] -= 1
            succeeded = candidates.grow(unfinished, child, parent, modification, generator)
            excluded[unfinished, child] = excluded[unfinished, parent]
            excluded[unfinished, child, modification % len(MODIFIABLE)] = True
            unfinished = unfinished[~succeeded | candidates.repeats_earlier(unfinished, child)]
        numbers = [component.number[:, child] for component in candidates.lists]
        remaining[:, child] = count_alternatives(configuration, rules, uniformity, numbers).reshape(
            number, -1
        )
        remaining[:, child][np.tile(excluded[:, child], rules.shape[1])] = 0
    return candidates.lists


class _CandidateTree:
    """Candidates that grow from one another, each by one change."""

    def __init__(
        self, configuration: int, ranges: Int[ndarray, "N K G 2"], right: Sequence[EntityLists]
    ) -> None:
        self.components = CONFIGURATIONS[configuration].components
        self.ranges = ranges
        self.lists = [repeat_for_candidates(part) for part in right]
        self.slot_sets = [slot_bitmasks(part.number, part.order) for part in self.lists]
        self.parent = np.full((len(ranges), CANDIDATES), -1)
        # Levels that an entity has, or that its children got, as bits: they are not given again.
        self.used_levels = [1 << part.attributes[..., :-1].astype(np.int16) for part in self.lists]

    def grow(
        self,
        index: Int[ndarray, "M"],
        child: int,
        parent: Int[ndarray, "M"],
        modification: Int[ndarray, "M"],
        generator: Generator,
    ) -> Bool[ndarray, "M"]:
        """Make a candidate from its parent, and tell where that could be done."""
        succeeded = np.ones(len(index), bool)
        for component_index, component in enumerate(self.components):
            for array in (
                *arrays_of(self.lists[component_index]),
                self.slot_sets[component_index],
                self.used_levels[component_index],
            ):
                array[index, child] = array[index, parent]
            for attribute in range(len(MODIFIABLE)):
                members = np.flatnonzero(modification == component_index * len(MODIFIABLE) + attribute)
                if not len(members):
                    continue
                if attribute in ENTITY_ATTRIBUTES:
                    succeeded[members] = self._change_attribute(
                        component_index, attribute - 2, index[members], child, parent[members], generator
                    )
                else:
                    self._change_slots(
                        component_index,
                        component,
                        attribute,
                        index[members],
                        child,
                        parent[members],
                        generator,
                    )
        self.parent[index, child] = parent
        return succeeded

    def _change_attribute(
        self,
        component_index: int,
        attribute: int,
        index: Int[ndarray, "M"],
        child: int,
        parent: Int[ndarray, "M"],
        generator: Generator,
    ) -> Bool[ndarray, "M"]:
        """Give every entity a level of its own that neither it nor an earlier child had."""
        low, high = grammar.root_range(self.components[component_index], attribute + 1)
        used_levels = self.used_levels[component_index]
        unused = used_levels[index, parent, :, attribute][..., None] >> np.arange(low, high + 1) & 1 == 0
        rank = random_integers(generator, unused.shape[:-1], np.maximum(unused.sum(axis=-1), 1))
        levels = low + np.argmax(np.cumsum(unused, axis=-1) > rank[..., None], axis=-1)
        self.lists[component_index].attributes[index, child, :, attribute] = levels
        used_levels[index, parent, :, attribute] |= (1 << levels).astype(np.int16)
        used_levels[index, child, :, attribute] = used_levels[index, parent, :, attribute]
        present = self.lists[component_index].present[index, child]
        return (unused.any(axis=-1) | ~present).all(axis=-1)

    def _change_slots(
        self,
        component_index: int,
        component: Component,
        attribute: int,
        index: Int[ndarray, "M"],
        child: int,
        parent: Int[ndarray, "M"],
        generator: Generator,
    ) -> None:
        """Move the entities, or make another number of new ones, where no earlier child has them."""
        lists, sets = self.lists[component_index], self.slot_sets[component_index]
        relatives = (self.parent[index] == parent[:, None]) | (np.arange(CANDIDATES) == parent[:, None])
        relatives[:, child:] = False
        used_sets = np.where(relatives, sets[index], -1)
        count = lists.number[index, parent]
        number, order = sample_other_slots(
            len(component.slots), count, used_sets, attribute == NUMBER, generator
        )
        lists.number[index, child], lists.order[index, child] = number, order
        sets[index, child] = slot_bitmasks(number, order)
        if attribute == NUMBER:
            attributes = sample_attributes(order.shape, self.ranges[index, component_index], generator)
            lists.attributes[index, child] = attributes
            self.used_levels[component_index][index, child] = 1 << attributes[..., :-1].astype(np.int16)

    def repeats_earlier(self, index: Int[ndarray, "M"], child: int) -> Bool[ndarray, "M"]:
        """Tell where a candidate looks like an earlier one; angles do not count."""
        visible = [
            to_slots(EntityLists(*(array[index, : child + 1] for array in arrays_of(lists))))[..., :-1]
            for lists in self.lists
        ]
        flat = np.concatenate([panel.reshape(*panel.shape[:2], -1) for panel in visible], axis=2)
        return (flat[:, :child] == flat[:, child:]).all(axis=2).any(axis=1)
