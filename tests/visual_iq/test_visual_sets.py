"""The whole set: six to two to two by the last digit, all configurations."""

import numpy as np
import pytest

from reasonlib.visual_iq.data.datasets import load, split
from reasonlib.visual_iq.data.example import KEYS
from reasonlib.visual_iq.data.simulator import simulate


def test_six_to_two_to_two_of_every_configuration():
    parts = load(per_configuration=30, seed=3)
    assert [len(part) for part in parts] == [126, 42, 42]
    for part, many in zip(parts, (18, 6, 6), strict=True):
        assert np.bincount(part.configuration).tolist() == [many] * len(KEYS)


def test_the_last_digit_decides():
    problems = simulate("Center", 25, seed=3)
    train, valid, test = split(problems)
    assert (
        train.entities == problems.entities[[0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24]]
    ).all()
    assert (valid.entities == problems.entities[[6, 7, 16, 17]]).all()
    assert (test.entities == problems.entities[[8, 9, 18, 19]]).all()


def test_loaded_twice_is_drawn_once():
    assert load(per_configuration=10, seed=3, configurations=("2x2Grid",)) is load(
        per_configuration=10, seed=3, configurations=["distribute_four"]
    )


def test_questions_are_shared_between_answers():
    first, second = (load(answers, per_configuration=20, seed=3).test for answers in ("raven", "i-raven"))
    assert (first.entities[:, :8] == second.entities[:, :8]).all()
    assert (first.entities[:, 8:] != second.entities[:, 8:]).any()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"per_configuration": 9}, "per_configuration must be at least 10, got 9"),
        ({"configurations": []}, "configurations must name at least one of center_single"),
        ({"configurations": "Center"}, "configurations must be a list of names, got 'Center'"),
        ({"configurations": ["Centre"]}, "one of .* or by title Center, .* got 'Centre'"),
        ({"answers": "fair"}, "answers must be one of .* got 'fair'"),
    ],
)
def test_bad_input(given, message):
    with pytest.raises(ValueError, match=message):
        load(**{"per_configuration": 10, **given})
