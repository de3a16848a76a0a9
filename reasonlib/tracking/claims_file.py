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
                                    # table, figure or section; row is the source's name of it, optional;
                                    # lines of a work's text: none of a paper that is no topic's work
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
            - d50-n3 not-below d20-n3 by 0.02    # lower by no more than this
        reason: shown beside a verdict that goes against the claim    # optional
        chapter: story_qa/memory    # optional: the page that shows it
        changed: []                 # as of a table
    goals: []                       # what the book set itself: the same fields; never counted as claims

A side of an ordering is ``[experiment:]row[@metric]``; what is left out is the claim's own. ``a above b above
c`` and ``below`` can be written too; ``near`` and ``not-below`` need their ``by``. A value claim compares
with the published number, by the tolerance of its table, or with bounds; an ordering claim has neither; a
published-only claim has no experiment and no agreement: nothing here measures it.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import reasonlib
from reasonlib.arguments import check_choice
from reasonlib.errors import DataError, UserError
from reasonlib.tracking.fields import check_fields, check_value, inside, shorten
from reasonlib.tracking.orderings import parse_order
from reasonlib.tracking.published import (
    BETTER,
    CLAIM_KINDS,
    ENDS,
    PLACES,
    Agreement,
    Change,
    Claim,
    Printed,
    Table,
)

__all__ = ["load", "read"]

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
        raise DataError(f"{file}: must hold a list named claims; see reasonlib.tracking.claims_file")
    try:
        check_fields(
            content, {"sources": (list,), "tables": (Mapping,), "defaults": (Mapping,)} | _LISTS, "the file"
        )
        sources = content.get("sources", [])
        tables = _tables(content.get("tables") or {})
        defaults = check_fields(content.get("defaults") or {}, _FIELDS, "defaults")
        if given := set(defaults) & {"id", "row", "published", "illegible", "text", "reason", "changed"}:
            raise ValueError(f"defaults must not give {sorted(given)[0]!r}: it is different for each claim")
    except ValueError as error:
        raise DataError(f"{file}: {shorten(error)}") from error
    claims: dict[str, Claim] = {}
    for key in _LISTS:
        for values, line in zip(content.get(key) or [], lines[key], strict=True):
            name = values.get("id", "without an id") if isinstance(values, Mapping) else "without an id"
            try:
                own = check_fields(values, _FIELDS, "a claim")
                claim = _claim(own, defaults, topic, tables, sources, goal=key == "goals")
                if claim.id in claims:
                    raise ValueError("the id is used twice")
            except ValueError as error:
                raise DataError(f"{file}:{line}: claim {shorten(name)}: {shorten(error)}") from error
            claims[claim.id] = claim
    used = {claim.locator for claim in claims.values()}
    if unused := [name for name in tables if name not in {*used, "*"}]:
        raise DataError(f"{file}: tables: no claim is from {unused[0]!r}")
    return list(claims.values())


_LISTS: dict[str, tuple[type, ...]] = {"claims": (list,), "goals": (list, type(None))}


def _parse(file: Path) -> tuple[Any, dict[str, list[int]]]:
    """Return the YAML document and the line on which each claim and goal starts."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the first is faster
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


def _tables(content: Mapping[str, Any]) -> dict[str, Table]:
    """Read the tables; what one does not say is taken from ``*``."""
    common = inside("tables: *", lambda values: check_fields(values, _TABLE, "a table"), content.get("*", {}))
    tables = {}
    for name, values in content.items():
        own = inside(f"tables: {name}", lambda values: check_fields(values, _TABLE, "a table"), values)
        tables[name] = inside(f"tables: {name}", _table, {**common, **own})
    return tables


def _table(values: dict[str, Any]) -> Table:
    for metric, number in values.get("tolerance", {}).items():
        check_value(f"tolerance.{metric}", number, _NUMBER)
        if number < 0:
            raise ValueError(f"tolerance.{metric} must be at least 0, got {number}")
    if values.get("tolerance") and "tolerance_reason" not in values:
        raise ValueError("a tolerance needs a tolerance_reason")
    for metric, side in values.get("better", {}).items():
        if side not in BETTER:
            raise ValueError(f"better.{metric} must be one of {', '.join(BETTER)}, got {side!r}")
    if values.get("ends", "planned") not in ENDS:
        raise ValueError(f"ends must be one of {', '.join(ENDS)}, got {values['ends']!r}")
    values["settings"] = tuple(inside("settings", _printed, item) for item in values.get("settings", ()))
    values["changed"] = _changes(values.get("changed", ()))
    return Table(**values)


def _printed(values: Any) -> Printed:
    values = check_fields(values, _PRINTED, "settings")
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
        entry = inside("changed", lambda values: check_fields(values, _CHANGE, "an entry"), entry)
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
    check_choice("kind", kind, CLAIM_KINDS)
    if values["id"].partition("/")[0] != topic or not values["id"].partition("/")[2]:
        raise ValueError(f"the id must start with {topic}/")
    locator = _locator(values.pop("where"))
    agreement = _agreement(values.pop("agreement", {}), values)
    if values.get("published") is not None:
        values["published"] = float(values["published"])
    values["changed"] = _changes(values.get("changed", ()))
    outside = bool(sources) and not goal and not {values["source"], values.get("also")} & set(sources)
    claim = Claim(
        **values,
        **locator,
        agreement=agreement,
        table=tables.get(locator["locator"], tables.get("*", Table())),
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
        raise ValueError(f"tables: {claim.locator}: needs a tolerance for {claim.metric}")


def _locator(values: Mapping[str, Any]) -> dict[str, Any]:
    """Check where in the source a claim stands, and return the fields that say so."""
    places = [name for name in PLACES if name in values]
    if len(places) != 1 or set(values) - {*PLACES, "row", "lines"}:
        raise ValueError("where must be one of table, figure or section, with row and lines if there are any")
    for name, value in values.items():
        check_value(f"where.{name}", value, _TEXT)
    return {
        "locator_kind": places[0],
        "locator": values[places[0]],
        "label": values.get("row"),
        "lines": values.get("lines"),
    }


def _agreement(values: Mapping[str, Any], claim: Mapping[str, Any]) -> Agreement:
    for name, value in values.items():
        if name not in ("at_least", "at_most", "order"):
            raise ValueError(f"unknown agreement {name!r}; known: at_least, at_most, order")
        check_value(f"agreement.{name}", value, (list,) if name == "order" else _NUMBER)
    for text in values.get("order", ()):
        check_value("an ordering", text, _TEXT)
    bounds = {name: float(values[name]) for name in ("at_least", "at_most") if name in values}
    return Agreement(**bounds, order=tuple(parse_order(text, claim) for text in values.get("order", ())))
