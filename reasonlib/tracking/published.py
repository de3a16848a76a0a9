"""What the sources published: claims, and the tables they come from; `claims_file` reads them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

__all__ = [
    "BETTER",
    "CLAIM_KINDS",
    "ENDS",
    "PLACES",
    "Agreement",
    "Change",
    "Claim",
    "Order",
    "Printed",
    "Side",
    "Table",
]

CLAIM_KINDS = ("value", "ordering", "published-only")
PLACES = ("table", "figure", "section")
ENDS = ("planned", "early")
BETTER = ("higher", "lower", "neither")


@dataclass(frozen=True, kw_only=True)
class Change:
    """What was changed of a claim or a table after results existed."""

    date: str
    before: str
    after: str
    why: str

    def to_json(self) -> dict[str, str]:
        """Return the fields under the names of the file."""
        return {"date": self.date, "from": self.before, "to": self.after, "why": self.why}


@dataclass(frozen=True, kw_only=True)
class Printed:
    """Settings that a source prints for some rows and metrics of a table.

    Attributes
    ----------
    experiments, rows, metrics
        Patterns of what they are about.
    values
        Setting to value.
    differs
        How our runs differ from the source's where no setting shows it.
    lines
        Where the source prints them.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    experiments: tuple[str, ...] = ("*",)
    rows: tuple[str, ...] = ("*",)
    metrics: tuple[str, ...] = ("*",)
    differs: str | None = None
    lines: str | None = None

    def concerns(self, side: "Side") -> bool:
        """Whether they are about this row of this experiment and its metric."""
        return (
            _matches(side.experiment, self.experiments)
            and _matches(side.row, self.rows)
            and _matches(side.metric, self.metrics)
        )


@dataclass(frozen=True, kw_only=True)
class Table:
    """What a source prints beside one of its tables, figures or sections; see `claims_file`."""

    lines: str | None = None
    tolerance: Mapping[str, float] = field(default_factory=dict)
    tolerance_reason: str | None = None
    better: Mapping[str, str] = field(default_factory=dict)
    examples: int | Mapping[str, int] | None = None
    ends: str = "planned"
    settings: tuple[Printed, ...] = ()
    changed: tuple[Change, ...] = ()

    def tolerance_of(self, metric: str) -> float | None:
        """Return what two runs with the same result may lie apart; None if nothing is said."""
        return next((value for key, value in self.tolerance.items() if fnmatchcase(metric, key)), None)

    def better_of(self, metric: str) -> str:
        """Return which side of a published number is better: higher, lower or neither."""
        return next((side for key, side in self.better.items() if fnmatchcase(metric, key)), "higher")

    def examples_of(self, metric: str) -> int | None:
        """Return the number of test examples behind a metric; None if it is not a share of them."""
        if self.examples is None or isinstance(self.examples, int):
            return self.examples
        return next((count for key, count in self.examples.items() if fnmatchcase(metric, key)), None)


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of an ordering: a metric of a row of an experiment."""

    experiment: str
    row: str
    metric: str


TOLERANT = ("near", "not-below")
"""Relations that hold for equal rows: they need a distance that counts as none."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """An ordering: `text` as written, and the pairs that it compares.

    Attributes
    ----------
    relation
        ``above``: the first of a pair is higher, by at least `by`. ``near``: they are no further apart than
        `by`. ``not-below``: the first is lower by no more than `by`.
    """

    text: str
    pairs: tuple[tuple[Side, Side], ...]
    by: float = 0.0
    relation: str = "above"

    @property
    def sides(self) -> tuple[Side, ...]:
        """Every side once."""
        return tuple(dict.fromkeys(side for pair in self.pairs for side in pair))


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What a claim asks for beside its published number: bounds, orderings, or both."""

    at_least: float | None = None
    at_most: float | None = None
    order: tuple[Order, ...] = ()

    @property
    def has_bounds(self) -> bool:
        """Whether a bound is asked for."""
        return (self.at_least, self.at_most) != (None, None)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One published number or finding; the fields are those of ``claims.yaml``, see `claims_file`.

    Attributes
    ----------
    locator_kind, locator, label, lines
        ``table``, ``figure`` or ``section``; which one; the source's name of the row in it; lines of the
        text.
    data
        The only data set whose records may answer.
    made_on
        The data set the source itself used. Records of others may answer, under other conditions.
    table
        What the source prints beside it.
    goal
        Whether the book set it itself.
    outside
        Whether it is the claim of a paper that is not a source of the topic, and that no source repeats.
    """

    id: str
    kind: str
    source: str
    locator_kind: str
    locator: str
    label: str | None = None
    lines: str | None = None
    also: str | None = None
    text: str | None = None
    published: float | None = None
    illegible: bool = False
    unit: str | None = None
    experiment: str | None = None
    row: str | None = None
    metric: str | None = None
    data: str | None = None
    made_on: str | None = None
    agreement: Agreement = field(default_factory=Agreement)
    reason: str | None = None
    chapter: str | None = None
    table: Table = field(default_factory=Table)
    goal: bool = False
    outside: bool = False
    changed: tuple[Change, ...] = ()

    @property
    def topic(self) -> str:
        """The first word of the id."""
        return self.id.partition("/")[0]

    @property
    def family(self) -> tuple[str, str, str, str, bool]:
        """What is corrected together for many comparisons: the part of the source the claim is from."""
        return self.topic, self.source, self.locator_kind, self.locator, self.goal

    @property
    def tolerance(self) -> float | None:
        """What our number may lie apart from the published one; None if there is none or nothing is said."""
        if self.published is None or self.metric is None:
            return None
        return self.table.tolerance_of(self.metric)

    @property
    def side(self) -> Side | None:
        """The row and metric whose number stands beside the published one, if the claim names them."""
        if self.experiment is None or self.row is None or self.metric is None:
            return None
        return Side(experiment=self.experiment, row=self.row, metric=self.metric)

    @property
    def sides(self) -> tuple[Side, ...]:
        """Everything that must have been measured before there is a verdict."""
        own = [self.side] if self.side is not None else []
        return tuple(dict.fromkeys([*own, *(side for order in self.agreement.order for side in order.sides)]))


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
