"""The bound of what was heard in training, on dialogues counted by hand and on simulated ones."""

import pytest

from reasonlib.goal_dialogue import sets
from reasonlib.goal_dialogue.dialogue import Dialogue, Fact, Turn
from reasonlib.goal_dialogue.heard import heard


def test_by_hand():
    train = [
        Dialogue(
            task=4,
            events=(
                Fact("resto_a", "R_phone", "resto_a_phone"),
                Turn("hi", "hello"),
                Turn("rome", "api_call rome thai"),
                Turn("the phone", "here it is resto_a_phone"),
            ),
        )
    ]
    test = [
        Dialogue(task=4, events=(Turn("hi", "hello"), Turn("no", "api_call thai rome"))),
        Dialogue(
            task=4,
            events=(
                Turn("oslo", "api_call oslo thai"),
                Turn("the phone", "here it is resto_a_phone"),
                Turn("the phone", "here it is resto_b_phone"),
            ),
        ),
    ]
    found = heard(train, test)
    assert found.turns == 5
    assert found.responses == pytest.approx(2 / 5)  # hello, and the phone of a
    assert found.words == pytest.approx(3 / 5)  # the API call of the first dialogue too
    assert (found.api_calls, found.options, found.details) == (0.5, None, 0.5)


def test_new_entities_are_a_wall():
    split = sets.load("simulated", 1, dialogues=60)
    inside, outside = heard(split.train, split.test), heard(split.train, split.oov)
    assert outside.api_calls == 0
    assert inside.words > outside.words
    assert heard(split.train, split.train)[1:3] == (1, 1)


def test_nothing_to_compare():
    silent = Dialogue(task=1, events=(Fact("resto_a", "R_phone", "resto_a_phone"),))
    with pytest.raises(ValueError, match="train and test must each hold at least one turn"):
        heard([silent], [silent])
