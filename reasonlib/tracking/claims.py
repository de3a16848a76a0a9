"""What the sources claim, and what our records say to it.

A topic's ``claims.yaml`` lists every table cell and every stated finding of its source. Each claim names what
counts as agreement and the experiment that answers it; the verdict is computed from the records::

    claims.yaml -> load -> Claim ----+
                                     +--> verdicts -> Verdict -> table, show, reasonlib claims
    records/*/*.jsonl -> groups -----+

The rule is `judge`; which records answer is `evidence`'s business. The format of the file::

    defaults:                       # optional: fields of every claim below that does not give its own
      source: mehak2019             # key in the bibliography
      experiment: story_qa/joint
    claims:
      - id: story_qa/joint/d50-n3   # topic/..., unique
        kind: value                 # value, ordering or published-only
        text: what the source states, in our words    # optional
        where: {table: Accuracy on joint training, row: "d = 50, n = 3"}
                                    # table, figure or section; row is the source's name of it, optional
        published: 0.69             # a number, or null where the source gives none or is illegible
        unit: fraction              # optional
        experiment: story_qa/joint
        row: d50-n3                 # the experiment's row
        metric: accuracy            # the record's metric
        data: babi-10k              # optional: only records on this data answer
        made_on: babi-10k           # optional: what the source used; other data never decide
        agreement:
          within: 0.05              # |ours - published| at most this; or at_least: 0.92, or at_most: 0.08
          order:                    # every line must hold of the means over seeds
            - d50-n3 above d20-n3
            - story_qa/bert:small above d50-n3 by 0.05
            - "@accuracy_one_fact above @accuracy_three_facts"
        reason: shown beside the verdict when it is contradicted    # optional
        chapter: story_qa/memory    # optional: the page that shows it

A side of an ordering is ``[experiment:]row[@metric]``; what is left out is the claim's own. ``a above b above
c`` and ``below`` can be written too. An ordering claim has no level (`within`, `at_least`, `at_most`); a
published-only claim has no experiment and no agreement: nothing here measures it.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import reasonlib
from reasonlib.errors import DataError, UserError
from reasonlib.tracking import records as _records
from reasonlib.tracking.records import SCALES, Group, Summary

VERDICTS = ("reproduced", "trend", "contradicted", "not run")
GLYPHS = {"reproduced": "✓", "trend": "↗", "contradicted": "✗", "not run": "○"}
CLAIM_KINDS = ("value", "ordering", "published-only")
PLACES = ("table", "figure", "section")

_SLACK = 1e-9  # of a comparison: 0.3 - 0.25 is a little less than 0.05


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of an ordering: a metric of a row of an experiment."""

    experiment: str
    row: str
    metric: str


@dataclass(frozen=True, kw_only=True)
class Order:
    """An ordering: `text` as written, and the pairs (higher, lower) it says, apart by at least `by`."""

    text: str
    pairs: tuple[tuple[Side, Side], ...]
    by: float = 0.0

    @property
    def sides(self) -> tuple[Side, ...]:
        """Every side once."""
        return tuple(dict.fromkeys(side for pair in self.pairs for side in pair))

    def holds(self, means: Mapping[Side, float]) -> bool:
        """Whether every pair is in order, strictly."""
        return all(
            means[high] - means[low] >= self.by - _SLACK if self.by else means[high] > means[low]
            for high, low in self.pairs
        )


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What counts as agreement: a level (any of `within`, `at_least`, `at_most`), orderings, or both."""

    within: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    order: tuple[Order, ...] = ()

    @property
    def has_level(self) -> bool:
        """Whether a level is asked for."""
        return (self.within, self.at_least, self.at_most) != (None, None, None)

    def level_holds(self, mean: float, published: float | None) -> bool:
        """Whether a mean satisfies every level asked for."""
        return (
            (self.within is None or (published is not None and abs(mean - published) <= self.within + _SLACK))
            and (self.at_least is None or mean >= self.at_least - _SLACK)
            and (self.at_most is None or mean <= self.at_most + _SLACK)
        )


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One published number or finding; the fields are those of ``claims.yaml``, see the module.

    Attributes
    ----------
    place, where, label
        ``table``, ``figure`` or ``section``; which one; and the source's name of the row in it.
    data
        The only data set whose records may answer.
    made_on
        The data set the source itself used. Records of others may answer, but not as its own setting.
    """

    id: str
    kind: str
    source: str
    place: str
    where: str
    label: str | None = None
    text: str | None = None
    published: float | None = None
    unit: str | None = None
    experiment: str | None = None
    row: str | None = None
    metric: str | None = None
    data: str | None = None
    made_on: str | None = None
    agreement: Agreement = field(default_factory=Agreement)
    reason: str | None = None
    chapter: str | None = None

    @property
    def topic(self) -> str:
        """The first word of the id."""
        return self.id.partition("/")[0]

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


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim, the evidence and what follows.

    Attributes
    ----------
    claim
        The claim.
    verdict
        ``reproduced``, ``trend``, ``contradicted`` or ``not run``; see `judge`.
    ours
        Mean, sample standard deviation and number of seeds of the claim's own row, where it names one.
    sides
        The same for every side of what it compares, its own row among them.
    scale, data, kind
        Of the records that answered; `kind` is ``real`` or ``simulated``.
    level
        Whether the level holds; None if none is asked for or it was not measured.
    orders
        For each ordering whether it holds; None where it was not measured.
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
    scale: str | None = None
    data: str | None = None
    kind: str | None = None
    level: bool | None = None
    orders: tuple[bool | None, ...] = ()
    records: tuple[str, ...] = ()
    stale: str | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return what ``reasonlib claims --json`` prints of this claim."""
        claim = self.claim
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
                "within": claim.agreement.within,
                "at_least": claim.agreement.at_least,
                "at_most": claim.agreement.at_most,
                "level_holds": self.level,
                "order": [
                    {"text": order.text, "holds": holds}
                    for order, holds in zip(claim.agreement.order, self.orders, strict=True)
                ],
            },
            "sides": [{**asdict(side), **asdict(summary)} for side, summary in self.sides.items()],
            "stale": self.stale,
            "notes": list(self.notes),
            "reason": claim.reason,
            "chapter": claim.chapter,
        }


def judge(*, level: bool | None, order: bool | None, full: bool) -> str:
    """Give the verdict: the one rule.

    Parameters
    ----------
    level
        Whether our mean agrees with the published level; None if the claim asks for no level.
    order
        Whether all orderings hold; None if the claim asks for none.
    full
        Whether the evidence has the source's own setting: real data (the source's, where the claim names it),
        scale ``paper``, every run to its end.

    Returns
    -------
    str
        ========  ========  ==============  ============
        level     order     full            otherwise
        ========  ========  ==============  ============
        holds     holds     reproduced      trend
        holds     not asked reproduced      trend
        not asked holds     reproduced      trend
        fails     holds     trend           trend
        fails     not asked contradicted    not run
        any       fails     contradicted    not run
        not asked not asked not run         not run
        ========  ========  ==============  ============

    Notes
    -----
    What fails at a smaller setting is no evidence against the source: our figures are shown, and the verdict
    waits for the source's own setting. ``not run`` is also the verdict where something that the claim asks
    for was not measured, and where there is nothing to compare with: a published number that is illegible
    (null) and no ordering. Runs at ``smoke`` never answer. Stale records answer only where there are no fresh
    ones, and the verdict then carries the reason.
    """
    if level is None and order is None:
        return "not run"
    if order is False or (level is False and order is None):
        return "contradicted" if full else "not run"
    return "reproduced" if full and level is not False else "trend"


# Reading claims.yaml ----------------------------------------------------------------------------------------


_TEXT = (str,)
_NUMBER = (int, float)
_FIELDS: dict[str, tuple[type, ...]] = {
    "id": _TEXT,
    "kind": _TEXT,
    "source": _TEXT,
    "where": (Mapping,),
    "text": _TEXT,
    "published": (*_NUMBER, type(None)),
    "unit": _TEXT,
    "experiment": _TEXT,
    "row": _TEXT,
    "metric": _TEXT,
    "data": _TEXT,
    "made_on": _TEXT,
    "agreement": (Mapping,),
    "reason": _TEXT,
    "chapter": _TEXT,
}
_WORDS = {
    str: "text",
    int: "a number",
    float: "a number",
    Mapping: "a mapping",
    type(None): "null",
    list: "a list",
}


def load(topic: str) -> list[Claim]:
    """Return the claims of one topic, in the order of its ``claims.yaml``.

    Raises
    ------
    UserError
        If there is no such topic.
    DataError
        If the file breaks a rule; names the file, the line and the claim.
    """
    from reasonlib.tracking.experiment import topics

    for place in reasonlib.__path__:
        file = Path(place) / topic / "claims.yaml"
        if file.is_file():
            return read(file, topic)
    raise UserError(f"there is no topic {topic!r}; there are: {', '.join(topics()) or 'none'}")


def read(file: Path | str, topic: str) -> list[Claim]:
    """Read one ``claims.yaml``; see `load`."""
    file = Path(file)
    content, lines = _parse(file)
    if not isinstance(content, Mapping) or not isinstance(content.get("claims"), list):
        raise DataError(
            f"{file}: must hold a list named claims; see reasonlib.tracking.claims for the format"
        )
    if unknown := set(content) - {"claims", "defaults"}:
        raise DataError(f"{file}: unknown field {sorted(map(str, unknown))[0]!r}; known: defaults, claims")
    try:
        defaults = _typed(content.get("defaults") or {}, "defaults")
        if given := set(defaults) & {"id", "row", "published", "text", "reason"}:
            raise ValueError(f"defaults must not give {sorted(given)[0]!r}: it is different for each claim")
    except ValueError as error:
        raise DataError(f"{file}: {error}") from error
    found: dict[str, Claim] = {}
    for values, line in zip(content["claims"], lines, strict=True):
        name = values.get("id", "without an id") if isinstance(values, Mapping) else "without an id"
        try:
            claim = _claim(_typed(values, "a claim"), defaults, topic)
            if claim.id in found:
                raise ValueError("the id is used twice")
        except ValueError as error:
            raise DataError(f"{file}:{line}: claim {name}: {error}") from error
        found[claim.id] = claim
    return list(found.values())


def _parse(file: Path) -> tuple[Any, list[int]]:
    """Return the YAML document and the line on which each claim starts."""
    import yaml

    class Loader(yaml.SafeLoader):
        """A mapping that gives a key twice is a mistake, not the last value."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
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
    lines: list[int] = []
    if isinstance(node, yaml.MappingNode) and isinstance(content, Mapping):
        for key, value in node.value:
            if key.value == "claims" and isinstance(content.get("claims"), list):
                lines = [item.start_mark.line + 1 for item in value.value]
    return content, lines


def _typed(values: Any, what: str) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise ValueError(f"{what} must be a mapping, got {values!r}")
    for name, value in values.items():
        if name not in _FIELDS:
            raise ValueError(f"unknown field {name!r}; known: {', '.join(_FIELDS)}")
        _check(name, value, _FIELDS[name])
    return dict(values)


def _check(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds) or isinstance(value, bool):
        wanted = " or ".join(dict.fromkeys(_WORDS[kind] for kind in kinds))
        hint = " (YAML reads 1e-3 as text: write 0.001)" if kinds[0] is int and isinstance(value, str) else ""
        raise ValueError(f"{name} must be {wanted}, got {value!r}{hint}")
    if isinstance(value, str) and not value.strip():
        raise ValueError(f"{name} must not be empty")


def _claim(own: dict[str, Any], defaults: dict[str, Any], topic: str) -> Claim:
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
    place, where, label = _where(values.pop("where"))
    agreement = _agreement(values.pop("agreement", {}), values)
    if values.get("published") is not None:
        values["published"] = float(values["published"])
    claim = Claim(**values, place=place, where=where, label=label, agreement=agreement)
    _rules(claim, own)
    return claim


def _rules(claim: Claim, own: Mapping[str, Any]) -> None:
    """Check what each kind of claim must and must not say."""
    agreement = claim.agreement
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
        if agreement.has_level:
            raise ValueError("a claim of kind ordering has no level; make it kind value, which may have both")
        return
    if claim.row is None:
        raise ValueError("a claim of kind value needs the field 'row'")
    if "published" not in own:
        raise ValueError("a claim of kind value needs the field 'published': a number, or null if illegible")
    if claim.published is None and agreement.within is not None:
        raise ValueError("within needs a published number, and this one is null")
    if claim.published is not None and not agreement.has_level:
        raise ValueError("a published number needs agreement: within, at_least or at_most")


def _where(values: Mapping[str, Any]) -> tuple[str, str, str | None]:
    places = [name for name in PLACES if name in values]
    if len(places) != 1 or set(values) - {*PLACES, "row"}:
        raise ValueError("where must be one of table, figure or section, and a row if there is one")
    for name, value in values.items():
        _check(f"where.{name}", value, _TEXT)
    return places[0], values[places[0]], values.get("row")


def _agreement(values: Mapping[str, Any], claim: Mapping[str, Any]) -> Agreement:
    for name, value in values.items():
        if name not in ("within", "at_least", "at_most", "order"):
            raise ValueError(f"unknown agreement {name!r}; known: within, at_least, at_most, order")
        _check(f"agreement.{name}", value, (list,) if name == "order" else _NUMBER)
    if values.get("within", 0) < 0:
        raise ValueError(f"within must be at least 0, got {values['within']}")
    for text in values.get("order", ()):
        _check("an ordering", text, _TEXT)
    levels = {name: float(values[name]) for name in ("within", "at_least", "at_most") if name in values}
    return Agreement(**levels, order=tuple(_order(text, claim) for text in values.get("order", ())))


_SIDE = re.compile(r"(?:(?P<experiment>[^\s:@]+/[^\s:@]+):)?(?P<row>[^\s:@]+)?(?:@(?P<metric>[^\s:@]+))?")


def _order(text: str, claim: Mapping[str, Any]) -> Order:
    """Read ``a above b [above c ...] [by 0.05]``."""
    body, _, margin = text.strip().partition(" by ")
    words = body.split()
    relations = words[1::2]
    if len(words) < 3 or len(words) % 2 == 0 or set(relations) - {"above", "below"}:
        raise ValueError(f"an ordering reads 'a above b' or 'a below b by 0.05', got {text!r}")
    try:
        by = float(margin) if margin else 0.0
    except ValueError:
        by = -1.0
    if not 0 <= by < float("inf"):
        raise ValueError(f"after 'by' stands a number of at least 0, got {margin!r}")
    sides = [_side(word, claim) for word in words[0::2]]
    pairs = tuple(
        (left, right) if relation == "above" else (right, left)
        for left, relation, right in zip(sides, relations, sides[1:], strict=False)
    )
    if any(high == low for high, low in pairs):
        raise ValueError(f"an ordering compares two different things, got {text!r}")
    return Order(text=" ".join(text.split()), pairs=pairs, by=by)


def _side(word: str, claim: Mapping[str, Any]) -> Side:
    match = _SIDE.fullmatch(word)
    parts = match.groupdict() if match else {}
    found = {name: str(parts.get(name) or claim.get(name) or "") for name in ("experiment", "row", "metric")}
    if not any(parts.values()) or "" in found.values():
        raise ValueError(f"a side of an ordering is [experiment:]row[@metric], got {word!r}")
    return Side(**found)


# Verdicts ---------------------------------------------------------------------------------------------------


def verdicts(
    topic: str | None = None, *, records: Path | str | None = None, claims: Iterable[Claim] | None = None
) -> list[Verdict]:
    """Return the verdict on every claim of one topic or of all.

    Parameters
    ----------
    topic
        Only this topic.
    records
        Folder of records; the usual one if None.
    claims
        These claims instead of those of the topics' files.

    Raises
    ------
    DataError
        If a claim names an experiment, a row or data that its topic does not have.
    """
    from reasonlib.tracking.experiment import topics

    if claims is None:
        claims = [claim for name in (topics() if topic is None else [topic]) for claim in load(name)]
    known: dict[str, list[Group]] = {}
    return [_verdict(claim, known, records) for claim in claims]


def _groups(
    side: Side, claim: Claim, known: dict[str, list[Group]], records: Path | str | None
) -> list[Group]:
    """Return the groups of records that may answer for one side, best first."""
    from reasonlib.tracking.experiment import find

    try:
        experiment = find(side.experiment)
    except UserError as error:
        raise DataError(f"claims.yaml of {claim.topic}: claim {claim.id}: {error}") from error
    for what, name, names in (("row", side.row, experiment.rows), ("data", claim.data, experiment.data)):
        if name is not None and name not in names:
            raise DataError(
                f"claims.yaml of {claim.topic}: claim {claim.id}: {side.experiment} has no {what} {name!r}; "
                f"it has: {', '.join(names)}"
            )
    if side.experiment not in known:
        known[side.experiment] = _records.groups(experiment, records=records)
    return [
        group
        for group in known[side.experiment]
        if group.row == side.row and group.scale != "smoke" and claim.data in (None, group.data.name)
    ]


def evidence(
    claim: Claim, groups: Mapping[Side, Sequence[Group]]
) -> tuple[dict[Side, Group] | None, str | None]:
    """Choose the records that answer a claim: for every side a group, all at one scale on one data set.

    Like is compared with like. Among the scales and data on which every side was measured, fresh records come
    before stale ones, then ``paper`` before ``quick``, then the data the source used before other data, then
    real before simulated data.

    Returns
    -------
    tuple
        The group of each side and None; or None and why there is none.
    """
    tables: dict[Side, dict[tuple[str, str], Group]] = {}
    for side in claim.sides:
        found = list(groups[side])
        if not found:
            return None, f"no run of {side.experiment}, row {side.row}"
        tables[side] = {(g.scale, g.data.name): g for g in found if g.summary(side.metric) is not None}
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
            chosen[0].data.kind != "real",
        )

    best = min(common, key=preference)  # of equals the first: the experiment's own order of data
    return {side: table[best] for side, table in tables.items()}, None


def _verdict(claim: Claim, known: dict[str, list[Group]], records: Path | str | None) -> Verdict:
    agreement = claim.agreement
    unmeasured = (None,) * len(agreement.order)
    if claim.kind == "published-only":
        return Verdict(
            claim=claim, verdict="not run", notes=("published only: no experiment here measures it",)
        )
    groups = {side: _groups(side, claim, known, records) for side in claim.sides}
    chosen, gap = evidence(claim, groups)
    own = claim.side
    if chosen is None:
        notes: tuple[str, ...] = () if gap is None else (gap,)
        alone = next((g for g in groups[own] if g.summary(own.metric) is not None), None) if own else None
        if own is None or alone is None:
            return Verdict(claim=claim, verdict="not run", orders=unmeasured, notes=notes)
        summary = alone.summary(own.metric)
        assert summary is not None
        return Verdict(
            claim=claim,
            verdict="not run",
            ours=summary,
            sides={own: summary},
            orders=unmeasured,
            **_described([alone]),
            notes=(*notes, *_notes([alone])),
        )
    sides: dict[Side, Summary] = {}
    for side, group in chosen.items():
        summary = group.summary(side.metric)
        assert summary is not None
        sides[side] = summary
    means = {side: summary.mean for side, summary in sides.items()}
    used = list(chosen.values())
    level = agreement.level_holds(means[own], claim.published) if own and agreement.has_level else None
    orders = tuple(order.holds(means) for order in agreement.order)
    own_data = claim.made_on is None or all(g.data.name == claim.made_on for g in used)
    full = own_data and all(g.scale == "paper" and g.data.kind == "real" and g.complete for g in used)
    notes = _notes(used)
    if level is None and not orders:
        notes = ("no published number could be read: nothing to compare with", *notes)
    elif level is False and all(orders) and orders:
        notes = ("the ordering holds, the level does not", *notes)
    broken = [order.text for order, holds in zip(agreement.order, orders, strict=True) if not holds]
    if broken:
        notes = (f"does not hold: {', '.join(broken)}", *notes)
    verdict = judge(level=level, order=all(orders) if orders else None, full=full)
    if verdict == "not run" and (level is not None or orders):
        notes = ("fails at this setting; the source's own, run to its end on real data, would decide", *notes)
    return Verdict(
        claim=claim,
        verdict=verdict,
        ours=sides[own] if own else None,
        sides=sides,
        level=level,
        orders=orders,
        **_described(used),
        notes=notes,
    )


def _described(used: Sequence[Group]) -> dict[str, Any]:
    """Return the fields of a verdict that say where its evidence comes from."""
    return {
        "scale": used[0].scale,
        "data": used[0].data.name,
        "kind": used[0].data.kind,
        "records": tuple(
            dict.fromkeys(record.where for group in used for record in group.records if record.where)
        ),
        "stale": next((group.stale for group in used if group.stale), None),
    }


def _notes(used: Sequence[Group]) -> tuple[str, ...]:
    notes = []
    cut = [record.steps for group in used for record in group.records if not record.steps.complete]
    if cut:
        least = min(steps.done / max(steps.planned, 1) for steps in cut)
        notes.append(f"stopped by its time budget after {least:.0%} of the planned steps")
    notes += dict.fromkeys(f"stale: {group.stale}" for group in used if group.stale)
    return tuple(notes)


# Showing ----------------------------------------------------------------------------------------------------


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
    return [verdict.to_json() for verdict in _select(name, table, figure, section, ids, records)]


def _select(
    name: str | None,
    table: str | None,
    figure: str | None,
    section: str | None,
    ids: Iterable[str] | None,
    records: Path | str | None,
) -> list[Verdict]:
    from reasonlib.tracking.experiment import topics

    wanted = None if ids is None else list(ids)
    topic = None if name is None else name.partition("/")[0]
    claims = [claim for one in (topics() if topic is None else [topic]) for claim in load(one)]
    if name is not None and "/" in name:
        claims = [claim for claim in claims if name in {side.experiment for side in claim.sides}]
    for place, where in (("table", table), ("figure", figure), ("section", section)):
        if where is None:
            continue
        there = list(dict.fromkeys(claim.where for claim in claims if claim.place == place))
        if where not in there:
            raise UserError(f"no claim is from {place} {where!r}; there are: {', '.join(there) or 'none'}")
        claims = [claim for claim in claims if (claim.place, claim.where) == (place, where)]
    if wanted is not None:
        by_id = {claim.id: claim for claim in claims}
        if missing := [one for one in wanted if one not in by_id]:
            raise UserError(f"there is no claim {missing[0]!r}; there are: {', '.join(by_id) or 'none'}")
        claims = [by_id[one] for one in wanted]
    if not claims and name is not None and "/" in name:
        raise UserError(f"no claim asks for {name!r}; see: reasonlib claims")
    return verdicts(records=records, claims=claims)


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


@dataclass(frozen=True, kw_only=True)
class Board:
    """A table of verdicts that a notebook, a page and a terminal can show.

    Attributes
    ----------
    rows
        The dicts of `table`.
    caption
        What the table is.
    """

    rows: tuple[dict[str, Any], ...]
    caption: str

    HEADINGS = ("What", "Metric", "Published", "Measured here", "Run", "Verdict")

    def cells(self) -> list[tuple[str, str, str, str, str, str]]:
        """Return the text of each cell, under `HEADINGS`."""
        return [_cells(row) for row in self.rows]

    def notes(self) -> list[str]:
        """Return what must be said of single rows: reasons of contradicted claims, stale or partial runs."""
        return [f"{_title(row)}: {'; '.join(said)}." for row in self.rows if (said := _said(row))]

    def _repr_html_(self) -> str:
        """Return an accessible table that takes its colours from the page."""
        line = "border-bottom: 1px solid currentColor; padding: 0.25em 0.6em; vertical-align: top;"
        head = "".join(
            f'<th scope="col" style="{line} text-align: {_align(index)};">{html.escape(name)}</th>'
            for index, name in enumerate(self.HEADINGS)
        )
        body = []
        for row, cells in zip(self.rows, self.cells(), strict=True):
            word = row["verdict"].replace(" ", "-")
            plain = f"{line} text-align: left; font-weight: inherit; min-width: min(11em, 45vw);"
            columns = [f'<th scope="row" style="{plain}">{html.escape(cells[0])}</th>']
            columns += [
                f'<td style="{line} text-align: {_align(index)};">{html.escape(text)}</td>'
                for index, text in enumerate(cells[1:-1], start=1)
            ]
            glyph = f'<span class="rr-glyph" aria-hidden="true">{GLYPHS[row["verdict"]]}</span>'
            columns.append(
                f'<td class="rr-verdict rr-{word}" style="{line} text-align: left; white-space: nowrap;">'
                f"{glyph} {row['verdict']}</td>"
            )
            name = html.escape(row["id"])
            body.append(f'<tr class="rr-row rr-{word}" data-claim="{name}">{"".join(columns)}</tr>')
        caption = html.escape(self.caption)
        region = f'role="region" tabindex="0" aria-label="{caption}" style="overflow-x: auto;"'
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes())
        return (
            f'<div class="rr-claims" {region}>'
            '<table class="rr-table" style="color: inherit; background: none; border-collapse: collapse;">'
            f'<caption style="text-align: left; color: inherit;">{caption}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
            + (f'<ul class="rr-notes">{notes}</ul>' if notes else "")
        )

    def _repr_markdown_(self) -> str:
        """Return the same as a Markdown table."""
        rows = [self.HEADINGS, ("---",) * len(self.HEADINGS)]
        rows += [
            (*cells[:-1], f"{GLYPHS[row['verdict']]} {cells[-1]}")
            for row, cells in zip(self.rows, self.cells(), strict=True)
        ]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in rows]
        return "\n".join(
            [f"**{self.caption}**", "", *lines, "", *(f"- {note}" for note in self.notes())]
        ).rstrip()

    def __str__(self) -> str:
        """Return the same as aligned text."""
        rows = [self.HEADINGS, *self.cells()]
        widths = [max(len(row[index]) for row in rows) for index in range(len(self.HEADINGS))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([self.caption, *lines, *self.notes()])


def _align(index: int) -> str:
    return "right" if index in (2, 3) else "left"


def _title(row: Mapping[str, Any]) -> str:
    return row["row"] or row["text"] or row["id"]


def _cells(row: Mapping[str, Any]) -> tuple[str, str, str, str, str, str]:
    ours = row["ours"]
    if ours is None:
        measured = "–"
    else:
        measured = number(ours["mean"], row["unit"])
        if ours["sd"] is not None:
            measured += f" ± {number(ours['sd'], row['unit'])} ({ours['n']} seeds)"
    ran = "–"
    if (data := row["data"]) is not None:
        kind = "" if data["name"] == data["kind"] else f" ({data['kind']})"
        ran = f"{row['scale']}, {data['name']}{kind}"
    unit = f" ({row['unit']})" if row["unit"] else ""
    published = "–" if row["published"] is None else f"{row['published']:g}"
    return (_title(row), f"{row['metric'] or '–'}{unit}", published, measured, ran, row["verdict"])


def _said(row: Mapping[str, Any]) -> list[str]:
    reason = [row["reason"].rstrip(".")] if row["reason"] and row["verdict"] == "contradicted" else []
    return [*reason, *row["notes"]]


def show(
    name: str | None = None,
    *,
    table: str | None = None,
    figure: str | None = None,
    section: str | None = None,
    ids: Iterable[str] | None = None,
    caption: str | None = None,
    records: Path | str | None = None,
) -> Board:
    """Return published against ours as a table for a page, a notebook or a terminal.

    The parameters are those of `table`; `caption` replaces the caption made from the source and its part.
    """
    rows = [v.to_json() for v in _select(name, table, figure, section, ids, records)]
    if caption is None:
        part = table or figure or section or f"Claims of {name or 'every topic'}"
        sources = ", ".join(dict.fromkeys(row["source"] for row in rows))
        caption = f"{part} ({sources}): published and measured here" if rows else f"{part}: none"
    return Board(rows=tuple(rows), caption=caption)
