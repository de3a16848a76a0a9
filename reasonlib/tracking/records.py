"""What was measured: one JSON line a run, appended and never edited.

``records/<topic>/<experiment word>.jsonl`` holds the runs of one experiment. A record says what was asked
(experiment, row, scale, seed, settings), on which data, by which code and machine, and what came out. A
record whose experiment, settings, data or code no longer exist is *stale*: `stale` says why.

    append -> records/<topic>/<word>.jsonl -> read -> groups (one per row, scale and data) -> best -> summary

The fields are in `reasonlib.tracking.record`, the files in `reasonlib.tracking.record_files`; both can be
imported from here, too.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from reasonlib.errors import UserError
from reasonlib.tracking import equivalence
from reasonlib.tracking.fingerprint import fingerprint
from reasonlib.tracking.record import KINDS, OLD_KINDS, SCALES, Data, Record, Steps
from reasonlib.tracking.record_files import append, folder, path, prepare, read, same_bits

if TYPE_CHECKING:
    from reasonlib.tracking.experiment import Experiment

__all__ = [
    "Data",
    "Group",
    "Record",
    "Steps",
    "Summary",
    "append",
    "best",
    "folder",
    "groups",
    "latest",
    "path",
    "prepare",
    "read",
    "stale",
]


def stale(record: Record, experiment: "Experiment | None" = None) -> str | None:
    """Say why a record no longer describes what its experiment would do today; None if it does.

    Parameters
    ----------
    record
        The record.
    experiment
        The experiment of today; found by the record's name if None.
    """
    from reasonlib.tracking.experiment import find

    if experiment is None:
        try:
            experiment = find(record.experiment)
        except UserError:
            return f"experiment {record.experiment} is gone"
    return _stale(record, experiment, partial(_code, experiment))


def _code(experiment: "Experiment", row: str) -> str:
    """Return the fingerprint of what an experiment runs, or the older one that gives this row the same."""
    return same_bits().same(experiment.name, row, fingerprint(experiment.run))


def _stale(record: Record, experiment: "Experiment", code: Callable[[str], str]) -> str | None:
    """Say what `stale` says; `code` is asked for the row where nothing else made the record stale."""
    from reasonlib.tracking.experiment import settings

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
    return None if record.code.get(equivalence.RUN) == code(record.row) else "code changed"


def _agree(version: str | None, other: str | None) -> bool:
    """Whether two versions name the same files; older records also kept a hash of simulators' code."""
    if version is None or other is None:
        return True
    files, others = set(version.split("+")), set(other.split("+"))
    return files <= others or others <= files


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
    declared
        The experiment, where it still exists.
    """

    experiment: str
    row: str
    scale: str
    data: Data
    records: tuple[Record, ...]
    stale: str | None = None
    declared: "Experiment | None" = field(default=None, repr=False, compare=False)

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
        if self.declared is None:
            return None
        numbers = [
            self.declared.examples_behind(metric, record.details, record.config) for record in self.records
        ]
        return None if None in numbers else min(filter(None, numbers))

    def margin(self, metric: str) -> float | None:
        """Return how far the test examples leave a metric open (half a 95 % interval), if all records say."""
        margins = [record.details.get("margins", {}).get(metric) for record in self.records]
        return None if None in margins else max(margins)

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
    order of `KINDS`, then in the experiment's order. Within a group each seed counts once: its first
    complete run, so that nobody can run a seed until they like its number, or its newest run where no seed
    was run to the end.

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

    declared: Experiment | None
    if isinstance(experiment, Experiment):
        name, declared = experiment.name, experiment
    else:
        name = experiment
        try:
            declared = find(name)
        except UserError:
            declared = None
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
    if declared is None:
        matching = [_group(pile, None, stale) for pile in piles.values()]
    else:
        code = cache(partial(_code, declared))  # one for all records of a row
        matching = [
            _group(pile, declared, partial(_stale, experiment=declared, code=code)) for pile in piles.values()
        ]
    names = list(declared.data) if declared is not None else []
    return sorted(matching, key=lambda group: group._preference(names))


def _group(pile: list[Record], experiment: "Experiment | None", why: Callable[[Record], str | None]) -> Group:
    """Choose, from the records of one row, scale and data name, those that belong together.

    `why` says of a record what `stale` says.
    """
    reasons = [why(record) for record in pile]
    if None in reasons:
        pile = [record for record, reason in zip(pile, reasons, strict=True) if reason is None]
        reason = None
    pile = sorted(pile, key=lambda record: record.when)  # stable: the later line is the newer of two equals
    newest = pile[-1]
    if None not in reasons:
        reason = why(newest)
    pile = [
        record
        for record in pile
        if (record.config, record.code) == (newest.config, newest.code)
        and _agree(record.data.version, newest.data.version)
    ]
    complete = [record for record in pile if record.steps.complete]
    seeds = {record.seed: record for record in complete[::-1] or pile}  # the last one written stays
    return Group(
        experiment=newest.experiment,
        row=newest.row,
        scale=newest.scale,
        data=replace(newest.data, kind=_kind(newest.data, experiment)),
        records=tuple(seeds[seed] for seed in sorted(seeds)),
        stale=reason,
        declared=experiment,
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
    candidates = groups(experiment, row, scale=scale, data=data, records=records)
    return candidates[0] if candidates else None


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
