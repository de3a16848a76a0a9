"""The scoreboard and the status page: every claim with its verdict, every chapter with its time and memory.

Both are plain tables first. A small script inside them adds sorting and filtering where scripts run, also
from a file on disk; without it nothing is missing but the buttons.
"""

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reasonlib.display import findings
from reasonlib.display.plotting import Picture
from reasonlib.tracking import claims
from reasonlib.tracking.claims import GLYPHS, PLACES, VERDICTS
from reasonlib.tracking.records import KINDS, SCALES

CSS = """
.rr{color:inherit}
.rr-controls{display:flex;flex-wrap:wrap;gap:.5rem .8rem;align-items:end;margin:1rem 0}
.rr-controls[hidden]{display:none}
.rr-controls label{display:flex;flex-direction:column;font-size:.85em;margin:0;color:inherit}
.rr-controls :is(input,select,button){font:inherit;font-size:1rem;color:inherit;background:transparent;
border:1px solid currentColor;border-radius:.3rem;padding:.25rem .5rem;min-height:2.2rem;max-width:100%}
.rr-controls option{color:#222;background:#fff}
.rr-controls output{flex-basis:100%;font-size:.9em}
.rr-tally{list-style:none;padding:0;margin:1rem 0;font-size:.93em}
.rr-tally li{display:grid;grid-template-columns:10rem 1fr;gap:.1rem 1rem;align-items:center;margin:0;
padding:.45rem 0;border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent)}
.rr-bar{display:flex;height:.6rem;overflow:hidden}
.rr-bar i{border-style:solid;border-width:.6rem 0 0}
.rr-bar i.rr-not-run{border-top-style:dotted;border-top-width:.2rem;align-self:center;margin-left:.2rem}
.rr-counts{grid-column:2;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem}
.rr-counts button{font:inherit;color:inherit;background:none;border:0;padding:.1rem 0;cursor:pointer;
min-height:1.6rem;text-decoration:underline;text-decoration-color:transparent}
.rr-counts button:hover{text-decoration-color:currentColor}
.rr-board table{border-collapse:collapse;width:100%;font-size:.9em;color:inherit;background:none;margin:0}
.rr-board :is(th,td){border:0;border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent);
padding:.4rem .5rem;text-align:left;vertical-align:top;color:inherit;background:none;font-weight:normal}
.rr-board table.rr-ledger{table-layout:fixed;overflow-wrap:anywhere}
.rr-ledger thead th:nth-child(1){width:30%}.rr-ledger thead th:nth-child(2){width:11%}
.rr-ledger thead th:nth-child(3){width:18%}.rr-ledger thead th:nth-child(4){width:9%}
.rr-ledger thead th:nth-child(5){width:11%}.rr-ledger thead th:nth-child(6){width:21%}
.rr-board thead th{font-weight:600;vertical-align:bottom;border-bottom:2px solid currentColor;
white-space:nowrap}
.rr-board thead button{font:inherit;color:inherit;background:none;border:0;padding:.2rem 0;cursor:pointer;
text-align:left;min-height:1.5rem}
.rr-board thead button::after{content:"\\2195";opacity:.75;padding-left:.3em}
.rr-board th[aria-sort=ascending] button::after{content:"\\2191";opacity:1}
.rr-board th[aria-sort=descending] button::after{content:"\\2193";opacity:1}
.rr-board :is(button,a,input,select,summary):focus-visible{outline:2px solid currentColor;outline-offset:2px}
.rr-board .rr-number{font-variant-numeric:tabular-nums}
.rr-board .rr-whole{white-space:nowrap}
.rr-board .rr-sides{display:grid;grid-template-columns:1fr auto;gap:0 .6rem;max-width:14rem}
.rr-board small{display:block;font-size:.9em;color:inherit}
.rr-board a{color:inherit;text-decoration:underline}
.rr-board caption{caption-side:top;text-align:left;color:inherit;font-size:.95em}
.rr-board tr[hidden]{display:none}
.rr-board tr:target{outline:2px solid currentColor}
.rr-verdict{border-left:.3rem solid;padding-left:.4rem;white-space:nowrap;display:inline-block}
.rr-verdict>span{color:var(--rr-ink,inherit)}
.rr-reproduced{border-color:#009e73}.rr-trend{border-color:#0072b2}
.rr-contradicted{border-color:#d55e00}.rr-not-run{border-color:currentColor;border-left-style:dotted}
@media(max-width:44rem){
.rr-tally li{grid-template-columns:1fr}
.rr-counts{grid-column:1}
.rr-board table.rr-ledger thead th{width:auto}
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
  const form = board.querySelector("form");
  if (!form) return;
  const count = form.querySelector("output");
  const filter = () => {
    const wanted = [...form.querySelectorAll("select")].filter(select => select.value);
    const words = form.elements.words.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach(row => {
      const text = row.textContent.toLowerCase();
      const fits = wanted.every(select => row.dataset[select.name] === select.value) &&
        words.every(word => text.includes(word));
      row.hidden = !fits;
      shown += fits;
    });
    count.textContent = shown + " of " + rows.length + " claims shown";
  };
  form.hidden = false;
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  board.querySelectorAll("[data-pick]").forEach(count => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...count.childNodes);
    count.append(button);
    button.addEventListener("click", () => {
      form.reset();
      form.elements.verdict.value = count.dataset.pick;
      form.elements.topic.value = count.dataset.among;
      setTimeout(() => { filter(); form.scrollIntoView({block: "nearest"}); });
    });
  });
  filter();
});
"""


def render(
    claims: Iterable[Any], *, address: Callable[[Mapping[str, Any]], str | None] | None = None
) -> Picture:
    """Show every claim with its verdict, sortable and filterable.

    Parameters
    ----------
    claims
        Verdicts of `claims.verdicts`, or mappings as ``reasonlib claims --json`` prints them.
    address
        From a claim to the page its row links to. By default ``<chapter>.html`` for a claim that names its
        ``chapter`` (such as ``story_qa/memory``), seen from the scoreboard's own folder.

    Raises
    ------
    ValueError
        For a claim without an ``id``, or with an unknown verdict.
    """
    rows = [_plain(claim) for claim in claims]
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS}
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    filters = {
        "verdict": [verdict for verdict in VERDICTS if counts[verdict]],
        "topic": _values(rows, "topic"),
        "source": _values(rows, "source"),
        "scale": [scale for scale in SCALES if any(row.get("scale") == scale for row in rows)],
        "data": [kind for kind in KINDS if any(_data(row)[1] == kind for row in rows)],
    }
    controls = "".join(
        f'<label>{name.capitalize()} <select name="{name}"><option value="">all</option>'
        + "".join(f'<option value="{_e(value)}">{_e(_source(_name(value)))}</option>' for value in values)
        + "</select></label>"
        for name, values in filters.items()
    )
    groups = {
        "": rows,
        **{topic: [row for row in rows if row.get("topic") == topic] for topic in filters["topic"]},
    }
    tally = "".join(_tally(topic, group) for topic, group in groups.items() if group)
    body = (
        f'<div class="rr rr-board" data-rr-board><ul class="rr-tally">{tally}</ul>'
        '<form class="rr-controls" role="search" aria-label="Filter the claims" hidden>'
        f'<label>Search <input type="search" name="words" autocomplete="off"></label>{controls}'
        '<button type="reset">Show all</button><output aria-live="polite"></output></form>'
        f"{_claims(rows, address or _chapter)}</div><script>{SCRIPT}</script>"
    )
    return _Board(body, alt=f"{len(rows)} claims: {told}.")


def status(
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
    said = "; ".join(f"all chapters at {scale}: {_duration(seconds)}" for scale, seconds in total.items())
    chapters = len({line["chapter"] for line in lines})
    alt = f"{chapters} {'chapter' if chapters == 1 else 'chapters'}" + (f"; {said}." if said else ".")
    body = (
        f'<div class="rr rr-board" data-rr-board>{_table(heads, rows, caption=alt, kind="rr-costs")}</div>'
        f"<script>{SCRIPT}</script>"
    )
    return _Board(body, alt=alt)


class _Board(Picture):
    """A table that brings its own style."""

    def _repr_html_(self) -> str:
        return f"<style>{CSS}</style>{self.html}"


def _claims(rows: Sequence[Mapping[str, Any]], address: Callable[[Mapping[str, Any]], str | None]) -> str:
    lines = []
    for row in rows:
        name, kind = _data(row)
        verdict, scale, unit = str(row["verdict"]), str(row.get("scale") or ""), row.get("unit")
        published, ours = row.get("published"), row.get("ours") or {}
        filters = {"verdict": verdict, "topic": row.get("topic"), "source": row.get("source"), "scale": scale}
        kept = "".join(
            f' data-{key}="{_e(str(value))}"' for key, value in {**filters, "data": kind}.items() if value
        )
        cells = (
            _cell(
                "Published", "" if published is None else f"{float(published):g}", sort=published, number=True
            ),
            _cell("Ours", _spread(ours, unit) or _sides(row), sort=ours.get("mean"), number=True),
            _cell("Scale", _e(scale), sort=SCALES.index(scale) if scale in SCALES else None),
            _cell(
                "Data",
                f"<span>{_e(kind)}{_small([name])}</span>" if kind or name else "",
                sort=f"{kind} {name}".strip(),
            ),
            _cell(
                "Verdict",
                f"<span>{_verdict(verdict, verdict)}{_small(_remarks(row))}</span>",
                sort=VERDICTS.index(verdict),
            ),
        )
        below = _small([_metric(row), _place(row)])
        lines.append(
            f'<tr id="claim-{_slug(str(row["id"]))}"{kept}><th scope="row" role="rowheader">'
            f"{_link(_title(row), address(row))}{below}</th>{''.join(cells)}</tr>"
        )
    heads = ("Claim", "Published", "Ours", "Scale", "Data", "Verdict")
    return _table(
        heads,
        lines,
        caption="What was published and what we measured: mean ± sd over n seeds.",
        kind="rr-ledger",
    )


def _tally(topic: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Count the verdicts of one topic, or of all, as a bar and in words; with scripts each count filters."""
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS}
    found = {verdict: count for verdict, count in counts.items() if count}
    bar = "".join(
        f'<i class="rr-{_slug(verdict)}" style="flex:{count}"></i>' for verdict, count in found.items()
    )
    told = "".join(
        f'<span data-pick="{verdict}" data-among="{_e(topic)}">'
        f"{_verdict(verdict, f'{verdict}: {count}')}</span>"
        for verdict, count in found.items()
    )
    return (
        f"<li><strong>{_e(_name(topic)) or 'every topic'}</strong>"
        f'<span class="rr-bar" aria-hidden="true">{bar}</span><span class="rr-counts">{told}</span></li>'
    )


def _verdict(verdict: str, text: str) -> str:
    return f'<span class="rr-verdict rr-{_slug(verdict)}">{GLYPHS[verdict]} {text}</span>'


def _metric(row: Mapping[str, Any]) -> str:
    """Say what was measured, in the words of the topic where it has some."""
    metric, unit = row.get("metric"), row.get("unit")
    words, _ = findings.vocabulary(str(row.get("topic"))) if metric else ({}, {})
    experiment = str(row.get("experiment") or "").partition("/")[2]
    told = words.get(f"{experiment}@{metric}") or words.get(str(metric))
    if told and unit == "fraction":  # the words say so
        return told
    return " ".join(part for part in (told or _name(str(metric or "")), f"({unit})" if unit else "") if part)


def _place(row: Mapping[str, Any]) -> str:
    """Say where the source makes the claim."""
    place = next((place for place in PLACES if row.get(place)), None)
    where = str(row[place]) if place else None
    if where and not where.lower().startswith(f"{place} "):
        where = f"{place} {where}" if where[0].isdigit() else f"{place}: {where}"
    label = row.get("row") if row.get("row") != _title(row) else None
    return "; ".join(str(part) for part in (_source(str(row.get("source") or "")), where, label) if part)


def _remarks(row: Mapping[str, Any]) -> list[str]:
    """Say what a reader should know beside the verdict."""
    reason = [str(row["reason"])] if row.get("reason") and row["verdict"] == "contradicted" else []
    return [*reason, *map(str, row.get("notes") or [])]


def _small(lines: Iterable[str]) -> str:
    return "".join(f"<small>{_e(line)}</small>" for line in lines if line)


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


def _plain(claim: Any) -> dict[str, Any]:
    row = dict(claim) if isinstance(claim, Mapping) else dict(claim.to_json())
    if not row.get("id"):
        raise ValueError(f"each claim must have an id, got {row}")
    if row.get("verdict") not in VERDICTS:
        raise ValueError(
            f"verdict must be one of {', '.join(VERDICTS)}, got {row.get('verdict')!r} for {row['id']}"
        )
    return row


def _title(row: Mapping[str, Any]) -> str:
    return str(row.get("text") or row.get("row") or row["id"])


def _source(key: str) -> str:
    """Write a key of the bibliography as a name and a year: ``weston2015memory`` is "Weston 2015, memory"."""
    found = re.fullmatch(r"([a-z]+)(\d{4})([a-z]*)", key)
    if found is None:
        return key
    name, year, rest = found.groups()
    return f"{name.capitalize()} {year}" + (f", {rest}" if rest else "")


def _chapter(row: Mapping[str, Any]) -> str | None:
    return f"{row['chapter']}.html" if row.get("chapter") else None


def _link(text: str, address: str | None) -> str:
    return f'<a href="{_e(address)}">{_e(text)}</a>' if address else _e(text)


def _data(row: Mapping[str, Any]) -> tuple[str, str]:
    data = row.get("data") or {}
    if isinstance(data, str):
        return data, ""
    return str(data.get("name") or ""), str(data.get("kind") or "")


def _values(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    return sorted({str(row[key]) for row in rows if row.get(key)})


def _spread(ours: Mapping[str, Any], unit: str | None) -> str:
    if ours.get("mean") is None:
        return ""
    sd, n = ours.get("sd"), ours.get("n")
    shown = claims.number(ours["mean"], unit) + (f" ± {claims.number(sd, unit)}" if sd else "")
    return f'<span><span class="rr-whole">{shown}</span>{_small([f"n = {n}" if n else ""])}</span>'


def _sides(row: Mapping[str, Any]) -> str:
    """Set what an ordering compares under each other: the rows, and their metrics where these differ."""
    sides = row.get("sides") or []
    if not sides:
        return ""
    words, names = findings.vocabulary(str(row.get("topic")))
    several = len({side["metric"] for side in sides}) > 1
    lines = []
    for side, mean in zip(sides, findings.figures([side["mean"] for side in sides]), strict=True):
        told = names.get(side["row"], side["row"].replace("-", " "))
        if several:
            told += ", " + words.get(side["metric"], _name(side["metric"]))
        lines.append(f"<span>{_e(told)}</span><span>{mean}</span>")
    return f'<span class="rr-sides">{"".join(lines)}</span>'


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def _name(value: str) -> str:
    return value.replace("_", " ")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _e(text: str | None) -> str:
    return html.escape(text or "")
