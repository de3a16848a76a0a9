"""What our records say to what the sources claim.

::

    claims.yaml -> claims_file.load -> Claim --+
                                               +--> evidence -> judging -> Verdict -> display
    records/*/*.jsonl -> records.groups -------+

`evidence` chooses the records that answer, `conditions.differences` says how their runs differ from the
source's, and `reasonlib.tracking.judging` holds the judging.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from reasonlib.errors import UserError
from reasonlib.tracking import judging
from reasonlib.tracking.claims_file import load
from reasonlib.tracking.comparisons import Reader, evidence
from reasonlib.tracking.published import PLACES, Claim, Side
from reasonlib.tracking.significance import Comparison
from reasonlib.tracking.verdict import Verdict

__all__ = [
    "Claim",
    "Parts",
    "Side",
    "Verdict",
    "evidence",
    "load",
    "number",
    "select",
    "table",
    "verdicts",
]


def verdicts(
    topic: str | None = None, *, records: Path | str | None = None, claims: Iterable[Claim] | None = None
) -> list[Verdict]:
    """Return the verdict on every claim and goal of one topic or of all.

    Parameters
    ----------
    topic
        Name of a topic; every topic if None.
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
    reader = Reader(records)
    measured = [reader.measured(claim) for claim in claims]
    families: dict[tuple, list[int]] = {}
    for index, verdict in enumerate(measured):
        families.setdefault(verdict.claim.family, []).append(index)
    adjusted: dict[int, float | None] = {}
    for members in families.values():
        values = judging.holm([judging.p_value(measured[index].comparisons) for index in members])
        adjusted |= dict(zip(members, values, strict=True))
    return [_judged(verdict, adjusted[index]) for index, verdict in enumerate(measured)]


def _judged(measured: Verdict, adjusted: float | None) -> Verdict:
    """Give the verdict and say what a reader should know of it."""
    parts = measured.comparisons
    word = judging.judge(parts, same_conditions=not measured.conditions, adjusted=adjusted)
    notes = list(measured.notes)
    if word == "inconclusive":
        notes.insert(0, judging.doubt(parts))
    if word == "challenged" and (level := next((p for p in parts if p.kind == "level"), None)):
        if not level.holds:
            notes.insert(0, f"{_side(measured, level)} published")
    return replace(measured, verdict=word, adjusted=adjusted, notes=tuple(notes))


def _side(measured: Verdict, level: Comparison) -> str:
    """Say on which side of the published number ours lies; neither side of some metrics is the better one."""
    claim = measured.claim
    if claim.side is None or claim.published is None or claim.table.better_of(claim.side.metric) != "neither":
        return "better than" if level.better else "worse than"
    return "above the number" if level.estimate > claim.published else "below the number"


class Parts(TypedDict, total=False):
    """Which claims, and which records answer them; all of it may be left out.

    Attributes
    ----------
    table, figure, section
        Only the claims of this part of the source.
    ids
        Only these claims, in this order.
    records
        Folder of records; the usual one if None.
    """

    table: str | None
    figure: str | None
    section: str | None
    ids: Iterable[str] | None
    records: Path | str | None


def table(name: str | None = None, **parts: Unpack[Parts]) -> list[dict[str, Any]]:
    """Return published against ours, a dict for each claim with the keys of ``reasonlib claims --json``.

    The parameters are those of `select`.
    """
    return [verdict.to_json() for verdict in select(name, **parts)]


def select(name: str | None = None, **parts: Unpack[Parts]) -> list[Verdict]:
    """Return the verdicts on some claims; corrections are those of their whole tables.

    Parameters
    ----------
    name
        A topic, or an experiment (``topic/word``); every topic if None.
    **parts
        See `Parts`.

    Raises
    ------
    UserError
        If nothing fits; lists what there is.
    """
    from reasonlib.tracking.experiment import topics

    ids = parts.get("ids")
    selected = None if ids is None else list(ids)
    topic = None if name is None else name.partition("/")[0]
    everything = [
        claim for topic_name in (topics() if topic is None else [topic]) for claim in load(topic_name)
    ]
    claims = everything
    if name is not None and "/" in name:
        claims = [claim for claim in claims if name in {side.experiment for side in claim.sides}]
    for kind in PLACES:
        if (part := parts.get(kind)) is None:
            continue
        locators = list(dict.fromkeys(claim.locator for claim in claims if claim.locator_kind == kind))
        if part not in locators:
            raise UserError(f"no claim is from {kind} {part!r}; there are: {', '.join(locators) or 'none'}")
        claims = [claim for claim in claims if (claim.locator_kind, claim.locator) == (kind, part)]
    if selected is not None:
        by_id = {claim.id: claim for claim in claims}
        if missing := [key for key in selected if key not in by_id]:
            raise UserError(f"there is no claim {missing[0]!r}; there are: {', '.join(by_id) or 'none'}")
        claims = [by_id[key] for key in selected]
    if not claims and name is not None and "/" in name:
        raise UserError(f"no claim asks for {name!r}; see: reasonlib claims")
    families = {claim.family for claim in claims}
    whole = verdicts(
        records=parts.get("records"), claims=[claim for claim in everything if claim.family in families]
    )
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
