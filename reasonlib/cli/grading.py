"""The command ``grade``."""

from pathlib import Path
from typing import Annotated

import typer

from reasonlib.cli.common import FAILED
from reasonlib.display.terminal import Json, print_json, print_table, say
from reasonlib.errors import UserError

__all__ = ["grade"]


def grade(
    notebooks: Annotated[
        list[Path], typer.Argument(help="Notebooks of students (.ipynb).", show_default=False, dir_okay=False)
    ],
    minutes: Annotated[float, typer.Option(help="Time limit of a notebook, in minutes.")] = 10.0,
    seconds: Annotated[float, typer.Option(help="Time limit of a cell or a check, in seconds.")] = 60.0,
    assignment: Annotated[
        Path | None,
        typer.Option(help="The assignment as it was handed out; by default the book's.", dir_okay=False),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Draws the cases of the checks; the notebook itself uses seed 0.", min=0, max=2**31 - 1
        ),
    ] = 1,
    csv: Annotated[
        Path | None, typer.Option(help="Also write the grades to this file.", dir_okay=False)
    ] = None,
    feedback: Annotated[
        Path | None,
        typer.Option(help="Write a page of feedback for each notebook into this folder.", file_okay=False),
    ] = None,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Run the code without a sandbox, with your own permissions.")
    ] = False,
    account: Annotated[
        str | None, typer.Option(help="Run the code as this user; for a container that has no bubblewrap.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run students' notebooks, each in a sandbox, and grade their exercises.

    Notebooks are graded independently; one that cannot be graded is listed with the reason.
    """
    from reasonlib.grading import grades

    for name, value in (("--minutes", minutes), ("--seconds", seconds)):
        if not 0 < value <= 60 * 24:
            raise UserError(f"{name} must be above 0 and at most 1440, got {value}")
    lines = []
    for line in grades.grade_all(
        notebooks,
        minutes=minutes,
        seconds=seconds,
        assignment=assignment,
        seed=seed,
        unsafe=unsafe,
        account=account,
    ):
        lines.append(line)
        if feedback is not None:
            grades.write_feedback(line, feedback)
        if csv is not None:
            grades.write_csv(lines, csv)
        if line.graded is None:
            say(f"error: {line.problem}")
        elif not as_json:
            print_table(grades.as_table(line.graded))
    if as_json:
        print_json([line.as_dict() for line in lines])
    if any(line.graded is None for line in lines):
        raise typer.Exit(FAILED)
