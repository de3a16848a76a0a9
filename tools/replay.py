"""A pytest plugin that gives nbval recorded outputs instead of starting a kernel.

Each chapter then runs only once, for both the site and nbval's comparison. Every notebook has a folder of its
own, with a file ``outputs.json`` beside it that holds the source and the outputs of each cell, in order. A
cell that the file does not list, such as the setup cell for Colab, was not run and has no outputs.
"""

from __future__ import annotations

import json
from pathlib import Path
from queue import Empty
from typing import Any

import nbval.plugin

OUTPUTS = "outputs.json"
CONTENT = ("name", "text", "data", "metadata", "execution_count", "ename", "evalue", "traceback")


class Replay:
    """What nbval asks of a kernel."""

    language = "python"

    def __init__(self, kernel_name: str, cwd: str, startup_timeout: float = 60) -> None:
        self.ran = [tuple(pair) for pair in json.loads((Path(cwd) / OUTPUTS).read_text(encoding="utf-8"))]
        self.cells = 0
        self.messages: list[dict[str, Any]] = []

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        """Queue the messages of this cell; nbval has read those of earlier cells."""
        self.cells += 1
        matches = [number for number, (ran, _) in enumerate(self.ran) if ran == source]
        outputs = self.ran[matches[0]][1] if matches else []
        del self.ran[: matches[0] + 1 if matches else 0]
        for output in outputs:
            content = {key: output[key] for key in CONTENT if key in output}
            self._send(output["output_type"], {"metadata": {}, **content})
        self._send("status", {"execution_state": "idle"})
        return str(self.cells)

    def _send(self, kind: str, content: dict[str, Any]) -> None:
        header = {"msg_id": str(self.cells)}
        self.messages.append({"msg_type": kind, "content": content, "parent_header": header})

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """The next message of the cell."""
        if not self.messages:
            raise Empty
        return self.messages.pop(0)

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """The cell has run."""

    def await_idle(self, parent_id: str, timeout: float) -> None:
        """Pass over what is left of the cell."""
        self.messages.clear()

    def is_alive(self) -> bool:
        """Until the last cell."""
        return True

    def stop(self) -> None:
        """There is nothing to stop."""


def pytest_configure() -> None:
    """Put it in the place of nbval's kernel."""
    nbval.plugin.RunningKernel = Replay
