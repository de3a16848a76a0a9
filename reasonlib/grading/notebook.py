"""Grading a notebook that a student handed in: run it in a sandbox, then check what it defines.

::

    notebook -> sandbox (grading.sandbox): cells (grading.student)
             -> each check, in this process, calls the answer in the sandbox (grading.remote) -> Graded

A cell that fails is noted and the next one runs, as in a notebook. A cell or an answer that ends the process
costs that cell or that exercise alone: the process starts again without it. Checks run here, on values that
are read as data (grading.values), so that nothing the student's code does to its own process counts. Which
exercises count, and for how many points, is read from the assignment as it was handed out: a deleted cell
counts as not started.
"""

import contextlib
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import reasonlib
from reasonlib.errors import UserError
from reasonlib.grading import checks, remote, sandbox, values

__all__ = ["Graded", "Selection", "find_exercises", "grade_notebook"]

RESTARTS = 8  # of a notebook whose cells or answers end their process
GRACE = 5.0  # seconds for a process to say itself that its time is up


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The topic of a notebook's exercises, and what a student writes for each, in the notebook's order."""

    topic: str
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Graded:
    """The results of a notebook's exercises, and its cells that raised."""

    notebook: Path
    report: checks.Report
    failed: tuple[str, ...] = ()  # such as "code cell 7: NameError: ..."

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {"notebook": str(self.notebook), **self.report.as_dict(), "failed": list(self.failed)}

    def __repr__(self) -> str:
        return "\n".join([str(self.notebook), repr(self.report), *self.failed])


def grade_notebook(
    notebook: Path | str,
    *,
    minutes: float = 10.0,
    seconds: float = 60.0,
    assignment: Path | str | None = None,
    seed: int = 1,
    unsafe: bool = False,
    account: str | None = None,
) -> Graded:
    """Run a notebook in a sandbox and grade its exercises.

    Parameters
    ----------
    notebook
        An ``.ipynb`` file: an assignment, or a whole chapter.
    minutes
        The whole notebook is stopped after so long; what was graded by then counts.
    seconds
        A cell or a check is stopped after so long; the others go on.
    assignment
        The notebook as it was handed out, which says what counts. By default the one of the book that holds
        these exercises; where there is none, the notebook itself.
    seed
        Draws the cases of the checks; a notebook's own cells use seed 0.
    unsafe
        Run without a sandbox, with your own rights.
    account
        Run as this user in place of bubblewrap; for containers.

    Raises
    ------
    UserError
        If the file is no notebook or holds no exercise, or there is no sandbox.
    """
    notebook = Path(notebook)
    cells = _cells(notebook)
    task = _selection(cells, notebook, assignment)
    session = _Session(
        exercises=[exercise for exercise in checks.exercises(task.topic) if exercise.name in task.names],
        deadline=time.monotonic() + 60 * minutes,
        minutes=minutes,
        seconds=seconds,
        seed=seed,
    )
    for _ in range(RESTARTS):
        # a folder of its own each time: what the code left there, a link say, is never written through
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            job = Path(folder) / "job.json"
            tagged = [{"source": c["source"], "tags": c.get("metadata", {}).get("tags", [])} for c in cells]
            content = {"cells": tagged, "skip": sorted(session.skip), "seconds": seconds}
            job.write_text(json.dumps(content), encoding="utf-8")
            with sandbox.Process(
                [sys.executable, "-m", "reasonlib.grading.student", str(job)],
                scratch=Path(folder),
                limits=sandbox.Limits(seconds=60 * minutes),
                hidden=[notebook.absolute().parent],
                unsafe=unsafe,
                account=account,
            ) as process:
                if session.attempt(process):
                    break
    return Graded(
        notebook=notebook,
        report=checks.Report(
            topic=task.topic,
            results={
                exercise.name: session.result(exercise)
                for exercise in sorted(
                    session.exercises, key=lambda exercise: task.names.index(exercise.name)
                )
            },
        ),
        failed=tuple(f"code cell {number}: {line}" for number, line in sorted(session.failed.items())),
    )


class _Session:
    """The grading of one notebook, over as many processes as its cells and answers end."""

    def __init__(
        self,
        *,
        exercises: list[checks.Exercise],
        deadline: float,
        minutes: float,
        seconds: float,
        seed: int,
    ) -> None:
        self.exercises, self.deadline, self.minutes = exercises, deadline, minutes
        self.seconds, self.seed = seconds, seed
        self.skip: set[int] = set()
        self.failed: dict[int, str] = {}
        self.results: dict[str, checks.Result] = {}
        self.why = ""

    def attempt(self, process: sandbox.Process) -> bool:
        """Run the cells, then the checks that are left; whether nothing is left to do."""
        cell = 0
        self.failed = {number: line for number, line in self.failed.items() if number in self.skip}
        try:
            while (message := _receive(process, self.deadline))["kind"] != "ready":
                if message["kind"] == "cell":
                    cell = int(message["number"])
                elif message["kind"] == "failed":
                    self.failed[int(message["number"])] = str(message["line"])[:300]
        except TimeoutError:
            self.why = f"not done after {self.minutes:g} minutes"
            return True
        except (EOFError, KeyError, TypeError, ValueError):
            self.why = f"the code ended the process ({_last_line(process)})"
            if cell == 0 or cell in self.skip:
                return True
            self.skip.add(cell)
            self.failed[cell] = self.why
            return False
        for exercise in self.exercises:
            if exercise.name not in self.results:
                ended = self._check(exercise, process)
                if time.monotonic() >= self.deadline:
                    self.why = f"not done after {self.minutes:g} minutes"
                    return True
                if ended:
                    return False
        return True

    def _check(self, exercise: checks.Exercise, process: sandbox.Process) -> bool:
        """Check one answer; whether that ended the process."""
        until = min(self.deadline, time.monotonic() + 2 * self.seconds + GRACE)

        def send(line: dict[str, Any]) -> None:
            with _connection():
                process.send(json.dumps(line), until)

        def receive() -> dict[str, Any]:
            with _connection():
                return _receive(process, until)

        peer = remote.Peer(send, receive, networks="send")
        try:
            answer = peer.call(0, "", (exercise.name,), {})
            result = exercise(answer, seed=self.seed)
            self.results[exercise.name] = result
            return False
        except remote.Ended as ended:
            message = f"your code was not done after {self.seconds:g} s: is there a loop without an end?"
            if not isinstance(ended.__cause__, TimeoutError):
                message = f"your code ended the process ({str(ended.__cause__) or _last_line(process)})"
        except (checks.StudentError, values.NotData, RecursionError) as error:
            message = f"your answer could not be read: {error}"
        self.results[exercise.name] = checks.Result(
            title=exercise.title, passed=False, points=exercise.points, message=message
        )
        return True

    def result(self, exercise: checks.Exercise) -> checks.Result:
        """Return the result of an exercise, or why there is none."""
        return self.results.get(exercise.name) or checks.Result(
            title=exercise.title,
            passed=False,
            points=exercise.points,
            message=f"could not be graded: {self.why or 'the notebook did not reach it'}",
        )


@contextlib.contextmanager
def _connection() -> Iterator[None]:
    """Turn what ends a connection into what no check can catch."""
    try:
        yield
    except (TimeoutError, EOFError) as error:
        raise remote.Ended from error


def _receive(process: sandbox.Process, deadline: float) -> dict[str, Any]:
    """Wait for the next message; a line that the student's code broke is left out."""
    while True:
        line = process.receive(deadline)
        try:
            message = json.loads(line)
            if isinstance(message, dict) and isinstance(message.get("kind"), str):
                return message
        except (ValueError, RecursionError):
            continue


def _last_line(process: sandbox.Process) -> str:
    finished = process.end()
    return (finished.output.strip().splitlines() or [f"exit code {finished.code}"])[-1][:300]


def _selection(cells: list[Mapping[str, Any]], notebook: Path, assignment: Path | str | None) -> Selection:
    """Say which exercises count: those of the assignment that was handed out."""
    if assignment is not None:
        return find_exercises(_cells(Path(assignment)), str(assignment))
    own = find_exercises(cells, str(notebook))
    pristine = [find_exercises(_cells(file), str(file)) for file in _assignments(own.topic)]
    matching = [assigned for assigned in pristine if set(own.names) <= set(assigned.names)]
    return min(matching, key=lambda assigned: len(assigned.names)) if matching else own


def _assignments(topic: str) -> Sequence[Path]:
    """Return the book's assignments of a topic, in a checkout."""
    return sorted((Path(reasonlib.__file__).parents[1] / "assignments" / topic).glob("*.ipynb"))


def find_exercises(cells: list[Mapping[str, Any]], name: str = "the notebook") -> Selection:
    """Find the exercises of a notebook by the checks that its cells call.

    Parameters
    ----------
    cells
        Code cells, each with its ``source``.
    name
        What error messages call it.

    Raises
    ------
    UserError
        If it calls no check, or one that its topic does not have.
    """
    code = "\n".join(str(cell["source"]) for cell in cells)
    topics = re.findall(rf"^\s*from {checks.PACKAGE}\.(\w+)[\w.]* import .*\bexercises\b", code, re.M)
    topics += re.findall(rf"\b{checks.PACKAGE}\.(\w+)\.(?:page\.)?exercises\b", code)
    names = re.findall(r"\bexercises\.check_(\w+)\s*\(", code)
    if not topics or not names:
        raise UserError(
            f"{name}: holds no exercise; its cells must import `exercises` of a topic and call a check of it"
        )
    defined = {exercise.name for exercise in checks.exercises(topics[0])}
    if unknown := [check for check in names if check not in defined]:
        raise UserError(
            f"{name}: topic {topics[0]!r} has no exercise {unknown[0]!r}; it has {', '.join(sorted(defined))}"
        )
    return Selection(topic=topics[0], names=tuple(dict.fromkeys(names)))


def _cells(notebook: Path) -> list[Mapping[str, Any]]:
    """Read the code cells of a notebook file."""
    try:
        content = json.loads(notebook.read_text(encoding="utf-8"))
        cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
        for cell in cells:
            cell["source"] = "".join(cell["source"])
    except OSError as error:
        raise UserError(f"{notebook}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{notebook}: no notebook in the .ipynb format") from None
    return cells
