"""What was published beside what was measured, and the verdict, for pages, notebooks and terminals.

    claims.select -> rows as of `reasonlib claims --json` -> Line -> Findings -> HTML, Markdown, text

`reasonlib.display.claim_line` brings a claim into words; the scoreboard is made of the same lines.
"""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from reasonlib.display import strip
from reasonlib.display.claim_line import GLYPHS, GOAL_WORDS, Line, line
from reasonlib.tracking import claims
from reasonlib.tracking.judging import VERDICTS

__all__ = ["CSS", "Findings", "badge", "cells", "counts", "folded", "show"]

HEADINGS = ("Claim and verdict", "Published and measured")
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
            statement = "<br>".join(filter(None, (item.statement, item.why, *_differs(item))))
            rows.append((statement, "<br>".join(item.numbers()), f"{GLYPHS[item.verdict]} {item.word}"))
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return "\n".join([f"**{self.caption}**", "", *lines])

    def __str__(self) -> str:
        """Return the same as text, a block for each claim."""
        blocks = [self.caption]
        for item in self.lines:
            blocks.append(f"{GLYPHS[item.verdict]} {item.word}: {item.statement}")
            blocks += [f"  {text}" for text in (*item.numbers(), *filter(None, [item.why]), *_differs(item))]
        return "\n".join(blocks)


def show(name: str | None = None, *, caption: str | None = None, **parts: Unpack[claims.Parts]) -> Findings:
    """Return claims of a source with what was measured and the verdicts.

    Metrics and rows are named in the topic's own words, ``METRICS`` and ``ROWS`` of its module
    ``page.labels``. A metric or row whose name means two things stands there as ``experiment@name``. All
    other rows lose their hyphens.

    Parameters
    ----------
    name, **parts
        Which claims, as of `reasonlib.tracking.claims.select`.
    caption
        Instead of the part of the source.

    Raises
    ------
    UserError
        If nothing fits; lists what there is.
    """
    rows = tuple(claims.table(name, **parts))
    source = parts.get("table") or parts.get("figure") or parts.get("section")
    title = caption or source or f"Claims of {name or 'every topic'}"
    return Findings(lines=tuple(map(line, rows)), caption=title, rows=rows)


def cells(item: Line, *, address: str | None = None) -> str:
    """Return the two cells of a line, for a table that has a row of its own for it."""
    statement = html.escape(item.statement)
    if address:
        statement = f'<a href="{html.escape(address)}">{statement}</a>'
    left = f"{statement}<div>{badge(item)}</div>"
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
