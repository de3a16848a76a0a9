"""Files of records: appended to ``records/<topic>/<word>.jsonl``, never edited, and read in today's names."""

import json
import os
from contextlib import suppress
from pathlib import Path

import reasonlib
from reasonlib.errors import DataError, UserError
from reasonlib.tracking import equivalence, renames
from reasonlib.tracking.locks import lock
from reasonlib.tracking.record import Record

__all__ = ["append", "folder", "path", "prepare", "read", "same_bits"]


def folder() -> Path:
    """Return the folder of all records.

    ``REASONLIB_RECORDS`` where it is set, ``records/`` beside the package in a checkout, and the copy inside
    an installed package otherwise.
    """
    if chosen := os.environ.get("REASONLIB_RECORDS"):
        return Path(chosen).expanduser()
    package = Path(reasonlib.__file__).parent
    if (package.parent / "pyproject.toml").is_file():
        return package.parent / "records"
    return package / "_records"


def path(experiment: str, *, records: Path | str | None = None) -> Path:
    """Return the file that holds the runs of one experiment, ``topic/word``."""
    topic, _, word = experiment.partition("/")
    return (folder() if records is None else Path(records)) / topic / f"{word}.jsonl"


def prepare(experiment: str, *, records: Path | str | None = None) -> list[Record]:
    """Return what an experiment's file holds, after making sure that `append` can add to it.

    Raises
    ------
    UserError
        If a line is not a record, or the folder cannot be written: better known before a long run than after.
    """
    file = path(experiment, records=records)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{file.parent}: records cannot be kept here ({error.strerror or error})") from error
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise UserError(f"{file}: records cannot be written here (no permission)")
    return read(experiment, records=records)


def append(record: Record, *, records: Path | str | None = None) -> Path:
    """Append one record to its file and return the file.

    The line is one write to a file opened for appending, then synced to disk, so that runs in several
    processes do not mix. After a line that was cut off (a full disk, a lost machine) it starts a new one. A
    record that is there already, because another process took it from the same finished trial, is not
    written twice.

    Raises
    ------
    UserError
        If the folder cannot be written.
    """
    file = path(record.experiment, records=records)
    line = (json.dumps(record.to_json(), ensure_ascii=False, allow_nan=False) + "\n").encode()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            lock(handle)
            end = os.fstat(handle).st_size
            if _is_there(record, handle):
                return file
            if end:
                os.lseek(handle, end - 1, os.SEEK_SET)
                if os.read(handle, 1) != b"\n":
                    line = b"\n" + line
            try:
                if os.write(handle, line) != len(line):
                    raise OSError("the disk took only part of the line")
                os.fsync(handle)
            except OSError:
                os.ftruncate(handle, end)  # half a line would make the whole file unreadable
                raise
        finally:
            os.close(handle)
    except OSError as error:
        raise UserError(f"{file}: the record could not be written ({error.strerror or error})") from error
    return file


def _is_there(record: Record, handle: int) -> bool:
    """Whether an open file of records holds the very same one."""
    when = record.when.encode()
    with open(os.dup(handle), "rb") as file:
        file.seek(0)
        for line in file:
            if when in line:
                try:
                    if Record.from_json(json.loads(line)) == record:
                        return True
                except ValueError:
                    continue
    return False


def read(name: str | None = None, *, records: Path | str | None = None) -> list[Record]:
    """Return the records of one experiment (``topic/word``), of one topic, or of all, in file order.

    What had another name when it was written reads as today's (see `reasonlib.tracking.renames`), and so does
    the fingerprint of code that gives the same bits (see `reasonlib.tracking.equivalence`).

    Raises
    ------
    DataError
        If a line is not a record, or belongs to another experiment; names the file and the line.
    """
    root = folder() if records is None else Path(records)
    names = renames.load(root if (root / renames.FILE).is_file() else folder())
    same = same_bits()
    if name is None:
        files = sorted(root.glob("*/*.jsonl"))
    elif "/" in name:
        files = [path(experiment_name, records=root) for experiment_name in (*names.former(name), name)]
    else:
        files = sorted((root / name).glob("*.jsonl"))
    return [record for file in files if file.is_file() for record in _read_file(file, names, same)]


def same_bits() -> equivalence.Equivalences:
    """Return which code gives the same bits as other code; see `reasonlib.tracking.equivalence`."""
    return equivalence.load(folder(), renames.load(folder()))


def _read_file(file: Path, names: renames.Renames, same: equivalence.Equivalences) -> list[Record]:
    parsed = []
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read as text ({error}); restore it from git") from error
    experiment = f"{file.parent.name}/{file.stem}"
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line, parse_constant=_refuse)
            with suppress(KeyError, TypeError, AttributeError):  # not a record, as from_json says better
                values = names.apply(values)
                values["code"] = same.code(
                    values["experiment"], values["row"], values["code"], values["commit"]
                )
            record = Record.from_json(values, location=f"records/{experiment}.jsonl:{number}")
            if record.experiment != names.experiment(experiment):
                raise ValueError(f"it belongs to experiment {record.experiment!r}")
        except ValueError as error:
            reason = (
                f"{error.msg} at column {error.colno}"
                if isinstance(error, json.JSONDecodeError)
                else str(error)
            )
            raise DataError(
                f"{file}:{number}: not a record: {reason}; delete the line or restore the file"
            ) from error
        parsed.append(record)
    return parsed


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
