"""The process in which a student's notebook runs: every cell as IPython runs it, then calls of its answers.

    python -m reasonlib.grading.student JOB

``JOB`` is a JSON file: the cells, the cells to skip, and the seconds that a cell or a call may take. No check
runs here. What happens is written at once, a line of JSON each, to the second pipe of ``REASONLIB_PIPES``;
the first one brings the calls of the checks (`reasonlib.grading.remote`).
"""

import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reasonlib.grading import checks, remote

_INSTALLS = re.compile(r"^(\s*)(?:[%!]\s*)(?:pip|conda|apt|apt-get)\b.*$", re.M)


class OutOfTime(BaseException):
    """The cell or check took longer than it may; no `except Exception` of the student catches it."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` inside the block when `seconds` have passed."""

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
    """Run the cells of a job, then answer calls until there are no more."""
    content = json.loads(job.read_text(encoding="utf-8"))
    reads, writes = map(int, os.environ.pop("REASONLIB_PIPES").split())
    calls = open(reads, encoding="utf-8")

    def write(**message: Any) -> None:
        data = memoryview(
            f"\n{json.dumps(message)}\n".encode()
        )  # on a line of its own, whatever else is written
        while data:
            data = data[os.write(writes, data) :]

    def receive() -> dict[str, Any]:
        line = calls.readline()
        if not line:
            raise remote.Ended
        message: dict[str, Any] = json.loads(line)
        return message

    space = run_cells(content["cells"], set(content["skip"]), content["seconds"], write)
    peer = remote.Peer(lambda message: write(**message), receive, networks="make")

    def timed(run: Callable[[], Any]) -> Any:
        if signal.getitimer(signal.ITIMER_REAL)[0]:
            return run()  # a call within a call
        try:
            with at_most(content["seconds"]):
                return run()
        except OutOfTime:
            seconds = content["seconds"]
            text = f"your code was not done after {seconds:g} s: is there a loop without an end?"
            raise checks.StudentError(text) from None
        except (KeyboardInterrupt, GeneratorExit) as error:
            raise checks.StudentError(f"your code ended the check: {type(error).__name__}") from None

    peer.around = timed
    peer.offer(space.get)  # number 0: the answers by name
    write(kind="ready")
    try:
        while True:
            message = receive()
            if message["kind"] == "call":
                peer.answer(message)
    except (remote.Ended, BrokenPipeError):
        return


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
