"""The grammar: which rules are possible, what room they leave, and how the tree shows it."""

import itertools

import numpy as np
import pytest

from reasonlib.visual_iq.data import grammar
from reasonlib.visual_iq.data.example import CONFIGURATIONS, GOVERNED, GROUPS, KEYS, RULES
from reasonlib.visual_iq.data.example import configuration_index as index_of
from reasonlib.visual_iq.data.grammar import (
    RULE_OPTIONS,
    grammar_tree,
    possible_rules,
    root_range,
    sample_rules,
)

COMPONENTS = [component for layout in CONFIGURATIONS for component in layout.components]


def by_title(title, part=-1):
    return CONFIGURATIONS[index_of(title)].components[part]


@pytest.mark.parametrize("group", range(4))
@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.layout)
def test_chances_sum_to_one_and_ranges_are_not_empty(component, group):
    options = possible_rules(component, group)
    assert sum(option.chance for option in options) == pytest.approx(1)
    low, high = root_range(component, group)
    for option in options:
        assert low <= option.low <= option.high <= high


@pytest.mark.parametrize("title", ["Center", "L-R", "U-D", "O-IC"])
def test_a_lone_figure_keeps_number_and_position(title):
    for component in CONFIGURATIONS[index_of(title)].components:
        assert [option.rule for option in possible_rules(component, 0)] == ["constant"]


def test_the_outer_figure_is_white_and_its_size_is_never_added():
    outer = by_title("O-IG", 0)
    assert [option.rule for option in possible_rules(outer, 3)] == ["constant"]
    rules = {(option.rule, option.value) for option in possible_rules(outer, 2)}
    assert rules == {
        ("progression", -1),
        ("progression", 1),
        ("distribute three", 0),
        ("constant", 0),
    }


@pytest.mark.parametrize(
    ("title", "group", "rule", "governed", "value", "expected"),
    [
        ("2x2Grid", 0, "progression", "number", 1, (1, 2)),
        ("2x2Grid", 0, "progression", "number", -1, (3, 4)),
        ("2x2Grid", 0, "progression", "number", 2, None),
        ("2x2Grid", 0, "progression", "position", -1, (1, 2)),
        ("2x2Grid", 0, "progression", "position", 2, None),
        ("2x2Grid", 0, "arithmetic", "number", 1, (1, 3)),
        ("2x2Grid", 0, "arithmetic", "number", -1, (2, 4)),
        ("2x2Grid", 0, "arithmetic", "position", 1, (1, 3)),
        ("2x2Grid", 0, "arithmetic", "position", -1, (2, 3)),
        ("2x2Grid", 0, "distribute three", "position", 0, (1, 3)),
        ("3x3Grid", 0, "progression", "number", -2, (5, 9)),
        ("3x3Grid", 0, "progression", "position", 2, (1, 5)),
        ("3x3Grid", 0, "arithmetic", "position", -1, (5, 8)),
        ("Center", 1, "progression", "type", 2, (1, 1)),
        ("Center", 1, "progression", "type", -2, (5, 5)),
        ("Center", 2, "arithmetic", "size", 1, (0, 4)),
        ("Center", 2, "arithmetic", "size", -1, (1, 5)),
        ("Center", 3, "arithmetic", "colour", 1, (0, 9)),
        ("Center", 3, "arithmetic", "colour", -1, (0, 9)),
        ("Center", 3, "progression", "colour", -2, (4, 9)),
        ("O-IG", 2, "arithmetic", "size", 1, (2, 2)),
        ("O-IG", 2, "arithmetic", "size", -1, (5, 5)),
    ],
)
def test_the_room_that_a_rule_leaves(title, group, rule, governed, value, expected):
    ranges = {
        (option.rule, option.governed, option.value): (option.low, option.high)
        for option in possible_rules(by_title(title), group)
    }
    assert ranges.get((rule, governed, value)) == expected


def test_types_are_never_added():
    assert all(
        "arithmetic" != option.rule for component in COMPONENTS for option in possible_rules(component, 1)
    )


def test_the_same_chances_as_starting_anew_where_a_rule_is_impossible():
    """Draw whole rule sets and reject: what the source does."""
    component = by_title("O-IG")
    rng = np.random.default_rng(0)
    accepted = {group: [] for group in range(4)}
    for _ in range(4000):
        drawn = []
        for group, choices in enumerate(RULE_OPTIONS):
            rule, governed, values = choices[rng.integers(len(choices))]
            value = values[rng.integers(len(values))]
            fits = [
                option
                for option in possible_rules(component, group)
                if (option.rule, option.governed, option.value) == (rule, governed, value)
            ]
            if not fits:
                break
            drawn.append(fits[0])
        else:
            for group, option in enumerate(drawn):
                accepted[group].append(option)
    for group in range(4):
        total = len(accepted[group])
        assert total > 500
        for option in possible_rules(component, group):
            share = accepted[group].count(option) / total
            assert share == pytest.approx(option.chance, abs=4 * (option.chance / total) ** 0.5)


@pytest.mark.parametrize("configuration", range(7))
def test_drawn_rules_are_possible_ones(configuration):
    rules, ranges = sample_rules(configuration, 300, np.random.default_rng(1))
    components = CONFIGURATIONS[configuration].components
    assert rules.shape == (300, len(components), 4, 3)
    for (part, component), group in itertools.product(enumerate(components), range(4)):
        allowed = {(*option.code, option.low, option.high) for option in possible_rules(component, group)}
        drawn = np.concatenate([rules[:, part, group], ranges[:, part, group]], axis=1)
        assert {tuple(row) for row in drawn.tolist()} <= allowed


def test_an_option_speaks_the_language_of_problems():
    for component, group in itertools.product(COMPONENTS, range(4)):
        for option in possible_rules(component, group):
            rule, governed, value = option.code
            assert (RULES[rule], GOVERNED[governed], value) == (option.rule, option.governed, option.value)


def test_the_tree_holds_every_layout_and_all_levels_of_the_grammar():
    whole = grammar_tree()
    nodes = [node for _, node in whole.walk()]
    assert {node.level for node in nodes} == {"Root", "Structure", "Component", "Layout", "Entity"}
    layouts = [node.name for node in nodes if node.level == "Layout"]
    assert layouts == [component.layout for component in COMPONENTS]


def test_a_branch_shows_ranges_and_rules():
    entity = [
        node
        for _, node in grammar_tree("in_center_single_out_center_single").walk()
        if node.level == "Entity"
    ]
    assert entity[0].name == "Out"
    assert ("size", 3, 5) in entity[0].ranges
    assert dict(entity[0].rules)["colour"] == possible_rules(by_title("O-IC", 0), 3)
    layout = next(node for _, node in grammar_tree(2).walk() if node.level == "Layout")
    assert ("number", 1, 9) in layout.ranges
    assert layout.rules[0][0] == GROUPS[0]


def test_a_configuration_by_key_title_or_index():
    assert [index_of(key) for key in KEYS] == list(range(7))
    assert index_of("O-IG") == index_of(6) == 6


@pytest.mark.parametrize(
    ("bad", "message"),
    [("4x4Grid", "configuration must be one of center_single"), (7, "0 to 6, got 7"), (-1, "got -1")],
)
def test_an_unknown_configuration(bad, message):
    with pytest.raises(ValueError, match=message):
        grammar_tree(bad)


def test_public_names():
    assert all(hasattr(grammar, name) for name in grammar.__all__)
