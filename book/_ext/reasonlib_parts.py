"""Puts the pages made from data (tools/parts.py) in place of the lines that ask for them."""

from __future__ import annotations

import re
from pathlib import Path

import parts

BLOCK = re.compile(r"^```\{(part|results|topics|measured)\}[ \t]*([\w. ]*)\n```$", re.M)
MAKERS = {"part": parts.part_page, "results": parts.results_page, "measured": parts.measured}


def fill(app, docname, source) -> None:
    """Write the Markdown that a block stands for; again when claims, records, chapters or code change."""

    def render(match: re.Match[str]) -> str:
        return parts.topics_table() if match[1] == "topics" else MAKERS[match[1]](match[2])

    text = BLOCK.sub(render, source[0])
    if text != source[0]:
        source[0] = text
        root = Path(app.config.reasonlib_repository)
        patterns = (
            "book/*/*.md",
            "book/topics.yaml",
            "reasonlib/**/*.py",
            "reasonlib/*/claims.yaml",
            "records/*/*.jsonl",
        )
        for path in (path for pattern in patterns for path in root.glob(pattern)):
            app.env.note_dependency(str(path))


def setup(app):
    """Read pages through `fill`."""
    app.connect("source-read", fill)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
