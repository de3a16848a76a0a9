"""Mathematics typeset when the site is built, by KaTeX: pages load a style sheet and fonts, and no script.

KaTeX runs in Node, see ``tools/node.py``. A formula that it cannot read is a warning and stops the build.
"""

from __future__ import annotations

import atexit
import html
import json
import subprocess
from functools import cache
from pathlib import Path

from docutils import nodes
from node import node_program
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

HERE = Path(__file__).resolve().parent / "katex"
SHEET = "../vendor/katex/katex.min.css"  # below _static, as Sphinx counts
log = logging.getLogger(__name__)


@cache
def process() -> subprocess.Popen:
    """Start KaTeX once; it ends with this process."""
    command = [node_program(), str(HERE / "render.js")]
    katex = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", bufsize=1
    )
    atexit.register(katex.communicate)  # closes its input, which ends it
    return katex


@cache
def typeset(formula: str, display: bool) -> str:
    """Typeset one formula.

    Raises
    ------
    ValueError
        If KaTeX cannot read it.
    """
    katex = process()
    assert katex.stdin and katex.stdout
    katex.stdin.write(json.dumps([formula, display]) + "\n")
    katex.stdin.flush()
    line = katex.stdout.readline()
    if not line:
        raise ExtensionError("KaTeX ended before it had typeset everything")
    answer = json.loads(line)
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer["html"]


def written(node: nodes.Node, formula: str, display: bool) -> str:
    """Typeset, or warn and show the source."""
    try:
        return typeset(formula, display)
    except ValueError as error:
        log.warning("this formula cannot be typeset: %s", error, location=node)
        return f"<code>{html.escape(formula)}</code>"


def visit_inline(self, node: nodes.math) -> None:
    """Write a formula of a line."""
    self.body.append(self.starttag(node, "span", "", CLASS="math"))
    self.body.append(written(node, node.astext(), display=False) + "</span>")
    raise nodes.SkipNode


def visit_display(self, node: nodes.math_block) -> None:
    """Write a formula of its own, in a box that scrolls where the page is narrow, its number beside it."""
    self.body.append(self.starttag(node, "div", CLASS="math rr-equation"))
    self.body.append('<div class="rr-scroll">' + written(node, prepared(node), display=True) + "</div>")
    if node.get("number"):
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def prepared(node: nodes.math_block) -> str:
    """The formula with the environment that several lines need."""
    formula = node.astext().strip()
    parts = [part.strip() for part in formula.split("\n\n") if part.strip()]
    if node.get("nowrap"):
        return formula
    lines = [rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part else part for part in parts]
    if len(lines) == 1:
        return lines[0]
    return r"\begin{gathered}" + r"\\".join(lines) + r"\end{gathered}"


def add_sheet(app, pagename, templatename, context, doctree):
    """Load the style sheet on pages with mathematics."""
    if doctree is not None and next(
        doctree.findall(lambda n: isinstance(n, nodes.math | nodes.math_block)), 0
    ):
        app.add_css_file(SHEET)


def setup(app):
    """Become the builder's way of writing mathematics."""
    app.add_html_math_renderer("katex", (visit_inline, None), (visit_display, None))
    app.connect("html-page-context", add_sheet)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
