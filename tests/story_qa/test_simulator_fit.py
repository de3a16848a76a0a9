"""Measures of a set of stories, by hand and on simulated ones."""

import pytest

from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.simulator_fit import answers, compare, statistics, vocabulary


def example(story, question, answer, support, group=0):
    return Example(task=8, story=story, question=question, answer=answer, support=support, group=group)


GOT, TOOK, LEFT = "Mary got the milk there.", "Mary took the apple there.", "John left the football."
ASKED = "What is Mary carrying?"
THREE = [
    example((GOT,), ASKED, ("milk",), (0,)),
    example((GOT, TOOK), ASKED, ("milk", "apple"), (0, 1)),
    example((GOT, TOOK, LEFT), ASKED, ("milk", "apple"), (0, 1), group=1),
]


def test_measures_by_hand():
    assert statistics(THREE) == {
        "questions": 3,
        "stories": 2,
        "vocabulary": 13,  # mary got the milk there took apple john left football what is carrying
        "story_mean": 2.0,
        "story_max": 3,
        "words_mean": (5 + 5 + 5 + 5 + 4) / 5,  # the two longest stories
        "support_mean": 5 / 3,
        "support_max": 2,
        "answers": 2,
        "majority": 2 / 3,
    }
    assert answers(THREE) == {"milk": 1, "milk,apple": 2}


def test_every_word_is_found_whatever_the_order():
    assert "john" in vocabulary(THREE) and vocabulary(THREE[::-1]) == vocabulary(THREE)


def test_two_sets_side_by_side():
    same = compare(THREE, THREE)
    assert same["simulated"] == same["released"] == statistics(THREE)
    distances = ("answer_distance", "support_distance", "length_distance")
    assert all(same[name] == 0 for name in distances)
    assert same["only_simulated"] == same["only_released"] == []
    other = compare(THREE[:1], THREE)
    assert other["answer_distance"] == pytest.approx(2 / 3)
    assert other["length_distance"] == pytest.approx(2 / 3)
    assert other["only_released"] == ["apple", "football", "john", "left", "took"]


def test_two_seeds_are_near_and_two_tasks_are_far():
    near = compare(simulate(8, 2000, seed=0), simulate(8, 2000, seed=1))
    assert near["answer_distance"] < 0.06 and near["support_distance"] < 0.06
    assert near["only_simulated"] == near["only_released"] == []
    far = compare(simulate(8, 500), simulate(19, 500))
    assert far["answer_distance"] == 1 and "north" in far["only_released"]


def test_nothing_to_measure():
    with pytest.raises(ValueError, match="examples must not be empty"):
        statistics([])
