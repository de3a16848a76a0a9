"""The grammar of RAVEN: which rules a component may follow, and what each leaves open for the first column.

Source: Zhang et al. (2019), "RAVEN: A Dataset for Relational and Analogical Visual Reasoning", sections 3.1
and 3.2. https://arxiv.org/abs/1903.02741

A problem is a sentence of a grammar whose root chooses a structure, a structure its components, a component
its layout, and a layout its entities. One rule is drawn for each of four groups of every component::

    Root --> Structure --> Component --> Layout (number, position, uniformity)
                                           |
                                           +--> Entity (type, size, colour, angle)

A rule needs room: who shall grow by two levels a column must not start at the top. So each rule narrows the
range of levels the first column may be drawn from, and a rule that leaves an empty range is impossible. The
source draws all rules of a problem and starts anew where one is impossible. A rule narrows the range of its
own group alone, so this is the same as drawing each group from its possible rules, at the chances they had.

Axes: N problems, K components, G groups.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Int
from numpy import ndarray
from numpy.random import Generator

from reasonlib.visual_iq.data.example import (
    ANGLES,
    CONFIGURATIONS,
    GOVERNED,
    GROUPS,
    RULES,
    TYPES,
    Component,
    configuration_index,
)

__all__ = [
    "RULE_OPTIONS",
    "Node",
    "RuleOption",
    "grammar_tree",
    "possible_rules",
    "root_range",
    "sample_rules",
]

CONSTANT, PROGRESSION, ARITHMETIC, DISTRIBUTE_THREE = range(len(RULES))
_STEPS, _SIGNS, _NONE = (-2, -1, 1, 2), (1, -1), (0,)

RULE_OPTIONS: tuple[tuple[tuple[str, str, tuple[int, ...]], ...], ...] = (
    (
        ("progression", "number", _STEPS),
        ("progression", "position", _STEPS),
        ("arithmetic", "number", _SIGNS),
        ("arithmetic", "position", _SIGNS),
        ("distribute three", "number", _NONE),
        ("distribute three", "position", _NONE),
        ("constant", "number/position", _NONE),
    ),
    (("progression", "type", _STEPS), ("distribute three", "type", _NONE), ("constant", "type", _NONE)),
    (
        ("progression", "size", _STEPS),
        ("arithmetic", "size", _SIGNS),
        ("distribute three", "size", _NONE),
        ("constant", "size", _NONE),
    ),
    (
        ("progression", "colour", _STEPS),
        ("arithmetic", "colour", _SIGNS),
        ("distribute three", "colour", _NONE),
        ("constant", "colour", _NONE),
    ),
)
"""For each group, the rules that may govern it: ``(rule, governed, values)``. Type knows no arithmetic."""


@dataclass(frozen=True, kw_only=True)
class RuleOption:
    """A rule that a component may follow.

    Parameters
    ----------
    rule, governed
        Words of `RULES` and `GOVERNED`.
    value
        Step of a progression, sign of an arithmetic rule, else 0.
    chance
        Its probability among the possible rules of its group.
    low, high
        Levels of the first column that leave the rule room. For the first group they are numbers of
        entities, and for types, sizes and colours indices.
    """

    rule: str
    governed: str
    value: int
    chance: float
    low: int
    high: int

    @property
    def code(self) -> tuple[int, int, int]:
        """As in `Problems.rules`."""
        return RULES.index(self.rule), GOVERNED.index(self.governed), self.value


def root_range(component: Component, group: int) -> tuple[int, int]:
    """Give the lowest and highest level before any rule: of a number (from 1), type, size or colour.

    >>> root_range(CONFIGURATIONS[2].components[0], 0)
    (1, 9)
    """
    return (component.number, (1, len(TYPES) - 1), component.size, component.colour)[group]


def _first_column_range(rule: str, governed: str, value: int, low: int, high: int) -> tuple[int, int]:
    """Give the levels of the first column under a rule; an empty range says that it is impossible.

    Sizes and numbers are added as counts from one, so that two of the lowest make the second lowest;
    colours are added as levels, so that white adds nothing.
    """
    if rule == "progression" and governed == "position":
        return low, high - 2 * abs(value)
    if rule == "progression":
        return (low, high - 2 * value) if value > 0 else (low - 2 * value, high)
    if rule == "arithmetic" and governed == "position":  # a union must grow, a difference must not be empty
        return (low, high - 1) if value > 0 else ((high + 1) // 2, high - 1)
    if rule == "arithmetic":
        if governed == "colour" and low == high:
            return low, low - 1
        least = low + (governed == "size")  # the least that the second column adds or takes
        return (low, high - least) if value > 0 else (low + least, high)
    if rule == "distribute three" and governed == "position":
        return low, high - 1 if high >= 3 else low - 1
    if rule == "distribute three" and high - low < 2:
        return low, low - 1
    return low, high


@cache
def possible_rules(component: Component, group: int) -> tuple[RuleOption, ...]:
    """List the rules that a component may follow in a group, each with its chance (section 3.2).

    Parameters
    ----------
    component
        A component of one of the `CONFIGURATIONS`.
    group
        Index into `GROUPS`.

    Returns
    -------
    tuple of Option
        Rules in the order of `RULE_OPTIONS`; chances sum to one.

    Examples
    --------
    A lone figure cannot change its number or place:

    >>> [option.rule for option in possible_rules(CONFIGURATIONS[0].components[0], 0)]
    ['constant']
    """
    # excerpt: possible rules
    options = []
    for rule, governed, values in RULE_OPTIONS[group]:
        for value in values:  # steps of a progression, signs of an arithmetic rule
            # the levels that the first column may show under this rule
            low, high = _first_column_range(
                rule,
                governed,
                value,
                *root_range(component, group),
            )
            if low <= high:  # otherwise the rule has no room
                options.append((rule, governed, value, 1 / len(values), low, high))
    total = sum(probability for _, _, _, probability, _, _ in options)
    # end excerpt
    return tuple(
        RuleOption(rule=rule, governed=governed, value=value, chance=probability / total, low=low, high=high)
        for rule, governed, value, probability, low, high in options
    )


def sample_rules(
    configuration: int, number: int, generator: Generator
) -> tuple[Int[ndarray, "N K G 3"], Int[ndarray, "N K G 2"]]:
    """Draw the rules of problems of one configuration.

    Parameters
    ----------
    configuration
        Index into `CONFIGURATIONS`.
    number
        Of problems.
    generator
        Source of chance.

    Returns
    -------
    rules
        As in `Problems.rules`, for the configuration's own components alone.
    ranges
        Lowest and highest level of the first column, as in `RuleOption`.
    """
    components = CONFIGURATIONS[configuration].components
    rules = np.zeros((number, len(components), len(GROUPS), 3), np.int8)
    ranges = np.zeros((number, len(components), len(GROUPS), 2), np.int8)
    for component_index, component in enumerate(components):
        for group in range(len(GROUPS)):
            options = possible_rules(component, group)
            edges = np.cumsum([option.chance for option in options])[:-1]
            choice = np.searchsorted(edges, generator.random(number), side="right")
            rules[:, component_index, group] = np.array([option.code for option in options], np.int8)[choice]
            ranges[:, component_index, group] = np.array([(o.low, o.high) for o in options], np.int8)[choice]
    return rules, ranges


# The grammar to look at -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node of the grammar, with all that grows below it.

    Parameters
    ----------
    level
        Root, Structure, Component, Layout or Entity.
    name
        Of the node.
    ranges
        What the node draws: attribute, lowest and highest level (of a number, the count itself).
    rules
        For each attribute or pair of attributes, the rules it may follow, with their chances.
    children
        Nodes below.
    """

    level: str
    name: str
    ranges: tuple[tuple[str, int, int], ...] = ()
    rules: tuple[tuple[str, tuple[RuleOption, ...]], ...] = ()
    children: tuple["Node", ...] = ()

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Node"]]:
        """Visit the node and all below it, each with its depth."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


def grammar_tree(configuration: str | int | None = None) -> Node:
    """Show the grammar as a tree: of one configuration, or of all.

    Parameters
    ----------
    configuration
        Key, title or index; all by default.

    Raises
    ------
    ValueError
        If there is no such configuration.

    Examples
    --------
    >>> for depth, node in grammar_tree("O-IC").walk():
    ...     print("  " * depth + f"{node.level} {node.name}")
    Root Scene
      Structure Out_In
        Component Out
          Layout Out_Center_Single
            Entity Out
        Component In
          Layout In_Center_Single
            Entity In
    """
    if configuration is None:
        chosen = list(CONFIGURATIONS)
    else:
        chosen = [CONFIGURATIONS[configuration_index(configuration)]]
    return Node(
        level="Root",
        name="Scene",
        children=tuple(
            Node(
                level="Structure",
                name=layout.structure,
                children=tuple(map(_component_node, layout.components)),
            )
            for layout in chosen
        ),
    )


def _component_node(component: Component) -> Node:
    entity = Node(
        level="Entity",
        name=component.name,
        ranges=(
            *((GROUPS[group], *root_range(component, group)) for group in (1, 2, 3)),
            ("angle", 0, len(ANGLES) - 1),
        ),
        rules=tuple((GROUPS[group], possible_rules(component, group)) for group in (1, 2, 3)),
    )
    layout = Node(
        level="Layout",
        name=component.layout,
        ranges=(
            ("number", *component.number),
            ("position", 0, len(component.slots) - 1),
            ("uniformity", 0, 3),
        ),
        rules=((GROUPS[0], possible_rules(component, 0)),),
        children=(entity,),
    )
    return Node(level="Component", name=component.name, children=(layout,))
