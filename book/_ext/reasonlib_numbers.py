"""Numbers, given once by the book: chapters through all parts, and in each its figures, tables and equations.

The second figure of chapter 3 is figure 3.2, in the text, in references from other chapters and in the
notebook (tools/labels.py counts the same way). Pages that are no chapters count from 1. What a code cell
shows is numbered where the cell asks for it (tools/captions.py). The title of an exercise stands behind its
number without brackets, because it ends with its time in brackets.
"""

from __future__ import annotations

from chapters import chapter_numbers
from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import is_exercise_node, is_solution_node


class OutputTable(nodes.figure):
    """A table that a code cell shows, with a caption and a number among the tables."""


class MarkTables(SphinxTransform):
    """Tell the tables of code cells from their figures."""

    default_priority = 400  # before the labels of the page are collected

    def apply(self, **kwargs) -> None:
        """Put a node of its own in place of each."""
        for figure in list(self.document.findall(nodes.figure)):
            if "rr-numbered-table" in figure["classes"]:
                table = OutputTable("", *figure.children, **figure.attributes)
                table.source, table.line = figure.source, figure.line
                for name in table["ids"]:
                    self.document.ids[name] = table
                figure.replace_self(table)


class NameExercises(SphinxPostTransform):
    """Write the titles of exercises and solutions without brackets around their names."""

    default_priority = 25  # after sphinx_exercise has put them together

    def run(self, **kwargs) -> None:
        """Change the titles of a page."""
        for box in self.document.findall(lambda node: is_exercise_node(node) or is_solution_node(node)):
            for holder in box[0].findall(lambda node: isinstance(node, nodes.title | nodes.reference)):
                unbracket(holder)


def unbracket(title: nodes.Element) -> None:
    """Turn "Exercise 1 (A name (5 minutes))" into "Exercise 1 · A name (5 minutes)"."""
    opening = next((index for index, child in enumerate(title) if child.astext() == " ("), None)
    if opening is not None and title[-1].astext() == ")":
        title[opening] = nodes.Text(" · " if opening else "· ")  # the number of an exercise ends with a space
        del title[-1]


def number(app, env) -> list[str]:
    """Number the chapters, and in each page all that is counted; say which pages must be written again."""
    chapters = chapter_numbers()
    changed = []
    for page in env.found_docs:
        chapter = chapters.get(page)
        number_sections(env, page, chapter)
        lead = (chapter,) if chapter else ()
        kinds = env.toc_fignumbers.get(page, {})
        for numbers in kinds.values():
            for count, label in enumerate(numbers, 1):
                numbers[label] = (*lead, count)
        previous = env.metadata[page].get("rr-numbers")
        now = repr((chapter, kinds))
        if previous != now:
            env.metadata[page]["rr-numbers"] = now
            changed.append(page)
    return changed


def number_sections(env, page: str, chapter: int | None) -> None:
    """Give a page's title the number of its chapter, and its sections none."""
    entries = list(env.tocs[page].findall(nodes.reference))
    env.toc_secnumbers[page] = {entry["anchorname"]: () for entry in entries}
    own = (chapter,) if chapter else None
    for title in (env.titles[page], env.longtitles[page]):
        title.attributes.pop("secnumber", None)
        if own:
            title["secnumber"] = own
    for entry in entries[:1]:
        if own:
            env.toc_secnumbers[page][""] = own
            entry["secnumber"] = own
        else:
            entry.attributes.pop("secnumber", None)


def caption_of(node: nodes.Element) -> str:
    """The words of a caption."""
    return next((child.astext() for child in node if isinstance(child, nodes.caption)), "")


def visit_table(self, node) -> None:
    """Open as a figure is opened."""
    self.visit_figure(node)


def depart_table(self, node) -> None:
    """Close it."""
    self.depart_figure(node)


def setup(app):
    """Number after Sphinx has."""
    app.add_enumerable_node(OutputTable, "table", caption_of, html=(visit_table, depart_table))
    app.add_transform(MarkTables)
    app.add_post_transform(NameExercises)
    app.connect("env-get-updated", number, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
