"""Exercises and solutions with code: what stands between their gates, in the cells of a chapter.

An exercise with cells inside is written between ``{exercise-start}`` and ``{exercise-end}``, each in a
Markdown cell, its solution between ``{solution-start}`` and ``{solution-end}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any


def begun(source: str) -> str:
    """The label of the exercise that a Markdown cell begins, if its cells are still to come."""
    markers = re.findall(r"^[`:]{3,}\{exercise-(start|end)\}[^\n]*\n(?::label:[ \t]*([\w-]+))?", source, re.M)
    return markers[-1][1] if markers and markers[-1][0] == "start" else ""


def solutions_apart(source: str, hidden: bool) -> tuple[str, bool]:
    """Cut a Markdown cell at the gates of solutions: what to keep, and whether one is open at its end."""
    kept: list[str] = []
    for part in re.split(
        r"(^[`:]{3,}\{solution-(?:start|end)\}.*?^[`:]{3,}[ \t]*$)", source, flags=re.M | re.S
    ):
        if re.match(r"^[`:]{3,}\{solution-start\}", part):
            hidden = True
        elif re.match(r"^[`:]{3,}\{solution-end\}", part):
            hidden = False
        elif not hidden:
            kept.append(part)
    return "\n".join(kept), hidden


def link_exercises(cells: Iterable[Any], notebook: str) -> None:
    """Put below each exercise with code a link that opens its notebook at its cell.

    Parameters
    ----------
    cells
        Of a chapter; their Markdown is changed in place.
    notebook
        Where Colab opens the chapter's notebook.
    """
    label, has_code = "", False
    for cell in cells:
        if cell.cell_type == "code":
            has_code = bool(label)
            continue
        if label and has_code and (end := re.search(r"^[`:]{3,}\{exercise-end\}", cell.source, re.M)):
            link = f"[Open this exercise in Colab]({notebook}#scrollTo={label})\n\n"
            cell.source = cell.source[: end.start()] + link + cell.source[end.start() :]
        if begun(cell.source):
            label, has_code = begun(cell.source), False
        elif "{exercise-end}" in cell.source:
            label = ""
