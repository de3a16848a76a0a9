"""A check passes the right answer, tells wrong ones apart, and survives whatever a student writes."""

import json
import sys
import types

import numpy as np
import pytest
import torch

from reasonlib.display import show
from reasonlib.errors import UserError
from reasonlib.grading import checks

SCORES = np.array([1.0, 2.0, 3.0])
RIGHT = np.exp(SCORES) / np.exp(SCORES).sum()


@checks.exercise(title="Attend", minutes=5, points=2)
@checks.hint("Raise e to every score, then divide by `their sum`.")
def check_attend(attend):
    """Softmax of three scores."""
    checks.expect_close(
        attend(torch.tensor(SCORES)),
        RIGHT,
        "the weights are not the softmax of the scores",
        wrong={"divide by the sum, so that the weights add up to one": np.exp(SCORES)},
        what="the weights",
    )


@checks.exercise(title="Name the capital", minutes=1, points=1)
@checks.hint("It is a string.")
def check_capital(capital):
    checks.expect_equal(
        capital, "Paris", "not the capital of France", wrong={"a big city, but not the capital": "Lyon"}
    )


@checks.exercise(title="A module", minutes=1, points=1)
@checks.hint("Subclass `torch.nn.Module`.")
def check_module(module):
    made = module()
    checks.expect(isinstance(made, torch.nn.Module), "make it a torch.nn.Module")
    checks.expect_close(made(torch.ones(2)), [2.0, 2.0], "double the input")


def test_the_right_answer_passes():
    result = check_attend(lambda scores: torch.softmax(scores, -1))
    assert result.passed
    assert result.earned == result.points == 2
    assert repr(result) == "✓ Attend: passed, 2 of 2 points"
    assert checks.require(result) is result


def untouched_answers():
    def only_docstring(scores):
        """Attend."""

    def passing(scores):
        pass

    def dots(scores): ...

    def returns_none(scores):
        return None

    def returns_dots(scores):
        """Attend."""
        return ...

    def raises(scores):
        """Attend."""
        raise NotImplementedError("your code here")

    def half_written(scores):
        weights = ...
        return weights

    return [
        None,
        ...,
        checks.stub(),
        only_docstring,
        passing,
        dots,
        returns_none,
        returns_dots,
        raises,
        half_written,
    ]


@pytest.mark.parametrize("answer", untouched_answers())
def test_an_untouched_answer_fails_with_where_to_begin(answer):
    result = check_attend(answer)
    assert not result.passed
    assert result.untouched
    assert result.mark == "○"
    assert "Start here: Raise e to every score" in result.message
    assert result.earned == 0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda scores: torch.exp(scores), "divide by the sum"),
        (
            lambda scores: scores / scores.sum(),
            r"the weights are not the softmax of the scores \(largest difference",
        ),
        (lambda scores: torch.softmax(scores, -1)[None], r"the weights must have shape \(3,\), got \(1, 3\)"),
        (lambda scores: torch.full((3,), torch.nan), "there is NaN in the weights"),
        (lambda scores: "seven", "the weights must be numbers, got 'seven'"),
        (lambda: 1, "could not be used as the exercise asks. TypeError: .*positional argument"),
        (7, "could not be used as the exercise asks. TypeError: 'int' object is not callable"),
    ],
)
def test_a_wrong_answer_fails_with_its_own_hint(answer, message):
    result = check_attend(answer)
    assert not result.passed
    assert not result.untouched
    with pytest.raises(AssertionError, match=message):
        checks.require(result)


def test_a_forgotten_return_is_told_from_an_untouched_answer():
    def forgot(scores):
        torch.softmax(scores, -1)

    result = check_attend(forgot)
    assert not result.untouched
    assert "is a `return` missing?" in result.message


def test_what_the_students_code_raises_is_a_hint_with_the_line():
    def broken(scores):
        total = scores.sum()
        return scores / total["sum"]  # the line to name

    result = check_attend(broken)
    line = broken.__code__.co_firstlineno + 2
    assert f"your code stopped at its line {line}, " in result.message
    assert "`return scores / total" in result.message
    assert "IndexError" in result.message


def test_an_error_deep_in_a_library_is_blamed_on_the_students_line():
    def deep(scores):
        return torch.softmax(scores, dim=3)

    assert f"its line {deep.__code__.co_firstlineno + 1}, " in check_attend(deep).message


@pytest.mark.parametrize(
    "error", [SystemExit(1), RecursionError("deep"), KeyError("a"), AssertionError("mine")]
)
def test_no_students_error_escapes(error):
    def answer(scores):
        raise error

    assert type(error).__name__ in check_attend(answer).message


def test_an_interruption_does_escape():
    def answer(scores):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_attend(answer)


def test_code_without_a_file_can_be_checked():
    space = {}
    exec("def attend(scores):\n    return scores['a']", space)
    assert "line 2" in check_attend(space["attend"]).message
    exec("def attend(scores):\n    raise NotImplementedError", space)
    assert check_attend(space["attend"]).untouched
    exec("import torch\ndef attend(scores):\n    return torch.softmax(scores, -1)", space)
    assert check_attend(space["attend"]).passed


def test_values_and_classes_are_answers_too():
    assert check_capital("Paris").passed
    assert check_capital("Lyon").message == "a big city, but not the capital"
    assert check_capital("Rome").message == "not the capital of France (got 'Rome')"
    assert check_capital(...).untouched

    class Twice(torch.nn.Module):
        def forward(self, x):
            return 2 * x

    assert check_module(Twice).passed
    assert check_module(torch.nn.Identity).message.startswith("double the input")
    assert check_module(dict).message == "make it a torch.nn.Module"


def test_equal_values_of_another_type_are_equal():
    for got, want in (
        (np.float64(0.5), 0.5),
        (np.str_("a"), "a"),
        (0, 0.0),
        ([1, 2], (1, 2)),
        ({"a": [np.int64(1)]}, {"a": (1,)}),
        (torch.tensor([1, 2]), [1, 2]),
    ):
        checks.expect_equal(got, want, "no")
    for got, want in (((1, 2), (1, 3)), ((1, 2), (1, 2, 3)), ("1", 1), ({"a": 1}, {"b": 1})):
        with pytest.raises(checks.Wrong, match="no"):
            checks.expect_equal(got, want, "no")
    with pytest.raises(checks.Wrong, match=r"no \(got tensor"):
        checks.expect_equal(torch.tensor([1, 2]), ["a", "b"], "no")


def test_only_the_stub_s_own_raise_is_not_started():
    @checks.exercise(title="Call it", minutes=1, points=1)
    @checks.hint("Begin.")
    def check_call(call):
        call(1)

    def of_torch(x):
        return torch.empty(1, device="meta").item()

    def begun(x):
        if x > 0:
            raise NotImplementedError
        return "A"

    assert check_call(begun).untouched and check_call(checks.stub()).untouched
    assert not check_call(of_torch).untouched and "your code stopped" in check_call(of_torch).message


def test_close_has_a_tolerance_and_allows_infinities_in_place():
    checks.expect_close([1.0, -np.inf], [1.0 + 1e-6, -np.inf], "no")
    with pytest.raises(checks.Wrong, match=r"no \(largest difference 0.01\)"):
        checks.expect_close([1.01], [1.0], "no")
    checks.expect_close([1.01], [1.0], "no", tolerance=0.1)


def test_results_are_readable_without_colour_and_escape_what_they_quote():
    shown = check_capital("<script>")._repr_html_()
    assert "✗ Name the capital" in shown
    assert "<script>" not in shown
    assert 'role="status"' in shown
    assert "<code>their sum</code>" in check_attend(None)._repr_html_()


@pytest.fixture
def topic(monkeypatch):
    module = types.ModuleType("reasonlib.made_up.page.exercises")
    module.check_attend, module.check_capital = check_attend, check_capital
    for name in ("reasonlib.made_up", "reasonlib.made_up.page"):
        package = types.ModuleType(name)
        package.__path__ = []
        monkeypatch.setitem(sys.modules, name, package)
    monkeypatch.setitem(sys.modules, "reasonlib.made_up.page.exercises", module)
    return "made_up"


def test_a_topic_lists_its_exercises_with_their_time(topic):
    listed = checks.exercises(topic)
    assert [exercise.name for exercise in listed] == ["attend", "capital"]
    assert repr(listed).splitlines() == [
        "Attend (attend): 5 min, 2 points",
        "Name the capital (capital): 1 min, 1 point",
        "6 min, 3 points in all",
    ]
    assert "<td>5 min</td>" in listed._repr_html_()
    assert json.loads(json.dumps(listed.as_dicts()))[0] == {
        "name": "attend",
        "title": "Attend",
        "minutes": 5,
        "points": 2,
    }


def test_a_topic_is_graded_as_a_whole(topic):
    report = checks.grade(topic, {"capital": "Paris", "something": "else"})
    assert (report.points, report.possible, report.passed) == (1, 3, False)
    assert repr(report).splitlines()[-1] == "1 of 3 points"
    content = json.loads(json.dumps(report.as_dict()))
    assert [
        (exercise["name"], exercise["points"], exercise["untouched"]) for exercise in content["exercises"]
    ] == [
        ("attend", 0, True),
        ("capital", 1, False),
    ]
    full = checks.grade(topic, {"capital": "Paris", "attend": lambda scores: torch.softmax(scores, -1)})
    assert full.passed
    assert "3 of 3 points." in full._repr_html_()


def test_a_topic_without_exercises_is_a_users_mistake():
    with pytest.raises(UserError, match="topic 'no_such' has no exercises"):
        checks.exercises("no_such")


def test_an_exercise_that_is_set_up_wrongly_is_refused():
    with pytest.raises(ValueError, match="minutes and points must be at least 1, got 0 and 1"):
        checks.exercise(title="a", minutes=0, points=1)
    with pytest.raises(ValueError, match="must be named check_<what it checks>, got 'attend'"):

        @checks.exercise(title="a", minutes=1, points=1)
        @checks.hint("b")
        def attend(answer):
            pass

    with pytest.raises(ValueError, match=r"put @hint\(\.\.\.\) above check_attend"):

        @checks.exercise(title="a", minutes=1, points=1)
        def check_attend(answer):
            pass


def test_the_body_of_a_check_can_be_shown():
    assert "def check_attend(attend):" in show.source(check_attend).code
