"""What our records say to what the sources claim.

::

    claims.yaml -> claims_file.load -> Claim --+
                                               +--> evidence -> verdicts -> Verdict -> display
    records/*/*.jsonl -> records.groups -------+

`evidence` chooses the records that answer, `conditions.differences` says how their runs differ from the
source's, and `reasonlib.tracking.verdicts` holds the rule.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reasonlib.errors import DataError, UserError
from reasonlib.tracking import records as _records
from reasonlib.tracking import verdicts as rule
from reasonlib.tracking.claims_file import load
from reasonlib.tracking.conditions import Condition, differences
from reasonlib.tracking.published import PLACES, Claim, Order, Side
from reasonlib.tracking.records import KINDS, SCALES, Group, Summary
from reasonlib.tracking.verdicts import Comparison, Sample

if TYPE_CHECKING:
    from reasonlib.tracking.experiment import Experiment

__all__ = [
    "Claim",
    "Side",
    "Verdict",
    "evidence",
    "load",
    "number",
    "table",
    "verdicts",
]

SHARED_TEST = ("released", "mixed")  # kinds of data whose test examples are the source's own


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim, the evidence and what follows.

    Attributes
    ----------
    claim
        The claim.
    verdict
        One of `reasonlib.tracking.verdicts.VERDICTS`; `judge` there holds the rule.
    ours
        Mean, sample standard deviation and number of seeds of the claim's own row, where it names one.
    sides
        The same for every side of what it compares, its own row among them.
    values, seeds
        The runs of each side: a number and a seed each.
    scale, data, kind
        Of the records that answered; `kind` is one of `reasonlib.tracking.records.KINDS`.
    conditions
        How these runs differ from the source's; none if they have its conditions.
    comparisons
        What was compared, with intervals; see `reasonlib.tracking.verdicts.Comparison`.
    adjusted
        p-value of the claim, corrected for all comparisons of its table; None where none was needed.
    orders
        For each ordering whether it holds of the means; None where it was not measured.
    deterministic
        Whether every system compared gives the same result in every run.
    records
        The records that answered, as ``records/<topic>/<word>.jsonl:<line>``.
    stale
        Why a record that answered is stale; None if none is.
    notes
        What a reader should know of the evidence, computed.
    """

    claim: Claim
    verdict: str
    ours: Summary | None = None
    sides: Mapping[Side, Summary] = field(default_factory=dict)
    values: Mapping[Side, tuple[float, ...]] = field(default_factory=dict)
    seeds: Mapping[Side, tuple[int, ...]] = field(default_factory=dict)
    scale: str | None = None
    data: str | None = None
    kind: str | None = None
    conditions: tuple[Condition, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    adjusted: float | None = None
    orders: tuple[bool | None, ...] = ()
    deterministic: bool = False
    records: tuple[str, ...] = ()
    stale: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of runs of the side that has the fewest; 0 where nothing was measured."""
        return min((summary.n for summary in self.sides.values()), default=0)

    @property
    def main(self) -> Comparison | None:
        """The comparison to show: the level or a bound, else the ordering that decides or leaves it open."""
        levels = [part for part in self.comparisons if part.kind in ("level", "bar")]
        if levels:
            return levels[0]
        if self.verdict in ("contradicted", "challenged"):
            return min(self.comparisons, key=lambda part: part.p_against)
        return max(self.comparisons, key=lambda part: part.p_for, default=None)

    @property
    def interval(self) -> dict[str, Any] | None:
        """The interval of `main`: of one more run, of the mean, or of a difference."""
        if self.main is None or self.main.low is None:
            return None
        kinds = {"level": "one more run", "bar": "mean"}
        return {
            "of": kinds.get(self.main.kind, "difference"),
            "low": self.main.low,
            "high": self.main.high,
            "confidence": 1 - rule.ALPHA,
        }

    def to_json(self) -> dict[str, Any]:
        """Return what ``reasonlib claims --json`` prints of this claim."""
        claim, asked = self.claim, self.claim.agreement
        level = next((part for part in self.comparisons if part.kind == "level"), None)
        bars = [part for part in self.comparisons if part.kind == "bar"]
        return {
            "id": claim.id,
            "topic": claim.topic,
            "source": claim.source,
            claim.place: claim.where,
            "row": claim.label,
            "metric": claim.metric,
            "published": claim.published,
            "ours": None if self.ours is None else asdict(self.ours),
            "scale": self.scale,
            "data": None if self.data is None else {"name": self.data, "kind": self.kind},
            "verdict": self.verdict,
            "records": list(self.records),
            "kind": claim.kind,
            "text": claim.text,
            "unit": claim.unit,
            "experiment": claim.experiment,
            "experiment_row": claim.row,
            "agreement": {
                "within": _tolerance(claim),
                "at_least": asked.at_least,
                "at_most": asked.at_most,
                "level_holds": _holds(level, bars),
                "order": [
                    {"text": order.text, "holds": holds}
                    for order, holds in zip(asked.order, self.orders, strict=True)
                ],
            },
            "sides": [
                {**asdict(side), **asdict(summary), "values": list(self.values.get(side, ()))}
                for side, summary in self.sides.items()
            ],
            "stale": self.stale,
            "notes": list(self.notes),
            "reason": claim.reason,
            "chapter": claim.chapter,
            "conditions": [condition.to_json() for condition in self.conditions],
            "interval": self.interval,
            "n": self.n,
            "deterministic": self.deterministic,
            "goal": claim.goal,
            "p": self.adjusted,
            "lines": claim.lines or claim.table.lines,
            "also": claim.also,
            "outside": claim.outside,
            "illegible": claim.illegible,
            "changed": [change.to_json() for change in (*claim.table.changed, *claim.changed)],
        }


def _tolerance(claim: Claim) -> float | None:
    if claim.published is None or claim.metric is None:
        return None
    return claim.table.tolerance_of(claim.metric)


def _holds(level: Comparison | None, bars: Sequence[Comparison]) -> bool | None:
    """Whether the means satisfy the level and the bounds; None if there are none."""
    parts = [*([level] if level is not None else []), *bars]
    return all(part.holds for part in parts) if parts else None


# Verdicts ---------------------------------------------------------------------------------------------------


def verdicts(
    topic: str | None = None, *, records: Path | str | None = None, claims: Iterable[Claim] | None = None
) -> list[Verdict]:
    """Return the verdict on every claim and goal of one topic or of all.

    Parameters
    ----------
    topic
        Only this topic.
    records
        Folder of records; the usual one if None.
    claims
        These claims instead of those of the topics' files. They are corrected for as many comparisons as they
        make: to keep a table's correction, give the whole table.

    Raises
    ------
    DataError
        If a claim names an experiment, a row or data that its topic does not have.
    """
    from reasonlib.tracking.experiment import topics

    if claims is None:
        claims = [claim for name in (topics() if topic is None else [topic]) for claim in load(name)]
    reader = _Reader(records)
    measured = [reader.measured(claim) for claim in claims]
    families: dict[tuple, list[int]] = {}
    for index, verdict in enumerate(measured):
        families.setdefault(verdict.claim.family, []).append(index)
    adjusted: dict[int, float | None] = {}
    for members in families.values():
        values = rule.holm([rule.p_value(measured[index].comparisons) for index in members])
        adjusted |= dict(zip(members, values, strict=True))
    return [_judged(verdict, adjusted[index]) for index, verdict in enumerate(measured)]


def evidence(
    claim: Claim, groups: Mapping[Side, Sequence[Group]]
) -> tuple[dict[Side, Group] | None, str | None]:
    """Choose the records that answer a claim: for every side a group, all at one scale on one data set.

    Like is compared with like. Among the scales and data on which every side was measured, fresh records come
    before stale ones, then ``paper`` before ``quick``, then the data the source used before other data, then
    released, regenerated, mixed and stand-in data.

    Returns
    -------
    tuple
        The group of each side and None; or None and why there is none.
    """
    tables: dict[Side, dict[tuple[str, str], Group]] = {}
    for side in claim.sides:
        if not groups[side]:
            return None, f"no run of {side.experiment}, row {side.row}"
        tables[side] = {(g.scale, g.data.name): g for g in groups[side] if g.summary(side.metric) is not None}
        if not tables[side]:
            return None, f"no run of {side.experiment}, row {side.row}, measured {side.metric}"
    first, *rest = tables.values()
    common = [key for key in first if all(key in table for table in rest)]
    if not common:
        return None, "the rows it compares were never run at one scale on one data set"

    def preference(key: tuple[str, str]) -> tuple:
        chosen = [table[key] for table in tables.values()]
        return (
            any(group.stale is not None for group in chosen),
            -SCALES.index(key[0]),
            claim.made_on not in (None, chosen[0].data.name),
            KINDS.index(chosen[0].data.kind),
        )

    best = min(common, key=preference)  # of equals the first: the experiment's own order of data
    return {side: table[best] for side, table in tables.items()}, None


class _Reader:
    """Reads the groups of each experiment once."""

    def __init__(self, records: Path | str | None):
        self.records = records
        self.experiments: dict[str, Experiment] = {}
        self.known: dict[str, list[Group]] = {}

    def groups(self, side: Side, claim: Claim) -> list[Group]:
        """Return the groups of records that may answer for one side, best first."""
        from reasonlib.tracking.experiment import find

        try:
            experiment = find(side.experiment)
        except UserError as error:
            raise DataError(f"claims.yaml of {claim.topic}: claim {claim.id}: {error}") from error
        for what, name, names in (("row", side.row, experiment.rows), ("data", claim.data, experiment.data)):
            if name is not None and name not in names:
                raise DataError(
                    f"claims.yaml of {claim.topic}: claim {claim.id}: {side.experiment} has no "
                    f"{what} {name!r}; it has: {', '.join(names)}"
                )
        if side.experiment not in self.known:
            self.experiments[side.experiment] = experiment
            self.known[side.experiment] = [
                replace(group, records=group.records[:1]) if group.row in experiment.bundled else group
                for group in _records.groups(experiment, records=self.records)
            ]
        return [
            group
            for group in self.known[side.experiment]
            if group.row == side.row and group.scale != "smoke" and claim.data in (None, group.data.name)
        ]

    def sample(self, side: Side, group: Group, claim: Claim) -> Sample:
        """Return what the runs of one side measured."""
        values = tuple(float(record.metrics[side.metric] or 0.0) for record in group.records)
        declared = self.experiments[side.experiment].is_deterministic(side.row)
        same = max(values) - min(values) <= rule.TIE * max(map(abs, values))
        return Sample(
            values=values,
            seeds=tuple(record.seed for record in group.records),
            deterministic=declared and same,
            examples=group.examples(side.metric) or claim.table.examples_of(side.metric),
            drawn=group.data.kind not in SHARED_TEST,
        )

    def measured(self, claim: Claim) -> Verdict:
        """Compare all that a claim asks for; the verdict is still to be given."""
        unmeasured = (None,) * len(claim.agreement.order)
        if claim.kind == "published-only":
            return Verdict(
                claim=claim, verdict="not run", notes=("published only: no experiment here measures it",)
            )
        groups = {side: self.groups(side, claim) for side in claim.sides}
        chosen, gap = evidence(claim, groups)
        own = claim.side
        if chosen is None:
            alone = next((g for g in groups[own] if g.summary(own.metric) is not None), None) if own else None
            notes: tuple[str, ...] = () if gap is None else (gap,)
            if own is None or alone is None:
                return Verdict(claim=claim, verdict="not run", orders=unmeasured, notes=notes)
            return self._described(claim, {own: alone}, orders=unmeasured, notes=notes)
        samples = {side: self.sample(side, group, claim) for side, group in chosen.items()}
        comparisons, orders = _compared(claim, samples)
        what = "the copy at hand does not show the number" if claim.illegible else "no number was published"
        return self._described(
            claim,
            chosen,
            notes=() if comparisons else (f"nothing to compare with: {what}",),
            comparisons=comparisons,
            orders=orders,
            deterministic=all(sample.deterministic for sample in samples.values()),
        )

    def _described(self, claim: Claim, used: Mapping[Side, Group], **fields: Any) -> Verdict:
        """Return a verdict with where its evidence comes from."""
        sides = {side: group.summary(side.metric) for side, group in used.items()}
        first = next(iter(used.values()))
        stale = next((group.stale for group in used.values() if group.stale), None)
        notes = (*fields.pop("notes", ()), *([f"stale: {stale}"] if stale else []))
        return Verdict(
            claim=claim,
            verdict="not run",
            ours=sides.get(claim.side) if claim.side else None,
            sides={side: summary for side, summary in sides.items() if summary is not None},
            values={
                side: tuple(float(record.metrics[side.metric] or 0.0) for record in group.records)
                for side, group in used.items()
            },
            seeds={side: tuple(record.seed for record in group.records) for side, group in used.items()},
            scale=first.scale,
            data=first.data.name,
            kind=first.data.kind,
            conditions=differences(claim, used, self.experiments),
            records=tuple(
                dict.fromkeys(
                    record.where for group in used.values() for record in group.records if record.where
                )
            ),
            stale=stale,
            notes=notes,
            **fields,
        )


def _compared(
    claim: Claim, samples: Mapping[Side, Sample]
) -> tuple[tuple[Comparison, ...], tuple[bool | None, ...]]:
    """Make every comparison a claim asks for, and say of each ordering whether the means are in order."""
    parts: list[Comparison] = []
    asked = claim.agreement
    if claim.kind == "value" and claim.side is not None:
        own, tolerance = samples[claim.side], _tolerance(claim)
        if claim.published is not None and tolerance is not None and not asked.has_bounds:
            parts.append(
                rule.level(
                    own,
                    claim.published,
                    tolerance=tolerance,
                    better=claim.table.better_of(claim.side.metric),
                    published_examples=claim.table.examples_of(claim.side.metric),
                )
            )
        if asked.at_least is not None:
            parts.append(rule.bar(own, asked.at_least))
        if asked.at_most is not None:
            parts.append(rule.bar(own, asked.at_most, above=False))
    orders = []
    for order in asked.order:
        pairs = [_difference(order, samples[high], samples[low]) for high, low in order.pairs]
        parts += pairs
        orders.append(all(part.holds for part in pairs))
    return tuple(parts), tuple(orders)


def _difference(order: Order, high: Sample, low: Sample) -> Comparison:
    return rule.nearness(high, low, by=order.by) if order.near else rule.difference(high, low, by=order.by)


def _judged(measured: Verdict, adjusted: float | None) -> Verdict:
    """Give the verdict and say what a reader should know of it."""
    parts = measured.comparisons
    word = rule.judge(parts, same_conditions=not measured.conditions, adjusted=adjusted)
    notes = list(measured.notes)
    if word == "inconclusive":
        notes.insert(0, rule.doubt(parts))
    if word == "challenged" and (level := next((p for p in parts if p.kind == "level"), None)):
        if not level.holds:
            notes.insert(0, f"{'better' if level.better else 'worse'} than published")
    return replace(measured, verdict=word, adjusted=adjusted, notes=tuple(notes))


# Tables -----------------------------------------------------------------------------------------------------


def table(
    name: str | None = None,
    *,
    table: str | None = None,
    figure: str | None = None,
    section: str | None = None,
    ids: Iterable[str] | None = None,
    records: Path | str | None = None,
) -> list[dict[str, Any]]:
    """Return published against ours, a dict for each claim with the keys of ``reasonlib claims --json``.

    The parameters are those of `select`.
    """
    chosen = select(name, table=table, figure=figure, section=section, ids=ids, records=records)
    return [verdict.to_json() for verdict in chosen]


def select(
    name: str | None = None,
    *,
    table: str | None = None,
    figure: str | None = None,
    section: str | None = None,
    ids: Iterable[str] | None = None,
    records: Path | str | None = None,
) -> list[Verdict]:
    """Return the verdicts on some claims; corrections are those of their whole tables.

    Parameters
    ----------
    name
        A topic, or an experiment (``topic/word``); every topic if None.
    table, figure, section
        Only the claims of this part of the source.
    ids
        Only these claims, in this order.
    records
        Folder of records; the usual one if None.

    Raises
    ------
    UserError
        If nothing fits; lists what there is.
    """
    from reasonlib.tracking.experiment import topics

    wanted = None if ids is None else list(ids)
    topic = None if name is None else name.partition("/")[0]
    everything = [claim for one in (topics() if topic is None else [topic]) for claim in load(one)]
    claims = everything
    if name is not None and "/" in name:
        claims = [claim for claim in claims if name in {side.experiment for side in claim.sides}]
    for place, part in zip(PLACES, (table, figure, section), strict=True):
        if part is None:
            continue
        known = list(dict.fromkeys(claim.where for claim in claims if claim.place == place))
        if part not in known:
            raise UserError(f"no claim is from {place} {part!r}; there are: {', '.join(known) or 'none'}")
        claims = [claim for claim in claims if (claim.place, claim.where) == (place, part)]
    if wanted is not None:
        by_id = {claim.id: claim for claim in claims}
        if missing := [key for key in wanted if key not in by_id]:
            raise UserError(f"there is no claim {missing[0]!r}; there are: {', '.join(by_id) or 'none'}")
        claims = [by_id[key] for key in wanted]
    if not claims and name is not None and "/" in name:
        raise UserError(f"no claim asks for {name!r}; see: reasonlib claims")
    families = {claim.family for claim in claims}
    whole = verdicts(records=records, claims=[claim for claim in everything if claim.family in families])
    given = {verdict.claim.id: verdict for verdict in whole}
    return [given[claim.id] for claim in claims]


def number(value: float | None, unit: str | None = None) -> str:
    """Write a measured number: three decimals, one for per cent, a dash for none.

    What is only nearly all or nothing gets as many more as it takes to say so.

    >>> number(0.25), number(0.9995), number(99.97, "%"), number(1.0)
    ('0.250', '0.9995', '99.97', '1.000')
    """
    if value is None:
        return "–"
    whole, places = (100.0, 1) if unit in ("%", "per cent") else (1.0, 3)
    while places < 6 and any(round(value, places) == edge != value for edge in (0.0, whole)):
        places += 1
    return f"{value:.{places}f}"
