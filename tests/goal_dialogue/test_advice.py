"""The small advice line, which stands in for a private set."""

import pytest

from reasonlib.goal_dialogue.data import advice
from reasonlib.goal_dialogue.data.text_format import dumps, parse
from reasonlib.goal_dialogue.data.world import SLOTS


@pytest.mark.parametrize("task", advice.TASKS)
def test_fifty_dialogues_whose_responses_are_candidates(task):
    split = advice.make_split(task)
    assert (len(split.train), len(split.valid), len(split.test), len(split.oov)) == (30, 10, 10, 0)
    dialogues = [*split.train, *split.valid, *split.test]
    candidates = set(split.candidates)
    assert len(candidates) == len(split.candidates)
    assert all(turn.bot in candidates for dialogue in dialogues for turn in dialogue.turns)
    assert parse(dumps(dialogues).split("\n"), "here", task, candidates=candidates) == dialogues
    assert advice.make_split(task) == split != advice.make_split(task, seed=1)


def test_calls_hold_what_the_child_said_and_people_are_offered_best_first():
    split = advice.make_split(5)
    types = {value: slot for slot, values in advice.VALUES.items() for value in values}
    for dialogue in split.train:
        slots = {}
        for turn in dialogue.turns:
            slots |= {types[word]: word for word in turn.user.split() if word in types}
            if turn.bot.startswith("api_call"):
                assert turn.bot.split()[1:] == [slots[slot] for slot in SLOTS]
        offered = [turn.bot.split()[-1] for turn in dialogue.turns if turn.bot.startswith(advice.OFFER)]
        ratings = [int(split.knowledge.facts[name]["R_rating"]) for name in offered]
        assert ratings == sorted(ratings, reverse=True) and ratings


def test_what_the_line_lacks_is_refused():
    with pytest.raises(ValueError, match="task must be one of 1, 2, 3, 5, got 4"):
        advice.make_split(4)
    with pytest.raises(ValueError, match="dialogues must be at least 5, got 4"):
        advice.make_split(1, dialogues=4)
