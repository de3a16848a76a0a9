"""Invented names and areas for the places of training dialogues."""

import random

import pytest

from reasonlib.state_tracking.data.renaming import rename_places, renamed
from reasonlib.state_tracking.data.simulator import SimulatorConfig, simulate
from reasonlib.state_tracking.data.world import make_world
from reasonlib.state_tracking.experiments.train import Recipe

DIALOGUES = simulate(60, seed=3, config=SimulatorConfig(inherit=0.8))
WORLD = make_world()
COMPASS = ("north", "south", "east", "west")
TEST_NAMES = {venue.name for venues in WORLD.unseen.values() for venue in venues}


def said(dialogue):
    return " ".join(f" {turn.system}  {turn.user} " for turn in dialogue.turns)


def names(dialogue):
    last = dialogue.turns[-1].state
    return {pair: value for pair, value in last.items() if pair.endswith("-name") and value != "dontcare"}


def test_a_name_changes_wherever_it_stands():
    changed = 0
    for number, dialogue in enumerate(DIALOGUES):
        new = rename_places(dialogue, random.Random(number))
        for pair, name in names(dialogue).items():
            other = names(new)[pair]
            assert other != name and f" {name} " not in said(new)
            assert said(new).count(f" {other} ") >= said(dialogue).count(f" {name} ") > 0
            changed += 1
        for before, after in zip(dialogue.turns, new.turns, strict=True):
            assert before.origins == after.origins and before.state.keys() == after.state.keys()
            inherited = {p: o.source for p, o in after.origins.items() if o.source is not None}
            for pair, source in inherited.items():
                if before.state[pair] == before.state.get(source):
                    assert after.state[pair] == after.state[source]
    assert changed > 40


def test_the_compass_turns():
    turned = 0
    for number, dialogue in enumerate(DIALOGUES):
        new = rename_places(dialogue, random.Random(number))
        for before, after in zip(dialogue.turns, new.turns, strict=True):
            for pair in (pair for pair in before.state if pair.endswith("-area")):
                old, now = before.state[pair], after.state[pair]
                assert (old in COMPASS) == (now in COMPASS)
                assert f" {old} " not in said(dialogue) or f" {now} " in said(new)
                turned += old != now
    assert turned > 40


def test_places_of_one_dialogue_keep_different_names_and_no_test_name_is_shown():
    for number, dialogue in enumerate(DIALOGUES * 5):
        new = names(rename_places(dialogue, random.Random(number)))
        assert len(set(new.values())) == len(set(names(dialogue).values()))
        assert not TEST_NAMES & set(new.values())


def test_a_share_of_the_dialogues_is_renamed():
    assert renamed(DIALOGUES, 0.0, seed=0) == tuple(DIALOGUES)
    half = renamed(DIALOGUES, 0.5, seed=0)
    assert half == renamed(DIALOGUES, 0.5, seed=0) != renamed(DIALOGUES, 0.5, seed=1)
    same = sum(dialogue == original for dialogue, original in zip(half, DIALOGUES, strict=True))
    assert 10 < same < 50
    with pytest.raises(ValueError, match="renamed must be between 0 and 1, got 2"):
        Recipe(renamed=2)
