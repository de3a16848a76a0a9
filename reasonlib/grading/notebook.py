"""Grading a notebook that a student handed in: run it in a sandbox, then check what it defines.

::

    notebook -> sandbox (grading.sandbox) -> cells and checks (grading.student) -> events -> Graded

A cell that fails is noted and the next one runs, as in a notebook; a cell that ends the process costs that
cell alone: the others run again without it. Which exercises count, and for how many points, is read from
the assignment as it was handed out, so that a deleted cell counts as not started.
"""

import json
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import reasonlib
from reasonlib.errors import UserError
from reasonlib.grading import checks, sandbox

__all__ = ["Asked", "Graded", "asked", "grade_notebook"]

RESTARTS = 5  # of a notebook whose cells end their process


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which exercises a notebook holds.

    Attributes
    ----------
    topic
        The topic of the exercises.
    names
        What a student writes for each, in the notebook's order.
    """

    topic: str
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Graded:
    """The grades of one notebook.

    Attributes
    ----------
    notebook
        The file.
    report
        The results of its exercises.
    failed
        Cells that raised, as ``code cell 7: NameError: ...``.
    """

    notebook: Path
    report: checks.Report
    failed: tuple[str, ...] = ()

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
    unsafe: bool = False,
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
    unsafe
        Run without a sandbox, with your own rights.

    Raises
    ------
    UserError
        If the file is no notebook or holds no exercise, or there is no sandbox.
    """
    notebook = Path(notebook)
    cells = _cells(notebook)
    wanted = _wanted(cells, notebook, assignment)
    failed: dict[int, str] = {}
    skip: set[int] = set()
    results: dict[str, dict[str, Any]] = {}
    ended = ""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for _ in range(RESTARTS):
            events, ended = _attempt(cells, wanted, scratch, skip, notebook, minutes, seconds, unsafe)
            failed = {e["number"]: e["line"] for e in events if e["kind"] == "failed"} | {
                number: line for number, line in failed.items() if number in skip
            }
            results = {e["name"]: e for e in events if e["kind"] == "result"}
            last: dict[str, Any] = events[-1] if events else {"kind": "none"}
            if not ended or last["kind"] != "cell":
                break
            skip.add(last["number"])
            failed[last["number"]] = ended
    known = {one.name: one for one in checks.exercises(wanted.topic)}
    return Graded(
        notebook=notebook,
        report=checks.Report(
            topic=wanted.topic, results={n: _result(known[n], results.get(n), ended) for n in wanted.names}
        ),
        failed=tuple(f"code cell {number}: {line}" for number, line in sorted(failed.items())),
    )


def _result(exercise: checks.Exercise, event: Any, ended: str) -> checks.Result:
    """Return the result of an exercise; the title and the points are the library's own."""
    if event is None:
        return checks.Result(
            title=exercise.title,
            passed=False,
            points=exercise.points,
            message=f"could not be graded: {ended or 'the notebook did not reach it'}",
        )
    passed = event["passed"] is True
    return checks.Result(
        title=exercise.title,
        passed=passed,
        untouched=event["untouched"] is True and not passed,
        message=str(event["message"])[:2000],
        points=exercise.points,
    )


def _attempt(
    cells: list[Mapping[str, Any]],
    wanted: Asked,
    scratch: Path,
    skip: set[int],
    notebook: Path,
    minutes: float,
    seconds: float,
    unsafe: bool,
) -> tuple[list[dict[str, Any]], str]:
    """Run the notebook once; return what happened, and why the process ended early, if it did."""
    job = scratch / "job.json"
    job.write_text(
        json.dumps(
            {
                "cells": [
                    {"source": c["source"], "tags": c.get("metadata", {}).get("tags", [])} for c in cells
                ],
                "topic": wanted.topic,
                "names": wanted.names,
                "skip": sorted(skip),
                "seconds": seconds,
            }
        ),
        encoding="utf-8",
    )
    finished = sandbox.run(
        [sys.executable, "-m", "reasonlib.grading.student", str(job)],
        scratch=scratch,
        limits=sandbox.Limits(seconds=60 * minutes),
        hidden=[notebook.absolute().parent],
        unsafe=unsafe,
    )
    events = _events(finished.events)
    if finished.timed_out:
        return events, f"not done after {minutes:g} minutes"
    if finished.code:
        line = (finished.output.strip().splitlines() or [f"exit code {finished.code}"])[-1][:300]
        return events, f"the code ended the process ({line})"
    graded = {event["name"] for event in events if event["kind"] == "result"}
    return events, "" if graded >= set(wanted.names) else "the code ended the process (exit code 0)"


def _events(text: str) -> list[dict[str, Any]]:
    """Read the events; a line that the student's code broke is left out."""
    events = []
    for line in text.split("\n"):
        try:
            event = json.loads(line)
            if event["kind"] in ("cell", "failed", "checking", "result"):
                events.append({"name": "", "passed": False, "untouched": False, "message": "", **event})
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return events


def _wanted(cells: list[Mapping[str, Any]], notebook: Path, assignment: Path | str | None) -> Asked:
    """Say which exercises count: those of the assignment that was handed out."""
    if assignment is not None:
        return asked(_cells(Path(assignment)), str(assignment))
    own = asked(cells, str(notebook))
    pristine = [asked(_cells(file), str(file)) for file in _assignments(own.topic)]
    holding = [one for one in pristine if set(own.names) <= set(one.names)]
    return min(holding, key=lambda one: len(one.names)) if holding else own


def _assignments(topic: str) -> Sequence[Path]:
    """Return the book's assignments of a topic, in a checkout."""
    return sorted((Path(reasonlib.__file__).parents[1] / "assignments" / topic).glob("*.ipynb"))


def asked(cells: list[Mapping[str, Any]], name: str = "the notebook") -> Asked:
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
    known = {exercise.name for exercise in checks.exercises(topics[0])}
    if unknown := [check for check in names if check not in known]:
        raise UserError(
            f"{name}: topic {topics[0]!r} has no exercise {unknown[0]!r}; it has {', '.join(sorted(known))}"
        )
    return Asked(topic=topics[0], names=tuple(dict.fromkeys(names)))


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
