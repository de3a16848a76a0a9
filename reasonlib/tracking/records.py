"""What was measured: one JSON line a run, appended and never edited.

``records/<topic>/<experiment word>.jsonl`` holds the runs of one experiment. A record says what was asked
(experiment, row, scale, seed, settings), on which data, by which code and machine, and what came out. A
record whose experiment, settings, data or code no longer exist is *stale*: `stale` says why.

    append -> records/<topic>/<word>.jsonl -> read -> groups (one per row, scale and data) -> best -> summary
"""

import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reasonlib
from reasonlib.errors import DataError, UserError
from reasonlib.tracking import equivalence, renames
from reasonlib.tracking.fingerprint import fingerprint

if TYPE_CHECKING:
    from reasonlib.tracking.experiment import Experiment

try:
    import fcntl
except ImportError:  # Windows: a single appended write is all there is
    fcntl = None  # type: ignore[assignment]

SCALES = ("smoke", "quick", "paper")
KINDS = ("released", "regenerated", "mixed", "stand-in")
"""Of data: the source's own files; made by its published procedure, agreement in distribution tested; partly
the one and partly ours; ours in place of data that is not available, or invented inputs."""
OLD_KINDS = {"real": "released", "simulated": "stand-in"}  # as records before November 2026 say it
ENDINGS = ("finished", "early", "minutes")


@dataclass(frozen=True, kw_only=True)
class Data:
    """The examples a run saw: their name, one of `KINDS`, and their version where one is known.

    What counts is the kind that the experiment declares today, see `groups`: the bytes are the version's
    business.
    """

    name: str
    kind: str
    version: str | None = None


@dataclass(frozen=True, kw_only=True)
class Steps:
    """How far a run came.

    Attributes
    ----------
    done, planned
        Optimiser steps, or whatever unit the experiment counts in.
    stopped
        ``finished``, ``early`` (validation stopped improving) or ``minutes`` (the budget was spent).
    """

    done: int
    planned: int
    stopped: str = "finished"

    @property
    def complete(self) -> bool:
        """Whether the run ended by itself and not because its time was up."""
        return self.stopped != "minutes"


@dataclass(frozen=True, kw_only=True)
class Record:
    """One measured run.

    Attributes
    ----------
    experiment, row, scale, seed
        What was run; `experiment` is ``topic/word``.
    data
        On which examples.
    metrics
        Name to value; None where the value was not a finite number.
    config
        The settings of the row and the scale, merged, as JSON values.
    steps
        How far it came.
    seconds
        Wall clock of training and measuring, over all sessions of a run that was resumed.
    device
        ``cpu (...)`` or ``cuda (name of the card)``.
    versions
        Of Python, this package and the libraries that make the number.
    commit
        Git commit of the code, with ``+dirty`` where the package had uncommitted changes; None outside git.
    code
        ``{"run": fingerprint}``, of all library code that the run function can reach; see
        `reasonlib.tracking.fingerprint`. Older records kept a hash for each of some modules.
    when
        UTC time at the end of the run, ISO 8601.
    details
        Anything else an experiment wants to keep, as JSON values.
    where
        ``records/<topic>/<word>.jsonl:<line>`` once read from a file; not written.
    """

    experiment: str
    row: str
    scale: str
    seed: int
    data: Data
    metrics: Mapping[str, float | None]
    config: Mapping[str, Any]
    steps: Steps
    seconds: float
    device: str
    versions: Mapping[str, str]
    commit: str | None
    code: Mapping[str, str]
    when: str
    details: Mapping[str, Any] = field(default_factory=dict)
    where: str | None = field(default=None, compare=False)

    @property
    def topic(self) -> str:
        """The word before the slash of the experiment's name."""
        return self.experiment.partition("/")[0]

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain JSON values, without `where`."""
        values = asdict(self)
        del values["where"]
        return values

    @classmethod
    def from_json(cls, values: Any, *, where: str | None = None) -> "Record":
        """Build a record from parsed JSON.

        Raises
        ------
        ValueError
            If a field is missing or is not what it should be. Fields this version does not know are ignored.
        """
        if not isinstance(values, Mapping):
            raise ValueError(f"a record must be a JSON object, got {type(values).__name__}")
        for name, kinds in _FIELDS.items():
            if name not in values:
                if name == "details":
                    continue
                raise ValueError(f"field {name!r} is missing")
            _expect(name, values[name], kinds)
        metrics = {name: _number(f"metrics.{name}", value) for name, value in values["metrics"].items()}
        known = {f.name for f in fields(cls)} - {"where", "data", "steps", "metrics"}
        record = cls(
            **{name: value for name, value in values.items() if name in known},
            metrics=metrics,
            data=_part(
                Data, "data", values["data"], {"name": (str,), "kind": (str,), "version": (str, type(None))}
            ),
            steps=_part(
                Steps, "steps", values["steps"], {"done": (int,), "planned": (int,), "stopped": (str,)}
            ),
            where=where,
        )
        for name, value, allowed in (
            ("scale", record.scale, SCALES),
            ("data.kind", record.data.kind, (*KINDS, *OLD_KINDS)),
            ("steps.stopped", record.steps.stopped, ENDINGS),
        ):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        if "/" not in record.experiment:
            raise ValueError(f"experiment must be topic/word, got {record.experiment!r}")
        return record


_FIELDS: dict[str, tuple[type, ...]] = {
    "experiment": (str,),
    "row": (str,),
    "scale": (str,),
    "seed": (int,),
    "data": (Mapping,),
    "metrics": (Mapping,),
    "config": (Mapping,),
    "steps": (Mapping,),
    "seconds": (int, float),
    "device": (str,),
    "versions": (Mapping,),
    "commit": (str, type(None)),
    "code": (Mapping,),
    "when": (str,),
    "details": (Mapping,),
}


def _expect(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        wanted = " or ".join("null" if kind is type(None) else kind.__name__.lower() for kind in kinds)
        raise ValueError(f"{name} must be {wanted}, got {value!r}")


def _number(name: str, value: Any) -> float | None:
    _expect(name, value, (int, float, type(None)))
    return None if value is None else float(value)


def _part(cls: type, name: str, values: Mapping, kinds: Mapping[str, tuple[type, ...]]) -> Any:
    for key, allowed in kinds.items():
        if key not in values:
            raise ValueError(f"field '{name}.{key}' is missing")
        _expect(f"{name}.{key}", values[key], allowed)
    return cls(**{key: values[key] for key in kinds})


# Files ------------------------------------------------------------------------------------------------------


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
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
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
    same = _same_bits()
    if name is None:
        files = sorted(root.glob("*/*.jsonl"))
    elif "/" in name:
        files = [path(one, records=root) for one in (*names.former(name), name)]
    else:
        files = sorted((root / name).glob("*.jsonl"))
    return [record for file in files if file.is_file() for record in _read_file(file, names, same)]


def _read_file(file: Path, names: renames.Renames, same: equivalence.Equivalences) -> list[Record]:
    found = []
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
                values["code"] = same.code(values["experiment"], values["code"], values["commit"])
            record = Record.from_json(values, where=f"records/{experiment}.jsonl:{number}")
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
        found.append(record)
    return found


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


# Selection --------------------------------------------------------------------------------------------------


def stale(record: Record, experiment: "Experiment | None" = None) -> str | None:
    """Say why a record no longer describes what its experiment would do today; None if it does.

    Parameters
    ----------
    record
        The record.
    experiment
        The experiment of today; found by the record's name if None.
    """
    from reasonlib.tracking.experiment import find, settings

    if experiment is None:
        try:
            experiment = find(record.experiment)
        except UserError:
            return f"experiment {record.experiment} is gone"
    if record.row not in experiment.rows:
        return f"row {record.row} is gone"
    if record.scale not in experiment.scales:
        return f"scale {record.scale} is gone"
    today = settings(experiment, record.row, record.scale)
    missing = object()
    for key in sorted({*today, *record.config}):
        was, now = record.config.get(key, missing), today.get(key, missing)
        if was != now:
            if was is missing:
                return f"setting {key} is new ({now!r})"
            return f"setting {key} was {was!r}, " + ("is gone" if now is missing else f"is {now!r}")
    if record.data.name not in experiment.data:
        return f"data {record.data.name} is gone"
    if experiment.version is not None:
        version = experiment.version(record.data.name)  # None: the files are not on this machine
        if version is not None and not _agree(version, record.data.version or ""):
            return f"data {record.data.name} was version {record.data.version}, is {version}"
    same = _same_bits().same(record.experiment, fingerprint(experiment.run))
    return None if record.code.get(equivalence.RUN) == same else "code changed"


def _agree(version: str | None, other: str | None) -> bool:
    """Whether two versions name the same files; older records also kept a hash of simulators' code."""
    if version is None or other is None:
        return True
    files, others = set(version.split("+")), set(other.split("+"))
    return files <= others or others <= files


def _same_bits() -> equivalence.Equivalences:
    return equivalence.load(folder(), renames.load(folder()))


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Mean, sample standard deviation (None for one seed) and number of seeds."""

    mean: float
    sd: float | None
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Summary":
        """Summarise at least one value."""
        mean = math.fsum(values) / len(values)
        return cls(mean=mean, sd=statistics.stdev(values) if len(values) > 1 else None, n=len(values))


@dataclass(frozen=True, kw_only=True)
class Group:
    """The records, one a seed, that measure one row at one scale on one data set.

    Attributes
    ----------
    records
        In the order of the seeds; all made by the same settings, code and version of the data.
    stale
        Why they are stale, or None.
    """

    experiment: str
    row: str
    scale: str
    data: Data
    records: tuple[Record, ...]
    stale: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every run ended by itself and not because its time was up."""
        return all(record.steps.complete for record in self.records)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that every record has."""
        first, *rest = self.records
        return tuple(
            name
            for name, value in first.metrics.items()
            if value is not None and all(other.metrics.get(name) is not None for other in rest)
        )

    def summary(self, metric: str) -> Summary | None:
        """Summarise one metric over the seeds; None if a record lacks it."""
        values = [record.metrics.get(metric) for record in self.records]
        numbers = [value for value in values if value is not None]
        return Summary.of(numbers) if len(numbers) == len(values) else None

    def examples(self, metric: str) -> int | None:
        """Return the number of test examples behind a metric, where the records say it; the fewest."""
        numbers = []
        for record in self.records:
            count = record.details.get("examples")
            number = count.get(metric) if isinstance(count, Mapping) else count
            if not isinstance(number, int):
                return None
            numbers.append(number)
        return min(numbers)

    def _preference(self, names: Sequence[str]) -> tuple:
        """Sort key: fresh before stale, the larger scale, the source's data, then the experiment's order."""
        order = names.index(self.data.name) if self.data.name in names else len(names)
        return (
            self.stale is not None,
            -SCALES.index(self.scale),
            KINDS.index(self.data.kind),
            order,
        )


def groups(
    experiment: "Experiment | str",
    row: str | None = None,
    *,
    scale: str | None = None,
    data: str | None = None,
    records: Path | str | Sequence[Record] | None = None,
) -> list[Group]:
    """Group the records of an experiment, best first.

    Fresh groups come before stale ones, then ``paper`` before ``quick`` before ``smoke``, then data in the
    order of `KINDS`, then in the experiment's order. Within a group each seed counts once: its newest
    complete run, or its newest run where no seed was run to the end.

    Parameters
    ----------
    experiment
        The experiment or its name.
    row, scale, data
        Only these, if given.
    records
        Folder of records, or records already read; the usual folder if None.
    """
    from reasonlib.tracking.experiment import Experiment, find

    known: Experiment | None
    if isinstance(experiment, Experiment):
        name, known = experiment.name, experiment
    else:
        name = experiment
        try:
            known = find(name)
        except UserError:
            known = None
    everything = (
        read(name, records=records) if records is None or isinstance(records, str | Path) else list(records)
    )
    piles: dict[tuple[str, str, str], list[Record]] = {}
    for record in everything:
        if (
            record.experiment == name
            and row in (None, record.row)
            and scale in (None, record.scale)
            and data in (None, record.data.name)
        ):
            piles.setdefault((record.row, record.scale, record.data.name), []).append(record)
    found = [_group(pile, known) for pile in piles.values()]
    names = list(known.data) if known is not None else []
    return sorted(found, key=lambda group: group._preference(names))


def _group(pile: list[Record], experiment: "Experiment | None") -> Group:
    """Choose, from the records of one row, scale and data name, those that belong together."""
    reasons = [stale(record, experiment) for record in pile]
    if None in reasons:
        pile = [record for record, reason in zip(pile, reasons, strict=True) if reason is None]
        reason = None
    pile = sorted(pile, key=lambda record: record.when)  # stable: the later line is the newer of two equals
    newest = pile[-1]
    if None not in reasons:
        reason = stale(newest, experiment)
    pile = [
        record
        for record in pile
        if (record.config, record.code) == (newest.config, newest.code)
        and _agree(record.data.version, newest.data.version)
    ]
    complete = [record for record in pile if record.steps.complete]
    seeds = {record.seed: record for record in complete or pile}
    return Group(
        experiment=newest.experiment,
        row=newest.row,
        scale=newest.scale,
        data=replace(newest.data, kind=_kind(newest.data, experiment)),
        records=tuple(seeds[seed] for seed in sorted(seeds)),
        stale=reason,
    )


def _kind(data: Data, experiment: "Experiment | None") -> str:
    """Return what a data set is declared to be today, or else what the record says, in today's words."""
    declared = {} if experiment is None else experiment.data
    return declared.get(data.name, OLD_KINDS.get(data.kind, data.kind))


def best(
    experiment: "Experiment | str",
    row: str,
    *,
    scale: str | None = None,
    data: str | None = None,
    records: Path | str | Sequence[Record] | None = None,
) -> Group | None:
    """Return the group a reader should be shown for one row, None if it was never run; see `groups`."""
    found = groups(experiment, row, scale=scale, data=data, records=records)
    return found[0] if found else None


def latest(
    experiment: str,
    row: str | None = None,
    *,
    scale: str | None = None,
    data: str | None = None,
    seed: int | None = None,
    records: Path | str | None = None,
) -> Record | None:
    """Return the newest record that fits, stale or not; None if there is none."""
    fitting = [
        record
        for record in read(experiment, records=records)
        if row in (None, record.row)
        and scale in (None, record.scale)
        and data in (None, record.data.name)
        and seed in (None, record.seed)
    ]
    return max(reversed(fitting), key=lambda record: record.when, default=None)
