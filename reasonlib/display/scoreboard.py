"""The scoreboard: every claim of every source with its verdict, grouped and closed until it is opened.

    verdicts -> sources -> topics -> tables, figures, sections -> lines of `reasonlib.display.claim_line`

Every group is a `details` element, so that it opens without scripts. A small script adds filters where
scripts run, also from a file on disk; without it nothing is missing but these.
"""

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reasonlib.display import findings
from reasonlib.display.claim_line import line
from reasonlib.display.plotting import Picture
from reasonlib.tracking import settle
from reasonlib.tracking.claims import Verdict
from reasonlib.tracking.judging import VERDICTS
from reasonlib.tracking.published import PLACES

__all__ = ["render"]

OTHERS, GOALS = "Other papers", "Goals of the book"

CSS = (
    findings.CSS
    + """
.rr-board details details[data-group]{margin-left:1rem}
.rr-board [hidden]{display:none}
.rr-board tr:target{outline:2px solid currentColor}
.rr-bar{display:flex;height:.6rem;overflow:hidden;margin:.3rem 0}
.rr-bar i{border-style:solid;border-width:.6rem 0 0}
.rr-bar i.rr-not-run{border-top-style:dotted}
.rr-controls{display:flex;flex-wrap:wrap;gap:.5rem .8rem;align-items:end;margin:1rem 0}
.rr-controls label{display:flex;flex-direction:column;font-size:.85em;margin:0;color:inherit}
.rr-controls :is(input,select,button){font:inherit;font-size:1rem;color:inherit;background:transparent;
border:1px solid currentColor;border-radius:.3rem;padding:.25rem .5rem;min-height:2.2rem;max-width:100%}
.rr-controls option{color:#222;background:#fff}
.rr-controls output{flex-basis:100%;font-size:.9em}
.rr-board a{color:inherit;text-decoration:underline}
.rr-board :is(button,a,input,select,summary):focus-visible{outline:2px solid currentColor;outline-offset:2px}
"""
)
SCRIPT = """
document.querySelectorAll("[data-rr-board]:not([data-rr-ready])").forEach(board => {
  board.dataset.rrReady = "";
  const form = board.querySelector("form"), count = form.querySelector("output");
  const rows = [...board.querySelectorAll("tbody tr")];
  const groups = [...board.querySelectorAll("details[data-group]")];
  const filter = () => {
    const wanted = [...form.querySelectorAll("select")].filter(select => select.value);
    const words = form.elements.words.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const asked = wanted.length + words.length > 0;
    let shown = 0;
    rows.forEach(row => {
      const text = words.length ? row.textContent.toLowerCase() : "";
      row.hidden = !(wanted.every(select => row.dataset[select.name] === select.value) &&
        words.every(word => text.includes(word)));
      shown += !row.hidden;
    });
    groups.forEach(group => {
      const left = group.querySelector("tbody tr:not([hidden])");
      group.hidden = !left;
      group.open = asked && !!left;
    });
    count.textContent = shown + " of " + rows.length + " shown";
  };
  form.hidden = false;
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  const reveal = () => {
    const row = location.hash && board.querySelector("#" + CSS.escape(location.hash.slice(1)));
    for (let up = row; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    if (row) row.scrollIntoView({block: "center"});
  };
  window.addEventListener("hashchange", reveal);
  filter();
  reveal();
});
"""


def render(
    claims: Iterable[Any], *, address: Callable[[Mapping[str, Any]], str | None] | None = None
) -> Picture:
    """Show every claim with its verdict, grouped by source, topic and table, with filters.

    Parameters
    ----------
    claims
        Verdicts of `claims.verdicts`, or mappings as ``reasonlib claims --json`` prints them. Verdicts also
        show the command that would settle an open claim.
    address
        From a claim to the page its row links to. By default ``<chapter>.html`` for a claim that names its
        ``chapter`` (such as ``story_qa/memory``), seen from the scoreboard's own folder.

    Raises
    ------
    ValueError
        For a claim without an ``id``, or with an unknown verdict.
    """
    rows = [_plain(claim) for claim in claims]
    real = [row for row in rows if not row.get("goal")]
    sources: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=_order):
        sources.setdefault(_heading(row), []).append(row)
    link = address or _chapter
    body = "".join(
        _group(name, _topics(group, link), group, level=0) for name, group in sources.items() if group
    )
    measured = _measurements(real)
    summary = f"{len(real)} claims: {_said(real)}. The verdicts depend on {measured} distinct measurements."
    if len(real) < len(rows):
        summary += f" Goals of the book are not counted among the claims: {len(rows) - len(real)}."
    page = (
        f'<div class="rr rr-board" data-rr-board><p>{_e(summary)}</p>{_bar(real)}{_form(rows)}{body}</div>'
        f"<script>{SCRIPT}</script>"
    )
    return Picture(page, alt=summary, css=CSS)


def _topics(rows: Sequence[Mapping[str, Any]], link: Callable[[Mapping[str, Any]], str | None]) -> str:
    topics: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        topics.setdefault(str(row.get("topic") or ""), []).append(row)
    parts = []
    for topic, members in topics.items():
        tables: dict[str, list[Mapping[str, Any]]] = {}
        for row in members:
            tables.setdefault(_part(row), []).append(row)
        inner = "".join(
            _group(name, _table(name, group, link), group, level=2) for name, group in tables.items()
        )
        parts.append(inner if len(topics) == 1 else _group(_name(topic), inner, members, level=1))
    return "".join(parts)


def _group(name: str, inner: str, rows: Sequence[Mapping[str, Any]], *, level: int) -> str:
    return (
        f'<details data-group="{level}" class="rr-fold"><summary><strong>{_e(name)}</strong>'
        f"{findings.counts(rows)}</summary>{inner}"
        "</details>"
    )


def _table(
    name: str, rows: Sequence[Mapping[str, Any]], link: Callable[[Mapping[str, Any]], str | None]
) -> str:
    lines = []
    for row in rows:
        item = line(row, command=str(row.get("command") or ""))
        kept = {"verdict": row["verdict"], "topic": row.get("topic"), "source": row.get("source")}
        data = "".join(f' data-{key}="{_e(str(value))}"' for key, value in kept.items() if value)
        inner = findings.cells(item, address=link(row))
        lines.append(f'<tr class="rr-row" id="claim-{_slug(item.id)}"{data}>{inner}</tr>')
    head = "".join(f'<th scope="col">{text}</th>' for text in findings.HEADINGS)
    return (
        f'<div class="rr-findings"><table aria-label="{_e(name)}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _form(rows: Sequence[Mapping[str, Any]]) -> str:
    options = {
        "verdict": [(word, word) for word in VERDICTS if any(row["verdict"] == word for row in rows)],
        "topic": [(value, _name(value)) for value in _values(rows, "topic")],
        "source": [(value, _source(value)) for value in _values(rows, "source")],
    }
    controls = "".join(
        f'<label>{name.capitalize()} <select name="{name}"><option value="">all</option>'
        + "".join(f'<option value="{_e(value)}">{_e(text)}</option>' for value, text in values)
        + "</select></label>"
        for name, values in options.items()
    )
    return (
        '<form class="rr-controls" role="search" aria-label="Filter the claims" hidden>'
        f'<label>Search <input type="search" name="words" autocomplete="off"></label>{controls}'
        '<button type="reset">Show all</button><output aria-live="polite"></output></form>'
    )


def _bar(rows: Sequence[Mapping[str, Any]]) -> str:
    counts = {word: sum(row["verdict"] == word for row in rows) for word in VERDICTS}
    parts = "".join(f'<i class="rr-{_slug(word)}" style="flex:{n}"></i>' for word, n in counts.items() if n)
    return f'<span class="rr-bar" aria-hidden="true">{parts}</span>{findings.counts(rows) if rows else ""}'


def _said(rows: Sequence[Mapping[str, Any]]) -> str:
    counts = {word: sum(row["verdict"] == word for row in rows) for word in VERDICTS}
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def _measurements(rows: Iterable[Mapping[str, Any]]) -> int:
    """Count what was measured: one number that answers five claims is one measurement."""
    return len(
        {
            (
                row.get("scale"),
                (row.get("data") or {}).get("name"),
                frozenset(map(_side, row.get("sides") or ())),
            )
            for row in rows
            if row.get("sides")
        }
    )


def _side(side: Mapping[str, Any]) -> tuple[str, str, str]:
    return side["experiment"], side["row"], side["metric"]


def _plain(claim: Any) -> dict[str, Any]:
    row = dict(claim) if isinstance(claim, Mapping) else dict(claim.to_json())
    if isinstance(claim, Verdict):
        row["command"] = settle.command(settle.missing(claim))
    if not row.get("id"):
        raise ValueError(f"each claim must have an id, got {row}")
    if row.get("verdict") not in VERDICTS:
        raise ValueError(
            f"verdict must be one of {', '.join(VERDICTS)}, got {row.get('verdict')!r} for {row['id']}"
        )
    return row


def _order(row: Mapping[str, Any]) -> tuple:
    """Sort key: claims of the sources, those of other papers, goals."""
    return bool(row.get("goal")), bool(row.get("outside")), _heading(row)


def _heading(row: Mapping[str, Any]) -> str:
    if row.get("goal"):
        return GOALS
    if row.get("outside"):
        return OTHERS
    return _source(str(row.get("also") or row.get("source") or ""))


def _part(row: Mapping[str, Any]) -> str:
    kind = next((kind for kind in PLACES if row.get(kind)), None)
    locator = str(row[kind]) if kind else "claims"
    if kind and locator[0].isdigit():
        locator = f"{kind.capitalize()} {locator}"
    return f"{_source(str(row['source']))}: {locator}" if row.get("outside") else locator


def _values(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    return sorted({str(row[key]) for row in rows if row.get(key)})


def _source(key: str) -> str:
    """Write a key of the bibliography as a name and a year: ``weston2015memory`` is "Weston 2015, memory"."""
    match = re.fullmatch(r"([a-z]+)(\d{4})([a-z]*)", key)
    if match is None:
        return key
    name, year, rest = match.groups()
    return f"{name.capitalize()} {year}" + (f", {rest}" if rest else "")


def _chapter(row: Mapping[str, Any]) -> str | None:
    return f"{row['chapter']}.html" if row.get("chapter") else None


def _name(value: str) -> str:
    return value.replace("_", " ")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _e(text: str | None) -> str:
    return html.escape(text or "")
