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
from chapters import BUILD, ROOT, Page, chapters, write_if_changed
from conversion import OutOfStep, assignment, make, read_book
from execution import BuildError, code_cells, run_chapters
from replay import OUTPUTS

CHECKED = "nbval-check-output"
COLUMNS = 80  # of a code cell: as many as a page of 1280 pixels shows; notebooks/ruff.toml has the same


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
        for path, content in ((page.notebook, notebook), (page.assignment, assignment(page, book))):
            if content is not None:
                done = "wrote" if write_if_changed(path, written(content)) else "kept "
                print(f"{done} {path.relative_to(ROOT)}")
    for path in strays():
        path.unlink()
        print(f"removed {path.relative_to(ROOT)}")
    return 0


def strays() -> list[Path]:
    """Notebooks that no chapter makes."""
    expected = {page.notebook for page in chapters()}
    expected |= {page.assignment for page in chapters() if "exercises.check_" in page.text}
    existing = [*(ROOT / "notebooks").rglob("*.ipynb"), *(ROOT / "assignments").rglob("*.ipynb")]
    return [path for path in sorted(existing) if path not in expected]


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
    second = jupytext.reads(jupytext.writes(first, fmt="md:myst"), fmt="md:myst")

    def key(notebook: Any) -> list[Any]:
        return [(cell.cell_type, cell.source, dict(cell.metadata)) for cell in notebook.cells]

    return key(first) == key(second)


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

    def format_cell(match: re.Match[str]) -> str:
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
        if write_if_changed(page.path, fence.sub(format_cell, text)):
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
