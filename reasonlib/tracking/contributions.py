"""Checking records that somebody hands in, before they count.

A record is a claim about a run that we did not see. What can be checked is checked: that it has the form of a
record, that the code, the settings and the data are those of this tree, that its numbers are of the kind the
experiment gives, and that it is not there already.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from reasonlib.errors import DataError, UserError
from reasonlib.tracking import records
from reasonlib.tracking.claims_file import load
from reasonlib.tracking.experiment import find
from reasonlib.tracking.records import Record

__all__ = ["Report", "check", "files_of"]

FAR = 8.0
"""A number is flagged if it lies this many standard deviations from the other runs of its row, or is this
many times as large as any other number of its metric."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was found in one file.

    Attributes
    ----------
    file
        The file.
    checked, new
        Records in it, and those that are not among the records there are.
    problems
        What must be put right.
    warnings
        What a person should look at.
    """

    file: str
    checked: int
    new: int
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing must be put right."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {**asdict(self), "ok": self.ok}


def files_of(paths: Iterable[Path]) -> list[Path]:
    """Return the files of records among files and folders, each once, in order."""
    files = [file for path in paths for file in (sorted(path.rglob("*.jsonl")) if path.is_dir() else [path])]
    return [file for file in dict.fromkeys(files) if file.name != "equivalent.jsonl"]


def check(file: Path | str, *, against: Path | str | None = None) -> Report:
    """Check one file of records.

    Parameters
    ----------
    file
        ``.../<topic>/<word>.jsonl``.
    against
        Folder of the records there are; what stands in it is not checked again. None: every line is new.
    """
    file = Path(file)
    name = f"{file.parent.name}/{file.stem}"
    try:
        lines = _lines(file)
        existing = [] if against is None else _lines(Path(against) / file.parent.name / file.name)
    except UserError as error:
        return Report(file=str(file), checked=0, new=0, problems=(str(error),))
    problems: list[str] = []
    faults: dict[str, list[str]] = {}
    doubts: dict[str, list[str]] = {}
    if lines[: len(existing)] != existing:
        problems.append(f"{file}: lines that were there are changed or gone; records are only appended")
    existing_lines = set(existing)
    try:
        experiment = find(name)
    except UserError as error:
        return Report(file=str(file), checked=len(lines), new=0, problems=(*problems, f"{file}: {error}"))
    try:
        everything = records.read(name, records=file.parent.parent)
    except (UserError, DataError) as error:
        return Report(file=str(file), checked=len(lines), new=0, problems=(*problems, str(error)))
    placed = {record.location: record for record in everything}
    new: list[Record] = []
    old: list[Record] = []
    for number, line in enumerate(lines, start=1):
        record = placed.get(f"records/{name}.jsonl:{number}")
        if record is not None:
            (old if line in existing_lines else new).append(record)
    for record in new:
        line = str(record.location).rpartition(":")[2]
        if reason := records.stale(record, experiment):
            faults.setdefault(f"made by other code or settings than these: {reason}", []).append(line)
        for text in (*_impossible(record), *_outside(record)):
            faults.setdefault(text, []).append(line)
        if any(_repeats(record, other) and not records.stale(other, experiment) for other in old):
            faults.setdefault("this seed was run before, with other numbers; take a new seed", []).append(
                line
            )
        if any(
            _same(record, other)
            for other in (*old, *(candidate for candidate in new if candidate is not record))
        ):
            faults.setdefault("the same run stands there already", []).append(line)
        for text in _unusual(record, old):
            doubts.setdefault(text, []).append(line)
    return Report(
        file=str(file),
        checked=len(lines),
        new=len(new),
        problems=(*problems, *_gathered(file, faults)),
        warnings=_gathered(file, doubts),
    )


def _gathered(file: Path, texts: dict[str, list[str]]) -> tuple[str, ...]:
    """Say each thing once, with the first line it is about and how many more there are."""
    return tuple(
        f"{file}:{lines[0]}: {text}" + (f" ({len(lines) - 1} more lines)" if len(lines) > 1 else "")
        for text, lines in texts.items()
    )


def _lines(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot be read as text ({error})") from error


def _impossible(record: Record) -> Iterable[str]:
    """Say what no run can have given."""
    if not record.seconds > 0:
        yield f"seconds must be above 0, got {record.seconds}"
    if record.steps.done < 0 or record.steps.planned < 0:
        yield f"steps must be at least 0, got {record.steps.done} of {record.steps.planned}"
    if record.seed < 0:
        yield f"the seed must be at least 0, got {record.seed}"
    try:
        when = datetime.fromisoformat(record.when)
        if when > datetime.now(UTC) + timedelta(days=1):
            yield f"it was made in the future: {record.when}"
    except (ValueError, TypeError):
        yield f"when must be a time with its zone, such as 2026-11-22T12:00:00+00:00, got {record.when!r}"
    if record.details:
        try:
            json.dumps(record.details, allow_nan=False)
        except ValueError:
            yield "details hold a number that is not finite"


def _outside(record: Record) -> Iterable[str]:
    """Say which shares lie outside 0 and 1: metrics of which a claim says that they are fractions."""
    topic = record.experiment.partition("/")[0]
    sides = {side for claim in load(topic) if claim.unit == "fraction" for side in claim.sides}
    for name in sorted({side.metric for side in sides if side.experiment == record.experiment}):
        value = record.metrics.get(name)
        if value is not None and not 0 <= value <= 1:
            yield f"{name} is a share, and is {value:g}"


def _repeats(record: Record, other: Record) -> bool:
    """Whether a finished run of the same row and seed stands there already, with other numbers."""
    same = all(getattr(record, key) == getattr(other, key) for key in ("row", "scale", "seed"))
    return (
        same
        and record.data.name == other.data.name
        and other.steps.complete
        and record.metrics != other.metrics
    )


def _unusual(record: Record, old: Sequence[Record]) -> Iterable[str]:
    """Say what a person should look at: uncommitted code, unknown metrics, numbers or times far off."""
    if record.commit is None or record.commit.endswith("+dirty"):
        yield "the code was not committed, though its fingerprint is that of this tree"
    alike = [other for other in old if (other.scale, other.data.name) == (record.scale, record.data.name)]
    if alike and (odd := set(record.metrics) ^ set(alike[-1].metrics)):
        yield f"other metrics than in earlier records: {', '.join(sorted(odd)[:3])}"
    same_row = [other for other in alike if other.row == record.row]
    yield from _hasty(record, same_row)
    for name, value in record.metrics.items():
        everything = [other.metrics.get(name) for other in alike]
        numbers = [number for number in everything if number is not None]
        if value is None or not numbers:
            continue
        largest = max(abs(number) for number in numbers)
        if largest and abs(value) > FAR * largest:
            yield f"{name} is {value:g}, and at most {largest:g} in all other runs"
        if len(numbers) < 3:
            continue
        if all(0 <= number <= 1 for number in numbers) and not 0 <= value <= 1:
            yield f"{name} is {value:g}, where all others lie between 0 and 1"
        runs = [number for other in same_row if (number := other.metrics.get(name)) is not None]
        if len(runs) < 3 or not math.isfinite(value):
            continue
        spread = stdev(runs)
        if not spread and not math.isclose(value, runs[0], rel_tol=1e-6):
            yield f"{name} is {value:g}, and {runs[0]:g} in all {len(runs)} other runs of this row"
        elif spread and (distance := abs(value - fmean(runs)) / spread) > FAR:
            yield f"{name} is {value:g}, {distance:.0f} standard deviations from the other runs"


def _hasty(record: Record, others: Sequence[Record]) -> Iterable[str]:
    """Say where a run took far less time for each step than any other of its row on such a device."""
    kind = record.device.partition(" ")[0]
    paces = [
        other.seconds / other.steps.done
        for other in others
        if other.steps.done > 0 and other.device.partition(" ")[0] == kind
    ]
    if not paces or record.steps.done <= 0:
        return
    pace = record.seconds / record.steps.done
    if pace * FAR < min(paces):
        yield f"a step took {pace:.2g} s, and at least {min(paces):.2g} s in all other runs of this row"


def _same(record: Record, other: Record) -> bool:
    """Whether two records are of one run: what was asked, when it ended and what came out are the same."""
    keys = ("row", "scale", "seed", "when", "metrics", "seconds")
    return all(getattr(record, key) == getattr(other, key) for key in keys)
