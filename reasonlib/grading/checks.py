"""Exercises that grade themselves: plain functions, for a notebook, for Colab and for a teacher's script.

A topic writes its checks in ``reasonlib/<topic>/page/exercises/``, a file for each chapter. A check is a
function that tries what a student wrote and complains through `expect`, `expect_close` or `expect_equal`;
`exercise` makes it answer with a `Result` instead, whatever the student's code does. A check that takes a
second parameter draws its cases from it, a seed: a notebook uses seed 0 and `reasonlib grade` another one, so
that an answer written for the cases of the notebook alone earns nothing.

>>> @exercise(title="Double a number", minutes=1, points=1)
... @hint("Multiply by two.")
... def check_double(double):
...     expect_equal(double(3), 6, "3 doubled is 6", wrong={"you squared it: multiply by 2 instead": 9})
>>> check_double(lambda x: 2 * x)
✓ Double a number: passed, 1 of 1 point
>>> check_double(lambda x: x * x)
✗ Double a number: you squared it: multiply by 2 instead
>>> check_double(stub())
○ Double a number: not started. Start here: Multiply by two.
"""

import functools
import html
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reasonlib.errors import UserError
from reasonlib.grading.answers import StudentError, blame, is_own_raise, is_stub, source, stub
from reasonlib.grading.expectations import Untouched, Wrong, expect, expect_close, expect_equal, guard
from reasonlib.grading.markup import inline

__all__ = [
    "Answer",
    "Exercise",
    "Exercises",
    "Report",
    "Result",
    "StudentError",
    "Wrong",
    "exercise",
    "exercises",
    "expect",
    "expect_close",
    "expect_equal",
    "grade",
    "hint",
    "require",
    "source",
    "stub",
]

PACKAGE = "reasonlib"

Answer = Callable[..., Any]
"""What a student wrote, as a check gets it: it is called like the student's own function or class."""

CSS = """
.rr-check{color:inherit;border-left:.25rem solid;padding:.3rem .8rem;margin:.5rem 0}
.rr-check code,.rr-grades code{color:inherit;background:none;font-size:1em}
.rr-passed{border-color:#009e73}.rr-failed{border-color:#d55e00}.rr-untouched{border-color:currentColor}
.rr-grades{overflow-x:auto}
.rr-grades table{border-collapse:collapse;color:inherit;background:none;margin:.5rem 0}
.rr-grades :is(th,td){border:0;border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);
padding:.3rem .6rem;text-align:left;vertical-align:top;color:inherit;background:none}
.rr-grades caption{text-align:left;color:inherit}
html[data-theme=dark] .bd-content div.cell_output .text_html:has(.rr){
background:none!important;color:inherit!important;padding:0!important}
"""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a check found.

    Attributes
    ----------
    title, points
        Of the exercise.
    passed
        Whether the answer is right.
    message
        One sentence for the student: what is wrong and what to try.
    untouched
        Whether the answer is still the empty one.
    """

    title: str
    passed: bool
    message: str
    points: int = 1
    untouched: bool = False

    @property
    def earned(self) -> int:
        """Points won: all or none."""
        return self.points if self.passed else 0

    @property
    def mark(self) -> str:
        """A sign that needs no colour: ✓, ✗ or, where nothing was written yet, ○."""
        return "✓" if self.passed else "○" if self.untouched else "✗"

    def __repr__(self) -> str:
        return f"{self.mark} {self.title}: {self.message}"

    def _repr_html_(self) -> str:
        kind = "passed" if self.passed else "untouched" if self.untouched else "failed"
        return (
            f'<style>{CSS}</style><div class="rr rr-check rr-{kind}" role="status">'
            f"<strong>{self.mark} {inline(self.title)}</strong>: {inline(self.message)}</div>"
        )


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """A check with what a teacher wants to know about it; call it with an answer.

    Attributes
    ----------
    name
        What the student's function, class or value is called: ``check_read_once`` checks ``read_once``.
    title
        A few words, for lists and marks.
    minutes
        How long a student needs, roughly.
    points
        What it is worth.
    hint
        Where to begin; shown while the answer is untouched.
    body
        The function that was decorated.
    """

    name: str
    title: str
    minutes: int
    points: int
    hint: str
    body: Callable[..., None]

    def __post_init__(self) -> None:
        object.__setattr__(self, "__wrapped__", self.body)  # where `show.source` and `inspect` look for it

    @property
    def draws(self) -> bool:
        """Whether the check draws its cases from a seed."""
        return len(inspect.signature(self.body).parameters) > 1

    def __call__(self, answer: Any, *, seed: int = 0) -> Result:
        """Try an answer on the cases of a seed. Never raises for what the answer does."""
        make_result = functools.partial(Result, title=self.title, points=self.points)
        start = make_result(passed=False, untouched=True, message=f"not started. Start here: {self.hint}")
        if answer is None or answer is ... or is_stub(answer):
            return start
        try:
            self.body(guard(answer), *[seed] * self.draws)
        except Untouched:
            return start
        except NotImplementedError as error:
            if is_own_raise(error, self.body):
                return start
            return make_result(passed=False, message=blame(error, self.body))
        except StudentError as error:
            return start if error.untouched else make_result(passed=False, message=str(error))
        except Wrong as wrong:
            return make_result(passed=False, message=str(wrong))
        except (Exception, SystemExit) as error:
            return make_result(passed=False, message=blame(error, self.body))
        won = "1 point" if self.points == 1 else f"{self.points} points"
        return make_result(passed=True, message=f"passed, {self.points} of {won}")


class Exercises(tuple[Exercise, ...]):
    """The exercises of a topic, in the order of its file; shown as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        lines = [f"{item.title} ({item.name}): {item.minutes} min, {_points(item.points)}" for item in self]
        total = (
            f"{sum(item.minutes for item in self)} min, {_points(sum(item.points for item in self))} in all"
        )
        return "\n".join([*lines, total])

    def _repr_html_(self) -> str:
        rows = [(item.title, f"`{item.name}`", f"{item.minutes} min", str(item.points)) for item in self]
        minutes, points = sum(item.minutes for item in self), sum(item.points for item in self)
        return _table(
            ("Exercise", "Write", "Time", "Points"), rows, f"{minutes} min, {_points(points)} in all."
        )

    def as_dicts(self) -> list[dict[str, Any]]:
        """Give name, title, minutes and points of each, ready for JSON."""
        return [
            {"name": item.name, "title": item.title, "minutes": item.minutes, "points": item.points}
            for item in self
        ]


@dataclass(frozen=True, kw_only=True)
class Report:
    """The results of a whole topic, by the names of its exercises."""

    topic: str
    results: Mapping[str, Result]

    @property
    def points(self) -> int:
        """Points won."""
        return sum(result.earned for result in self.results.values())

    @property
    def possible(self) -> int:
        """Points there are."""
        return sum(result.points for result in self.results.values())

    @property
    def passed(self) -> bool:
        """Whether every answer is right."""
        return all(result.passed for result in self.results.values())

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "topic": self.topic,
            "points": self.points,
            "possible": self.possible,
            "exercises": [
                {
                    "name": name,
                    "title": result.title,
                    "passed": result.passed,
                    "untouched": result.untouched,
                    "points": result.earned,
                    "possible": result.points,
                    "message": result.message,
                }
                for name, result in self.results.items()
            ],
        }

    def __repr__(self) -> str:
        lines = [repr(result) for result in self.results.values()]
        return "\n".join([*lines, f"{self.points} of {_points(self.possible)}"])

    def _repr_html_(self) -> str:
        rows = [
            (f"{result.mark} {result.title}", f"{result.earned} of {result.points}", result.message)
            for result in self.results.values()
        ]
        return _table(("Exercise", "Points", "Remark"), rows, f"{self.points} of {_points(self.possible)}.")


def exercise(*, title: str, minutes: int, points: int) -> Callable[[Callable[..., None]], Exercise]:
    """Turn a function named ``check_<name>`` into the check of what the student calls ``<name>``.

    The function has a `hint`.

    Parameters
    ----------
    title, minutes, points
        As in `Exercise`.

    Raises
    ------
    ValueError
        For a function of another name or without a hint, and for time and points below one.
    """
    if minutes < 1 or points < 1:
        raise ValueError(f"minutes and points must be at least 1, got {minutes} and {points}")

    def wrap(body: Callable[..., None]) -> Exercise:
        if not body.__name__.startswith("check_"):
            raise ValueError(f"an exercise must be named check_<what it checks>, got {body.__name__!r}")
        if not (text := vars(body).get("hint")):
            raise ValueError(f"an exercise must say where to begin: put @hint(...) above {body.__name__}")
        return Exercise(
            name=body.__name__.removeprefix("check_"),
            title=title,
            minutes=minutes,
            points=points,
            hint=text,
            body=body,
        )

    return wrap


def hint(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a check the `hint` of its `Exercise`; stands below `exercise`."""

    def attach(body: Callable[..., None]) -> Callable[..., None]:
        vars(body)["hint"] = text
        return body

    return attach


def exercises(topic: str) -> Exercises:
    """List the exercises of a topic, chapter by chapter, in the order of their files.

    Raises
    ------
    UserError
        When the topic has none.
    """
    name = f"{PACKAGE}.{topic}.page.exercises"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the file is there; something it needs is not
        raise UserError(f"topic {topic!r} has no exercises: {name} does not exist") from None
    defined = [thing for thing in vars(module).values() if isinstance(thing, Exercise)]
    return Exercises(
        sorted(defined, key=lambda item: (item.body.__module__, item.body.__code__.co_firstlineno))
    )


def grade(
    topic: str, answers: Mapping[str, Any], *, names: Sequence[str] | None = None, seed: int = 0
) -> Report:
    """Check every exercise of a topic, or those named.

    Parameters
    ----------
    topic
        Such as ``"story_qa"``.
    answers
        From name to what the student wrote; in a notebook, ``globals()``. What is missing counts as not
        started.
    names
        Which exercises; all by default.
    seed
        Draws the cases of the checks.

    Returns
    -------
    Report
        Shown as a table; `Report.as_dict` for a program.

    Raises
    ------
    UserError
        If the topic has no exercises, or none of such a name.
    """
    by_name = {item.name: item for item in exercises(topic)}
    for name in names or ():
        if name not in by_name:
            raise UserError(f"topic {topic!r} has no exercise {name!r}; it has {', '.join(by_name)}")
    selected = by_name if names is None else {name: by_name[name] for name in names}
    return Report(
        topic=topic, results={name: item(answers.get(name), seed=seed) for name, item in selected.items()}
    )


def require(result: Result) -> Result:
    """Hand back a passed result; stop with its message otherwise (for a notebook that is run as a test).

    Raises
    ------
    AssertionError
        When the answer is not right.
    """
    if not result.passed:
        raise AssertionError(f"{result.title}: {result.message}")
    return result


def _points(number: int) -> str:
    return "1 point" if number == 1 else f"{number} points"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], caption: str) -> str:
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row">{inline(row[0])}</th>'
        + "".join(f"<td>{inline(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<style>{CSS}</style><div class="rr rr-grades"><table><caption>{html.escape(caption)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )
