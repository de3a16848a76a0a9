"""Experiments: rows of settings at three scales, run over seeds, on one core, on many or on a cluster.

    Experiment(rows, scales, data) x seeds -> Trial -> run -> Measured -> Record -> records/*/*.jsonl

A topic lists its experiments in ``reasonlib.<topic>.experiments.EXPERIMENTS``. Every experiment runs at
``smoke`` (seconds, for tests), ``quick`` (what a page trains live) and ``paper`` (the source's own setting).
"""

import json
import math
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reasonlib
from reasonlib.errors import BusyError, UserError
from reasonlib.tracking import records as _records
from reasonlib.tracking.equivalence import RUN
from reasonlib.tracking.fingerprint import fingerprint
from reasonlib.tracking.records import ENDINGS, KINDS, SCALES, Data, Record, Steps

if TYPE_CHECKING:
    from reasonlib.training import RunOptions

BACKENDS = ("loky", "threading", "dask")
LIBRARIES = ("torch", "numpy", "accelerate", "transformers")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One row at one scale, on one data set, from one seed: what an experiment's `run` is given.

    Attributes
    ----------
    experiment, row, scale, seed
        What to run; `experiment` is ``topic/word``.
    data, kind
        Name of the data set, and one of `reasonlib.tracking.records.KINDS`.
    settings
        ``rows[row] | scales[scale]``.
    device
        ``cpu``, ``cuda``, ``cuda:1`` or ``mps``: one that is there.
    minutes
        Budget of this trial; None for no limit.
    folder
        Where checkpoints go and are resumed from; None to keep none.
    progress
        Whether to show a progress bar.
    """

    experiment: str
    row: str
    scale: str
    seed: int
    data: str
    kind: str
    settings: Mapping[str, Any]
    device: str = "cpu"
    minutes: float | None = None
    folder: Path | None = None
    progress: bool = False

    @property
    def options(self) -> "RunOptions":
        """The keywords of a training function: seed, minutes, checkpoint, progress."""
        return {
            "seed": self.seed,
            "minutes": self.minutes,
            "checkpoint": self.folder,
            "progress": self.progress,
        }

    def stage(self, name: str, **settings: Any) -> "Trial":
        """Return the trial of one stage of it, with checkpoints and settings of its own."""
        folder = None if self.folder is None else self.folder / name
        return replace(self, settings={**self.settings, **settings}, folder=folder)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one trial brought back.

    Attributes
    ----------
    metrics
        Name to number. A number that is not finite is recorded as null.
    steps_done, steps_planned
        Optimiser steps, or any unit of progress.
    stopped
        ``finished``, ``early`` or ``minutes`` (the budget was spent: the next run continues from here). By
        default ``finished`` if all planned steps were done, else ``minutes``.
    examples
        Number of test examples behind the metrics that are a share of them: one number, or one a metric.
    data_version
        Version of the data that was used; by default what the experiment's `version` says.
    details
        Anything else to keep, as JSON values: a learning curve, a confusion table.
    """

    metrics: Mapping[str, float]
    steps_done: int = 0
    steps_planned: int = 0
    stopped: str | None = None
    examples: int | Mapping[str, int] | None = None
    data_version: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table: rows of settings, each run at a scale, on a data set, from a seed.

    Attributes
    ----------
    name
        ``topic/word``; `word` names the file of its records.
    title
        One line.
    rows
        Row name to settings, the system's own. Settings are JSON values (tuples become lists in records).
    scales
        ``smoke``, ``quick``, ``paper`` to settings; a scale's setting replaces a row's of the same name.
    data
        Data name to its kind, one of `reasonlib.tracking.records.KINDS`; the first is the default. A topic
        declares the kind of each data set once, in ``DATA`` beside its experiments.
    run
        Trains and measures one trial. Returns `Measured`, or only the metrics.
        Records keep its fingerprint; see `reasonlib.tracking.fingerprint`.
    version
        From a data name to the version today (a checksum) of the files that are read: a corpus, bundled
        weights. None for files that are not on this machine, of which nothing can be told, and for data that
        code alone makes. Several are joined by ``+``. Optional.
    deterministic
        Whether every seed gives the same numbers, so that one run is enough; or the rows of which this is so.
    bundled
        Rows that measure a model that was trained before, and of which there is one: more seeds are no more
        evidence.
    resolve
        From a record's settings and a metric to all settings that make this metric, with the defaults of what
        the settings leave out, to set them beside those that a source prints. Optional.
    """

    name: str
    title: str
    rows: Mapping[str, Mapping[str, Any]]
    scales: Mapping[str, Mapping[str, Any]]
    data: Mapping[str, str]
    run: Callable[[Trial], Measured | Mapping[str, float]]
    version: Callable[[str], str | None] | None = None
    deterministic: bool | tuple[str, ...] = False
    bundled: tuple[str, ...] = ()
    resolve: Callable[[Mapping[str, Any], str], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        topic, _, word = self.name.partition("/")
        if not _NAME.fullmatch(topic) or not _NAME.fullmatch(word):
            raise ValueError(f"name must be topic/word, got {self.name!r}")
        for what, names in (
            ("rows", self.rows),
            ("scales", self.scales),
            ("data", self.data),
        ):
            if not names or isinstance(names, str):
                raise ValueError(f"{what} must name at least one thing, got {names!r}")
        for row in (*self.rows, *self.data):
            if not _NAME.fullmatch(row):
                raise ValueError(f"a row or data name must be letters, digits and . _ + -, got {row!r}")
        for scale in self.scales:
            if scale not in SCALES:
                raise ValueError(f"scales must be among {', '.join(SCALES)}, got {scale!r}")
        for kind in self.data.values():
            if kind not in KINDS:
                raise ValueError(f"data must be {', '.join(KINDS[:-1])} or {KINDS[-1]}, got {kind!r}")
        named = () if isinstance(self.deterministic, bool) else self.deterministic
        if unknown := {*named, *self.bundled} - set(self.rows):
            raise ValueError(f"deterministic and bundled must name rows, got {sorted(unknown)[0]!r}")
        for name, values in (*self.rows.items(), *self.scales.items()):
            try:
                _plain(values)
            except (TypeError, ValueError) as error:
                raise ValueError(f"the settings of {name!r} must be JSON values: {error}") from error

    def is_deterministic(self, row: str) -> bool:
        """Whether every seed gives the same numbers for a row."""
        return self.deterministic if isinstance(self.deterministic, bool) else row in self.deterministic


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(dict(values), allow_nan=False, sort_keys=True))


def settings(experiment: Experiment, row: str, scale: str) -> dict[str, Any]:
    """Return the settings of a row at a scale as the JSON values that a record keeps."""
    return _plain({**experiment.rows[row], **experiment.scales[scale]})


def subset(kinds: Mapping[str, str], *names: str) -> dict[str, str]:
    """Return some data sets of a topic with their kinds, for `Experiment.data`; the first is the default."""
    return {name: kinds[name] for name in names}


# Topics -----------------------------------------------------------------------------------------------------


def topics() -> list[str]:
    """Return the names of the topics: the subpackages that hold a ``claims.yaml``."""
    return sorted(
        {file.parent.name for place in reasonlib.__path__ for file in Path(place).glob("*/claims.yaml")}
    )


def part(topic: str, module: str) -> Any | None:
    """Import ``reasonlib.<topic>.<module>``, such as ``page.ask``; None if the topic has no such module.

    Raises
    ------
    UserError
        If there is no such topic.
    """
    if topic not in topics():
        raise UserError(f"there is no topic {topic!r}; there are: {_listed(topics())}")
    name = f"reasonlib.{topic}.{module}"
    try:
        missing = find_spec(name) is None
    except ModuleNotFoundError:  # the topic has no such folder
        missing = True
    return None if missing else import_module(name)


def experiments(topic: str | None = None) -> dict[str, Experiment]:
    """Return the experiments of one topic or of all, by name."""
    found: dict[str, Experiment] = {}
    for name in topics() if topic is None else [topic]:
        module = part(name, "experiments")
        for experiment in getattr(module, "EXPERIMENTS", {}).values():
            if experiment.name.partition("/")[0] != name:
                raise ValueError(f"experiment {experiment.name!r} does not belong to topic {name!r}")
            found[experiment.name] = experiment
    return found


def find(name: str) -> Experiment:
    """Return one experiment by its name, ``topic/word``.

    Raises
    ------
    UserError
        If there is no such topic or experiment; lists those there are.
    """
    topic, _, word = name.partition("/")
    if not word:
        raise UserError(f"an experiment is named topic/word, got {name!r}; see: reasonlib list")
    found = experiments(topic)
    if name not in found:
        raise UserError(f"there is no experiment {name!r}; there are: {_listed(found)}")
    return found[name]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


# Running ----------------------------------------------------------------------------------------------------


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
        The experiment or its name.
    rows
        Which rows; all if None.
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
        None: no checkpoints.
    fresh
        Forget the checkpoints of these trials and run them again.
    progress
        Show progress bars.
    on_record
        Called with each record as it comes, in the order the trials end.
    wait
        For a trial that another process is running, wait until that has ended and take its record.

    Raises
    ------
    UserError
        If there is no such row, scale or data (it lists those there are), or a number is out of range.
    """
    if isinstance(experiment, str):
        experiment = find(experiment)
    trials = _plan(
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
        raise UserError(f"there is no backend {backend!r}; there are: {_listed(BACKENDS)}")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or (jobs < 1 and jobs != -1):
        raise UserError(f"jobs must be at least 1, or -1 for one a core, got {jobs}")
    if address is not None and backend != "dask":
        raise UserError("an address of a Dask scheduler needs the backend dask")
    present = [] if records is None else _records.prepare(experiment.name, records=records)
    facts = {**_facts(experiment), "wait": wait}
    found: dict[int, Record] = {}
    for index, record in _results(experiment, trials, facts, fresh, jobs, backend, address):
        if records is not None and record not in present and leads():
            _records.append(record, records=records)
        found[index] = record
        if on_record is not None:
            on_record(record)
    return [found[index] for index in range(len(trials))]


def _plan(
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
    wanted = (
        list(experiment.rows)
        if rows is None
        else [rows]
        if isinstance(rows, str)
        else list(dict.fromkeys(rows))
    )
    numbers = [seeds] if isinstance(seeds, int) else list(dict.fromkeys(seeds))
    data = next(iter(experiment.data)) if data is None else data
    for row in wanted:
        _known("row", row, experiment.rows, experiment)
    _known("scale", scale, experiment.scales, experiment)
    _known("data", data, experiment.data, experiment)
    for seed in numbers:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
            raise UserError(f"a seed must be a whole number from 0 to {2**32 - 1}, got {seed!r}")
    if minutes is not None and not (math.isfinite(minutes) and minutes > 0):
        raise UserError(f"minutes must be a positive number, got {minutes}")
    if device is not None and not re.fullmatch(r"cpu|mps|cuda(:\d+)?", device):
        raise UserError(f"device must be cpu, cuda, cuda:<number> or mps, got {device!r}")
    if not wanted or not numbers:
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
        for row in wanted
        for seed in numbers
    ]


def _known(what: str, name: str, names: Iterable[str], experiment: Experiment) -> None:
    if name not in names:
        raise UserError(f"{experiment.name} has no {what} {name!r}; it has: {_listed(names)}")


def _folder(experiment: Experiment, row: str, scale: str, seed: int, data: str) -> str:
    facts = (
        settings(experiment, row, scale),
        fingerprint(experiment.run),
        _version(experiment, data),
    )
    return f"{scale}-{data}-{seed}-{sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:8]}"


def _version(experiment: Experiment, data: str) -> str | None:
    return None if experiment.version is None else experiment.version(data)


def _results(
    experiment: Experiment,
    trials: list[Trial],
    facts: dict[str, Any],
    fresh: bool,
    jobs: int,
    backend: str | None,
    address: str | None,
) -> Iterator[tuple[int, Record]]:
    """Yield (position, record) as the trials end."""
    tasks = ((index, experiment, trial, facts, fresh) for index, trial in enumerate(trials))
    if backend is None and (jobs == 1 or len(trials) == 1):
        yield from (_numbered(*task) for task in tasks)
        return
    import joblib

    with _pool(backend or "loky", jobs, address, experiment) as workers:
        parallel = joblib.Parallel(
            n_jobs=workers, batch_size=1, pre_dispatch="all", return_as="generator_unordered"
        )
        yield from parallel(joblib.delayed(_numbered)(*task) for task in tasks)


def _answers(address: str) -> None:
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
                _answers(address)  # a client that never connected reports that again when it is collected
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
        for module in ("reasonlib.tracking.experiment", *_module(experiment.run)):
            try:
                client.run(import_module, module)
            except ImportError as error:
                raise UserError(f"the Dask workers cannot import {module}; install it there") from error
        stack.enter_context(joblib.parallel_config(backend="dask", client=client))
        yield -1


def _module(function: Any) -> list[str]:
    """Return the module by whose name a function is sent to another process; none if it is sent whole."""
    name = getattr(function, "__module__", "__main__")
    found = getattr(sys.modules.get(name), getattr(function, "__qualname__", ""), None)
    return [name] if found is function and name != "__main__" else []


def leads() -> bool:
    """Whether this process writes: it is alone, or the first of those that ``accelerate launch`` started."""
    return os.environ.get("RANK", "0") == "0"


def _numbered(index: int, *task: Any) -> tuple[int, Record]:
    return index, _run_trial(*task)


def _run_trial(experiment: Experiment, trial: Trial, facts: dict[str, Any], fresh: bool) -> Record:
    """Run one trial, or continue it, or return the record of a finished one."""
    device = _device(trial.device)
    trial = _replaced(trial, device=device)
    with _session(trial.folder, fresh, wait=facts["wait"]) as (done, seconds):
        if done is not None:
            return done
        start = time.perf_counter()
        outcome = experiment.run(trial)
        measured = outcome if isinstance(outcome, Measured) else Measured(metrics=outcome)
        seconds += time.perf_counter() - start
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
            seconds=round(seconds, 3),
            device=_describe(device),
            versions=facts["versions"],
            commit=facts["commit"],
            code=facts["code"],
            when=datetime.now(UTC).isoformat(timespec="milliseconds"),
            details=_plain(_details(measured)),
        )
        if trial.folder is not None and leads():
            _write(trial.folder / "clock.json", {"seconds": seconds})
            if record.steps.complete:
                _write(trial.folder / "finished.json", record.to_json())
        return record


def _details(measured: Measured) -> Mapping[str, Any]:
    if measured.examples is None:
        return measured.details
    return {**measured.details, "examples": measured.examples}


def _replaced(trial: Trial, **changes: Any) -> Trial:
    return Trial(**{**trial.__dict__, **changes})


@contextmanager
def _session(
    folder: Path | None, fresh: bool, *, wait: bool = False
) -> Iterator[tuple[Record | None, float]]:
    """Hold a trial's folder for this process; yield its record if it is finished, and the seconds spent.

    A session that was killed left no total: what it spent is taken from when it began to its last write. Of
    several processes that train one model together, the first holds the folder and the others look on.
    """
    if folder is None:
        yield None, 0.0
        return
    if not leads():
        yield None if fresh else _finished(folder), 0.0
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UserError(f"{folder}: checkpoints cannot be kept here ({error.strerror or error})") from error
    try:
        if _records.fcntl is not None:
            try:
                how = 0 if wait else _records.fcntl.LOCK_NB
                _records.fcntl.flock(handle, _records.fcntl.LOCK_EX | how)
            except OSError as error:
                raise BusyError(
                    f"{folder}: another process is running this trial; wait for it or stop it"
                ) from error
        if fresh:
            _empty(folder)
        done = _finished(folder)
        try:
            clock = json.loads((folder / "clock.json").read_text(encoding="utf-8"))
            seconds = float(clock["seconds"])
            if "began" in clock:
                last = max(file.stat().st_mtime for file in folder.rglob("*") if file.is_file())
                seconds += max(0.0, last - float(clock["began"]))
        except (OSError, ValueError, KeyError, TypeError):
            seconds = 0.0
        if done is None:
            _write(folder / "clock.json", {"seconds": seconds, "began": time.time()})
        yield done, seconds
    finally:
        os.close(handle)


def _empty(folder: Path) -> None:
    """Delete everything in a trial's folder but the lock, which this process holds."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lock":
            path.unlink()


def _finished(folder: Path) -> Record | None:
    try:
        return Record.from_json(json.loads((folder / "finished.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def _write(file: Path, values: Any) -> None:
    """Write JSON so that the file is either the old one or the new one."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(values), encoding="utf-8")
    os.replace(temporary, file)


def _numbers(metrics: Mapping[str, Any], trial: Trial) -> dict[str, float | None]:
    if not isinstance(metrics, Mapping) or not metrics:
        raise ValueError(f"{trial.experiment} must return at least one metric, got {metrics!r}")
    numbers = {str(name): float(value) for name, value in metrics.items()}
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}


def _steps(measured: Measured) -> Steps:
    done, planned = int(measured.steps_done), int(measured.steps_planned)
    stopped = measured.stopped or ("finished" if done >= planned else "minutes")
    if stopped not in ENDINGS:
        raise ValueError(f"stopped must be one of {', '.join(ENDINGS)}, got {stopped!r}")
    return Steps(done=done, planned=planned, stopped=stopped)


# The machine ------------------------------------------------------------------------------------------------


def _device(name: str) -> str:
    if name == "cpu":
        return name
    try:
        import torch
    except ImportError:
        if name:
            raise UserError(f"the device {name} needs torch") from None
        return "cpu"
    cards = torch.cuda.device_count()
    if not name:
        if not cards or os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"):
            return "cpu"
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % cards)  # each process its own card
        return "cuda"
    if name == "mps":
        if not torch.backends.mps.is_available():
            raise UserError("there is no mps device here; use --device cpu")
    elif int(name.partition(":")[2] or 0) >= cards:
        raise UserError(f"there is no device {name} here ({cards} CUDA cards); use --device cpu")
    return name


def _describe(device: str) -> str:
    if device.startswith("cuda"):
        import torch

        return f"{device} ({torch.cuda.get_device_name(device)})"
    return f"{device} ({platform.machine()}, {os.cpu_count()} cores)"


def _facts(experiment: Experiment) -> dict[str, Any]:
    """Return what all records of one call share, before the first trial: code may be edited meanwhile."""
    versions = {"python": platform.python_version(), "reasonlib": reasonlib.__version__}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    return {"versions": versions, "commit": _commit(), "code": {RUN: fingerprint(experiment.run)}}


def _commit() -> str | None:
    package = Path(reasonlib.__file__).parent
    # An installed copy may lie inside somebody else's repository: the package itself must be tracked.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    head = _git(package, "rev-parse", "HEAD")
    if head is None:
        return None
    return head + "+dirty" if _git(package, "status", "--porcelain", "--", ".") else head


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments], cwd=folder, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
