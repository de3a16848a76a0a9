"""What dialogues are made of."""

import pytest

from reasonlib.goal_dialogue.data.simulator import make_split
from reasonlib.goal_dialogue.data.simulator_fit import compare, describe, phrases, template
from reasonlib.goal_dialogue.data.world import FIXED

TYPES = {"rome": "location", "two": "number", "resto": "restaurant"}


def test_entities_give_way_to_types_and_wishes_are_cut_apart():
    assert template("api_call thai rome two cheap", TYPES) == "api_call thai <location> <number> cheap"
    first = phrases("may i have a table in rome for two", TYPES)
    assert first == ("may i have a table", "in <location>", "for <number>")
    assert set(phrases("may i have a table for two in rome", TYPES)) == set(first)


def test_counts_of_a_task_are_those_of_its_rules():
    split = make_split(3, dialogues=80)
    counted = describe(split.train, split.knowledge.types())
    assert counted.dialogues == 80 and counted.turns == sum(len(dialogue.turns) for dialogue in split.train)
    assert set(counted.responses) <= {*FIXED, "what do you think of this option: <restaurant>"}
    assert min(counted.restaurants) >= 3 and 0 not in counted.offered and counted.facts % 7 == 0
    assert sum(counted.lengths.values()) == 80
    assert counted.rows()["restaurants found"] == counted.facts / 7 / 80


def test_two_seeds_differ_by_chance_and_two_tasks_by_more():
    first, second = (make_split(1, dialogues=150, seed=seed) for seed in (1, 2))
    types = first.knowledge.types()
    near = compare(describe(first.train, types), describe(second.train, types))
    assert near.only_first == near.only_second == () and near.responses < 0.05 and near.phrases < 0.15
    far = compare(describe(first.train, types), describe(make_split(2, dialogues=50).train, types))
    assert "you're welcome" in far.only_second and far.responses > 0.3
    same = compare(describe(first.train, types), describe(first.train, types))
    assert same.responses == same.phrases == same.lengths == same.restaurants == same.offered == 0


def test_nothing_has_no_statistics():
    with pytest.raises(ValueError, match="describe needs at least one dialogue"):
        describe([], {})
