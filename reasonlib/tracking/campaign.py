"""All tables of a topic in one call: every experiment, row and seed that has no fresh record yet.

::

    topic --plan--> one Part a trial, what has a fresh record crossed off --carry_out--> records, as they come

A campaign that was stopped, however often, goes on when it is started again: finished trials have their
record, the one that was running its checkpoints.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reasonlib.errors import BusyError, UserError
from reasonlib.tracking import experiment as _experiment
from reasonlib.tracking import records as _records
from reasonlib.tracking import runner as _runner
from reasonlib.tracking.experiment import Experiment
from reasonlib.tracking.machine import leads
from reasonlib.tracking.records import Record

__all__ = ["STATES", "Part", "carry_out", "main_metric", "plan"]

STATES = ("there", "waiting", "running", "done", "failed")
"""Of a part: it had a fresh record; it has not begun; it runs; it has ended; it could not be run."""

MAIN = ("accuracy", "average")  # what a record is known by, if it has it


@dataclass(frozen=True, kw_only=True)
class Part:
    """One trial of a campaign, and how far it has come.

    Attributes
    ----------
    experiment, row, scale, data, seed
        Which trial.
    state
        One of `STATES`.
    record
        What it measured: the fresh record there was, or the one it made.
    problem
        Why it failed, in one line.
    """

    experiment: str
    row: str
    scale: str
    data: str
    seed: int
    state: str = "waiting"
    record: Record | None = None
    problem: str = ""

    @property
    def trial(self) -> tuple[str, str, int]:
        """Experiment, row and seed: what tells a part of a campaign from the others."""
        return self.experiment, self.row, self.seed


def main_metric(record: Record) -> tuple[str, float | None]:
    """Give the one metric that a line has room for: the accuracy, the average, or the first."""
    name = next((name for name in MAIN if name in record.metrics), next(iter(record.metrics)))
    return name, record.metrics[name]


def plan(
    topic: str,
    *,
    scale: str = "quick",
    seeds: Iterable[int] = (0,),
    data: str | None = None,
    records: Path | str | None = None,
    fresh: bool = False,
) -> list[Part]:
    """List the trials of a topic, in the order of its experiments, and say which have been run.

    Parameters
    ----------
    topic
        All its experiments that have the scale.
    scale, seeds
        At which scale, from which seeds.
    data
        On which data; an experiment without this data set runs on its first, as all do if None.
    records
        Folder in which to look for records. None: none are there.
    fresh
        Run again what has been run.

    Raises
    ------
    UserError
        If there is no such topic, none of its experiments has such a scale or data, or a seed is below 0.
    """
    by_name = _experiment.experiments(topic)
    if not by_name:
        raise UserError(f"{topic} has no experiments")
    if data is not None and not any(data in experiment.data for experiment in by_name.values()):
        names = dict.fromkeys(name for experiment in by_name.values() for name in experiment.data)
        raise UserError(f"{topic} has no data {data!r}; it has: {', '.join(names)}")
    parts: list[Part] = []
    for experiment in by_name.values():
        if scale not in experiment.scales:
            continue
        name = data if data is not None and data in experiment.data else next(iter(experiment.data))
        old = {} if records is None or fresh else _fresh(experiment, scale, name, records)
        for trial in _runner.plan(experiment, scale=scale, seeds=seeds, data=name):
            part = Part(experiment=experiment.name, row=trial.row, scale=scale, data=name, seed=trial.seed)
            record = old.get((trial.row, trial.seed))
            parts.append(part if record is None else replace(part, state="there", record=record))
    if not parts:
        scales = dict.fromkeys(scale for experiment in by_name.values() for scale in experiment.scales)
        raise UserError(f"{topic} has no scale {scale!r}; it has: {', '.join(scales)}")
    return parts


def _fresh(
    experiment: Experiment, scale: str, data: str, records: Path | str
) -> dict[tuple[str, int], Record]:
    """Map row and seed to the record that still stands; one stopped by its budget does not count."""
    return {
        (record.row, record.seed): record
        for group in _records.groups(experiment, scale=scale, data=data, records=records)
        if group.stale is None
        for record in group.records
        if record.steps.complete
    }


def carry_out(
    parts: Iterable[Part],
    *,
    jobs: int = 1,
    backend: str | None = None,
    records: Path | str | None = None,
    on_change: Callable[[Part], None] | None = None,
    **options: Any,
) -> list[Part]:
    """Run the parts that wait and return all of them as they have become.

    What a user can mend in one part (data that is not here) does not stop the others; an error in the code
    does. A trial that another process is running, such as a second campaign, comes last: this one waits until
    it has ended, and takes its record.

    Parameters
    ----------
    parts
        From `plan`.
    jobs
        How many trials at a time, of whichever experiment; -1 for one a core.
    backend
        ``loky`` (processes; the default when `jobs` is not 1) or ``threading``.
    records
        Folder to append each record to as soon as its trial ends; None to write none.
    on_change
        Called with a part that begins and again when it has ended.
    options
        ``minutes``, ``device``, ``checkpoints``, ``fresh`` and ``progress`` of `runner.run`.

    Raises
    ------
    UserError
        If `jobs` or `backend` cannot be, or records cannot be written.
    """
    parts = list(parts)
    if backend not in (None, "loky", "threading"):
        raise UserError(f"a topic runs with the backend loky or threading, got {backend!r}")
    _runner.check_jobs(jobs)
    present: Mapping[str, list[Record]] = {}
    if records is not None:
        names = dict.fromkeys(part.experiment for part in parts)
        present = {name: _records.prepare(name, records=records) for name in names}
    state = {part.trial: part for part in parts}

    def change(part: Part) -> None:
        state[part.trial] = part
        if on_change is not None:
            on_change(part)

    def begun() -> Iterator[Part]:
        for part in parts:
            if part.state == "waiting":
                change(running := replace(part, state="running"))
                yield running

    def results() -> Iterator[Part]:
        busy = []
        for part in _ended(begun(), jobs, backend, options):
            if part.state == "waiting":
                busy.append(part)
            else:
                yield part
        for part in busy:
            yield _run(part, {**options, "wait": True})

    for part in results():
        record = part.record
        if record is not None and records is not None and leads():
            if record not in present[part.experiment]:
                _records.append(record, records=records)
        change(part)
    return [state[part.trial] for part in parts]


def _ended(parts: Iterator[Part], jobs: int, backend: str | None, options: dict[str, Any]) -> Iterator[Part]:
    """Yield the parts as they end; `parts` is drawn from as there is room."""
    if jobs == 1 and backend is None:
        yield from (_run(part, options) for part in parts)
        return
    import joblib

    with joblib.parallel_config(backend=backend or "loky"):
        parallel = joblib.Parallel(
            n_jobs=jobs, batch_size=1, pre_dispatch="n_jobs", return_as="generator_unordered"
        )
        yield from parallel(joblib.delayed(_run)(part, options) for part in parts)


def _run(part: Part, options: Mapping[str, Any]) -> Part:
    try:
        (record,) = _runner.run(
            part.experiment, rows=part.row, scale=part.scale, seeds=part.seed, data=part.data, **options
        )
    except BusyError:
        return replace(part, state="waiting")
    except UserError as error:
        return replace(part, state="failed", problem=str(error))
    except OSError as error:
        if error.filename is None:
            raise
        return replace(part, state="failed", problem=f"{error.filename}: {error.strerror}")
    return replace(part, state="done", record=record)
