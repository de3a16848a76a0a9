"""What a student handed in: whether it is still the stub, its source, and what went wrong in it."""

import ast
import inspect
import sysconfig
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

__all__ = ["StudentError", "blame", "is_own_raise", "is_stub", "source", "stub"]


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
    message = f"{type(error).__name__}: {error}".rstrip(": ")
    frames = list(traceback.walk_tb(error.__traceback__))
    theirs = [(frame.f_code, line) for frame, line in frames if _is_students(frame.f_code, body)]
    if not theirs:
        return f"your answer could not be used as the exercise asks. {message}"
    code, number = theirs[-1]
    line = traceback.FrameSummary(code.co_filename, number, code.co_name).line
    return f"your code stopped at its line {number}" + (f", `{line}`" if line else "") + f": {message}"


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
