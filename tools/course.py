"""Write the assignments as a course folder for nbgrader.

    python tools/course.py COURSE [--topic transformer]
    cd COURSE && nbgrader generate_assignment transformer-attention

Each assignment becomes ``COURSE/source/<topic>-<chapter>/<chapter>.ipynb``: a cell for each answer, with the
chapter's solution between nbgrader's marks, and a locked cell with the check and its points. The check runs
on the notebook's cases and, hidden from students, on those of another seed.
"""

from __future__ import annotations

import argparse
import ast
import re
import textwrap
from pathlib import Path
from typing import Any

import nbformat
from chapters import ROOT

SEED = 1  # of the hidden cases, as of `reasonlib grade`
COURSE_ID = "reasoning-reproduced"
CONFIG = f"""\
c = get_config()
c.CourseDirectory.course_id = "{COURSE_ID}"
c.ExecutePreprocessor.timeout = 600
"""


def solutions(chapter: str) -> dict[str, str]:
    """Find the solution of each exercise in a chapter's text, by name."""
    answers = {}
    for body in re.findall(r"`{3,}\{solution-start\}.*?`{3,}\{solution-end\}", chapter, re.S):
        for cell in re.findall(r"```\{code-cell\}[^\n]*\n(.*?)```", body, re.S):
            if check := re.search(r"^exercises\.check_(\w+)\(", cell, re.M):
                answers[check[1]] = cell[: check.start()].strip()
    return answers


def answer(stub: str, name: str, solution: str) -> str:
    """Write the cell of an answer: the stub's own first line, and the solution between nbgrader's marks."""
    function = next(
        node for node in ast.parse(stub).body if isinstance(node, ast.FunctionDef) and node.name == name
    )
    head = "\n".join(stub.splitlines()[: function.body[0].lineno - 1])
    given = ", ".join(argument.arg for argument in function.args.args)
    inner = textwrap.indent(f"{solution}\n\nreturn {name}({given})", "    ")
    return f"{head}\n    ### BEGIN SOLUTION\n{inner}\n    ### END SOLUTION"


def marked(cell: Any, kind: str, name: str, points: int = 0) -> Any:
    """Give a cell nbgrader's metadata: an answer, or a test with its points."""
    about: dict[str, Any] = {
        "grade": kind == "test",
        "grade_id": f"{kind}-{name}",
        "locked": kind == "test",
        "schema_version": 3,
        "solution": kind == "answer",
        "task": False,
    }
    if kind == "test":
        about["points"] = points
    cell.metadata["nbgrader"] = about
    return cell


def source(topic: str, chapter: str) -> Any:
    """Make nbgrader's source notebook of one assignment."""
    from reasonlib.grading.checks import exercises

    by_name = {exercise.name: exercise for exercise in exercises(topic)}
    right = solutions((ROOT / "book" / topic / f"{chapter}.md").read_text(encoding="utf-8"))
    notebook = nbformat.read(ROOT / "assignments" / topic / f"{chapter}.ipynb", as_version=4)
    cells = []
    for cell in notebook.cells:
        check = re.search(r"^exercises\.check_(\w+)\(", cell.source, re.M)
        if cell.cell_type == "code" and "checks.grade(" in cell.source:
            cells.pop()  # the sum of the points, and its heading: nbgrader adds up
        elif cell.cell_type != "code" or check is None:
            cells.append(cell)
        else:
            name, stub = check[1], cell.source[: check.start()].rstrip()
            written = nbformat.v4.new_code_cell(answer(stub, name, right[name]))
            cells.append(marked(written, "answer", name))
            test = (
                f"from reasonlib.grading import checks\n\nchecks.require(exercises.check_{name}({name}))\n"
                f"### BEGIN HIDDEN TESTS\n"
                f"checks.require(exercises.check_{name}({name}, seed={SEED}))\n"
                f"### END HIDDEN TESTS"
            )
            cells.append(marked(nbformat.v4.new_code_cell(test), "test", name, by_name[name].points))
    notebook.cells = cells
    nbformat.validate(notebook)
    return notebook


def write(folder: Path, topic: str | None = None) -> list[Path]:
    """Write the course folder; return its notebooks."""
    written = []
    for path in sorted((ROOT / "assignments").glob(f"{topic or '*'}/*.ipynb")):
        name = f"{path.parent.name}-{path.stem}"
        target = folder / "source" / name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(source(path.parent.name, path.stem), target)
        written.append(target)
    (folder / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
    return written


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--topic")
    given = parser.parse_args()
    print(f"{len(write(given.folder, given.topic))} assignments in {given.folder / 'source'}")


if __name__ == "__main__":
    main()
