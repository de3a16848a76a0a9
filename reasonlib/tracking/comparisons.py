"""Choose the records that answer a claim, and compare what it asks for; see `reasonlib.tracking.claims`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reasonlib.errors import DataError, UserError
from reasonlib.tracking import records as _records
from reasonlib.tracking.conditions import differences
from reasonlib.tracking.published import Claim, Order, Side
from reasonlib.tracking.record import KINDS, SCALES
from reasonlib.tracking.records import Group
from reasonlib.tracking.samples import MIN_RUNS, Sample
from reasonlib.tracking.significance import TIE, Comparison, bar, difference, level, nearness, no_loss
from reasonlib.tracking.verdict import Verdict

if TYPE_CHECKING:
    from reasonlib.tracking.experiment import Experiment

__all__ = ["Reader", "evidence"]

SHARED_TEST = ("released", "mixed")  # kinds of data whose test examples are the source's own


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


class Reader:
    """Compares claims with records; the groups of each experiment are read once.

    Parameters
    ----------
    records
        Folder of records; the usual one if None.
    """

    def __init__(self, records: Path | str | None = None) -> None:
        self.records = records
        self.experiments: dict[str, Experiment] = {}
        self._groups: dict[str, list[Group]] = {}

    def groups(self, side: Side, claim: Claim) -> list[Group]:
        """Return the groups of records that may answer for one side, best first."""
        from reasonlib.tracking.experiment import find

        try:
            experiment = find(side.experiment)
        except UserError as error:
            raise DataError(f"claims.yaml of {claim.topic}: claim {claim.id}: {error}") from error
        for kind, name, names in (("row", side.row, experiment.rows), ("data", claim.data, experiment.data)):
            if name is not None and name not in names:
                raise DataError(
                    f"claims.yaml of {claim.topic}: claim {claim.id}: {side.experiment} has no "
                    f"{kind} {name!r}; it has: {', '.join(names)}"
                )
        if side.experiment not in self._groups:
            self.experiments[side.experiment] = experiment
            self._groups[side.experiment] = [
                replace(group, records=group.records[:1]) if group.row in experiment.bundled else group
                for group in _records.groups(experiment, records=self.records)
            ]
        return [
            group
            for group in self._groups[side.experiment]
            if group.row == side.row and group.scale != "smoke" and claim.data in (None, group.data.name)
        ]

    def sample(self, side: Side, group: Group, claim: Claim) -> Sample:
        """Return what the runs of one side measured."""
        values = tuple(float(record.metrics[side.metric] or 0.0) for record in group.records)
        experiment = self.experiments[side.experiment]
        declared = experiment.is_deterministic(side.row, side.metric)
        same = max(values) - min(values) <= TIE * max(map(abs, values))
        return Sample(
            values=values,
            seeds=tuple(record.seed for record in group.records) if experiment.paired else (),
            deterministic=declared and same,
            examples=group.examples(side.metric) or claim.table.examples_of(side.metric),
            margin=group.margin(side.metric),
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
        reason = "the copy at hand does not show the number" if claim.illegible else "no number was published"
        return self._described(
            claim,
            chosen,
            notes=() if comparisons else (f"nothing to compare with: {reason}",),
            comparisons=comparisons,
            orders=orders,
            exact=frozenset(side for side, sample in samples.items() if sample.deterministic),
            deterministic=all(sample.deterministic for sample in samples.values()),
        )

    def repeated(self, claim: Claim, runs: int) -> tuple[Comparison, ...]:
        """Compare as if the present runs were repeated until there are `runs`; empty if they are too few."""
        chosen, _ = evidence(claim, {side: self.groups(side, claim) for side in claim.sides})
        samples = {} if chosen is None else {s: self.sample(s, group, claim) for s, group in chosen.items()}
        random = [sample for sample in samples.values() if not sample.deterministic]
        if not random or not all(sample.enough for sample in random):
            return ()
        shared = set.intersection(*(set(sample.seeds) for sample in random))
        paired = len(shared) >= MIN_RUNS
        for side, sample in samples.items():
            if not sample.deterministic:
                values = list(sample.values)
                if paired:
                    given = zip(sample.seeds, sample.values, strict=True)
                    values = [value for seed, value in given if seed in shared]
                values *= max(1, round(runs / len(values)))
                samples[side] = replace(sample, values=tuple(values), seeds=tuple(range(len(values))))
        return _compared(claim, samples)[0]

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
                    record.location for group in used.values() for record in group.records if record.location
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
    agreement = claim.agreement
    if claim.kind == "value" and claim.side is not None:
        own, tolerance = samples[claim.side], claim.tolerance
        if claim.published is not None and tolerance is not None and not agreement.has_bounds:
            parts.append(
                level(
                    own,
                    claim.published,
                    tolerance=tolerance,
                    better=claim.table.better_of(claim.side.metric),
                    published_examples=claim.table.examples_of(claim.side.metric),
                )
            )
        if agreement.at_least is not None:
            parts.append(bar(own, agreement.at_least))
        if agreement.at_most is not None:
            parts.append(bar(own, agreement.at_most, above=False))
    orders = []
    for order in agreement.order:
        pairs = [_difference(order, samples[high], samples[low]) for high, low in order.pairs]
        parts += pairs
        orders.append(all(part.holds for part in pairs))
    return tuple(parts), tuple(orders)


def _difference(order: Order, high: Sample, low: Sample) -> Comparison:
    compare = {"above": difference, "near": nearness, "not-below": no_loss}[order.relation]
    return compare(high, low, by=order.by)
