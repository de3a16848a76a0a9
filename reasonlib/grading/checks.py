"""Exercises that grade themselves: plain functions, for a notebook, for Colab and for a teacher's script.

A topic writes its checks in ``reasonlib/<topic>/page/exercises.py``. A check is a function that tries what a
student wrote and complains through `expect`, `expect_close` or `expect_equal`; `exercise` makes it answer
with a `Result` instead, whatever the student's code does. A check that takes a second parameter draws its
cases from it, a seed: a notebook uses seed 0 and `reasonlib grade` another one, so that an answer written
for the cases of the notebook alone earns nothing.

>>> @exercise(title="Double a number", minutes=1, points=1, hint="Multiply by two.")
... def check_double(double):
...     expect_equal(double(3), 6, "3 doubled is 6", wrong={"you squared it: multiply by 2 instead": 9})
>>> check_double(lambda x: 2 * x)
✓ Double a number: passed, 1 of 1 point
>>> check_double(lambda x: x * x)
✗ Double a number: you squared it: multiply by 2 instead
>>> check_double(stub())
○ Double a number: not started. Start here: Multiply by two.
"""

import ast
import functools
import html
import importlib
import inspect
import re
import sysconfig
import textwrap
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reasonlib.errors import UserError

PACKAGE = "reasonlib"

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


class Wrong(Exception):
    """What a check raises: the hint the student reads."""


class StudentError(Exception):
    """What a student's code raised in a process of its own, in one sentence.

    Parameters
    ----------
    text
        The sentence.
    untouched
        Whether it was the stub's own ``raise NotImplementedError``.
    """

    def __init__(self, text: str, *, untouched: bool = False) -> None:
        super().__init__(text)
        self.untouched = untouched


class _Untouched(Exception):
    """The answer is the empty one that the student was given."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a check found.

    Attributes
    ----------
    title
        Of the exercise.
    passed
        Whether the answer is right.
    message
        One sentence for the student: what is wrong and what to try.
    points
        What the exercise is worth.
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
            f"<strong>{self.mark} {_inline(self.title)}</strong>: {_inline(self.message)}</div>"
        )


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """A check with what a teacher wants to know about it; call it with an answer.

    Attributes
    ----------
    name
        What the student's function, class or value is called: ``check_read_once`` checks ``read_once``.
    title
        A few words.
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
        found = functools.partial(Result, title=self.title, points=self.points)
        start = found(passed=False, untouched=True, message=f"not started. Start here: {self.hint}")
        if answer is None or answer is ... or is_stub(answer):
            return start
        try:
            self.body(_guard(answer), *[seed] * self.draws)
        except _Untouched:
            return start
        except NotImplementedError as error:
            if is_own_raise(error, self.body):
                return start
            return found(passed=False, message=blame(error, self.body))
        except StudentError as error:
            return start if error.untouched else found(passed=False, message=str(error))
        except Wrong as wrong:
            return found(passed=False, message=str(wrong))
        except (Exception, SystemExit) as error:
            return found(passed=False, message=blame(error, self.body))
        won = "1 point" if self.points == 1 else f"{self.points} points"
        return found(passed=True, message=f"passed, {self.points} of {won}")


class Exercises(tuple[Exercise, ...]):
    """The exercises of a topic, in the order of its file; shown as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        lines = [f"{one.title} ({one.name}): {one.minutes} min, {_points(one.points)}" for one in self]
        total = f"{sum(one.minutes for one in self)} min, {_points(sum(one.points for one in self))} in all"
        return "\n".join([*lines, total])

    def _repr_html_(self) -> str:
        rows = [(one.title, f"`{one.name}`", f"{one.minutes} min", str(one.points)) for one in self]
        minutes, points = sum(one.minutes for one in self), sum(one.points for one in self)
        return _table(
            ("Exercise", "Write", "Time", "Points"), rows, f"{minutes} min, {_points(points)} in all."
        )

    def as_dicts(self) -> list[dict[str, Any]]:
        """Give name, title, minutes and points of each, ready for JSON."""
        return [
            {"name": one.name, "title": one.title, "minutes": one.minutes, "points": one.points}
            for one in self
        ]


@dataclass(frozen=True, kw_only=True)
class Report:
    """The results of a whole topic.

    Attributes
    ----------
    topic
        Its name.
    results
        From the exercise's name to its result.
    """

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


def exercise(
    *, title: str, minutes: int, points: int, hint: str
) -> Callable[[Callable[..., None]], Exercise]:
    """Turn a function named ``check_<name>`` into the check of what the student calls ``<name>``.

    Parameters
    ----------
    title
        A few words, for lists and marks.
    minutes
        How long a student needs, roughly.
    points
        What it is worth.
    hint
        Where to begin; shown while the answer is untouched.

    Raises
    ------
    ValueError
        For a function of another name, or for time and points below one.
    """
    if minutes < 1 or points < 1:
        raise ValueError(f"minutes and points must be at least 1, got {minutes} and {points}")

    def wrap(body: Callable[..., None]) -> Exercise:
        if not body.__name__.startswith("check_"):
            raise ValueError(f"an exercise must be named check_<what it checks>, got {body.__name__!r}")
        return Exercise(
            name=body.__name__.removeprefix("check_"),
            title=title,
            minutes=minutes,
            points=points,
            hint=hint,
            body=body,
        )

    return wrap


def exercises(topic: str) -> Exercises:
    """List the exercises of a topic.

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
    return Exercises(thing for thing in vars(module).values() if isinstance(thing, Exercise))


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
    known = {one.name: one for one in exercises(topic)}
    for name in names or ():
        if name not in known:
            raise UserError(f"topic {topic!r} has no exercise {name!r}; it has {', '.join(known)}")
    wanted = known if names is None else {name: known[name] for name in names}
    return Report(
        topic=topic, results={name: one(answers.get(name), seed=seed) for name, one in wanted.items()}
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


def stub() -> Callable[..., Any]:
    """Make an untouched answer, as a student's copy begins; every check must turn it away with its hint."""

    def answer(*arguments: Any, **named: Any) -> Any:
        raise NotImplementedError("write your code here")

    return answer


def source(answer: Any) -> str:
    """Return the text of a student's function, empty where there is none."""
    answer = inspect.unwrap(answer) if callable(answer) else answer
    if getattr(type(answer), "is_remote", False):
        return str(answer._about.get("source", ""))
    try:
        return textwrap.dedent(inspect.getsource(answer))
    except (OSError, TypeError, SyntaxError):
        return ""


def expect(condition: Any, hint: str) -> None:
    """Complain with `hint` unless the condition holds."""
    if not bool(condition):
        raise Wrong(hint)


def expect_equal(got: Any, want: Any, hint: str, *, wrong: Mapping[str, Any] | None = None) -> None:
    """Complain unless two things are equal.

    Parameters
    ----------
    got, want
        The student's and the right one.
    hint
        Said when they differ and no entry of `wrong` fits.
    wrong
        From a better hint to the answer that a known mistake gives.
    """
    _started(got)
    if _same(got, want):
        return
    for better, mistake in (wrong or {}).items():
        if _same(got, mistake):
            raise Wrong(better)
    raise Wrong(f"{hint} (got {_short(got)})")


def expect_close(
    got: Any,
    want: ArrayLike,
    hint: str,
    *,
    wrong: Mapping[str, ArrayLike] | None = None,
    tolerance: float = 1e-5,
    what: str = "the result",
) -> None:
    """Complain unless two arrays have one shape and, up to a tolerance, one content.

    Parameters
    ----------
    got, want
        The student's and the right one: numbers, lists, arrays or tensors.
    hint
        Said when they differ and no entry of `wrong` fits.
    wrong
        From a better hint to the array that a known mistake gives.
    tolerance
        Largest difference allowed, relative and absolute.
    what
        How the messages call the student's array.
    """
    _started(got)
    try:
        mine = _numbers(got)
    except (TypeError, ValueError):
        raise Wrong(f"{what} must be numbers, got {_short(got)}") from None
    right = _numbers(want)
    if _close(mine, right, tolerance):
        return
    for better, mistake in (wrong or {}).items():
        if _close(mine, _numbers(mistake), tolerance):
            raise Wrong(better)
    if mine.shape != right.shape:
        raise Wrong(f"{what} must have shape {right.shape}, got {mine.shape}")
    if np.isnan(mine).any() and not np.isnan(right).any():
        raise Wrong(f"{what} holds NaN, which is not a number: look for 0/0, inf - inf or the logarithm of 0")
    raise Wrong(f"{hint} (largest difference {np.nanmax(np.abs(mine - right)):.2g})")


def _started(got: Any) -> None:
    if got is ...:
        raise _Untouched
    if got is None:
        raise Wrong("nothing came back: is a `return` missing?")


def _guard(answer: Any) -> Any:
    """Let a plain function complain by itself when it hands back nothing."""
    if not (inspect.isfunction(answer) or getattr(type(answer), "is_remote", False)) or not callable(answer):
        return answer

    def call(*arguments: Any, **named: Any) -> Any:
        got = answer(*arguments, **named)
        _started(got)
        return got

    call.__wrapped__ = answer  # type: ignore[attr-defined]
    return call


def is_stub(answer: Any) -> bool:
    """Tell whether a function holds no statement but a docstring, `pass`, `...` or NotImplementedError."""
    if getattr(type(answer), "is_remote", False):
        return answer._about.get("stub") is True
    if not inspect.isfunction(answer):
        return False
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(answer)))
    except (OSError, TypeError, SyntaxError):  # no source, or a lambda inside a longer line
        return False
    function = tree.body[0]
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return all(_is_empty(statement) for statement in function.body)


def _is_empty(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Return):
        return statement.value is None or (
            isinstance(statement.value, ast.Constant) and statement.value.value in (None, ...)
        )
    if isinstance(statement, ast.Raise):
        names = [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
        return "NotImplementedError" in names
    return isinstance(statement, ast.Pass)


def blame(error: BaseException, body: Callable[..., Any] | None = None) -> str:
    """Say in one sentence what the student's code raised, and on which of its lines."""
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    frames = list(traceback.walk_tb(error.__traceback__))
    theirs = [(frame.f_code, line) for frame, line in frames if _is_students(frame.f_code, body)]
    if not theirs:
        return f"your answer could not be used as the exercise asks. {said}"
    code, number = theirs[-1]
    line = traceback.FrameSummary(code.co_filename, number, code.co_name).line
    return f"your code stopped at its line {number}" + (f", `{line}`" if line else "") + f": {said}"


def is_own_raise(error: NotImplementedError, body: Callable[..., Any] | None = None) -> bool:
    """Tell the stub's own ``raise NotImplementedError`` from one that torch or NumPy raised."""
    frame, number = list(traceback.walk_tb(error.__traceback__))[-1]
    code = frame.f_code
    line = traceback.FrameSummary(code.co_filename, number, code.co_name).line or "raise"
    ours = code.co_name == "answer" and code.co_filename == __file__  # `stub`
    return ours or (_is_students(code, body) and line.lstrip().startswith("raise"))


def _is_students(code: CodeType, body: Callable[..., Any] | None) -> bool:
    """Tell a student's code from that of the check, the library, Python and what is installed."""
    if (body is not None and code is body.__code__) or code.co_filename.startswith("<frozen"):
        return False
    installed = [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders = [*installed, str(Path(__file__).parents[1])]
    return not any(Path(code.co_filename).is_relative_to(folder) for folder in folders)


def _numbers(values: Any) -> NDArray[np.float64]:
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    return np.asarray(values, dtype=np.float64)


def _close(first: NDArray[np.float64], second: NDArray[np.float64], tolerance: float) -> bool:
    return first.shape == second.shape and bool(
        np.allclose(first, second, rtol=tolerance, atol=tolerance, equal_nan=True)
    )


def _same(first: Any, second: Any) -> bool:
    if hasattr(first, "detach") or hasattr(second, "detach") or isinstance(first, np.ndarray):
        try:
            return _close(_numbers(first), _numbers(second), 0.0)
        except (TypeError, ValueError):
            return False
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_same(first[key], second[key]) for key in first)
    return bool(_scalar(first) == _scalar(second))


def _scalar(value: Any) -> Any:
    """Return a NumPy scalar as Python's own; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _short(thing: Any) -> str:
    shown = repr(thing)
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _points(number: int) -> str:
    return "1 point" if number == 1 else f"{number} points"


def _inline(text: str) -> str:
    """Escape for HTML, with `code` between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], caption: str) -> str:
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row">{_inline(row[0])}</th>'
        + "".join(f"<td>{_inline(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<style>{CSS}</style><div class="rr rr-grades"><table><caption>{html.escape(caption)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )
