"""Statements of a source beside what they were measured by: both sides of every comparison, in words.

`claims.show` sets published numbers beside ours and suits a table. A source that mostly *says* things, such
as that one loss feels outliers more than another, publishes no number; a reader then wants to
see the two measurements that the verdict compares. `show` here does that.
"""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reasonlib.tracking import claims, records
from reasonlib.tracking.claims import GLYPHS, Claim, Side, Verdict
from reasonlib.tracking.experiment import part

__all__ = ["Findings", "Line", "figures", "show", "vocabulary"]

NOTHING = 1e-9  # what is smaller is told as 0
HEADINGS = ("What is said", "What was measured", "Verdict")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One statement, as it is shown.

    Attributes
    ----------
    id
        Of the claim.
    said
        What the source states.
    measured
        For each quantity its name, and below it pairs such as ``("tanh", "0.962 ± 0.006")``.
    origin
        Scale, data and seeds of these numbers; empty where there are none.
    verdict
        As of `reasonlib.tracking.claims`.
    why
        The reason beside a claim that did not hold, and what else a reader should know.
    """

    id: str
    said: str
    measured: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    origin: str
    verdict: str
    why: str

    def numbers(self) -> list[str]:
        """Return what was measured, a text for each quantity and one for where it comes from."""
        told = [
            f"{phrase}: " + ", ".join(" ".join(filter(None, pair)) for pair in pairs)
            for phrase, pairs in self.measured
        ]
        return [*told, f"({self.origin})"] if self.origin else told or ["–"]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Statements and verdicts that a page, a notebook and a terminal can show."""

    lines: tuple[Line, ...]
    caption: str

    def _repr_html_(self) -> str:
        """Return an accessible table that takes its colours from the page."""
        rule = "border-bottom: 1px solid currentColor; padding: 0.4em 0.5em; vertical-align: top;"
        left = f"{rule} text-align: left; white-space: normal; font-weight:"
        heads = (f"{HEADINGS[0]}, and the verdict", HEADINGS[1])  # two columns: a telephone shows both
        head = "".join(f'<th scope="col" style="{left} 650;">{name}</th>' for name in heads)
        body = []
        for line in self.lines:
            word = line.verdict.replace(" ", "-")
            glyph = f'<span class="rr-glyph" aria-hidden="true">{GLYPHS[line.verdict]}</span>'
            said = f'{html.escape(line.said)}<div class="rr-verdict rr-{word}">{glyph} {line.verdict}</div>'
            if line.why:
                said += f'<div style="font-size: 0.9em;">{html.escape(line.why)}</div>'
            body.append(
                f'<tr class="rr-row rr-{word}" data-claim="{html.escape(line.id)}">'
                f'<th scope="row" style="{left} inherit; width: 50%;">{said}</th>'
                f'<td style="{left} inherit;">{_pairs(line)}</td></tr>'
            )
        caption = html.escape(self.caption)
        return (
            f'<div class="rr-claims" role="region" tabindex="0" aria-label="{caption}" '
            'style="overflow-x: auto;">'
            '<table class="rr-table" style="color: inherit; background: none; border-collapse: collapse; '
            'width: 100%; font-size: 0.93em;">'
            f'<caption style="text-align: left; color: inherit;">{caption}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
        )

    def _repr_markdown_(self) -> str:
        """Return the same as a Markdown table."""
        rows = [HEADINGS, ("---",) * len(HEADINGS)]
        for line in self.lines:
            said = "<br>".join(filter(None, (line.said, line.why)))
            rows.append((said, "<br>".join(line.numbers()), f"{GLYPHS[line.verdict]} {line.verdict}"))
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return "\n".join([f"**{self.caption}**", "", *lines])

    def __str__(self) -> str:
        """Return the same as text, a block for each statement."""
        blocks = [self.caption]
        for line in self.lines:
            blocks.append(f"{GLYPHS[line.verdict]} {line.verdict}: {line.said}")
            blocks += [f"  {one}" for one in (*line.numbers(), *filter(None, [line.why]))]
        return "\n".join(blocks)


def _pairs(line: Line) -> str:
    """Set numbers under each other, their names to the left."""
    parts = []
    for phrase, pairs in line.measured:
        parts.append(f"<div>{html.escape(phrase)}</div>")
        parts += [
            '<div style="display: flex; flex-wrap: wrap; justify-content: space-between; column-gap: 0.8em;">'
            f"<span>{html.escape(name)}</span>"
            f'<span style="font-variant-numeric: tabular-nums; white-space: nowrap;">{number}</span></div>'
            for name, number in pairs
        ]
    if line.origin:
        parts.append(f'<div style="font-size: 0.85em;">{html.escape(line.origin)}</div>')
    return "".join(parts) or "–"


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


def show(
    name: str,
    *,
    table: str | None = None,
    figure: str | None = None,
    section: str | None = None,
    ids: Iterable[str] | None = None,
    caption: str | None = None,
    folder: Path | str | None = None,
) -> Findings:
    """Return statements of a source with what was measured on each side of them.

    Metrics and rows are told in the topic's own words, ``METRICS`` and ``ROWS`` of its module ``words``. A
    metric whose name means two things stands there as ``experiment word@metric``. All other rows lose their
    hyphens.

    Parameters
    ----------
    name, table, figure, section, ids
        Which claims, as of `reasonlib.tracking.claims.table`.
    caption
        Instead of the part of the source.
    folder
        Of the records; the usual one if None.

    Raises
    ------
    UserError
        If nothing fits; lists what there is.
    """
    wanted = claims.table(name, table=table, figure=figure, section=section, ids=ids, records=folder)
    topic = name.partition("/")[0]
    known = {claim.id: claim for claim in claims.load(topic)}
    verdicts = claims.verdicts(records=folder, claims=[known[row["id"]] for row in wanted])
    words, names = vocabulary(topic)
    return Findings(
        lines=tuple(_line(verdict, words, names) for verdict in verdicts),
        caption=caption or table or figure or section or f"Claims of {name}",
    )


def vocabulary(topic: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return what a topic calls its metrics and its rows; empty for one without a module ``words``."""
    own = part(topic, "page.labels")
    return ({}, {}) if own is None else (own.METRICS, own.ROWS)


def _line(verdict: Verdict, words: Mapping[str, str], names: Mapping[str, str]) -> Line:
    claim = verdict.claim
    found = verdict.sides
    alike: dict[str, list[Side]] = {}
    for side in found:
        word = side.experiment.partition("/")[2]
        phrase = words.get(f"{word}@{side.metric}") or words.get(side.metric) or side.metric.replace("_", " ")
        alike.setdefault(phrase, []).append(side)
    measured = []
    for phrase, sides in alike.items():
        pairs = [
            (names.get(side.row, side.row.replace("-", " ")), text + _spread(found[side]))
            for side, text in zip(sides, figures([found[side].mean for side in sides]), strict=True)
        ]
        measured.append((phrase, tuple(pairs)))
    if measured and (asked := _asked(claim)):
        phrase, pairs_told = measured[0]
        measured[0] = (phrase, (*pairs_told, asked))
    seeds = max((summary.n for summary in found.values()), default=0)
    kind = " (simulated)" if verdict.kind == "simulated" and verdict.data != "simulated" else ""
    failed = verdict.verdict == "contradicted" or any(n.startswith("fails at") for n in verdict.notes)
    why = [claim.reason] if claim.reason and failed else []
    why += [f"{note[0].upper()}{note[1:]}." for note in verdict.notes if not note.startswith("does not hold")]
    return Line(
        id=claim.id,
        said=claim.text or claim.label or claim.id,
        measured=tuple(measured),
        origin=f"{verdict.scale}, {verdict.data}{kind}, {seeds} seed{'s' * (seeds != 1)}" if found else "",
        verdict=verdict.verdict,
        why=" ".join(why),
    )


def _spread(summary: records.Summary) -> str:
    """Write the standard deviation over seeds, where it is not lost beside the mean."""
    if not summary.sd or summary.sd < max(NOTHING, 1e-3 * abs(summary.mean)):
        return ""
    return f" ± {_figure(summary.sd, 2)}"


def _asked(claim: Claim) -> tuple[str, str] | None:
    """Return what the source published, or the bounds that stand for what it said."""
    if claim.published is not None:
        return "published", f"{claim.published:g}"
    bounds = (("at least", claim.agreement.at_least), ("at most", claim.agreement.at_most))
    told = ", ".join(f"{sense} {value:g}" for sense, value in bounds if value is not None)
    return ("asked for", told.replace("-", "−")) if told else None
