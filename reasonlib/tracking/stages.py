"""First stages that several rows share: trained once, kept as checkpoints, and counted for each row.

    Trial.shared_stage -> <checkpoints>/<topic>/_shared/<stage>-<scale>-<data>-<seed>-<digest>

The digest stands for the stage's settings, its code, the data's version and the kind of device. Whoever comes
later, in this process or another, restores the finished checkpoint. Nothing stays in memory after a trial.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from reasonlib.errors import BusyError
from reasonlib.tracking.fingerprint import fingerprint
from reasonlib.tracking.machine import leads
from reasonlib.tracking.session import empty, hold, spent, write_json

if TYPE_CHECKING:
    from reasonlib.tracking.experiment import Trial
    from reasonlib.training import History

__all__ = ["SHARED", "Stages", "Trained", "forget"]

SHARED = "_shared"
"""Folder of the shared stages, beside those of a topic's experiments."""


class Trained(Protocol):
    """What a stage gives: anything with the history of its training."""

    @property
    def history(self) -> History:
        """What happened; the stage is kept for other rows once it did not stop for lack of minutes."""


Result = TypeVar("Result", bound=Trained)


@dataclass
class Stages:
    """The shared stages of one trial.

    Attributes
    ----------
    root
        Where they are kept; None to keep none beside the trial's own checkpoints.
    version
        Of the trial's data.
    seconds
        Name of a stage to what it has taken in all, whichever trials trained it.
    inside
        Seconds that this process spent in stages, or waiting for one, or restoring one.
    """

    root: Path | None = None
    version: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    inside: float = 0.0
    _results: dict[str, Any] = field(default_factory=dict)

    def train(self, stage: Trial, train: Callable[[Trial], Result]) -> Result:
        """Train a stage, go on with it, or restore it; `stage.row` is its name."""
        name = self._name(stage, train)
        if name not in self._results:
            began, within = time.perf_counter(), self.inside
            try:
                self._results[name] = self._train(stage, name, train)
            finally:
                self.inside = within + time.perf_counter() - began
        result: Result = self._results[name]
        return result

    def _train(self, stage: Trial, name: str, train: Callable[[Trial], Result]) -> Result:
        if self.root is None:
            return self._timed(stage, train)
        folder = self.root / name
        with hold(folder, wait=True):
            before, finished = spent(folder), _finished(folder)
            clock = folder / "clock.json"
            if leads() and not finished:
                write_json(clock, {"seconds": before, "began": time.time()})
            result = self._timed(replace(stage, folder=folder), train)
            if finished:
                self.seconds[stage.row] = before
            else:
                self.seconds[stage.row] += before
            if leads() and not finished:
                ended = result.history.stopped != "minutes"
                write_json(clock, {"seconds": self.seconds[stage.row], "finished": ended})
        return result

    def _timed(self, stage: Trial, train: Callable[[Trial], Result]) -> Result:
        """Train a stage and note its seconds, less those of the stages that it begins with itself."""
        began, within = time.perf_counter(), self.inside
        result = train(stage)
        self.seconds[stage.row] = time.perf_counter() - began - (self.inside - within)
        return result

    def _name(self, stage: Trial, train: Callable[[Trial], Any]) -> str:
        device = stage.device.partition(":")[0]
        identity = (dict(stage.settings), fingerprint(train), self.version, device)
        digest = sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
        return f"{stage.row}-{stage.scale}-{stage.data}-{stage.seed}-{digest}"


def _finished(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / "clock.json").read_text(encoding="utf-8"))["finished"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def forget(root: Path, *, scale: str, data: str) -> None:
    """Delete the checkpoints of the stages at a scale on a data set, but those that are being trained."""
    for folder in root.glob(f"*-{scale}-{data}-*"):
        with suppress(BusyError), hold(folder):
            empty(folder)
