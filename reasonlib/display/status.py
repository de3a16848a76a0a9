"""The status page: what each chapter costs, in time and memory.

A plain table first. A small script inside it adds sorting where scripts run, also from a file on disk;
without it nothing is missing but the buttons.
"""

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reasonlib.display.plotting import Picture
from reasonlib.tracking.record import SCALES

CSS = """
.rr{color:inherit}
.rr-board table{border-collapse:collapse;width:100%;font-size:.9em;color:inherit;background:none;margin:0}
.rr-board :is(th,td){border:0;border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent);
padding:.4rem .5rem;text-align:left;vertical-align:top;color:inherit;background:none;font-weight:normal}
.rr-board thead th{font-weight:600;vertical-align:bottom;border-bottom:2px solid currentColor;
white-space:nowrap}
.rr-board thead button{font:inherit;color:inherit;background:none;border:0;padding:.2rem 0;cursor:pointer;
text-align:left;min-height:1.5rem}
.rr-board thead button::after{content:"\\2195";opacity:.75;padding-left:.3em}
.rr-board th[aria-sort=ascending] button::after{content:"\\2191";opacity:1}
.rr-board th[aria-sort=descending] button::after{content:"\\2193";opacity:1}
.rr-board :is(button,a,input,select,summary):focus-visible{outline:2px solid currentColor;outline-offset:2px}
.rr-board .rr-number{font-variant-numeric:tabular-nums}
.rr-board small{display:block;font-size:.9em;color:inherit}
.rr-board a{color:inherit;text-decoration:underline}
.rr-board caption{caption-side:top;text-align:left;color:inherit;font-size:.95em}
.rr-board tr[hidden]{display:none}
.rr-board tr:target{outline:2px solid currentColor}
@media(max-width:44rem){
.rr-board :is(table,caption,thead,tbody,tr,th,td){display:block}
.rr-board thead tr{display:flex;flex-wrap:wrap;gap:0 1rem}
.rr-board thead th{border:0;padding:.1rem 0}
.rr-board tbody tr{border-top:2px solid color-mix(in srgb,currentColor 50%,transparent);padding:.5rem 0}
.rr-board tbody :is(th,td){border:0;padding:.1rem 0}
.rr-board tbody td{display:grid;grid-template-columns:6rem 1fr;gap:.5rem}
.rr-board tbody td::before{content:attr(data-label);font-size:.9em}
.rr-board tbody th{font-weight:600;padding-bottom:.3rem}
.rr-board tbody th small{font-weight:normal}
.rr-board td.rr-empty{display:none}
}
html[data-theme=dark] .bd-content div.cell_output .text_html:has(.rr){
background:none!important;color:inherit!important;padding:0!important}
"""

# Runs once per table. Rows keep their first order where they tie; what has no value stays last either way.
SCRIPT = """
document.querySelectorAll("[data-rr-board]:not([data-rr-ready])").forEach(board => {
  board.dataset.rrReady = "";
  const body = board.querySelector("tbody"), rows = [...body.rows];
  const heads = [...board.querySelectorAll("thead th")];
  const value = (row, at) => row.cells[at].dataset.sort ?? row.cells[at].textContent.trim();
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const filled = rows.filter(row => value(row, at) !== "");
      const empty = rows.filter(row => value(row, at) === "");
      const numeric = filled.every(row => !isNaN(value(row, at)));
      filled.sort((a, b) => {
        const x = value(a, at), y = value(b, at);
        return (down ? -1 : 1) * (numeric ? x - y : x.localeCompare(y, "en", {numeric: true}));
      });
      body.append(...filled, ...empty);
    });
  });
});
"""


def render(
    lines: Sequence[Mapping[str, Any]], *, address: Callable[[Mapping[str, Any]], str | None] | None = None
) -> Picture:
    """Show what each chapter costs: time, memory and the versions it ran with.

    Parameters
    ----------
    lines
        One a chapter and scale, with ``chapter`` (such as ``story_qa/memory``), ``scale``, ``seconds``,
        ``peak_mb``, ``when`` (ISO 8601, UTC) and ``versions`` (from package to version).
    address
        From a line to the page its row links to; by default ``<chapter>.html``.

    Raises
    ------
    ValueError
        For a line without a chapter.
    """
    rows = []
    for line in lines:
        if not line.get("chapter"):
            raise ValueError(f"each line must name its chapter, got {dict(line)}")
        link = (address or _chapter)(line)
        versions = line.get("versions") or {}
        listed = ", ".join(f"{_e(name)} {_e(version)}" for name, version in sorted(versions.items()))
        seconds, peak, when = line.get("seconds"), line.get("peak_mb"), line.get("when")
        moment = f'<time datetime="{_e(when)}">{_e(str(when)[:16].replace("T", " "))}</time>' if when else ""
        scale = str(line.get("scale") or "")
        details = (
            f"<details><summary>{len(versions)} packages</summary>{listed}</details>" if versions else ""
        )
        cells = (
            _cell("Scale", _e(scale), sort=SCALES.index(scale) if scale in SCALES else None),
            _cell("Time", "" if seconds is None else _duration(float(seconds)), sort=seconds, number=True),
            _cell("Peak memory", "" if peak is None else f"{float(peak):,.0f} MB", sort=peak, number=True),
            _cell("Measured (UTC)", moment, sort=when),
            _cell("Versions", details, sort=len(versions) or None),
        )
        named = _link(str(line["chapter"]), link)
        rows.append(f'<tr><th scope="row" role="rowheader">{named}</th>{"".join(cells)}</tr>')
    heads = ("Chapter", "Scale", "Time", "Peak memory", "Measured (UTC)", "Versions")
    total: dict[str, float] = {}
    for line in lines:
        if line.get("seconds") is not None:
            total[str(line.get("scale"))] = total.get(str(line.get("scale")), 0.0) + float(line["seconds"])
    totals = "; ".join(f"all chapters at {scale}: {_duration(seconds)}" for scale, seconds in total.items())
    chapters = len({line["chapter"] for line in lines})
    alt = f"{chapters} {'chapter' if chapters == 1 else 'chapters'}" + (f"; {totals}." if totals else ".")
    body = (
        f'<div class="rr rr-board" data-rr-board>{_table(heads, rows, caption=alt, kind="rr-costs")}</div>'
        f"<script>{SCRIPT}</script>"
    )
    return Picture(body, alt=alt, css=CSS)


def _table(heads: Sequence[str], rows: Sequence[str], *, caption: str, kind: str) -> str:
    """Join rows; the roles keep it a table for a screen reader where a phone shows it as cards."""
    top = "".join(f'<th scope="col" role="columnheader">{head}</th>' for head in heads)
    body = "".join(row.replace("<tr", '<tr role="row"', 1) for row in rows)
    return (
        f'<table role="table" class="{kind}">'
        + f"<caption>{_e(caption)}</caption>"
        + f'<thead role="rowgroup"><tr role="row">{top}</tr></thead>'
        + f'<tbody role="rowgroup">{body}</tbody></table>'
    )


def _cell(label: str, inner: str, *, sort: Any, number: bool = False) -> str:
    kinds = [*(["rr-number"] if number else []), *([] if inner else ["rr-empty"])]
    named = f' class="{" ".join(kinds)}"' if kinds else ""
    value = "" if sort is None else _e(str(sort))
    return f'<td role="cell"{named} data-label="{label}" data-sort="{value}">{inner}</td>'


def _chapter(row: Mapping[str, Any]) -> str | None:
    return f"{row['chapter']}.html" if row.get("chapter") else None


def _link(text: str, address: str | None) -> str:
    return f'<a href="{_e(address)}">{_e(text)}</a>' if address else _e(text)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def _e(text: str | None) -> str:
    return html.escape(text or "")
