"""A chapter made into a notebook, and its exercises into an assignment.

The cells of the chapter keep their order. Text goes through `myst.Converter`; solutions are left out; a first
cell installs the library on Colab; the id of a cell depends on what it says alone.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import jupytext
import nbformat
from address import Address
from captions import labelled
from chapters import ROOT, Page, pages
from directives import UnknownMarkup
from gates import begun, solutions_apart
from labels import Book, labels_of
from myst import Converter

INSTALL = """\
# Colab: fetch the library once; everywhere else this cell does nothing.
import importlib.util
import sys

missing = importlib.util.find_spec("reasonlib") is None
if "google.colab" in sys.modules and missing:
    %pip install -q "reasonlib @ {archive}"
"""


class OutOfStep(Exception):
    """What a person must mend; the message is printed as it is."""


# ---------------------------------------------------------------- the book


def sources(page: Page) -> list[Any]:
    """The cells of a chapter, or the whole of a page of prose as one cell."""
    if page.executable:
        return jupytext.reads(page.text, fmt="md:myst").cells
    text = re.sub(r"\A---\n.*?\n---\n", "", page.text, flags=re.DOTALL)
    return [nbformat.v4.new_markdown_cell(text)]


def read_book() -> Book:
    """Labels of every page and the works cited."""
    address = Address.read()
    book = Book(site=address.site, raw=address.raw, files=address.files, citations=citations())
    for page in pages():
        cells = [(cell.cell_type, cell.source, cell.metadata) for cell in sources(page)]
        book.labels.update(labels_of(page.name, cells, page.number))
    return book


def citations() -> dict[str, tuple[str, str, str]]:
    """Key -> (authors, year, address) of each work in book/references.bib."""
    from pybtex.database import parse_file

    works = {}
    for key, entry in parse_file(str(ROOT / "book" / "references.bib")).entries.items():
        people = [
            str(" ".join(person.prelast_names + person.last_names)) for person in entry.persons["author"]
        ]
        people = [
            re.sub(r"\\[\"'`^~]|\\[a-zA-Z]+(?![a-zA-Z])|[{}]", "", name) or str(name) for name in people
        ]
        if not people[0]:
            people[0] = " ".join(entry.persons["author"][0].first_names)
        named = (
            people[0]
            if len(people) == 1
            else " and ".join(people)
            if len(people) == 2
            else f"{people[0]} et al."
        )
        works[key] = (named, entry.fields.get("year", "n.d."), entry.fields.get("url", ""))
    return works


# ---------------------------------------------------------------- one notebook


def make(page: Page, book: Book) -> Any:
    """The notebook of a chapter, without outputs."""
    address = Address.read()
    converter = Converter(page.name, book, page.number)
    cells: list[tuple[str, str, dict[str, Any]]] = []
    hidden = False  # inside a solution
    installed = False
    exercise = ""  # the label of one whose first cell is still to come
    for cell in sources(page):
        tags = cell.metadata.get("tags", [])
        named = labelled(cell.metadata) if cell.cell_type == "code" else None
        if cell.cell_type == "markdown":
            exercise = begun(cell.source) or exercise
            piece, hidden = solutions_apart(cell.source, hidden)
            if text := convert(converter, piece, page):
                cells.append(("markdown", text, {}))
        elif "page-only" in tags:
            if named:  # it has a number on the page
                converter.caption(named[0], "")
        elif not hidden:
            if not installed:
                cells.append(
                    ("code", INSTALL.format(archive=address.archive).rstrip(), {"tags": ["remove-cell"]})
                )
                installed = True
            # Colab opens a notebook at the cell of this id
            given = {"tags": tags} | ({"id": exercise} if exercise else {})
            cells.append(("code", cell.source, {key: value for key, value in given.items() if value}))
            exercise = ""
            if named:
                caption = str(cell.metadata.get("caption") or "")
                cells.append(("markdown", converter.caption(named[0], caption), {}))
    links = (
        f"[This chapter as a page]({address.site}{page.name}.html) · "
        f"[open in Colab]({address.colab}{page.short}.ipynb) · made from `{page.name}.md`; edits belong there"
    )
    needs = f"You need: {convert(converter, page.needs, page)}" if page.needs else ""
    head = "\n\n".join(filter(None, (convert(converter, page.objective, page), needs, links)))
    title, _, rest = cells[0][1].partition("\n")
    cells[:1] = [
        ("markdown", re.sub(r"^# ", f"# {page.number}. ", title) if page.number else title, {}),
        ("markdown", head, {}),
        *([("markdown", rest.strip(), {})] if rest else []),
    ]
    return assembled(cells)


def assembled(cells: list[tuple[str, str, dict[str, Any]]]) -> Any:
    """A notebook of (kind, source, metadata) cells, for Colab too."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata = nbformat.from_dict(
        {
            "accelerator": "GPU",
            "colab": {"gpuType": "T4", "provenance": [], "toc_visible": True},
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    used: set[str] = set()
    for kind, source, metadata in cells:
        new = nbformat.v4.new_markdown_cell if kind == "markdown" else nbformat.v4.new_code_cell
        cell = new(source, metadata=metadata)
        cell.id = metadata.get("id") or identity(kind, source, used)
        notebook.cells.append(cell)
    return notebook


def assignment(page: Page, book: Book) -> Any | None:
    """The exercises of a chapter as a notebook to hand out; None where it has none."""
    from reasonlib.grading.checks import Exercises, exercises

    address = Address.read()
    # no page of the book, so that its references are links
    converter = Converter(f"assignments/{page.short}", book, page.number)
    cells: list[tuple[str, str, dict[str, Any]]] = []
    names: list[str] = []
    hidden = started = False
    title = ""
    for cell in sources(page):
        if cell.cell_type == "markdown":
            title = title or next(iter(re.findall(r"^# (.+)$", cell.source, re.M)), "")
            piece, hidden = solutions_apart(cell.source, hidden)
            if not started and (heading := re.search(r"^## Exercises[ \t]*$", piece, re.M)):
                started, piece = True, piece[heading.end() :]
            if started and (text := convert(converter, piece, page)) not in ("", "---"):
                cells.append(("markdown", text, {}))
        elif started and not hidden and "page-only" not in cell.metadata.get("tags", []):
            cells.append(("code", cell.source, {}))
            names += re.findall(r"\bexercises\.check_(\w+)\(", cell.source)
    if not names:
        return None
    by_name = {exercise.name: exercise for exercise in exercises(page.topic)}
    if unknown := [name for name in names if name not in by_name]:
        raise OutOfStep(
            f"{page.path.relative_to(ROOT)}: topic {page.topic} has no exercise {unknown[0]!r}; "
            "a check and what it checks have one name"
        )
    selected = Exercises(by_name[name] for name in dict.fromkeys(names))
    rows = [
        f"| {exercise.title} | `{exercise.name}` | {exercise.points} | {exercise.minutes} |"
        for exercise in selected
    ]
    points = sum(exercise.points for exercise in selected)
    minutes = sum(exercise.minutes for exercise in selected)
    total = f"| all | | {points} | {minutes} |"
    head = "\n".join(
        [
            f"The exercises of [{title}]({address.site}{page.name}.html); read the chapter first. Write each "
            "answer in place of `raise NotImplementedError` and run its cell: it says whether the answer is "
            "right, and if not, what to look at. The last cell adds up.",
            "",
            "| exercise | you write | points | minutes, about |",
            "|---|---|--:|--:|",
            *rows,
            total,
        ]
    )
    install = INSTALL.format(archive=address.archive).rstrip()
    listed = "".join(f'    "{exercise.name}",\n' for exercise in selected)
    graded = f'checks.grade("{page.topic}", globals(), names=names)'
    last = f"from reasonlib.grading import checks\n\nnames = [\n{listed}]\n{graded}"
    return assembled(
        [
            ("markdown", f"# Exercises: {title}", {}),
            ("markdown", head, {}),
            ("code", install, {}),
            *cells,
            ("markdown", "## Points", {}),
            ("code", last, {}),
        ]
    )


def convert(converter: Converter, text: str, page: Page) -> str:
    """Markdown for the notebook; an error names the page."""
    try:
        return converter.cell(text)
    except UnknownMarkup as error:
        raise OutOfStep(f"{page.path.relative_to(ROOT)}: a notebook cannot show {error}") from None


def identity(kind: str, source: str, used: set[str]) -> str:
    """A cell id from what the cell says; a second cell of the same words gets another."""
    count = 0
    while (name := hashlib.sha256(f"{kind}\0{count}\0{source}".encode()).hexdigest()[:12]) in used:
        count += 1
    used.add(name)
    return name
