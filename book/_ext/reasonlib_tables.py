"""Two tables made from data when the site is built: the scoreboard of claims, and what each chapter cost."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from reasonlib_book import read_status, status_file
from sphinx.util.docutils import SphinxDirective


class Scoreboard(SphinxDirective):
    """Every claim of every source, what was published, what we measured, and the verdict."""

    def run(self):
        """Compute the verdicts and lay them out; read again when claims, records or code change."""
        from reasonlib import claims, scoreboard

        root = Path(self.config.reasonlib_repository)
        for pattern in ("reasonlib/**/*.py", "reasonlib/*/claims.yaml", "records/*/*.jsonl"):
            for path in root.glob(pattern):
                self.env.note_dependency(str(path))
        first = first_chapters(self.config.external_site_map)

        def address(claim):
            chapter = claim.get("chapter") or first.get(claim.get("topic"))
            return f"{chapter}.html" if chapter else None

        board = scoreboard.render(claims.verdicts(), address=address)
        return [nodes.raw("", board._repr_html_(), format="html")]


class Status(SphinxDirective):
    """Seconds, peak memory and versions of each chapter's last runs."""

    def run(self):
        """Lay out what tools/book.py measured."""
        from reasonlib import scoreboard

        self.env.note_dependency(str(status_file(self.env.app)))
        board = scoreboard.status(read_status(self.env.app))
        return [nodes.raw("", board._repr_html_(), format="html")]


def first_chapters(site_map) -> dict[str, str]:
    """Topic -> its first chapter in the table of contents."""
    found: dict[str, str] = {}
    for name in site_map:
        parts = str(name).split("/")
        if len(parts) == 3 and parts[0] == "book" and parts[1] != "api":
            found.setdefault(parts[1], "/".join(parts[1:]))
    return found


def setup(app):
    app.add_directive("scoreboard", Scoreboard)
    app.add_directive("chapter-status", Status)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
