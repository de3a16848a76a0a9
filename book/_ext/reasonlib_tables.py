"""Two tables made from data when the site is built: the scoreboard of claims, and what each chapter cost."""

from __future__ import annotations

import json
from pathlib import Path

import parts
from docutils import nodes
from reasonlib_head import read_status, status_file
from sphinx.util.docutils import SphinxDirective


class Scoreboard(SphinxDirective):
    """Every claim of every source, what was published, what we measured, and the verdict."""

    def run(self):
        """Compute the verdicts and lay them out; read again when claims, records or code change."""
        from reasonlib.display import scoreboard
        from reasonlib.tracking.experiment import topics

        root = Path(self.config.reasonlib_repository)
        for pattern in ("reasonlib/**/*.py", "reasonlib/*/claims.yaml", "records/*/*.jsonl"):
            for path in root.glob(pattern):
                self.env.note_dependency(str(path))
        chapter_names = chapters(self.config.external_site_map)

        def address(claim):
            """The chapter a claim names, if the book has it; else the first chapter of its topic."""
            topic = [chapter for chapter in chapter_names if chapter.startswith(f"{claim.get('topic')}/")]
            chapter = claim["chapter"] if claim.get("chapter") in chapter_names else next(iter(topic), None)
            return f"{chapter}.html" if chapter else None

        verdicts = [verdict for topic in topics() for verdict in parts.verdicts(topic)]
        board = scoreboard.render(verdicts, address=address)
        return [nodes.raw("", board._repr_html_(), format="html")]


class Status(SphinxDirective):
    """Seconds, peak memory and versions of each chapter's last runs."""

    def run(self):
        """Lay out what tools/book.py measured."""
        from reasonlib.display import status

        self.env.note_dependency(str(status_file(self.env.app)))
        board = status.render(read_status(self.env.app))
        return [nodes.raw("", board._repr_html_(), format="html")]


class Weights(SphinxDirective):
    """Bytes over the wire and time to answer of each page, as tools/weigh.py measured them."""

    def run(self):
        """Lay out what was kept; nothing where nothing was measured."""
        path = Path(self.env.app.srcdir) / "book" / "weights.json"
        if not path.is_file():
            return []
        self.env.note_dependency(str(path))
        lines = [
            "| page | over the wire | requests | ready after | all work | longest task | an answer takes |",
            "|---|--:|--:|--:|--:|--:|--:|",
        ]
        for name, page in json.loads(path.read_text(encoding="utf-8")).items():
            times = [f"{page[key] / 1000:.1f} s" for key in ("ready_ms", "work_ms", "longest_ms")]
            answer = f"{page['answer_ms']} ms" if "answer_ms" in page else ""
            cells = [f"{{doc}}`{name}`", f"{page['kb']} kB", str(page["requests"]), *times, answer]
            lines.append(f"| {' | '.join(cells)} |")
        return self.parse_text_to_nodes("\n".join(lines))


def chapters(site_map) -> list[str]:
    """The chapters of the table of contents in reading order, such as ``story_qa/memory``."""
    parts = [str(name).split("/") for name in site_map]
    return ["/".join(each[1:]) for each in parts if len(each) == 3 and each[0] == "book" and each[1] != "api"]


def setup(app):
    app.add_directive("scoreboard", Scoreboard)
    app.add_directive("chapter-status", Status)
    app.add_directive("page-weights", Weights)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
