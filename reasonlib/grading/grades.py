"""The grades of a class: every notebook for itself, as tables, CSV, JSON and pages of feedback."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reasonlib.data.files import write_atomic
from reasonlib.display.terminal import make_table
from reasonlib.errors import UserError
from reasonlib.grading.feedback import as_page
from reasonlib.grading.notebook import Graded, grade_notebook

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Line", "as_table", "grade_all", "student_names", "write_csv", "write_feedback"]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One notebook of a class: its grades, or why it has none.

    Attributes
    ----------
    notebook
        The file.
    student
        Whose it is; by default the file's name.
    graded
        The grades.
    problem
        Why there are none.
    """

    notebook: Path
    student: str = ""
    graded: Graded | None = None
    problem: str = ""

    @property
    def name(self) -> str:
        """The student's name."""
        return self.student or self.notebook.stem

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        if self.graded is None:
            return {"student": self.name, "notebook": str(self.notebook), "problem": self.problem}
        return {"student": self.name, **self.graded.as_dict()}


def grade_all(notebooks: Sequence[Path], **options: Any) -> Iterator[Line]:
    """Grade notebooks one after another; whatever one of them does, the others get their grades.

    Parameters
    ----------
    notebooks
        The files.
    options
        Of `grade_notebook`.
    """
    for notebook, student in zip(notebooks, student_names(notebooks), strict=True):
        try:
            yield Line(notebook=notebook, student=student, graded=grade_notebook(notebook, **options))
        except UserError as error:
            yield Line(notebook=notebook, student=student, problem=str(error))
        except Exception as error:  # a notebook that broke the grading itself
            text = (str(error).splitlines() or [""])[0].encode("utf-8", "replace").decode()
            yield Line(
                notebook=notebook, student=student, problem=f"{notebook}: {type(error).__name__}: {text}"
            )


def as_table(graded: Graded) -> "Table":
    """Return the grades of one notebook as a table for a terminal."""
    table = make_table("Exercise", "Points", "Remark")
    table.title = f"{graded.notebook}: {graded.report.points} of {graded.report.possible} points"
    for result in graded.report.results.values():
        table.add_row(f"{result.mark} {result.title}", f"{result.earned} of {result.points}", result.message)
    table.caption = "\n".join(graded.failed) or None
    return table


def student_names(notebooks: Sequence[Path]) -> list[str]:
    """Name each notebook by what tells it from the others: its file, or the folders it lies in.

    >>> student_names([Path("in/ada.ipynb"), Path("in/bob.ipynb")])
    ['ada', 'bob']
    >>> student_names([Path("in/ada/hw1/losses.ipynb"), Path("in/bob/hw1/losses.ipynb")])
    ['ada', 'bob']
    """
    parts = [path.absolute().with_suffix("").parts[::-1] for path in notebooks]
    depth = min(map(len, parts), default=0)
    levels = [level for level in range(depth) if len({part[level] for part in parts}) > 1] or [0]
    for chosen in ([0], *([level] for level in levels), levels):
        names = ["-".join(part[level] for level in reversed(chosen)) for part in parts]
        if len(set(names)) == len(names):
            return names
    seen: Counter[str] = Counter()
    for index, name in enumerate(names):  # the same file twice
        seen[name] += 1
        names[index] = name if seen[name] == 1 else f"{name}-{seen[name]}"
    return names


def write_csv(lines: Sequence[Line], path: Path) -> None:
    """Write one row per notebook: student, file, points, a column for each exercise, and any problem."""
    graded = [line.graded for line in lines if line.graded is not None]
    names = list(dict.fromkeys(name for notebook in graded for name in notebook.report.results))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["student", "notebook", "points", "possible", *names, "problem"])
    for line in lines:
        report = None if line.graded is None else line.graded.report
        earned = [report.results[n].earned if report and n in report.results else "" for n in names]
        total = [report.points, report.possible] if report else ["", ""]
        student = [_no_formula(text) for text in (line.name, str(line.notebook))]
        writer.writerow([*student, *total, *earned, _no_formula(line.problem)])
    _write(path, text.getvalue())


def _no_formula(text: str) -> str:
    """Keep a spreadsheet from calculating what a student called a file."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def write_feedback(line: Line, folder: Path) -> Path:
    """Write one page that a student can be sent: results, remarks, cells that failed."""
    path = folder / f"{line.name}.html"
    _write(path, as_page(line.graded, student=line.name, problem=line.problem))
    return path


def _write(path: Path, text: str) -> None:
    """Write a file atomically."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error
