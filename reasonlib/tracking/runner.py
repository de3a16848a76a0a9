"""Running experiments: rows over seeds, on one core, on many or on a cluster, with checkpoints.

Experiment x rows x seeds -> Trial -> run -> Measured -> Record -> records/*/*.jsonl
"""

import json
import math
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reasonlib.arguments import check_choice
from reasonlib.errors import UserError
from reasonlib.tracking import records as _records
from reasonlib.tracking.experiment import Experiment, Measured, Trial, find, listed, plain, settings
from reasonlib.tracking.fingerprint import fingerprint
from reasonlib.tracking.machine import choose_device, describe_device, facts, leads
from reasonlib.tracking.record import ENDINGS, Data, Record, Steps
from reasonlib.tracking.session import session, write_json
from reasonlib.tracking.stages import SHARED, Stages, forget

__all__ = ["BACKENDS", "check_jobs", "plan", "run"]

BACKENDS = ("loky", "threading", "dask")


def run(
    experiment: Experiment | str,
    *,
    rows: str | Iterable[str] | None = None,
    scale: str = "quick",
    seeds: int | Iterable[int] = (0,),
    data: str | None = None,
    minutes: float | None = None,
    device: str | None = None,
    jobs: int = 1,
    backend: str | None = None,
    address: str | None = None,
    records: Path | str | None = None,
    checkpoints: Path | str | None = None,
    fresh: bool = False,
    progress: bool = False,
    on_record: Callable[[Record], None] | None = None,
    wait: bool = False,
) -> list[Record]:
    """Run rows and seeds of an experiment and return their records, in the order of rows, then seeds.

    Parameters
    ----------
    experiment
        An experiment, or the name of one.
    rows
        Names of rows; every row if None.
    scale, data
        At which scale, on which data set (the experiment's first if None).
    seeds
        One seed or several.
    minutes
        Budget of each trial. A trial that spends it says how far it came; with `checkpoints`, the next run
        continues it.
    device
        ``cpu``, ``cuda``, ``cuda:1`` or ``mps``; a CUDA card if there is one, else the CPU, if None.
    jobs
        How many trials at a time; -1 for one a core.
    backend
        ``loky`` (processes; the default when `jobs` is not 1), ``threading`` or ``dask``.
    address
        Of a running Dask scheduler; without one, ``dask`` uses the current client, or a cluster of `jobs`
        workers on this machine.
    records
        Folder to append records to, each as soon as its trial ends. None: they are returned and not written.
    checkpoints
        Folder for checkpoints. A trial that was interrupted is continued from
        ``<checkpoints>/<topic>/<word>/<row>/<scale>-<data>-<seed>-<digest>``; a finished one is not run
        again. The digest stands for settings, code and data version, so that a changed trial starts anew.
        Stages that rows share are kept in ``<checkpoints>/<topic>/_shared``. None: no checkpoints are kept;
        the rows of one call, on one core, share their stages even so.
    fresh
        Forget the checkpoints of these trials, and of the stages that they share, and run them again.
    progress
        Show progress bars.
    on_record
        Called with each record as it comes, in the order the trials end.
    wait
        For a trial that another process is running, wait until that has ended and take its record.

    Raises
    ------
    UserError
        If there is no such row, scale or data (it lists those there are), or a number is out of range. If a
        trial lacks what it needs (data, weights, a device), after the other trials have run.
    """
    if isinstance(experiment, str):
        experiment = find(experiment)
    trials = plan(
        experiment,
        rows=rows,
        scale=scale,
        seeds=seeds,
        data=data,
        minutes=minutes,
        device=device,
        checkpoints=checkpoints,
        progress=progress,
    )
    if backend is not None and backend not in BACKENDS:
        raise UserError(f"there is no backend {backend!r}; there are: {listed(BACKENDS)}")
    check_jobs(jobs)
    if address is not None and backend != "dask":
        raise UserError("an address of a Dask scheduler needs the backend dask")
    present = [] if records is None else _records.prepare(experiment.name, records=records)
    topic = experiment.name.partition("/")[0]
    stages = None if checkpoints is None else Path(checkpoints).absolute() / topic / SHARED
    if fresh and stages is not None:
        forget(stages, scale=scale, data=trials[0].data)
    shared = {**facts(experiment), "wait": wait, "stages": stages}
    by_index: dict[int, Record] = {}
    problems: dict[int, UserError] = {}
    for index, record in _results(experiment, trials, shared, fresh, jobs, backend, address):
        if isinstance(record, UserError):
            problems[index] = record
            continue
        if records is not None and record not in present and leads():
            _records.append(record, records=records)
        by_index[index] = record
        if on_record is not None:
            on_record(record)
    if problems:
        raise _all_of(problems, trials)
    return [by_index[index] for index in range(len(trials))]


def check_jobs(jobs: int) -> None:
    """Raise UserError unless this is a number of trials at a time."""
    if isinstance(jobs, bool) or not isinstance(jobs, int) or (jobs < 1 and jobs != -1):
        raise UserError(f"jobs must be at least 1, or -1 for one a core, got {jobs}")


def _all_of(problems: Mapping[int, UserError], trials: list[Trial]) -> UserError:
    """Return one error for all trials that could not be run: the only one, or a line that names them."""
    if len(trials) == 1:
        return problems[0]
    named: dict[str, list[str]] = {}
    for index, problem in sorted(problems.items()):
        named.setdefault(str(problem), []).append(f"{trials[index].row} seed {trials[index].seed}")
    lines = (f"{', '.join(failed)}: {problem}" for problem, failed in named.items())
    return UserError(f"{len(problems)} of {len(trials)} trials could not be run; {'; '.join(lines)}")


def plan(
    experiment: Experiment,
    *,
    rows: str | Iterable[str] | None = None,
    scale: str = "quick",
    seeds: int | Iterable[int] = (0,),
    data: str | None = None,
    minutes: float | None = None,
    device: str | None = None,
    checkpoints: Path | str | None = None,
    progress: bool = False,
) -> list[Trial]:
    """Check what was asked and return the trials; a device not chosen yet is the empty string."""
    rows = experiment.rows if rows is None else [rows] if isinstance(rows, str) else rows
    chosen_rows = list(dict.fromkeys(rows))
    numbers = [seeds] if isinstance(seeds, int) else list(dict.fromkeys(seeds))
    data = next(iter(experiment.data)) if data is None else data
    for row in chosen_rows:
        _require("row", row, experiment.rows, experiment)
    _require("scale", scale, experiment.scales, experiment)
    _require("data", data, experiment.data, experiment)
    for seed in numbers:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
            raise UserError(f"a seed must be a whole number from 0 to {2**32 - 1}, got {seed!r}")
    if minutes is not None and not (math.isfinite(minutes) and minutes > 0):
        raise UserError(f"minutes must be a positive number, got {minutes}")
    if device is not None and not re.fullmatch(r"cpu|mps|cuda(:\d+)?", device):
        raise UserError(f"device must be cpu, cuda, cuda:<number> or mps, got {device!r}")
    if not chosen_rows or not numbers:
        raise UserError("there is nothing to run: name at least one row and one seed")
    root = None if checkpoints is None else Path(checkpoints).absolute()
    return [
        Trial(
            experiment=experiment.name,
            row=row,
            scale=scale,
            seed=seed,
            data=data,
            kind=experiment.data[data],
            settings={**experiment.rows[row], **experiment.scales[scale]},
            device=device or "",
            minutes=minutes,
            folder=None
            if root is None
            else root / experiment.name / row / _folder(experiment, row, scale, seed, data),
            progress=progress,
        )
        for row in chosen_rows
        for seed in numbers
    ]


def _require(what: str, name: str, names: Iterable[str], experiment: Experiment) -> None:
    """Raise UserError unless an experiment has this row, scale or data set."""
    if name not in names:
        raise UserError(f"{experiment.name} has no {what} {name!r}; it has: {listed(names)}")


def _folder(experiment: Experiment, row: str, scale: str, seed: int, data: str) -> str:
    identity = (
        settings(experiment, row, scale),
        fingerprint(experiment.run),
        _version(experiment, data),
    )
    return f"{scale}-{data}-{seed}-{sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]}"


def _version(experiment: Experiment, data: str) -> str | None:
    return None if experiment.version is None else experiment.version(data)


def _results(
    experiment: Experiment,
    trials: list[Trial],
    shared: dict[str, Any],
    fresh: bool,
    jobs: int,
    backend: str | None,
    address: str | None,
) -> Iterator[tuple[int, Record | UserError]]:
    """Yield (position, record, or why there is none) as the trials end."""
    tasks = ((index, experiment, trial, shared, fresh) for index, trial in enumerate(trials))
    if backend is None and (jobs == 1 or len(trials) == 1):
        with TemporaryDirectory(prefix="reasonlib-") as temporary:
            alone = os.environ.get("WORLD_SIZE", "1") == "1"  # several processes have no folder in common
            if shared["stages"] is None and len(trials) > 1 and alone:
                shared["stages"] = Path(temporary)
            yield from (_numbered(*task) for task in tasks)
        return
    import joblib

    with _pool(backend or "loky", jobs, address, experiment) as workers:
        parallel = joblib.Parallel(
            n_jobs=workers, batch_size=1, pre_dispatch="all", return_as="generator_unordered"
        )
        yield from parallel(joblib.delayed(_numbered)(*task) for task in tasks)


def _check_listening(address: str) -> None:
    """Raise OSError or ValueError unless somebody listens at a Dask address."""
    from distributed.comm.addressing import parse_address, parse_host_port

    scheme, location = parse_address(address)
    if scheme in ("tcp", "tls"):
        socket.create_connection(parse_host_port(location), timeout=10).close()


@contextmanager
def _pool(backend: str, jobs: int, address: str | None, experiment: Experiment) -> Iterator[int]:
    """Make `backend` joblib's for the length of the block, and yield the number of jobs to ask for."""
    import joblib

    if backend != "dask":
        with joblib.parallel_config(backend=backend):
            yield jobs
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise UserError("the backend dask needs the package distributed: pip install distributed") from error
    with ExitStack() as stack:
        client = None
        if address is not None:
            try:
                # a client that never connected reports that again when it is collected
                _check_listening(address)
                client = stack.enter_context(Client(address, timeout=10, set_as_default=False))
            except (OSError, ValueError) as error:
                raise UserError(f"no Dask scheduler answers at {address}") from error
        else:
            with suppress(ValueError):  # there is none
                client = Client.current()
        if client is None:
            count = (os.cpu_count() or 1) if jobs == -1 else jobs
            cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0")
            client = stack.enter_context(Client(stack.enter_context(cluster), set_as_default=False))
        # A worker that cannot import what it is sent never answers: better to ask first.
        for module in ("reasonlib.tracking.runner", *_module(experiment.run)):
            try:
                client.run(import_module, module)
            except ImportError as error:
                raise UserError(f"the Dask workers cannot import {module}; install it there") from error
        stack.enter_context(joblib.parallel_config(backend="dask", client=client))
        yield -1


def _module(function: Any) -> list[str]:
    """Return the module by whose name a function is sent to another process; none if it is sent whole."""
    name = getattr(function, "__module__", "__main__")
    resolved = getattr(sys.modules.get(name), getattr(function, "__qualname__", ""), None)
    return [name] if resolved is function and name != "__main__" else []


def _numbered(index: int, *task: Any) -> tuple[int, Record | UserError]:
    """Run a trial that others follow: what a user can mend in it does not stop them."""
    try:
        return index, _run_trial(*task)
    except UserError as problem:
        return index, problem


def _run_trial(experiment: Experiment, trial: Trial, shared: dict[str, Any], fresh: bool) -> Record:
    """Run one trial, or continue it, or return the record of a finished one."""
    device = choose_device(trial.device)
    stages = Stages(shared["stages"], _version(experiment, trial.data))
    trial = replace(trial, device=device, stages=stages)
    with session(trial.folder, fresh, wait=shared["wait"]) as (done, seconds):
        if done is not None:
            return done
        start = time.perf_counter()
        outcome = experiment.run(trial)
        measured = outcome if isinstance(outcome, Measured) else Measured(metrics=outcome)
        seconds += time.perf_counter() - start - stages.inside
        record = Record(
            experiment=trial.experiment,
            row=trial.row,
            scale=trial.scale,
            seed=trial.seed,
            data=Data(
                name=trial.data,
                kind=trial.kind,
                version=measured.data_version or _version(experiment, trial.data),
            ),
            metrics=_numbers(measured.metrics, trial),
            config=settings(experiment, trial.row, trial.scale),
            steps=_steps(measured),
            seconds=round(seconds + sum(stages.seconds.values()), 3),
            device=describe_device(device),
            versions=shared["versions"],
            commit=shared["commit"],
            code=shared["code"],
            when=datetime.now(UTC).isoformat(timespec="milliseconds"),
            details=plain(_details(measured, stages.seconds)),
        )
        if trial.folder is not None and leads():
            write_json(trial.folder / "clock.json", {"seconds": seconds})
            if record.steps.complete:
                write_json(trial.folder / "finished.json", record.to_json())
        return record


def _details(measured: Measured, by_stage: Mapping[str, float]) -> Mapping[str, Any]:
    details = dict(measured.details)
    if measured.examples is not None:
        details["examples"] = measured.examples
    if by_stage:
        details["shared_seconds"] = {name: round(seconds, 3) for name, seconds in by_stage.items()}
    return details


def _numbers(metrics: Mapping[str, Any], trial: Trial) -> dict[str, float | None]:
    if not isinstance(metrics, Mapping) or not metrics:
        raise ValueError(f"{trial.experiment} must return at least one metric, got {metrics!r}")
    numbers = {str(name): float(value) for name, value in metrics.items()}
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}


def _steps(measured: Measured) -> Steps:
    done, planned = int(measured.steps_done), int(measured.steps_planned)
    stopped = measured.stopped or ("finished" if done >= planned else "minutes")
    check_choice("stopped", stopped, ENDINGS)
    return Steps(done=done, planned=planned, stopped=stopped)
