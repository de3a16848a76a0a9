"""Experiments: rows of settings at three scales, run over seeds, on one core, on many or on a cluster.

    Experiment(rows, scales, data) x seeds -> Trial -> run -> Measured -> Record -> records/*/*.jsonl

A topic lists its experiments in ``reasonlib.<topic>.experiments.EXPERIMENTS``. Every experiment runs at
``smoke`` (seconds, for tests), ``quick`` (what a page trains live) and ``paper`` (the source's own setting).
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reasonlib
from reasonlib.errors import UserError
from reasonlib.tracking.record import KINDS, SCALES
from reasonlib.tracking.stages import Result, Stages

if TYPE_CHECKING:
    from reasonlib.training import RunOptions

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One row at one scale, on one data set, from one seed: what an experiment's `run` is given.

    Attributes
    ----------
    experiment, row, scale, seed
        What to run; `experiment` is ``topic/word``.
    data, kind
        Name of the data set, and one of `reasonlib.tracking.record.KINDS`.
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
    stages
        Where its shared stages are kept, and what they took.
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
    stages: Stages = field(default_factory=Stages, repr=False, compare=False)

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

    def shared_stage(
        self,
        name: str,
        train: "Callable[[Trial], Result]",
        settings: Mapping[str, Any],
        *,
        seed: int | None = None,
    ) -> Result:
        """Train a first stage that other rows begin with, too, or take what one of them has trained.

        Rows share a stage if its code, settings, data and seed are equal. The seconds of a record include
        those of the stage, whichever row trained it; its details name them under ``shared_seconds``.

        Parameters
        ----------
        name
            Of the stage.
        train
            A function of a module: it gets the trial of the stage and trains by its `options`. What it
            returns has a ``history``.
        settings
            All that the stage depends on: its trial has no others.
        seed
            Of the stage; the trial's own if None.
        """
        stage = replace(self.stage(name), row=name, settings=settings)
        return self.stages.train(stage if seed is None else replace(stage, seed=seed), train)


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
        Data name to its kind, one of `reasonlib.tracking.record.KINDS`; the first is the default. A topic
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
    counted
        Patterns of metrics that are counted and that no seed enters, such as a number of parameters: one run
        is enough for them, in every row.
    bundled
        Rows that measure a model that was trained before, and of which there is one: more seeds are no more
        evidence.
    shares
        How many test examples a metric is a share of, where a run does not say it for each metric: a part of
        the run's `examples`, the name of the detail or setting of its record that holds the number, or of the
        metric that is a share of as many, or (above 1) the number itself; 0 for a metric that is no share,
        such as a similarity. By pattern; the first counts.
    paired
        Whether runs of two rows from one seed belong together: not where a seed draws nothing that they
        share, as with times.
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
    counted: tuple[str, ...] = ()
    bundled: tuple[str, ...] = ()
    shares: Mapping[str, float | str] = field(default_factory=lambda: {"*": 1.0})
    paired: bool = True
    resolve: Callable[[Mapping[str, Any], str], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        topic, _, word = self.name.partition("/")
        if not _NAME.fullmatch(topic) or not _NAME.fullmatch(word):
            raise ValueError(f"name must be topic/word, got {self.name!r}")
        for field_name, names in (
            ("rows", self.rows),
            ("scales", self.scales),
            ("data", self.data),
        ):
            if not names or isinstance(names, str):
                raise ValueError(f"{field_name} must name at least one thing, got {names!r}")
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
        for metric, part in self.shares.items():
            if isinstance(part, int | float) and part < 0:
                raise ValueError(f"shares must be at least 0, got {part} for {metric!r}")
        for name, values in (*self.rows.items(), *self.scales.items()):
            try:
                plain(values)
            except (TypeError, ValueError) as error:
                raise ValueError(f"the settings of {name!r} must be JSON values: {error}") from error

    def is_deterministic(self, row: str, metric: str | None = None) -> bool:
        """Whether every seed gives the same numbers for a row, or for this metric of it."""
        if metric is not None and any(fnmatchcase(metric, pattern) for pattern in self.counted):
            return True
        return self.deterministic if isinstance(self.deterministic, bool) else row in self.deterministic

    def examples_behind(
        self, metric: str, details: Mapping[str, Any], config: Mapping[str, Any]
    ) -> int | None:
        """Return how many test examples a metric is a share of, in a record with these details and settings.

        None if it is no share of them, or the record does not say how many there are.
        """
        counted = details.get("examples")
        if isinstance(counted, Mapping) and metric in counted:
            return counted[metric]
        part = next((part for pattern, part in self.shares.items() if fnmatchcase(metric, pattern)), 0)
        if isinstance(part, str):
            return (counted if isinstance(counted, Mapping) else {**config, **details}).get(part)
        if isinstance(counted, Mapping):
            return None
        if part > 1:
            return round(part)
        return None if counted is None else round(counted * part) or None


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as the JSON values that a record keeps."""
    return json.loads(json.dumps(dict(values), allow_nan=False, sort_keys=True))


def named(*experiments: Experiment) -> dict[str, Experiment]:
    """Return experiments by name, as the `EXPERIMENTS` of a topic."""
    return {experiment.name: experiment for experiment in experiments}


def settings(experiment: Experiment, row: str, scale: str) -> dict[str, Any]:
    """Return the settings of a row at a scale as the JSON values that a record keeps."""
    return plain({**experiment.rows[row], **experiment.scales[scale]})


def subset(kinds: Mapping[str, str], *names: str) -> dict[str, str]:
    """Return some data sets of a topic with their kinds, for `Experiment.data`; the first is the default."""
    return {name: kinds[name] for name in names}


def family(topic: str, every: Mapping[str, Any] | None = None, **common: Any) -> Callable[..., Experiment]:
    """Return a function ``(name, title, rows, **fields)`` that makes experiments with much in common.

    Parameters
    ----------
    topic
        Whose experiments they are.
    every
        Settings of every row; a row's own come after them.
    **common
        Fields of `Experiment`, which a call may replace or add to.

    Examples
    --------
    >>> sums = family("maths_qa", {"digits": 2}, data={"simulated": "stand-in"}, run=print)
    >>> rows, scales = {"short": {}, "long": {"digits": 9}}, {"smoke": {"steps": 2}}
    >>> experiment = sums("carries", "Sums with carries", rows, scales=scales)
    >>> experiment.name, experiment.rows["long"]
    ('maths_qa/carries', {'digits': 9})
    """

    def make(name: str, title: str, rows: Mapping[str, Mapping[str, Any]], **fields: Any) -> Experiment:
        """Make an experiment of this family; `fields` are other fields of `Experiment`."""
        return Experiment(
            name=f"{topic}/{name}",
            title=title,
            rows={row: {**(every or {}), **settings} for row, settings in rows.items()},
            **{**common, **fields},
        )

    return make


def by_scale(**settings: Any) -> dict[str, dict[str, Any]]:
    """Return scales, for `Experiment.scales`, from the values of each setting at smoke, quick and paper.

    What is no tuple is the value at every scale.

    >>> by_scale(steps=(2, 100, 600), lr=0.003)["quick"]
    {'steps': 100, 'lr': 0.003}
    """
    return {
        scale: {name: value[index] if isinstance(value, tuple) else value for name, value in settings.items()}
        for index, scale in enumerate(SCALES)
    }


def extend_scales(
    scales: Mapping[str, Mapping[str, Any]], **more: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Add settings to scales, for `Experiment.scales`, or replace them.

    >>> extend_scales({"smoke": {"steps": 2}, "quick": {"steps": 100}}, quick={"repeats": 3})
    {'smoke': {'steps': 2}, 'quick': {'steps': 100, 'repeats': 3}}
    """
    return {scale: {**settings, **more.get(scale, {})} for scale, settings in scales.items()}


# Topics -----------------------------------------------------------------------------------------------------


def topics() -> list[str]:
    """Return the names of the topics: the subpackages that hold a ``claims.yaml``."""
    return sorted(
        {file.parent.name for folder in reasonlib.__path__ for file in Path(folder).glob("*/claims.yaml")}
    )


def part(topic: str, module: str) -> Any | None:
    """Import ``reasonlib.<topic>.<module>``, such as ``page.ask``; None if the topic has no such module.

    Raises
    ------
    UserError
        If there is no such topic.
    """
    if topic not in topics():
        raise UserError(f"there is no topic {topic!r}; there are: {listed(topics())}")
    name = f"reasonlib.{topic}.{module}"
    try:
        missing = find_spec(name) is None
    except ModuleNotFoundError:  # the topic has no such folder
        missing = True
    return None if missing else import_module(name)


def experiments(topic: str | None = None) -> dict[str, Experiment]:
    """Return the experiments of one topic or of all, by name."""
    by_name: dict[str, Experiment] = {}
    for name in topics() if topic is None else [topic]:
        module = part(name, "experiments")
        for experiment in getattr(module, "EXPERIMENTS", {}).values():
            if experiment.name.partition("/")[0] != name:
                raise ValueError(f"experiment {experiment.name!r} does not belong to topic {name!r}")
            by_name[experiment.name] = experiment
    return by_name


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
    by_name = experiments(topic)
    if name not in by_name:
        raise UserError(f"there is no experiment {name!r}; there are: {listed(by_name)}")
    return by_name[name]


def listed(names: Iterable[str]) -> str:
    """Join names for a message."""
    return ", ".join(names) or "none"
