"""The process in which a student's notebook runs: every cell as IPython runs it, then every check.

    python -m reasonlib.grading.student JOB

``JOB`` is a JSON file: the cells, the topic, the names of the exercises, the cells to skip, and the seconds
that a cell or a check may take. What happens is written to the pipe ``REASONLIB_EVENTS`` at once,
so that a process that is ended has lost only the cell or check that it was in.
"""

import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reasonlib.grading import checks

_INSTALLS = re.compile(r"^(\s*)(?:[%!]\s*)(?:pip|conda|apt|apt-get)\b.*$", re.M)


class OutOfTime(BaseException):
    """The cell or check took longer than it may; no `except Exception` of the student catches it."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` inside the block after so many seconds."""

    def stop(*_: Any) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main(job: Path) -> None:
    """Run the cells and the checks of a job."""
    content = json.loads(job.read_text(encoding="utf-8"))
    events = int(os.environ.pop("REASONLIB_EVENTS"))
    exercises = checks.exercises(content["topic"])  # imported before a clock runs

    def write(**event: Any) -> None:
        os.write(events, (json.dumps(event) + "\n").encode())

    space = run_cells(content["cells"], set(content["skip"]), content["seconds"], write)
    for exercise in exercises:
        if exercise.name in content["names"]:
            write(kind="checking", name=exercise.name)
            result = check(exercise, space.get(exercise.name), content["seconds"])
            write(
                kind="result",
                name=exercise.name,
                passed=result.passed,
                untouched=result.untouched,
                message=result.message.encode("utf-8", "replace").decode(),
            )


def check(exercise: checks.Exercise, answer: Any, seconds: float) -> checks.Result:
    """Check one answer within its time."""
    try:
        with at_most(seconds):
            return exercise(answer)
    except OutOfTime:
        message = f"your code was not done after {seconds:g} s: is there a loop without an end?"
    except BaseException as error:
        message = f"your code ended the check: {type(error).__name__}"
    return checks.Result(title=exercise.title, passed=False, message=message, points=exercise.points)


def run_cells(cells: list[Mapping[str, Any]], skip: set[int], seconds: float, write: Any) -> dict[str, Any]:
    """Run code cells as a notebook does, one after another; return what they define."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config, colors="nocolor")
    for number, cell in enumerate(cells, 1):
        if number in skip:
            continue
        write(kind="cell", number=number)
        code = _INSTALLS.sub(r"\1pass", cell["source"])
        try:
            with at_most(seconds):
                result = shell.run_cell(code, store_history=False)
            error = result.error_before_exec or result.error_in_exec
        except OutOfTime:
            error = TimeoutError(f"not done after {seconds:g} s")
        except BaseException as raised:
            error = raised
        if isinstance(error, OutOfTime):
            error = TimeoutError(f"not done after {seconds:g} s")
        if error is not None:
            line = f"{type(error).__name__}: {error}".encode("utf-8", "replace").decode().rstrip(": ")
            write(kind="failed", number=number, line=(line.splitlines() or ["failed"])[0][:300])
        if "parameters" in cell.get("tags", []) and "scale" in shell.user_ns:
            shell.user_ns["scale"] = "smoke"  # grading needs what a chapter defines, not what it trains
    return shell.user_ns


if __name__ == "__main__":
    main(Path(sys.argv[1]))
