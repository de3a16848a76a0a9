"""The head of a chapter, what it gives and what it takes; and its end, what it cost to run.

Both are made from data: the front matter of the chapter (`objective`, `needs`), its measured reading time
(tools/reading.py) and the last runs of its cells (tools/book.py).
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path

from chapters import SCALES, Page, chapter_numbers
from docutils import nodes
from reading import measure
from sphinx.transforms import SphinxTransform


def status_file(app) -> Path:
    """Where tools/book.py leaves the measured runs."""
    return Path(app.srcdir) / "book" / "status.json"


def read_status(app) -> list[dict]:
    """The measured runs; empty for a book that was never executed."""
    path = status_file(app)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def span(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def memory(megabytes: float) -> str:
    """Megabytes as a person says them."""
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"


class ChapterHead(SphinxTransform):
    """Put the objective and the needs under a chapter's title, and its cost at its end."""

    default_priority = 200  # before references are resolved

    def apply(self, **kwargs) -> None:
        """Chapters alone have these."""
        docname = self.env.docname
        title = next(self.document.findall(nodes.title), None)
        if docname not in chapter_numbers() or title is None:
            return
        page = Page(docname)
        self.env.note_dependency(str(page.path))
        notebook = self.app.config.colab_root + page.short + ".ipynb"
        head = []
        if page.objective:
            head.append(self.line(page.objective, "rr-objective"))
        if page.needs:
            parts = [
                f"You need: {page.needs}",
                f"{measure(page).rounded} minutes",
                f"[open in Colab]({notebook})",
            ]
            if self.app.config.reasonlib_scale == "smoke":
                parts.append("**built at smoke: the numbers mean nothing**")
            head.append(self.line(" · ".join(parts), "rr-needs"))
        index = title.parent.index(title) + 1
        title.parent[index:index] = head
        title.parent += self.cost(page, notebook)

    def line(self, text: str, kind: str) -> nodes.paragraph:
        """One paragraph of the front matter, its Markdown parsed."""
        return Parsed(self.document, self.config).paragraph(as_notebooks(text, self.env.docname), kind)

    def cost(self, page: Page, notebook: str) -> list[nodes.Node]:
        """What a run of the whole page takes at each scale, as measured, and where this copy stands."""
        runs = {run["scale"]: run for run in read_status(self.app) if run["chapter"] == page.short}
        if not runs:
            return []
        self.env.note_dependency(str(status_file(self.app)))
        parts = [
            f"{scale} {span(runs[scale]['seconds'])}, {memory(runs[scale]['peak_mb'])}"
            for scale in SCALES
            if scale in runs
        ]
        line = nodes.paragraph(classes=["rr-measured"])
        line += nodes.Text(f"This page was run at scale {self.app.config.reasonlib_scale}. ")
        line += nodes.Text("Time and memory of a whole run: " + "; ".join(parts) + ". ")
        line += nodes.reference("", "Run it yourself in Colab", refuri=notebook)
        line += nodes.Text(".")
        return [line]


def as_notebooks(text: str, docname: str) -> str:
    """Point links at chapters to the executed notebooks that stand in their place."""

    def point(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(docname), match[1]))
        return f"]({match[1]}.ipynb)" if target in chapter_numbers() else match[0]

    return re.sub(r"\]\(([^()\s#:]+)\.md\)", point, text)


class Parsed:
    """Markdown of the front matter as nodes of a page."""

    def __init__(self, document: nodes.document, config):
        self.document, self.config = document, config

    def paragraph(self, text: str, kind: str) -> nodes.paragraph:
        """One paragraph of this class."""
        from docutils.utils import new_document
        from myst_parser.parsers.sphinx_ import MystParser

        inner = new_document(self.document["source"], self.document.settings)
        MystParser().parse(text, inner)
        node = next(inner.findall(nodes.paragraph))
        node["classes"].append(kind)
        for pending in node.findall(nodes.pending):
            self.document.note_pending(pending)
        return node


def setup(app):
    """Register the transform."""
    app.add_config_value("reasonlib_scale", "quick", "env")
    app.add_transform(ChapterHead)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
