"""What the sources published, as data: ``claims.yaml`` of a topic, read strictly.

The file lists every table cell and every stated finding of the topic's source, and what the book set itself::

    sources: [mehak2019]            # the topic's own works; a claim of any other paper is marked so
    tables:                         # for each table, figure or section what its source prints; "*" for all
      Accuracy on joint training:
        lines: "206-216"            # where it stands: lines of the work's text
        tolerance: {accuracy: 0.03} # by metric: how far apart two runs with the same result may lie
        tolerance_reason: why so much
        better: {"error*": lower}   # which side is better: higher (by default), lower, or neither
        examples: 20000             # test examples behind a metric that is a share of them; or by metric
        ends: planned               # planned (default) or early: where the source's runs end
        settings:                   # what the source prints of its runs
          - {set: {lr: 0.01, epochs: 100}, lines: "97"}
          - {rows: ["d20-*"], metrics: ["*"], set: {width: 20}, lines: "97"}
          - {experiments: [story_qa/rate], differs: "trained on other words"}   # what no setting shows
        changed:                    # what was changed after results existed
          - {date: 2026-11-20, from: "...", to: "...", why: "..."}
    defaults:                       # optional: fields of every claim below that does not give its own
      source: mehak2019             # key in the bibliography
      experiment: story_qa/joint
    claims:
      - id: story_qa/joint/d50-n3   # topic/..., unique
        kind: value                 # value, ordering or published-only
        text: what the source states, in our words    # optional
        where: {table: Accuracy on joint training, row: "d = 50, n = 3", lines: "212"}
                                    # table, figure or section; row is the source's name of it, optional
        also: mehak2019             # optional: the topic's own work that repeats another paper's claim
        published: 0.69             # a number, or null where the source gives none
        illegible: false            # whether the source has a number that the copy at hand does not show
        unit: fraction              # optional
        experiment: story_qa/joint
        row: d50-n3                 # the experiment's row
        metric: accuracy            # the record's metric
        data: babi-10k              # optional: only records on this data answer
        made_on: babi-10k           # optional: what the source used; other data are other conditions
        agreement:
          at_least: 0.92            # a bound that words stand for, where no number is published; or at_most
          order:                    # every line must hold beyond chance
            - d50-n3 above d20-n3
            - story_qa/bert:small above d50-n3 by 0.05
            - "@accuracy_one_fact above @accuracy_three_facts"
            - d50-n3 near d20-n3 by 0.02    # no further apart than this
        reason: shown beside a verdict that goes against the claim    # optional
        chapter: story_qa/memory    # optional: the page that shows it
        changed: []                 # as of a table
    goals: []                       # what the book set itself: the same fields; never counted as claims

A side of an ordering is ``[experiment:]row[@metric]``; what is left out is the claim's own. ``a above b above
c`` and ``below`` can be written too; ``near`` needs its ``by``. A value claim compares with the published
number, by the tolerance of its table, or with bounds; an ordering claim has neither; a published-only claim
has no experiment and no agreement: nothing here measures it.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

import reasonlib
from reasonlib.errors import DataError, UserError

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
    """What a source prints beside one of its tables, figures or sections; see the module."""

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


@dataclass(frozen=True, kw_only=True)
class Order:
    """An ordering: `text` as written, and the pairs (higher, lower) it says, apart by at least `by`.

    Or, if `near`, no further apart than `by`.
    """

    text: str
    pairs: tuple[tuple[Side, Side], ...]
    by: float = 0.0
    near: bool = False

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
    """One published number or finding; the fields are those of ``claims.yaml``, see the module.

    Attributes
    ----------
    place, where, label, lines
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
    place: str
    where: str
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
    def family(self) -> tuple[str, str, str, bool]:
        """What is corrected together for many comparisons: the part of the source the claim is from."""
        return self.topic, self.place, self.where, self.goal

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


# Reading ----------------------------------------------------------------------------------------------------

_TEXT = (str,)
_NUMBER = (int, float)
_FIELDS: dict[str, tuple[type, ...]] = {
    "id": _TEXT,
    "kind": _TEXT,
    "source": _TEXT,
    "where": (Mapping,),
    "also": _TEXT,
    "text": _TEXT,
    "published": (*_NUMBER, type(None)),
    "illegible": (bool,),
    "unit": _TEXT,
    "experiment": _TEXT,
    "row": _TEXT,
    "metric": _TEXT,
    "data": _TEXT,
    "made_on": _TEXT,
    "agreement": (Mapping,),
    "reason": _TEXT,
    "chapter": _TEXT,
    "changed": (list,),
}
_TABLE: dict[str, tuple[type, ...]] = {
    "lines": _TEXT,
    "tolerance": (Mapping,),
    "tolerance_reason": _TEXT,
    "better": (Mapping,),
    "examples": (int, Mapping),
    "ends": _TEXT,
    "settings": (list,),
    "changed": (list,),
}
_PRINTED: dict[str, tuple[type, ...]] = {
    "set": (Mapping,),
    "experiments": (list,),
    "rows": (list,),
    "metrics": (list,),
    "differs": _TEXT,
    "lines": _TEXT,
}
_CHANGE: dict[str, tuple[type, ...]] = {"date": (str, date), "from": _TEXT, "to": _TEXT, "why": _TEXT}
_WORDS = {
    date: "a date",
    str: "text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    Mapping: "a mapping",
    type(None): "null",
    list: "a list",
}


def load(topic: str) -> list[Claim]:
    """Return the claims and goals of one topic, in the order of its ``claims.yaml``.

    Raises
    ------
    UserError
        If there is no such topic.
    DataError
        If the file breaks a rule; names the file, the line and the claim.
    """
    from reasonlib.tracking.experiment import topics

    for folder in reasonlib.__path__:
        file = Path(folder) / topic / "claims.yaml"
        if file.is_file():
            status = file.stat()
            return list(_read(file, topic, status.st_mtime_ns, status.st_size))
    raise UserError(f"there is no topic {topic!r}; there are: {', '.join(topics()) or 'none'}")


@lru_cache(maxsize=32)
def _read(file: Path, topic: str, written: int, size: int) -> tuple[Claim, ...]:
    """Read a file once for as long as it is not written to."""
    return tuple(read(file, topic))


def read(file: Path | str, topic: str) -> list[Claim]:
    """Read one ``claims.yaml``; see `load`."""
    file = Path(file)
    content, lines = _parse(file)
    if not isinstance(content, Mapping) or not isinstance(content.get("claims"), list):
        raise DataError(f"{file}: must hold a list named claims; see reasonlib.tracking.published")
    try:
        _fields(
            content, {"sources": (list,), "tables": (Mapping,), "defaults": (Mapping,)} | _LISTS, "the file"
        )
        sources = content.get("sources", [])
        tables = _tables(content.get("tables") or {})
        defaults = _fields(content.get("defaults") or {}, _FIELDS, "defaults")
        if given := set(defaults) & {"id", "row", "published", "illegible", "text", "reason", "changed"}:
            raise ValueError(f"defaults must not give {sorted(given)[0]!r}: it is different for each claim")
    except ValueError as error:
        raise DataError(f"{file}: {_short(error)}") from error
    claims: dict[str, Claim] = {}
    for key in _LISTS:
        for values, line in zip(content.get(key) or [], lines[key], strict=True):
            name = values.get("id", "without an id") if isinstance(values, Mapping) else "without an id"
            try:
                own = _fields(values, _FIELDS, "a claim")
                claim = _claim(own, defaults, topic, tables, sources, goal=key == "goals")
                if claim.id in claims:
                    raise ValueError("the id is used twice")
            except ValueError as error:
                raise DataError(f"{file}:{line}: claim {_short(name)}: {_short(error)}") from error
            claims[claim.id] = claim
    used = {claim.where for claim in claims.values()}
    if unused := [name for name in tables if name not in {*used, "*"}]:
        raise DataError(f"{file}: tables: no claim is from {unused[0]!r}")
    return list(claims.values())


_LISTS: dict[str, tuple[type, ...]] = {"claims": (list,), "goals": (list, type(None))}


def _parse(file: Path) -> tuple[Any, dict[str, list[int]]]:
    """Return the YAML document and the line on which each claim and goal starts."""
    import yaml

    class Loader(yaml.SafeLoader):
        """A mapping that gives a key twice is a mistake, not the last value."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict:
            keys = [
                self.construct_object(key, deep=True)
                for key, _ in node.value
                if key.tag != "tag:yaml.org,2002:merge"
            ]
            for index, key in enumerate(keys):
                if key in keys[:index]:
                    mark = node.value[index][0].start_mark
                    raise yaml.constructor.ConstructorError(None, None, f"field {key!r} is given twice", mark)
            return super().construct_mapping(node, deep)

    try:
        loader = Loader(file.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        content = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f":{error.problem_mark.line + 1}"
        raise DataError(f"{file}{line}: not YAML: {error.problem}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"{file}: cannot be read: {' '.join(str(error).split())}") from error
    lines: dict[str, list[int]] = {key: [] for key in _LISTS}
    if isinstance(node, yaml.MappingNode) and isinstance(content, Mapping):
        for key, value in node.value:
            if key.value in lines and isinstance(content.get(key.value), list):
                lines[key.value] = [item.start_mark.line + 1 for item in value.value]
    return content, lines


def _fields(values: Any, kinds: Mapping[str, tuple[type, ...]], what: str) -> dict[str, Any]:
    """Check that a mapping has known fields of the right types."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{what} must be a mapping, got {values!r}")
    for name, value in values.items():
        if name not in kinds:
            raise ValueError(f"unknown field {name!r}; known: {', '.join(kinds)}")
        _check(name, value, kinds[name])
    return dict(values)


def _short(said: object, most: int = 600) -> str:
    """Return a text, cut in its middle where a damaged file made it long."""
    text = str(said)
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


def _check(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        wanted = " or ".join(dict.fromkeys(_WORDS[kind] for kind in kinds))
        hint = " (YAML reads 1e-3 as text: write 0.001)" if kinds[0] is int and isinstance(value, str) else ""
        raise ValueError(f"{name} must be {wanted}, got {value!r}{hint}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value}")
    if isinstance(value, str) and not value.strip():
        raise ValueError(f"{name} must not be empty")


def _in(what: str, make: Callable[[Any], Any], values: Any) -> Any:
    """Call `make` and say of what its error is."""
    try:
        return make(values)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def _tables(content: Mapping[str, Any]) -> dict[str, Table]:
    """Read the tables; what one does not say is taken from ``*``."""
    common = _in("tables: *", lambda values: _fields(values, _TABLE, "a table"), content.get("*", {}))
    tables = {}
    for name, values in content.items():
        own = _in(f"tables: {name}", lambda values: _fields(values, _TABLE, "a table"), values)
        tables[name] = _in(f"tables: {name}", _table, {**common, **own})
    return tables


def _table(values: dict[str, Any]) -> Table:
    for metric, number in values.get("tolerance", {}).items():
        _check(f"tolerance.{metric}", number, _NUMBER)
        if number < 0:
            raise ValueError(f"tolerance.{metric} must be at least 0, got {number}")
    if values.get("tolerance") and "tolerance_reason" not in values:
        raise ValueError("a tolerance needs a tolerance_reason")
    for metric, side in values.get("better", {}).items():
        if side not in BETTER:
            raise ValueError(f"better.{metric} must be one of {', '.join(BETTER)}, got {side!r}")
    if values.get("ends", "planned") not in ENDS:
        raise ValueError(f"ends must be one of {', '.join(ENDS)}, got {values['ends']!r}")
    values["settings"] = tuple(_in("settings", _printed, item) for item in values.get("settings", ()))
    values["changed"] = _changes(values.get("changed", ()))
    return Table(**values)


def _printed(values: Any) -> Printed:
    values = _fields(values, _PRINTED, "settings")
    if not values.get("set") and "differs" not in values:
        raise ValueError("an entry needs set: {setting: value} or differs: text")
    patterns = {
        name: tuple(map(str, values.get(name, ("*",)))) for name in ("experiments", "rows", "metrics")
    }
    return Printed(
        values=dict(values.get("set", {})),
        differs=values.get("differs"),
        lines=values.get("lines"),
        **patterns,
    )


def _changes(entries: Iterable[Any]) -> tuple[Change, ...]:
    changes = []
    for entry in entries:
        entry = _in("changed", lambda values: _fields(values, _CHANGE, "an entry"), entry)
        if missing := [name for name in _CHANGE if name not in entry]:
            raise ValueError(f"changed: field {missing[0]!r} is missing")
        changes.append(
            Change(date=str(entry["date"]), before=entry["from"], after=entry["to"], why=entry["why"])
        )
    return tuple(changes)


def _claim(
    own: dict[str, Any],
    defaults: dict[str, Any],
    topic: str,
    tables: Mapping[str, Table],
    sources: list[str],
    *,
    goal: bool,
) -> Claim:
    kind = own.get("kind", defaults.get("kind"))
    foreign = {
        "published-only": ("experiment", "metric", "agreement", "data", "made_on"),
        "ordering": ("agreement",),
    }
    defaults = {name: value for name, value in defaults.items() if name not in foreign.get(str(kind), ())}
    values = {**defaults, **own}
    for name in ("where", "agreement"):
        if name in defaults and name in own:
            kept = {} if set(own[name]) & set(PLACES) else defaults[name]  # another place, not a second one
            values[name] = {**kept, **own[name]}
    for name in ("id", "kind", "source", "where"):
        if name not in values:
            raise ValueError(f"field {name!r} is missing")
    if kind not in CLAIM_KINDS:
        raise ValueError(f"kind must be one of {', '.join(CLAIM_KINDS)}, got {kind!r}")
    if values["id"].partition("/")[0] != topic or not values["id"].partition("/")[2]:
        raise ValueError(f"the id must start with {topic}/")
    place, where, label, lines = _where(values.pop("where"))
    agreement = _agreement(values.pop("agreement", {}), values)
    if values.get("published") is not None:
        values["published"] = float(values["published"])
    values["changed"] = _changes(values.get("changed", ()))
    outside = bool(sources) and not goal and not {values["source"], values.get("also")} & set(sources)
    claim = Claim(
        **values,
        place=place,
        where=where,
        label=label,
        lines=lines,
        agreement=agreement,
        table=tables.get(where, tables.get("*", Table())),
        goal=goal,
        outside=outside,
    )
    _rules(claim, own)
    return claim


def _rules(claim: Claim, own: Mapping[str, Any]) -> None:
    """Check what each kind of claim must and must not say."""
    agreement = claim.agreement
    if claim.illegible and claim.published is not None:
        raise ValueError("a number that is illegible is null, and this one is published")
    if claim.kind == "published-only":
        for name in ("experiment", "row", "data", "agreement"):
            if name in own:
                raise ValueError(f"a published-only claim has no {name}: nothing here measures it")
        return
    for name in ("experiment", "metric"):
        if getattr(claim, name) is None:
            raise ValueError(f"a claim of kind {claim.kind} needs the field {name!r}")
    if claim.kind == "ordering":
        if not agreement.order:
            raise ValueError("a claim of kind ordering needs agreement: {order: [...]}")
        if agreement.has_bounds:
            raise ValueError("a claim of kind ordering has no bound; make it kind value, which may have both")
        return
    if claim.row is None:
        raise ValueError("a claim of kind value needs the field 'row'")
    if "published" not in own:
        raise ValueError("a claim of kind value needs the field 'published': a number, or null")
    if claim.goal or claim.published is None:
        return
    if agreement.has_bounds:
        raise ValueError(
            "a published number is compared by the tolerance of its table; bounds need published: null"
        )
    if claim.table.tolerance_of(str(claim.metric)) is None:
        raise ValueError(f"tables: {claim.where}: needs a tolerance for {claim.metric}")


def _where(values: Mapping[str, Any]) -> tuple[str, str, str | None, str | None]:
    places = [name for name in PLACES if name in values]
    if len(places) != 1 or set(values) - {*PLACES, "row", "lines"}:
        raise ValueError("where must be one of table, figure or section, with row and lines if there are any")
    for name, value in values.items():
        _check(f"where.{name}", value, _TEXT)
    return places[0], values[places[0]], values.get("row"), values.get("lines")


def _agreement(values: Mapping[str, Any], claim: Mapping[str, Any]) -> Agreement:
    for name, value in values.items():
        if name not in ("at_least", "at_most", "order"):
            raise ValueError(f"unknown agreement {name!r}; known: at_least, at_most, order")
        _check(f"agreement.{name}", value, (list,) if name == "order" else _NUMBER)
    for text in values.get("order", ()):
        _check("an ordering", text, _TEXT)
    bounds = {name: float(values[name]) for name in ("at_least", "at_most") if name in values}
    return Agreement(**bounds, order=tuple(_order(text, claim) for text in values.get("order", ())))


_SIDE = re.compile(r"(?:(?P<experiment>[^\s:@]+/[^\s:@]+):)?(?P<row>[^\s:@]+)?(?:@(?P<metric>[^\s:@]+))?")


def _order(text: str, claim: Mapping[str, Any]) -> Order:
    """Read ``a above b [above c ...] [by 0.05]``."""
    body, _, margin = text.strip().partition(" by ")
    words = body.split()
    relations = words[1::2]
    near = relations == ["near"]
    if len(words) < 3 or len(words) % 2 == 0 or (set(relations) - {"above", "below"} and not near):
        raise ValueError(
            f"an ordering reads 'a above b', 'a below b by 0.05' or 'a near b by 0.05', got {text!r}"
        )
    try:
        by = float(margin) if margin else 0.0
    except ValueError:
        by = -1.0
    if not 0 <= by < float("inf"):
        raise ValueError(f"after 'by' stands a number of at least 0, got {margin!r}")
    if near and not by:
        raise ValueError(f"'near' needs its distance, as in 'a near b by 0.05', got {text!r}")
    sides = [_side(word, claim) for word in words[0::2]]
    pairs = tuple(
        (right, left) if relation == "below" else (left, right)
        for left, relation, right in zip(sides, relations, sides[1:], strict=False)
    )
    if any(high == low for high, low in pairs):
        raise ValueError(f"an ordering compares two different things, got {text!r}")
    return Order(text=" ".join(text.split()), pairs=pairs, by=by, near=near)


def _side(word: str, claim: Mapping[str, Any]) -> Side:
    match = _SIDE.fullmatch(word)
    parts = match.groupdict() if match else {}
    values = {name: str(parts.get(name) or claim.get(name) or "") for name in ("experiment", "row", "metric")}
    if not any(parts.values()) or "" in values.values():
        raise ValueError(f"a side of an ordering is [experiment:]row[@metric], got {word!r}")
    return Side(**values)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
