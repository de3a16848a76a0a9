"""The grades of a class: every notebook for itself, as tables, CSV, JSON and pages of feedback."""

import csv
import html
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reasonlib.display.terminal import make_table
from reasonlib.errors import UserError
from reasonlib.grading.notebook import Graded, grade_notebook

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Line", "as_table", "grade_all", "write_csv", "write_feedback"]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One notebook of a class: its grades, or why it has none."""

    notebook: Path
    graded: Graded | None = None
    problem: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        if self.graded is None:
            return {"notebook": str(self.notebook), "problem": self.problem}
        return self.graded.as_dict()


def grade_all(notebooks: Iterable[Path], **options: Any) -> Iterator[Line]:
    """Grade notebooks one after another; whatever one of them does, the others get their grades.

    Parameters
    ----------
    notebooks
        The files.
    options
        Of `grade_notebook`.
    """
    for notebook in notebooks:
        try:
            yield Line(notebook=notebook, graded=grade_notebook(notebook, **options))
        except UserError as error:
            yield Line(notebook=notebook, problem=str(error))
        except Exception as error:  # a notebook that broke the grading itself
            text = (str(error).splitlines() or [""])[0].encode("utf-8", "replace").decode()
            yield Line(notebook=notebook, problem=f"{notebook}: {type(error).__name__}: {text}")


def as_table(graded: Graded) -> "Table":
    """Return the grades of one notebook as a table for a terminal."""
    table = make_table("Exercise", "Points", "Remark")
    table.title = f"{graded.notebook}: {graded.report.points} of {graded.report.possible} points"
    for result in graded.report.results.values():
        table.add_row(f"{result.mark} {result.title}", f"{result.earned} of {result.points}", result.message)
    table.caption = "\n".join(graded.failed) or None
    return table


def write_csv(lines: Sequence[Line], path: Path) -> None:
    """Write one row per notebook: file, points, possible, a column for each exercise, and any problem."""
    graded = [line.graded for line in lines if line.graded is not None]
    names = list(dict.fromkeys(name for one in graded for name in one.report.results))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["notebook", "points", "possible", *names, "problem"])
    for line in lines:
        report = None if line.graded is None else line.graded.report
        earned = [report.results[n].earned if report and n in report.results else "" for n in names]
        total = [report.points, report.possible] if report else ["", ""]
        writer.writerow([line.notebook, *total, *earned, line.problem])
    _write(path, text.getvalue())


def write_feedback(line: Line, folder: Path) -> Path:
    """Write one page that a student can be sent: results, remarks, cells that failed."""
    name = html.escape(line.notebook.stem)
    if line.graded is None:
        body = f"<p>Not graded: {html.escape(line.problem)}</p>"
    else:
        rows = "".join(
            f"<tr><td>{result.mark}</td><th scope=row>{html.escape(result.title)}</th>"
            f"<td>{result.earned} of {result.points}</td><td>{html.escape(result.message)}</td></tr>"
            for result in line.graded.report.results.values()
        )
        failed = "".join(f"<li>{html.escape(cell)}</li>" for cell in line.graded.failed)
        report = line.graded.report
        body = f"<p><strong>{report.points} of {report.possible} points</strong></p>"
        body += f"<table><tbody>{rows}</tbody></table>"
        body += f"<h2>Cells that failed</h2><ul>{failed}</ul>" if failed else ""
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title>'
        '<meta name="viewport" content="width=device-width"><style>'
        "body{font:1rem/1.5 system-ui;max-width:50rem;"
        "margin:2rem auto;padding:0 1rem;color-scheme:light dark}td,th{padding:.3rem .6rem;text-align:left;"
        f"vertical-align:top;border-bottom:1px solid}}</style><h1>{name}</h1>{body}</html>"
    )
    path = folder / f"{line.notebook.stem}.html"
    _write(path, page)
    return path


def _write(path: Path, text: str) -> None:
    """Write a file atomically."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error
