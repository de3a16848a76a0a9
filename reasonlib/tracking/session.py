"""The folder of one trial: held by one process at a time, with the time spent and the finished record."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reasonlib.errors import BusyError, UserError
from reasonlib.tracking.locks import lock
from reasonlib.tracking.machine import leads
from reasonlib.tracking.record import Record

__all__ = ["empty", "hold", "session", "spent", "write_json"]


@contextmanager
def session(folder: Path | None, fresh: bool, *, wait: bool = False) -> Iterator[tuple[Record | None, float]]:
    """Hold a trial's folder for this process; yield its record if it is finished, and the seconds spent.

    Of several processes that train one model together, the first holds the folder and the others look on.
    """
    if folder is None:
        yield None, 0.0
        return
    if not leads():
        yield None if fresh else finished(folder), 0.0
        return
    with hold(folder, wait=wait):
        if fresh:
            empty(folder)
        done, seconds = finished(folder), spent(folder)
        if done is None:
            write_json(folder / "clock.json", {"seconds": seconds, "began": time.time()})
        yield done, seconds


@contextmanager
def hold(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Make a folder and hold it for this process, if it is the first of those that train together.

    Raises
    ------
    UserError
        If files cannot be kept there.
    BusyError
        If another process holds it, unless this is to `wait`.
    """
    if not leads():
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UserError(f"{folder}: checkpoints cannot be kept here ({error.strerror or error})") from error
    try:
        try:
            lock(handle, wait=wait)
        except OSError as error:
            raise BusyError(
                f"{folder}: another process is running this trial; wait for it or stop it"
            ) from error
        yield
    finally:
        os.close(handle)


def spent(folder: Path) -> float:
    """Return the seconds that were spent in a folder.

    A process that was killed left no total: what it spent is taken from when it began to its last write.
    """
    try:
        clock = json.loads((folder / "clock.json").read_text(encoding="utf-8"))
        seconds = float(clock["seconds"])
        if "began" in clock:
            last = max(file.stat().st_mtime for file in folder.rglob("*") if file.is_file())
            seconds += max(0.0, last - float(clock["began"]))
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0
    return seconds


def empty(folder: Path) -> None:
    """Delete everything in a trial's folder but the lock, which this process holds."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lock":
            path.unlink()


def finished(folder: Path) -> Record | None:
    try:
        return Record.from_json(json.loads((folder / "finished.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def write_json(file: Path, values: Any) -> None:
    """Write JSON so that the file is either the old one or the new one."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(values), encoding="utf-8")
    os.replace(temporary, file)
