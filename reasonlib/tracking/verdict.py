"""A claim, the evidence and what follows, as one object; `reasonlib.tracking.judging` has the rule."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from reasonlib.tracking.conditions import Condition
from reasonlib.tracking.published import Claim, Side
from reasonlib.tracking.records import Summary
from reasonlib.tracking.samples import ALPHA
from reasonlib.tracking.significance import Comparison

__all__ = ["Verdict"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim, the evidence and what follows.

    Attributes
    ----------
    claim
        The claim.
    verdict
        One of `reasonlib.tracking.judging.VERDICTS`; `judge` there holds the rule.
    ours
        Mean, sample standard deviation and number of seeds of the claim's own row, where it names one.
    sides
        The same for every side of what it compares, its own row among them.
    values, seeds
        The runs of each side: a number and a seed each.
    scale, data, kind
        Of the records that answered; `kind` is one of `reasonlib.tracking.record.KINDS`.
    conditions
        How these runs differ from the source's; none if they have its conditions.
    comparisons
        What was compared, with intervals; see `reasonlib.tracking.significance.Comparison`.
    adjusted
        p-value of the claim, corrected for all comparisons of its table; None where none was needed.
    orders
        For each ordering whether it holds of the means; None where it was not measured.
    exact
        The sides whose system gives the same result in every run.
    deterministic
        Whether every system compared does.
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
    exact: frozenset[Side] = frozenset()
    deterministic: bool = False
    records: tuple[str, ...] = ()
    stale: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of runs of the random side that has the fewest; 0 where nothing was measured.

        A deterministic side has one run and needs no more; it counts only where there is no other.
        """
        random = [summary.n for side, summary in self.sides.items() if side not in self.exact]
        return min(random or [summary.n for summary in self.sides.values()], default=0)

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
        """The interval of `main` (of one more run, of the mean, of a difference) and what is asked of it."""
        if self.main is None or self.main.low is None:
            return None
        kinds = {"level": "one more run", "bar": "mean"}
        return {
            "of": kinds.get(self.main.kind, "difference"),
            "low": self.main.low,
            "high": self.main.high,
            "confidence": 1 - ALPHA,
            "asked": list(self.main.asked),
        }

    def to_json(self) -> dict[str, Any]:
        """Return what ``reasonlib claims --json`` prints of this claim."""
        claim, agreement = self.claim, self.claim.agreement
        level = next((part for part in self.comparisons if part.kind == "level"), None)
        bars = [part for part in self.comparisons if part.kind == "bar"]
        return {
            "id": claim.id,
            "topic": claim.topic,
            "source": claim.source,
            claim.locator_kind: claim.locator,
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
                "within": claim.tolerance,
                "at_least": agreement.at_least,
                "at_most": agreement.at_most,
                "level_holds": _holds(level, bars),
                "order": [
                    {"text": order.text, "relation": order.relation, "by": order.by, "holds": holds}
                    for order, holds in zip(agreement.order, self.orders, strict=True)
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


def _holds(level: Comparison | None, bars: Sequence[Comparison]) -> bool | None:
    """Whether the means satisfy the level and the bounds; None if there are none."""
    parts = [*([level] if level is not None else []), *bars]
    return all(part.holds for part in parts) if parts else None
