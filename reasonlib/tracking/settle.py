"""Which runs would settle most claims, what they cost, and running them.

::

    verdicts --missing--> the runs each open claim lacks --plan--> most claims a minute first --carry_out-->
    records

A claim is open if it is inconclusive, was never run, or was run in a way that a larger run would cure (a
smaller scale, a run that was cut off, other data than there are). Settings that differ are no matter of
running: such a claim can be supported or challenged, and asks for nothing here. The cost of a run is what
runs like it took. A claim that ten runs like its three would leave open waits until the others have theirs,
and is not counted as settled: what it lacks may be a larger test set, or a difference.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from reasonlib.errors import UserError
from reasonlib.tracking import campaign, claims, judging, records
from reasonlib.tracking import experiment as experiments
from reasonlib.tracking.campaign import Part
from reasonlib.tracking.claims import Verdict
from reasonlib.tracking.comparisons import Reader
from reasonlib.tracking.conditions import SOURCE_KINDS
from reasonlib.tracking.published import Side
from reasonlib.tracking.record import KINDS, Record
from reasonlib.tracking.samples import MIN_RUNS

__all__ = ["Plan", "Run", "carry_out", "command", "costs", "missing", "plan", "stays_open", "to_json"]

MOST_RUNS = 10
"""Runs of one row that a claim gets, all at once: looking after each would decide by chance too often."""

_LATER = 0.001  # what a claim weighs that its runs would probably leave open


@dataclass(frozen=True, order=True, kw_only=True)
class Run:
    """One trial that is missing."""

    experiment: str
    row: str
    scale: str
    data: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to run, in order.

    Attributes
    ----------
    runs
        The runs, those first that settle most claims a minute.
    seconds
        What each is expected to take; None where nothing like it was ever run.
    settles
        For each run the ids of the claims that have all their runs after it, and probably a verdict.
    absent
        Data sets that are not on this machine, with the number of open claims that need them.
    open
        Number of claims that running could settle, these and others.
    """

    runs: tuple[Run, ...]
    seconds: Mapping[Run, float | None] = field(default_factory=dict)
    settles: Mapping[Run, tuple[str, ...]] = field(default_factory=dict)
    absent: Mapping[str, int] = field(default_factory=dict)
    open: int = 0

    @property
    def total(self) -> float:
        """Seconds of all runs whose cost is known."""
        return sum(self.seconds.get(run) or 0.0 for run in self.runs)


def missing(verdict: Verdict) -> tuple[Run, ...]:
    """Return the runs that a claim lacks before there can be a verdict; none where running would not help."""
    claim = verdict.claim
    if claim.kind == "published-only" or not claim.sides:
        return ()
    if not (claim.agreement.order or claim.agreement.has_bounds or claim.published is not None):
        return ()  # nothing to compare with
    if any(part.tie for part in verdict.comparisons) and verdict.verdict == "inconclusive":
        return ()
    by_side = {side: experiments.find(side.experiment) for side in claim.sides}
    if not all("paper" in experiment.scales for experiment in by_side.values()):
        return ()
    if any(side.row in experiment.bundled for side, experiment in by_side.items()) and verdict.sides:
        return ()  # there is one such model
    data = _best_data(verdict, by_side)
    scale = "paper"
    if verdict.scale and data == verdict.data and verdict.kind not in SOURCE_KINDS:
        scale = verdict.scale  # the source's conditions are out of reach: more runs of what there is
    larger = scale != verdict.scale or data != verdict.data or _cut_off(verdict)
    if verdict.verdict not in ("inconclusive", "not run") and not (larger and verdict.sides):
        return ()
    runs: list[Run] = []
    for side, experiment in by_side.items():
        enough = 1 if experiment.is_deterministic(side.row, side.metric) else MIN_RUNS
        if larger or not verdict.comparisons:
            seeds: Iterable[int] = range(enough)
        elif len(verdict.values.get(side, ())) < enough:
            seeds = _more(verdict, side, enough)
        elif experiment.is_deterministic(side.row, side.metric) or verdict.n < MIN_RUNS:
            seeds = ()
        else:
            seeds = _more(verdict, side, MOST_RUNS)
        runs += [
            Run(experiment=experiment.name, row=side.row, scale=scale, data=data, seed=seed) for seed in seeds
        ]
    return tuple(dict.fromkeys(runs))


def _best_data(verdict: Verdict, by_side: Mapping[Side, experiments.Experiment]) -> str:
    """Return the data set nearest to the source's on which all sides can run."""
    claim = verdict.claim
    first, *rest = by_side.values()
    common = [name for name in first.data if all(name in experiment.data for experiment in rest)]
    if claim.data is not None:
        return claim.data
    if claim.made_on in common:
        return str(claim.made_on)
    ordered = sorted(common, key=lambda name: KINDS.index(first.data[name]))
    same = [name for name in ordered if first.data[name] in SOURCE_KINDS]
    return (same or ([verdict.data] if verdict.data in common else []) or ordered or list(first.data))[0]


def _cut_off(verdict: Verdict) -> bool:
    return any("time budget" in str(condition) for condition in verdict.conditions)


def stays_open(verdict: Verdict, reader: Reader) -> bool:
    """Whether as many runs as a claim may get would decide nothing, were they like those that there are."""
    conditions = {(run.scale, run.data) for run in missing(verdict)}
    if verdict.verdict != "inconclusive" or conditions != {(verdict.scale, verdict.data)}:
        return False
    parts = reader.repeated(verdict.claim, MOST_RUNS)
    return bool(parts) and judging.judge(parts, same_conditions=True) == "inconclusive"


def _more(verdict: Verdict, side: Side, wanted: int) -> list[int]:
    """Return the lowest unused seeds that bring a side up to `wanted` runs."""
    used = set(verdict.seeds.get(side, ()))
    return [seed for seed in range(wanted + len(used)) if seed not in used][: max(0, wanted - len(used))]


# Costs ------------------------------------------------------------------------------------------------------


def costs(records: Iterable[Record], *, device: str | None = None) -> Callable[[Run], float | None]:
    """Return a function that says how many seconds a run should take, from the records of others.

    The median of the same row at that scale on that data, so that one run on a busy machine counts for
    little; else of the experiment's other rows that train, the longest; None if it was never run so. Records
    made on another kind of device count only if there are none of this kind.

    Parameters
    ----------
    records
        Records of any experiments.
    device
        ``cpu``, ``cuda`` or ``mps``; any if None.
    """
    alike: dict[tuple[str, str, str, str], dict[str, list[float]]] = {}  # below these, by row
    trains: set[tuple[str, str]] = set()
    for record in records:
        if record.steps.complete:
            if record.steps.planned:
                trains.add((record.experiment, record.row))
            kind = record.device.partition(" ")[0].partition(":")[0]
            for device_kind in ("any", kind):
                key = (device_kind, record.experiment, record.scale, record.data.name)
                alike.setdefault(key, {}).setdefault(record.row, []).append(record.seconds)

    def seconds(run: Run) -> float | None:
        for device_kind in dict.fromkeys([(device or "any").partition(":")[0], "any"]):
            rows = alike.get((device_kind, run.experiment, run.scale, run.data), {})
            if run.row in rows:
                return median(rows[run.row])
            others = [median(spent) for row, spent in rows.items() if (run.experiment, row) in trains]
            if others:
                return max(others)
        return None

    return seconds


# Planning ---------------------------------------------------------------------------------------------------


def plan(
    topic: str | None = None,
    *,
    minutes: float | None = None,
    device: str | None = None,
    folder: Path | str | None = None,
    verdicts: Sequence[Verdict] | None = None,
) -> Plan:
    """Plan the runs that settle the most claims a minute.

    Parameters
    ----------
    topic
        Only its claims; all topics if None.
    minutes
        What there is to spend; None for all that is open. A run whose cost nobody knows stands at the end.
    device
        For which costs are looked up.
    folder
        Of the records; the usual one if None.
    verdicts
        Instead of those of the records.
    """
    given = claims.verdicts(topic, records=folder) if verdicts is None else verdicts
    cost = costs(records.read(topic, records=folder), device=device)
    open_runs = {verdict.claim.id: set(missing(verdict)) for verdict in given}
    open_runs = {name: runs for name, runs in open_runs.items() if runs}
    absent: dict[str, int] = {}
    for name, runs in list(open_runs.items()):
        unavailable = {run.data for run in runs if not _here(run)}
        for data in unavailable:
            absent[data] = absent.get(data, 0) + 1
        if unavailable:
            del open_runs[name]
    seconds = {run: cost(run) for runs in open_runs.values() for run in runs}
    budget = None if minutes is None else 60 * minutes
    reader = Reader(folder)
    deferred = {
        verdict.claim.id for verdict in given if verdict.claim.id in open_runs and stays_open(verdict, reader)
    }
    chosen, settles = _greedy(open_runs, seconds, budget, deferred)
    return Plan(
        runs=tuple(chosen),
        seconds={run: seconds[run] for run in chosen},
        settles=settles,
        absent=absent,
        open=len(open_runs) + sum(absent.values()),
    )


def to_json(planned: Plan) -> list[dict[str, Any]]:
    """Return a plan as what ``reasonlib settle --plan --json`` prints: one entry a run."""
    return [
        {**asdict(run), "seconds": planned.seconds.get(run), "settles": list(planned.settles.get(run, ()))}
        for run in planned.runs
    ]


def _here(run: Run) -> bool:
    """Whether the data of a run are on this machine."""
    experiment = experiments.find(run.experiment)
    fetched = experiment.data[run.data] in ("released", "mixed")
    return not fetched or experiment.version is None or experiment.version(run.data) is not None


def _greedy(
    lacks: Mapping[str, set[Run]],
    seconds: Mapping[Run, float | None],
    budget: float | None,
    later: Collection[str] = (),
) -> tuple[list[Run], dict[Run, tuple[str, ...]]]:
    """Take, again and again, the runs that settle most claims a second, while the budget lasts.

    The claims in `later` come after the others, and do not count as settled.
    """
    left = {name: set(runs) for name, runs in lacks.items()}
    chosen: list[Run] = []
    settles: dict[Run, tuple[str, ...]] = {}
    spent = 0.0
    while left:
        bundles = {frozenset(runs): 0.0 for runs in left.values()}
        for bundle in bundles:
            done = [name for name, runs in left.items() if runs <= bundle]
            bundles[bundle] = sum(_LATER if name in later else 1 for name in done)
        prices = {bundle: sum(_price(seconds[run]) for run in bundle) for bundle in bundles}
        affordable = [bundle for bundle in bundles if budget is None or spent + prices[bundle] <= budget]
        if not affordable:
            break
        worth = {bundle: bundles[bundle] / (prices[bundle] + 1.0) for bundle in affordable}
        best = max(affordable, key=lambda bundle: (worth[bundle], sorted(bundle)))
        spent += prices[best]
        ordered = sorted(best)
        chosen += ordered
        done = [name for name, runs in left.items() if runs <= best]
        if counted := tuple(name for name in done if name not in later):
            settles[ordered[-1]] = counted
        left = {name: runs - best for name, runs in left.items() if name not in done}
    return chosen, settles


def _price(seconds: float | None) -> float:
    """Return what a run counts as: one whose cost nobody knows, as eleven days."""
    return 1e6 if seconds is None else seconds


def command(runs: Iterable[Run]) -> str:
    """Write runs as commands, one a line: rows of one experiment that want the same seeds go together.

    >>> from dataclasses import replace
    >>> run = Run(experiment="story_qa/joint", row="d20-n3", scale="paper", data="babi-10k", seed=1)
    >>> command([run, replace(run, seed=2)])
    'reasonlib run story_qa/joint --row d20-n3 --scale paper --data babi-10k --seed 1 --seed 2'
    """
    seeds: dict[tuple[str, str, str, str], list[int]] = {}
    for run in runs:
        seeds.setdefault((run.experiment, run.scale, run.data, run.row), []).append(run.seed)
    rows: dict[tuple[str, str, str, tuple[int, ...]], list[str]] = {}
    for (name, scale, data, row), numbers in seeds.items():
        rows.setdefault((name, scale, data, tuple(numbers)), []).append(row)
    return "\n".join(
        " ".join(
            [
                f"reasonlib run {name}",
                *(f"--row {row}" for row in names),
                f"--scale {scale} --data {data}",
                *(f"--seed {seed}" for seed in numbers),
            ]
        )
        for (name, scale, data, numbers), names in rows.items()
    )


# Running ----------------------------------------------------------------------------------------------------


def carry_out(
    planned: Plan,
    *,
    minutes: float,
    folder: Path | str | None,
    checkpoints: Path | str | None = None,
    device: str | None = None,
    progress: bool = False,
    on_change: Callable[[Part], None] | None = None,
) -> list[Part]:
    """Run a plan until its time is up; what was cut off goes on from its checkpoint another time.

    Raises
    ------
    UserError
        If `minutes` is not positive, or records cannot be written.
    """
    if not minutes > 0:
        raise UserError(f"minutes must be above 0, got {minutes}")
    deadline = time.monotonic() + 60 * minutes
    parts = []
    for run in planned.runs:
        left = (deadline - time.monotonic()) / 60
        if left <= 0:
            break
        part = Part(experiment=run.experiment, row=run.row, scale=run.scale, data=run.data, seed=run.seed)
        parts += campaign.carry_out(
            [part],
            records=folder,
            checkpoints=checkpoints,
            device=device,
            minutes=left,
            progress=progress,
            on_change=on_change,
        )
    return parts
