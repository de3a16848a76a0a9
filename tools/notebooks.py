"""Make the notebooks from the chapters, check that they are in step, run them.

    python tools/notebooks.py write [--outputs]   book/<topic>/*.md -> notebooks/<topic>/*.ipynb
                                                  and assignments/<topic>/*.ipynb
    python tools/notebooks.py check               exit 1 if a notebook is not what its chapter makes
    python tools/notebooks.py test [--kernels]    every notebook at `smoke` under nbval
    python tools/notebooks.py format              ruff over the code cells of the chapters, 80 columns wide

A chapter is the only source. Its notebook has the same code cells, less the solutions; its text is put into
words a notebook shows (tools/myst.py); a first cell installs the library on Colab. Its bytes depend on the
chapter alone, cell ids included. Cells tagged ``nbval-check-output`` carry their output, taken from a run at
`smoke`, for nbval to compare; all other cells are stored without. `test` runs a chapter once, as the site
shows it, and compares its outputs; with ``--kernels`` nbval runs every notebook itself.

An assignment is a chapter's section "Exercises" alone, with points and expected minutes, for a class.

Tags: ``remove-cell`` is in the notebook but not on the page, ``page-only`` the reverse.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from address import Address
from captions import labelled
from chapters import BUILD, ROOT, Page, chapters, pages, write_if_changed
from execution import BuildError, code_cells, run_chapters
from gates import begun, solutions_apart
from myst import Book, Converter, UnknownMarkup, labels_of
from replay import OUTPUTS

CHECKED = "nbval-check-output"
COLUMNS = 80  # of a code cell: as many as a page of 1280 pixels shows; notebooks/ruff.toml has the same
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

    found = {}
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
        found[key] = (named, entry.fields.get("year", "n.d."), entry.fields.get("url", ""))
    return found


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
    known = {one.name: one for one in exercises(page.topic)}
    if unknown := [name for name in names if name not in known]:
        raise OutOfStep(
            f"{page.path.relative_to(ROOT)}: topic {page.topic} has no exercise {unknown[0]!r}; "
            "a check and what it checks have one name"
        )
    wanted = Exercises(known[name] for name in dict.fromkeys(names))
    rows = [f"| {one.title} | `{one.name}` | {one.points} | {one.minutes} |" for one in wanted]
    total = f"| all | | {sum(one.points for one in wanted)} | {sum(one.minutes for one in wanted)} |"
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
    listed = "".join(f'    "{one.name}",\n' for one in wanted)
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


def keep_outputs(notebook: Any, old: Any | None) -> bool:
    """Carry stored outputs over to the checked cells; return whether every one of them has its own."""
    stored = {cell.id: cell for cell in (old.cells if old else []) if cell.cell_type == "code"}
    complete = True
    for number, cell in enumerate(checked(notebook), 1):
        if cell.id in stored and stored[cell.id].outputs:
            cell.outputs = stored[cell.id].outputs
            cell.execution_count = number  # nbval refuses an output without a count
        else:
            complete = False
    return complete


def checked(notebook: Any) -> list[Any]:
    """The cells whose output is compared."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and CHECKED in cell.metadata.get("tags", [])
    ]


def written(notebook: Any) -> str:
    """The bytes of a notebook file."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def at_smoke(notebook: Any, page: Page) -> Any:
    """A copy whose parameters say smoke."""
    copy = nbformat.from_dict(notebook)
    for cell in copy.cells:
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", []):
            cell.source, count = re.subn(r"^scale = .*$", 'scale = "smoke"', cell.source, flags=re.M)
            if count == 1:
                return copy
    raise OutOfStep(
        f"{page.path.relative_to(ROOT)}: the cell tagged `parameters` must set `scale`, on a line of its own"
    )


def run_for_outputs(notebook: Any, page: Page) -> None:
    """Execute at smoke and store the outputs of the checked cells."""
    import papermill

    copy = at_smoke(notebook, page)
    folder = BUILD / "outputs" / page.topic
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{page.path.stem}.ipynb"
    nbformat.write(copy, path)
    papermill.execute_notebook(path, path, kernel_name="python3", progress_bar=False, cwd=str(folder))
    ran = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    for number, cell in enumerate(checked(notebook), 1):
        outputs = []
        for output in ran[cell.id].outputs:
            if "execution_count" in output:
                output["execution_count"] = number
            output.pop("metadata", None) if output.output_type == "stream" else output.update(metadata={})
            outputs.append(output)
        cell.outputs, cell.execution_count = outputs, number


# ---------------------------------------------------------------- commands


def read_old(page: Page) -> Any | None:
    """The notebook as it is on disk."""
    return nbformat.read(page.notebook, as_version=4) if page.notebook.is_file() else None


def write(outputs: bool) -> int:
    """Make every notebook; run those whose checked cells lack an output."""
    book = read_book()
    for page in chapters():
        notebook = make(page, book)
        if not keep_outputs(notebook, read_old(page)) or outputs:
            run_for_outputs(notebook, page)
        for path, made in ((page.notebook, notebook), (page.assignment, assignment(page, book))):
            if made is not None:
                done = "wrote" if write_if_changed(path, written(made)) else "kept "
                print(f"{done} {path.relative_to(ROOT)}")
    for path in strays():
        path.unlink()
        print(f"removed {path.relative_to(ROOT)}")
    return 0


def strays() -> list[Path]:
    """Notebooks that no chapter makes."""
    made = {page.notebook for page in chapters()}
    made |= {page.assignment for page in chapters() if "exercises.check_" in page.text}
    there = [*(ROOT / "notebooks").rglob("*.ipynb"), *(ROOT / "assignments").rglob("*.ipynb")]
    return [path for path in sorted(there) if path not in made]


def check() -> int:
    """Compare each notebook with what its chapter makes today."""
    book = read_book()
    problems = [f"{path.relative_to(ROOT)} is made from no chapter" for path in strays()]
    for page in chapters():
        name = page.notebook.relative_to(ROOT)
        notebook, old = make(page, book), read_old(page)
        if not checked(notebook):
            problems.append(
                f"{page.path.relative_to(ROOT)} has no cell tagged {CHECKED}: nbval would compare nothing"
            )
        if not round_trip(page):
            problems.append(f"{page.path.relative_to(ROOT)} does not survive a round trip through jupytext")
        if old is None:
            problems.append(f"{name} is missing")
        elif not keep_outputs(notebook, old):
            problems.append(f"{name} lacks the output of a cell tagged {CHECKED}")
        elif page.notebook.read_text(encoding="utf-8") != written(notebook):
            problems.append(f"{name} is not what {page.path.relative_to(ROOT)} makes")
        handed_out = assignment(page, book)
        if handed_out is not None and (
            not page.assignment.is_file()
            or page.assignment.read_text(encoding="utf-8") != written(handed_out)
        ):
            problems.append(
                f"{page.assignment.relative_to(ROOT)} is not what {page.path.relative_to(ROOT)} makes"
            )
    for line in problems:
        print(line, file=sys.stderr)
    if problems:
        print("run `make pairs` and commit the notebooks", file=sys.stderr)
        return 1
    print(f"{len(chapters())} notebook(s) in step with their chapters")
    return 0


def round_trip(page: Page) -> bool:
    """Whether jupytext writes and reads the chapter back to the same cells."""
    first = jupytext.reads(page.text, fmt="md:myst")
    again = jupytext.reads(jupytext.writes(first, fmt="md:myst"), fmt="md:myst")

    def key(notebook: Any) -> list[Any]:
        return [(cell.cell_type, cell.source, dict(cell.metadata)) for cell in notebook.cells]

    return key(first) == key(again)


def test(kernels: bool) -> int:
    """Compare the stored outputs under nbval with those of a run at smoke: the site's, or one of its own."""
    folder = BUILD / "nbval"
    shutil.rmtree(folder, ignore_errors=True)
    runs = {} if kernels else {run.page.short: run.notebook for run in run_chapters("smoke")}
    for page in chapters():
        old = read_old(page)
        if old is None:
            raise OutOfStep(f"{page.notebook.relative_to(ROOT)} is missing: run `make pairs`")
        own = folder / page.short
        write_if_changed(own / page.notebook.name, written(at_smoke(old, page)))
        if not kernels:
            ran = code_cells(nbformat.read(runs[page.short], as_version=4))
            outputs = [(cell.source, cell.outputs) for cell in ran]
            write_if_changed(own / OUTPUTS, json.dumps(outputs))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(folder / "pytest.ini"),
        "--rootdir",
        str(folder),
        str(folder),
    ]
    command += ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=600", "-q"]
    command += ["-n", "2", "--dist", "loadscope"] if kernels else ["-p", "replay"]
    paths = [str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")]
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.run(command, cwd=folder, env=environment).returncode


def format_cells() -> int:
    """Put the code cells of every chapter into ruff's form, in place."""
    fence = re.compile(
        r"(^```\{code-cell\}[^\n]*\n(?:(?::[^\n]*|---\n.*?\n---)\n)*\n?)(.*?)(^```\s*?$)", re.M | re.S
    )

    def one(match: re.Match[str]) -> str:
        command = [
            sys.executable,
            "-m",
            "ruff",
            "format",
            "--line-length",
            str(COLUMNS),
            "--stdin-filename",
            "cell.py",
            "-",
        ]
        done = subprocess.run(command, input=match[2], capture_output=True, text=True, cwd=ROOT)
        return match[1] + (match[2] if done.returncode else done.stdout) + match[3]

    for page in chapters():
        text = page.path.read_text(encoding="utf-8")  # as it is now: the first pages took a while
        if write_if_changed(page.path, fence.sub(one, text)):
            print(f"formatted {page.path.relative_to(ROOT)}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    each = commands.add_parser("write", help="make the notebooks")
    each.add_argument("--outputs", action="store_true", help="run again for the stored outputs")
    commands.add_parser("check", help="are the notebooks in step?")
    each = commands.add_parser("test", help="compare the notebooks' outputs at smoke")
    each.add_argument("--kernels", action="store_true", help="run every notebook in a kernel of its own")
    commands.add_parser("format", help="ruff over the chapters' cells")
    given = parser.parse_args()
    try:
        if given.command == "write":
            return write(given.outputs)
        if given.command == "test":
            return test(given.kernels)
        return {"check": check, "format": format_cells}[given.command]()
    except (OutOfStep, BuildError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
