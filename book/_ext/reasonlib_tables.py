"""Two tables made from data: the scoreboard of claims, and the status of the chapters."""

from __future__ import annotations

import json
import subprocess
import sys
from html import escape
from pathlib import Path

from docutils import nodes
from reasonlib_book import memory, read_status, span, status_file
from sphinx.util.docutils import SphinxDirective

VERDICTS = {
    "reproduced": ("✓", "the published value or ordering holds, on the data it was published for"),
    "trend": ("≈", "the ordering holds; the level does not, or the data is simulated"),
    "contradicted": ("✗", "our runs say otherwise"),
    "not run": ("…", "no record answers it yet"),
}


class Scoreboard(SphinxDirective):
    """Every claim of every source, what was published, what we measured, and the verdict."""

    def run(self):
        """Ask the library for the claims and lay them out."""
        root = Path(self.config.reasonlib_repository or Path(self.env.srcdir).parent)
        for path in [*root.glob("reasonlib/**/*.py"), *root.glob("reasonlib/*/claims.yaml"), *root.glob("records/*/*.jsonl")]:
            self.env.note_dependency(str(path))
        command = [sys.executable, "-m", "reasonlib.cli", "claims", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=root)
        if done.returncode:
            raise self.error(f"`reasonlib claims --json` failed: {done.stderr.strip()}")
        claims = json.loads(done.stdout)
        return [nodes.raw("", render(claims, self.chapters(), self.env.docname), format="html")]

    def chapters(self) -> dict[str, str]:
        """Topic -> its first chapter in the table of contents."""
        found: dict[str, str] = {}
        for name in self.env.app.config.external_site_map:
            parts = str(name).removesuffix(".md").removesuffix(".ipynb").split("/")
            if len(parts) == 3 and parts[0] == "book" and parts[1] != "api":
                found.setdefault(parts[1], "/".join(parts))
        return found


def number(value: object) -> str:
    """A measured or published value, short."""
    return f"{value:.3g}" if isinstance(value, float) else escape(str(value))


def render(claims: list[dict], chapters: dict[str, str], docname: str) -> str:
    """The table, usable as it stands; the script adds filters and sorting."""
    up = "../" * docname.count("/")
    counts = {verdict: sum(claim["verdict"] == verdict for claim in claims) for verdict in VERDICTS}
    legend = "".join(
        f'<li><span class="rr-verdict rr-{verdict.replace(" ", "-")}">{sign} {verdict}</span> '
        f"<strong>{counts[verdict]}</strong> {meaning}</li>"
        for verdict, (sign, meaning) in VERDICTS.items()
    )
    rows = []
    for claim in claims:
        ours, data = claim.get("ours") or {}, claim.get("data") or {}
        if ours.get("mean") is None:
            measured, order = "not run", ""
        else:
            spread = f" ± {number(ours['sd'])}" if ours.get("sd") is not None and ours.get("n", 1) > 1 else ""
            measured, order = f"{number(ours['mean'])}{spread} <small>n = {ours.get('n', 1)}</small>", ours["mean"]
        published = claim.get("published")
        sign = VERDICTS[claim["verdict"]][0]
        chapter = chapters.get(claim["topic"])
        topic = f'<a href="{up}{chapter}.html">{escape(claim["topic"])}</a>' if chapter else escape(claim["topic"])
        stale = claim.get("stale")
        stale = f'<br><small class="rr-stale">stale: {escape(str(stale))}</small>' if stale else ""
        reason = f"<br><small>{escape(str(claim['reason']))}</small>" if claim.get("reason") else ""
        row = escape(str(claim.get("row") or claim["id"]))
        where = ", ".join(escape(str(claim[key])) for key in ("source", "table") if claim.get(key))
        kind = escape(str(data.get("kind") or ""))
        cells = [
            ("Topic", topic, claim["topic"]),
            ("Claim", f"{row}<br><small>{where}</small>", f"{claim.get('table')} {row}"),
            ("Metric", escape(str(claim.get("metric") or "")), claim.get("metric") or ""),
            ("Published", "ordering" if published is None else number(published), "" if published is None else published),
            ("Ours", measured, order),
            ("Scale", escape(str(claim.get("scale") or "")), claim.get("scale") or ""),
            ("Data", f"{escape(str(data.get('name') or ''))} <small>{kind}</small>", data.get("name") or ""),
            (
                "Verdict",
                f'<span class="rr-verdict rr-{claim["verdict"].replace(" ", "-")}">{sign} {claim["verdict"]}</span>'
                + reason
                + stale,
                claim["verdict"],
            ),
        ]
        inside = "".join(
            f'<td data-label="{label}" data-order="{escape(str(key), quote=True)}"><div>{shown}</div></td>'
            for label, shown, key in cells
        )
        marks = f'data-topic="{escape(claim["topic"])}" data-verdict="{claim["verdict"]}" data-kind="{kind}"'
        rows.append(f'<tr id="claim-{escape(str(claim["id"]), quote=True)}" {marks}>{inside}</tr>')
    labels = ("Topic", "Claim", "Metric", "Published", "Ours", "Scale", "Data", "Verdict")
    head = "".join(f'<th scope="col">{label}</th>' for label in labels)
    script = (Path(__file__).parent / "scoreboard.js").read_text(encoding="utf-8")
    empty = "" if claims else "<p>No claim has been entered yet.</p>"
    return f"""
<ul class="rr-legend">{legend}</ul>
<div class="rr-filters" id="rr-filters"></div>
<p class="rr-count" id="rr-count" aria-live="polite">{len(claims)} claims</p>
<div class="rr-scroll" role="region" aria-label="All claims" tabindex="0">
<table class="rr-scoreboard" id="rr-scoreboard"><thead><tr>{head}</tr></thead><tbody>
{"".join(rows)}
</tbody></table></div>{empty}
<script>
{script}
</script>
"""


class Status(SphinxDirective):
    """Seconds, peak memory and versions of each chapter's last runs."""

    def run(self):
        """Lay out _build/status.json."""
        self.env.note_dependency(str(status_file(self.env.app)))
        runs = read_status(self.env.app)
        if not runs:
            return [nodes.paragraph(text="No chapter has been executed yet.")]
        head = "".join(
            f'<th scope="col">{label}</th>' for label in ("Chapter", "Scale", "Time", "Peak memory", "When", "Versions")
        )
        up = "../" * (self.env.docname.count("/") - 1)
        rows = []
        for run in runs:
            versions = ", ".join(f"{name} {value}" for name, value in run["versions"].items())
            cells = [
                ("Chapter", f'<a href="{up}{escape(run["chapter"])}.html">{escape(run["chapter"])}</a>'),
                ("Scale", escape(run["scale"])),
                ("Time", span(run["seconds"])),
                ("Peak memory", memory(run["peak_mb"])),
                ("When", escape(run["when"].replace("T", " ").removesuffix("Z"))),
                ("Versions", f"<small>{escape(versions)}</small>"),
            ]
            rows.append("<tr>" + "".join(f'<td data-label="{k}"><div>{v}</div></td>' for k, v in cells) + "</tr>")
        table = (
            '<div class="rr-scroll" role="region" aria-label="Runs of the chapters" tabindex="0">'
            f'<table class="rr-status"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        )
        return [nodes.raw("", table, format="html")]


def setup(app):
    app.add_directive("scoreboard", Scoreboard)
    app.add_directive("chapter-status", Status)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
