"""Tables of pandas with one row of headings.

pandas writes the names of the columns in a first row and the name of the index in a second, which is empty
otherwise. Readers, and screen readers, expect one row that names all columns.
"""

from __future__ import annotations

import re

from docutils import nodes

ROW = r"<tr[^>]*>((?:(?!</tr>).)*)</tr>"
HEAD = re.compile(rf"<thead>\s*{ROW}\s*{ROW}\s*</thead>", re.DOTALL)
CELL = re.compile(r"<th>(.*?)</th>", re.DOTALL)


def join_headings(html: str) -> str:
    """Join the two rows of headings of each table where each column has a name in one of them alone.

    >>> join_headings("<thead><tr><th></th><th>right</th></tr><tr><th>task</th><th></th></tr></thead>")
    '<thead><tr><th>task</th><th>right</th></tr></thead>'
    """
    return HEAD.sub(_joined, html)


def _joined(head: re.Match[str]) -> str:
    """One row instead of the two, or the head as it is."""
    rows = head.groups()
    if any(CELL.sub("", row).strip() for row in rows):  # not written by pandas
        return head[0]
    columns, index = map(CELL.findall, rows)
    if len(columns) != len(index) or any(map(all, zip(columns, index, strict=True))):
        return head[0]
    names = "".join(f"<th>{above or below}</th>" for above, below in zip(columns, index, strict=True))
    return f"<thead><tr>{names}</tr></thead>"


def join_all(app, doctree, docname):
    """Do so in the outputs of a page's cells and in its results."""
    for table in list(doctree.findall(nodes.raw)):
        if table.get("format") == "html" and "dataframe" in (text := table.astext()):
            table.replace_self(nodes.raw("", join_headings(text), **table.attributes))


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", join_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
