"""What was published beside what was measured, and the verdict, for pages, notebooks and terminals.

    claims.select -> rows as of `reasonlib claims --json` -> Line -> Findings -> HTML, Markdown, text

The scoreboard is made of the same lines.
"""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reasonlib.display import strip
from reasonlib.tracking import claims
from reasonlib.tracking.experiment import part
from reasonlib.tracking.judging import VERDICTS
from reasonlib.tracking.published import PLACES

__all__ = [
    "CSS",
    "Findings",
    "Line",
    "badge",
    "cells",
    "counts",
    "figures",
    "folded",
    "line",
    "show",
    "vocabulary",
]

NOTHING = 1e-9  # what is smaller is written as 0
HEADINGS = ("Claim and verdict", "Published and measured")
GLYPHS = {
    "reproduced": "✓",
    "exceeded": "▲",
    "supported": "↗",
    "inconclusive": "≈",
    "challenged": "↘",
    "contradicted": "✗",
    "not run": "○",
}
"""The sign of each verdict, which says without colour what the colour says."""

GOAL_WORDS = {
    "reproduced": "reached",
    "exceeded": "reached",
    "supported": "reached",
    "challenged": "missed",
    "contradicted": "missed",
    "inconclusive": "open",
}
"""What the verdict on a goal of the book is called: a goal is no claim that could be reproduced."""

CSS = (  # what the colours say, a glyph and a word say too
    ".rr-verdict{display:inline-block;border-left:.35rem solid;padding-left:.4rem;white-space:nowrap}"
    ".rr-reproduced{border-color:#009e73}.rr-exceeded{border-color:#cc79a7}"
    ".rr-supported{border-color:#0072b2}.rr-inconclusive{border-color:#8c8c8c}"
    ".rr-challenged{border-color:#e69f00}.rr-contradicted{border-color:#d55e00}"
    ".rr-not-run{border-color:currentColor;border-left-style:dotted}"
    ".rr-findings table{border-collapse:collapse;width:100%;table-layout:fixed;font-size:.93em;"
    "color:inherit;background:none;margin:0;overflow-wrap:anywhere}"
    ".rr-findings caption{caption-side:top;text-align:left;color:inherit;padding:0 0 .4rem}"
    ".rr-findings :is(th,td){border:0;padding:.5rem;text-align:left;vertical-align:top;color:inherit;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent);background:none;"
    "font-weight:400;white-space:normal}"
    ".rr-findings thead th{font-weight:650}"
    ".rr-findings small{display:block;font-size:.88em;color:inherit}"
    ".rr-findings summary{cursor:pointer}.rr-findings summary small{display:inline}"
    ".rr-findings code{white-space:pre-wrap;font-size:.9em;background:none;color:inherit}"
    ".rr-fold>summary{cursor:pointer;padding:.35rem 0;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent)}"
    ".rr-fold>summary>strong{margin-right:.6rem}.rr-fold>.rr-findings{margin:.4rem 0 1.2rem}"
    ".rr-fold>summary:focus-visible{outline:2px solid currentColor;outline-offset:2px}"
    ".rr-counts{display:inline-flex;flex-wrap:wrap;gap:.1rem .9rem;font-size:.9em}"
    ".rr-pair{display:flex;flex-wrap:wrap;justify-content:space-between;column-gap:.8em}"
    ".rr-pair>span+span{font-variant-numeric:tabular-nums;white-space:nowrap;margin-left:auto}"
    "@media(max-width:36rem){.rr-findings :is(table,caption,tbody,tr,th,td){display:block}"
    ".rr-findings thead{position:absolute;clip-path:inset(50%)}"
    ".rr-findings tbody th{border:0;padding-bottom:.1rem}}"
) + strip.CSS


@dataclass(frozen=True, kw_only=True)
class Line:
    """One claim, as it is shown.

    Attributes
    ----------
    id
        Of the claim.
    said
        What the source states.
    locator
        Where it states it.
    measured
        For each quantity its name, and below it pairs such as ``("tanh", "0.962 ± 0.006")``.
    origin
        Scale, data and runs of these numbers; empty where there are none.
    verdict
        One of `reasonlib.tracking.judging.VERDICTS`.
    goal
        Whether it is a goal of the book and no claim of a source.
    why
        The reason beside a claim that did not hold, and what else a reader should know.
    conditions
        How our runs differ from the source's.
    changed
        What was changed of the claim after results existed.
    command
        What to run to settle it; empty where running would not help.
    picture
        The strip; empty where nothing was measured.
    """

    id: str
    said: str
    locator: str = ""
    measured: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    origin: str = ""
    verdict: str
    goal: bool = False
    why: str = ""
    conditions: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    command: str = ""
    picture: str = ""

    @property
    def word(self) -> str:
        """The verdict as it is called here."""
        return GOAL_WORDS.get(self.verdict, self.verdict) if self.goal else self.verdict

    def numbers(self) -> list[str]:
        """Return what was measured, a text for each quantity and one for where it comes from."""
        texts = [
            f"{phrase}: " + ", ".join(" ".join(filter(None, pair)) for pair in pairs)
            for phrase, pairs in self.measured
        ]
        return [*texts, f"({self.origin})"] if self.origin else texts or ["–"]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Claims and verdicts that a page, a notebook and a terminal can show."""

    lines: tuple[Line, ...]
    caption: str
    rows: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    def _repr_html_(self) -> str:
        """Return an accessible table that takes its colours from the page."""
        head = "".join(f'<th scope="col">{name}</th>' for name in HEADINGS)
        body = "".join(
            f'<tr class="rr-row" data-claim="{html.escape(item.id)}">{cells(item)}</tr>'
            for item in self.lines
        )
        caption = html.escape(self.caption)
        return (
            f'<style>{CSS}</style><div class="rr-claims rr-findings" role="region" tabindex="0" '
            f'aria-label="{caption}"><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def _repr_markdown_(self) -> str:
        """Return the same as a Markdown table."""
        rows: list[Sequence[str]] = [("Claim", "Measured", "Verdict"), ("---",) * 3]
        for item in self.lines:
            said = "<br>".join(filter(None, (item.said, item.why, *_differs(item))))
            rows.append((said, "<br>".join(item.numbers()), f"{GLYPHS[item.verdict]} {item.word}"))
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return "\n".join([f"**{self.caption}**", "", *lines])

    def __str__(self) -> str:
        """Return the same as text, a block for each claim."""
        blocks = [self.caption]
        for item in self.lines:
            blocks.append(f"{GLYPHS[item.verdict]} {item.word}: {item.said}")
            blocks += [f"  {text}" for text in (*item.numbers(), *filter(None, [item.why]), *_differs(item))]
        return "\n".join(blocks)


def show(
    name: str | None = None,
    *,
    table: str | None = None,
    figure: str | None = None,
    section: str | None = None,
    ids: Iterable[str] | None = None,
    caption: str | None = None,
    folder: Path | str | None = None,
) -> Findings:
    """Return claims of a source with what was measured and the verdicts.

    Metrics and rows are named in the topic's own words, ``METRICS`` and ``ROWS`` of its module
    ``page.labels``. A metric or row whose name means two things stands there as ``experiment@name``. All
    other rows lose their hyphens.

    Parameters
    ----------
    name, table, figure, section, ids
        Which claims, as of `reasonlib.tracking.claims.select`.
    caption
        Instead of the part of the source.
    folder
        Of the records; the usual one if None.

    Raises
    ------
    UserError
        If nothing fits; lists what there is.
    """
    chosen = claims.select(name, table=table, figure=figure, section=section, ids=ids, records=folder)
    rows = tuple(verdict.to_json() for verdict in chosen)
    title = caption or table or figure or section or f"Claims of {name or 'every topic'}"
    return Findings(lines=tuple(map(line, rows)), caption=title, rows=rows)


def vocabulary(topic: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return what a topic calls its metrics and its rows; empty for one without ``page.labels``."""
    own = part(topic, "page.labels")
    return ({}, {}) if own is None else (own.METRICS, own.ROWS)


def line(row: Mapping[str, Any], *, command: str = "") -> Line:
    """Bring a claim, as ``reasonlib claims --json`` has it, into words and numbers."""
    topic = str(row.get("topic") or str(row["id"]).partition("/")[0])
    words, names = vocabulary(topic) if row.get("sides") else ({}, {})
    sides = row.get("sides") or ()
    alike: dict[str, list[Mapping[str, Any]]] = {}
    for side in sides:
        experiment = side["experiment"].partition("/")[2]
        metric = side["metric"]
        phrase = words.get(f"{experiment}@{metric}") or words.get(metric) or metric.replace("_", " ")
        alike.setdefault(phrase, []).append(side)
    measured = []
    for phrase, members in alike.items():
        texts = figures([side["mean"] for side in members])
        pairs = [
            (_row_name(names, experiment, side["row"]), text + _spread(side))
            for side, text in zip(members, texts, strict=True)
        ]
        measured.append((phrase, tuple(pairs)))
    asked = _asked(row)
    if asked and measured:
        measured[0] = (measured[0][0], (*measured[0][1], asked))
    elif asked:
        measured = [(str(row.get("metric") or row.get("unit") or "").replace("_", " "), (asked,))]
    against = row["verdict"] in ("contradicted", "challenged", "exceeded")
    reason = [str(row["reason"])] if row.get("reason") and (against or row.get("illegible")) else []
    notes = [f"{note[0].upper()}{note[1:]}." for note in row.get("notes") or ()]
    return Line(
        id=str(row["id"]),
        said=str(row.get("text") or row.get("row") or row["id"]),
        locator=_locator(row),
        measured=tuple(measured),
        origin=_origin(row),
        verdict=row["verdict"],
        goal=bool(row.get("goal")),
        why=" ".join(dict.fromkeys([*reason, *notes])),
        conditions=tuple(_condition(one) for one in row.get("conditions") or ()),
        changed=tuple(
            f"{one['date']}: from {one['from']}, to {one['to']}; {one['why']}"
            for one in row.get("changed") or ()
        ),
        command=command,
        picture=strip.draw(row),
    )


def cells(item: Line, *, address: str | None = None) -> str:
    """Return the two cells of a line, for a table that has a row of its own for it."""
    said = html.escape(item.said)
    if address:
        said = f'<a href="{html.escape(address)}">{said}</a>'
    left = f"{said}<div>{badge(item)}</div>"
    left += _small([item.locator, item.why])
    left += _folded("what differs from the source", item.conditions)
    left += _folded("changed after results existed", item.changed)
    if item.command:
        left += "<details><summary><small>what would decide it</small></summary>"
        left += f"<code>{html.escape(item.command)}</code></details>"
    right = item.picture
    for phrase, pairs in item.measured:
        right += f"<div>{html.escape(phrase)}</div>" + "".join(
            f'<div class="rr-pair"><span>{html.escape(name)}</span><span>{html.escape(number)}</span></div>'
            for name, number in pairs
        )
    right += _small([item.origin])
    return f'<th scope="row">{left}</th><td>{right or "–"}</td>'


def badge(item: Line) -> str:
    """Return the verdict as a glyph, a word and a colour."""
    slug = item.verdict.replace(" ", "-")
    glyph = f'<span class="rr-glyph" aria-hidden="true">{GLYPHS[item.verdict]}</span>'
    return f'<span class="rr-verdict rr-{slug}">{glyph} {item.word}</span>'


def counts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how many claims have each verdict, as HTML for the line that opens them."""
    words = [row["verdict"] for row in rows]
    spans = "".join(
        f'<span class="rr-verdict rr-{word.replace(" ", "-")}">'
        f'<span aria-hidden="true">{GLYPHS[word]}</span> '
        f"{GOAL_WORDS.get(word, word) if rows[0].get('goal') else word}: {words.count(word)}</span>"
        for word in VERDICTS
        if word in words
    )
    return f'<span class="rr-counts">{spans}</span>'


def folded(rows: Sequence[Mapping[str, Any]], caption: str, *, opened: bool = False) -> str:
    """Return claims as an HTML table behind a line that counts their verdicts and opens it.

    Parameters
    ----------
    rows
        Claims, all of a source or all goals, as ``reasonlib claims --json`` has them.
    caption
        Of the table.
    opened
        Whether the table is open from the start.
    """
    kind = "goal" if rows[0].get("goal") else "claim"
    number = f"{len(rows)} {kind}{'s' * (len(rows) != 1)}"
    table = Findings(lines=tuple(map(line, rows)), caption=caption)._repr_html_()
    return (
        f'<details class="rr-fold"{" open" * opened}><summary><strong>{number}</strong>'
        f"{counts(rows)}</summary>{table}</details>"
    )


def figures(values: Sequence[float], digits: int = 3) -> list[str]:
    """Write numbers so that those that differ look different: as few digits as that takes.

    >>> figures([0.9037, 0.9045, 0.9055]), figures([500.0, 32.0]), figures([1e-12, 0.000264])
    (['0.9037', '0.9045', '0.9055'], ['500', '32'], ['0', '0.000264'])
    """
    if all(value == int(value) and abs(value) >= 1 for value in values):
        return [f"{value:,.0f}".replace("-", "−") for value in values]
    while True:
        texts = [_figure(value, digits) for value in values]
        if digits >= 6 or len(set(texts)) == len({round(value, 12) for value in values}):
            return texts
        digits += 1


def _figure(value: float, digits: int) -> str:
    if abs(value) < NOTHING:
        return "0"
    if abs(value) < 1e-4:
        return f"{value:.1e}".replace("-", "−")
    if abs(value) >= 10**digits:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:#.{digits}g}".rstrip(".").replace("-", "−")


def _row_name(names: Mapping[str, str], experiment: str, row: str) -> str:
    return names.get(f"{experiment}@{row}") or names.get(row, row.replace("-", " "))


def _spread(side: Mapping[str, Any]) -> str:
    """Write the standard deviation over runs, where it is not lost beside the mean."""
    sd = side.get("sd")
    if not sd or sd < max(NOTHING, 1e-3 * abs(side["mean"])):
        return ""
    return f" ± {_figure(sd, 2)}"


def _asked(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what the source published, or the bounds that stand for what it said."""
    agreement = row.get("agreement") or {}
    bounds = (("at least", agreement.get("at_least")), ("at most", agreement.get("at_most")))
    text = ", ".join(f"{sense} {value:g}" for sense, value in bounds if value is not None)
    if row.get("published") is not None and not row.get("goal"):
        return "published", f"{row['published']:g}"
    if row.get("illegible"):
        return "published", "illegible"
    return ("asked for", text.replace("-", "−")) if text else None


def _origin(row: Mapping[str, Any]) -> str:
    data, sides = row.get("data") or {}, row.get("sides") or ()
    if not sides:
        return ""
    name, kind = data.get("name"), data.get("kind")
    counts = sorted({side["n"] for side in sides})
    runs = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    runs += " run" if counts == [1] else " runs"
    if row.get("deterministic"):
        runs = "the same in every run"
    return f"{row.get('scale')}, {name}{'' if name == kind else f' ({kind})'}, {runs}"


def _condition(condition: Mapping[str, Any]) -> str:
    from reasonlib.tracking.conditions import Condition

    return str(Condition(**condition))


def _locator(row: Mapping[str, Any]) -> str:
    """Say where the source makes the claim; empty for a goal, which is the book's own."""
    if row.get("goal"):
        return ""
    kind = next((kind for kind in PLACES if row.get(kind)), None)
    locator = str(row[kind]) if kind else ""
    if locator and not locator.lower().startswith(f"{kind} ") and locator[0].isdigit():
        locator = f"{kind} {locator}"
    label = (
        str(row["row"]) if row.get("row") and row.get("row") != (row.get("text") or row.get("row")) else ""
    )
    lines = str(row.get("lines") or "")
    if lines[:1].isdigit():
        lines = f"{'line' if lines.isdigit() else 'lines'} {lines}"
    outside = "another paper's" if row.get("outside") else ""
    return "; ".join(part for part in (locator, label, lines, outside) if part)


def _differs(item: Line) -> list[str]:
    return [f"differs: {'; '.join(item.conditions)}"] if item.conditions else []


def _small(texts: Iterable[str]) -> str:
    return "".join(f"<small>{html.escape(text)}</small>" for text in texts if text)


def _folded(title: str, texts: Sequence[str]) -> str:
    if not texts:
        return ""
    count = f"{title} ({len(texts)})" if len(texts) > 1 else title
    items = "".join(f"<small>{html.escape(text)}</small>" for text in texts)
    return f"<details><summary><small>{count}</small></summary>{items}</details>"
