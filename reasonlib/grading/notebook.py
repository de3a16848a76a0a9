"""Grading a notebook that was handed in: run it apart, then try what it defines.

::

    notebook -> a process of its own: every code cell, one after another -> check.grade -> JSON -> Graded

A cell that fails is noted and the next one runs, as in a notebook. The code of a stranger runs with the
rights of whoever grades: grade in a container or in an account that can do no harm. What a notebook asks for
is read from its own calls, such as ``exercises.check_read_once(read_once)``, so that a chapter and an
assignment are graded alike.
"""

import ast
import contextlib
import io
import json
import linecache
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reasonlib.errors import UserError
from reasonlib.grading import checks

__all__ = ["Asked", "Graded", "asked", "grade_notebook"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which exercises a notebook holds.

    Attributes
    ----------
    topic
        Whose exercises they are.
    names
        What a student writes for each, in the notebook's order.
    """

    topic: str
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Graded:
    """What became of one notebook.

    Attributes
    ----------
    notebook
        The file.
    report
        The results of its exercises.
    failed
        Cells that raised, as ``cell 7: NameError: ...``.
    """

    notebook: Path
    report: checks.Report
    failed: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {"notebook": str(self.notebook), **self.report.as_dict(), "failed": list(self.failed)}

    def __repr__(self) -> str:
        return "\n".join([str(self.notebook), repr(self.report), *self.failed])


def grade_notebook(notebook: Path | str, *, minutes: float = 10.0) -> Graded:
    """Run a notebook in a process of its own and grade the exercises in it.

    Parameters
    ----------
    notebook
        An ``.ipynb`` file: an assignment, or a whole chapter.
    minutes
        It is stopped after so long.

    Raises
    ------
    UserError
        If the file is no notebook, holds no exercise, or takes too long.
    """
    notebook = Path(notebook)
    asked(_cells(notebook), str(notebook))  # what is wrong with the file is said before anything runs
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "graded.json"
        command = [sys.executable, "-m", __name__, str(notebook.absolute()), str(answer)]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "MPLBACKEND": "agg"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60 * minutes,
            )
        except subprocess.TimeoutExpired:
            raise UserError(
                f"{notebook}: not done after {minutes:g} minutes; give it more --minutes"
            ) from None
        if not answer.is_file():
            said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise UserError(f"{notebook}: its code ended the grading ({said})")
        found = json.loads(answer.read_text(encoding="utf-8"))
    results = {
        one["name"]: checks.Result(
            title=one["title"],
            passed=one["passed"],
            message=one["message"],
            points=one["possible"],
            untouched=one["untouched"],
        )
        for one in found["exercises"]
    }
    return Graded(
        notebook=notebook,
        report=checks.Report(topic=found["topic"], results=results),
        failed=tuple(found["failed"]),
    )


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
    topics: list[str] = []
    names: list[str] = []
    for cell in cells:
        code = _python(cell)
        begin = rf"^\s*from {checks.PACKAGE}\.(\w+)(?:\.page)? import "
        topics += re.findall(begin + r".*\bexercises\b", code, re.M)
        topics += re.findall(rf"\b{checks.PACKAGE}\.(\w+)(?:\.page)?\.exercises\b", code)
        names += re.findall(r"\bexercises\.check_(\w+)\s*\(", code)
    if not topics or not names:
        raise UserError(
            f"{name}: holds no exercise; its cells must import `exercises` of a topic and call a check of it"
        )
    known = {one.name for one in checks.exercises(topics[0])}
    if unknown := [one for one in names if one not in known]:
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
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{notebook}: no notebook in the .ipynb format") from None
    return cells


def _python(cell: Mapping[str, Any]) -> str:
    """Give a cell's code without the lines that only a notebook understands, their places kept."""
    lines = str(cell["source"]).splitlines()
    if lines and lines[0].startswith("%%"):
        return ""
    return "\n".join(re.sub(r"^(\s*)[%!].*", r"\1pass", line) for line in lines)


def _run(cells: list[Mapping[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Run code cells in one namespace; return it, and what failed."""
    space: dict[str, Any] = {"__name__": "__main__"}
    failed: list[str] = []
    for number, cell in enumerate(cells, 1):
        code, file = _python(cell), f"<code cell {number}>"
        linecache.cache[file] = (
            len(code),
            None,
            code.splitlines(keepends=True),
            file,
        )  # so that stubs are known
        try:
            exec(compile(ast.parse(code, file), file, "exec"), space)
        except (Exception, SystemExit) as error:
            said = f"{type(error).__name__}: {error}".rstrip(": ").splitlines()[0]
            failed.append(f"code cell {number}: {said}")
        if "parameters" in cell.get("metadata", {}).get("tags", []) and "scale" in space:
            space["scale"] = "smoke"  # grading needs what a chapter defines, not what it trains
    return space, failed


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def _child(notebook: str, answer: str) -> None:
    """Grade in this process and leave the result in a file."""
    cells = _cells(Path(notebook))
    wanted = asked(cells, notebook)
    with _quiet():
        space, failed = _run(cells)
        report = checks.grade(wanted.topic, space, names=wanted.names)
    Path(answer).write_text(json.dumps({**report.as_dict(), "failed": failed}), encoding="utf-8")


if __name__ == "__main__":
    _child(*sys.argv[1:])
