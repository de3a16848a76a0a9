"""Every exercise of every topic: the solution earns all, the stub and every wrong answer nothing."""

import pytest
from editions import EDITIONS

from reasonlib.errors import UserError
from reasonlib.grading import checks, edition


@pytest.mark.parametrize("topic", EDITIONS)
def test_every_exercise_has_an_edition(topic):
    assert {exercise.name for exercise in checks.exercises(topic)} == set(EDITIONS[topic])


@pytest.mark.parametrize(
    ("topic", "name"), [(topic, name) for topic, solved in EDITIONS.items() for name in solved]
)
def test_solution_stub_and_mistakes(topic, name):
    exercise = next(candidate for candidate in checks.exercises(topic) if candidate.name == name)
    assert edition.problems(exercise, EDITIONS[topic][name]) == []


def test_what_holds_no_edition(tmp_path):
    with pytest.raises(UserError, match="there is no teacher's edition"):
        edition.load(tmp_path / "absent.py")
