"""The teacher's edition: syllabus, rubrics, solutions and wrong answers, as pages to read; measured times.

    python tools/edition.py write [--to _build/edition]
    python tools/edition.py times [--again]  # time checks and the grading of notebooks: what is new, or all
    python tools/edition.py mock FOLDER   # a class of three, to try grading: perfect, lazy, wrong
    python tools/edition.py open          # list the open exercises of the book, and which lack a rubric

``teaching/`` holds what it is made from. Keep the pages from students: they have every solution.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import yaml
from chapters import BUILD, ROOT, Page, chapters, write_if_changed
from course import solutions
from parts import hours, topic
from reading import measure

from reasonlib.grading.markup import inline

TEACHING = ROOT / "teaching"
TIMES = TEACHING / "times.json"
PROJECT = "project"  # the rubric of a project that is no open exercise
EXERCISE = re.compile(
    r"^(?P<mark>`{3,})\{exercise\}[ \t]*(?P<title>[^\n]*)\n(?P<body>.*?)^(?P=mark)`*[ \t]*$", re.S | re.M
)
LABEL = re.compile(r"^:label:[ \t]*(\S+)", re.M)
CSS = """body{font:1rem/1.55 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1.5rem 1rem 4rem;
color-scheme:light dark;overflow-wrap:anywhere}h1,h2,h3{line-height:1.25}pre{overflow-x:auto;padding:.6rem;
background:color-mix(in srgb,currentColor 8%,transparent)}.wide{overflow-x:auto}
table{border-collapse:collapse}td,th{padding:.3rem .6rem;text-align:left;vertical-align:top;
border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent)}
table{overflow-wrap:normal}table.many{min-width:38rem}"""


@cache
def plans() -> list[dict[str, Any]]:
    """The courses of teaching/syllabus.yaml."""
    return yaml.safe_load((TEACHING / "syllabus.yaml").read_text(encoding="utf-8"))


@cache
def rubrics() -> dict[str, list[dict[str, Any]]]:
    """Label of an open exercise, or `PROJECT` -> what is looked at, with points."""
    return yaml.safe_load((TEACHING / "rubrics.yaml").read_text(encoding="utf-8"))


def open_exercises() -> dict[str, tuple[Page, str]]:
    """Label -> chapter and title of each exercise that neither a check nor the page grades."""
    return {
        label[1]: (page, match["title"].strip())
        for page in chapters()
        for match in EXERCISE.finditer(page.text)
        if "{question}" not in match["body"] and (label := LABEL.search(match["body"]))
    }


@cache
def graded(page: Page) -> list[Any]:
    """The exercises of a chapter that a check grades, in its order."""
    from reasonlib.grading.checks import exercises

    if not page.assignment.is_file():
        return []
    cells = nbformat.read(page.assignment, as_version=4).cells
    names = re.findall(r"exercises\.check_(\w+)\(", "\n".join(cell.source for cell in cells))
    by_name = {exercise.name: exercise for exercise in exercises(page.topic)}
    return [by_name[name] for name in dict.fromkeys(names)]


def week_times(week: Mapping[str, Any], by_name: Mapping[str, Page]) -> tuple[int, int, int]:
    """Minutes of reading, minutes of exercises, and points of a week."""
    pages = [by_name[name] for name in week["chapters"]]
    required = [
        exercise for page in pages for exercise in graded(page) if exercise.name not in week.get("skip", ())
    ]
    return (
        sum(measure(page).rounded for page in pages),
        sum(exercise.minutes for exercise in required),
        sum(exercise.points for exercise in required),
    )


# ---------------------------------------------------------------- measuring


def times(*, remeasure: bool = False) -> dict[str, Any]:
    """Grade every solution and assignment that has no time yet, or all again, and time it."""
    from reasonlib.grading import edition
    from reasonlib.grading.notebook import grade_notebook

    kept = measured()
    checked: dict[str, float] = {}
    notebooks: dict[str, float] = {}
    fresh: list[str] = []
    for page in chapters():
        if not (exercises := graded(page)):
            continue
        names = {f"{page.topic}.{exercise.name}": exercise for exercise in exercises}
        if (
            not remeasure
            and page.short in kept["notebook_seconds"]
            and set(names) <= set(kept["check_seconds"])
        ):
            checked |= {name: kept["check_seconds"][name] for name in names}
            notebooks[page.short] = kept["notebook_seconds"][page.short]
            continue
        solved = edition.load(TEACHING / f"{page.topic}.py")
        for name, exercise in names.items():
            right = solved[exercise.name].solution
            runs = [
                _seconds(lambda exercise=exercise, right=right: exercise(right, seed=1)) for _ in range(3)
            ]
            checked[name] = round(statistics.median(runs), 3)
        # the book's own notebook needs no sandbox, which would hide the seconds of its processes
        grade = _seconds(lambda page=page: grade_notebook(page.assignment, unsafe=True))
        notebooks[page.short] = round(grade, 1)
        fresh.append(page.short)
        print(f"{page.short:<28} {notebooks[page.short]:6.1f} s", flush=True)
    earlier = [_without(run, fresh) for run in kept["runs"]]
    runs_kept = [run for run in earlier if run["chapters"]] + ([_about(fresh)] if fresh else [])
    return {"runs": runs_kept, "check_seconds": checked, "notebook_seconds": notebooks}


def _without(run: Mapping[str, Any], chapters_again: Sequence[str]) -> dict[str, Any]:
    return {**run, "chapters": [name for name in run["chapters"] if name not in chapters_again]}


def _about(measured_now: Sequence[str]) -> dict[str, Any]:
    """When and with what these chapters were measured, and how many processes ran at the time."""
    return {
        "when": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        "clock": "processor",
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "chapters": list(measured_now),
    }


def _seconds(run: Any) -> float:
    """Seconds of a processor, also by ended child processes: what else the machine does hardly matters."""

    def now() -> float:
        children = os.times()
        return time.process_time() + children.children_user + children.children_system

    begun = now()
    run()
    return now() - begun


def measured() -> dict[str, Any]:
    """What `times` kept; empty where nothing was measured."""
    kept = json.loads(TIMES.read_text(encoding="utf-8")) if TIMES.is_file() else {}
    return {"runs": [], "check_seconds": {}, "notebook_seconds": {}, **kept}


def measured_when() -> str:
    """When the seconds of grading were measured, in words; empty where nothing was."""
    runs = []
    for run in measured()["runs"]:
        count = len(run["chapters"])
        runs.append(f"{run['when']} with Python {run['python']} ({count} chapters, {run['clock']} time)")
    return "; seconds of grading were measured on " + " and on ".join(runs) if runs else ""


# ---------------------------------------------------------------- a class to try


STUDENTS = ("perfect", "lazy", "wrong")


def mock(folder: Path, chapter: str = "transformer/attention") -> list[Path]:
    """Hand in an assignment three times: solved, untouched, and with a first answer that is wrong."""
    page = next(page for page in chapters() if page.short == chapter)
    right = solutions(page.text)
    written = []
    for student in STUDENTS:
        notebook = nbformat.read(page.assignment, as_version=4)
        answered = 0
        for cell in notebook.cells:
            check = (
                re.search(r"^exercises\.check_(\w+)\(", cell.source, re.M)
                if cell.cell_type == "code"
                else None
            )
            if check is None or student == "lazy":
                continue
            answered += 1
            if student == "wrong" and answered == 1:
                first = re.search(r"\((\w+)", cell.source)[1]
                cell.source = cell.source.replace("raise NotImplementedError", f"return {first}")
            else:
                cell.source = f"{right[check[1]]}\n\n\n{cell.source[check.start() :]}"
        path = folder / student / f"{page.path.stem}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)
        written.append(path)
    return written


# ---------------------------------------------------------------- pages


def heading(page: Page) -> str:
    """The number and title of a chapter."""
    return f"{page.number}. {html.escape(page.title)}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{head}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    kind = ' class="many"' if len(heads) > 2 else ""
    return f'<div class="wide"><table{kind}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def document(title: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{CSS}</style></head>'
        f"<body><main><h1>{html.escape(title)}</h1>{body}</main></body></html>\n"
    )


def _row(week: Mapping[str, Any], by_name: Mapping[str, Page]) -> tuple[str, ...]:
    """Subject, chapters, reading, exercises and what to do of a week or a project."""
    reading, work, points = week_times(week, by_name)
    left = f" Left out: {', '.join(week['skip'])}." if week.get("skip") else ""
    return (
        inline(week["title"]),
        "<br>".join(heading(by_name[name]) for name in week["chapters"]),
        hours(reading),
        f"{hours(work)}, {points} points.{html.escape(left)}",
        inline(week["class"]),
    )


def syllabus() -> str:
    """The courses, week by week, with their times."""
    by_name = {page.short: page for page in chapters()}
    parts = []
    for plan in plans():
        rows = [(str(number), *_row(week, by_name)) for number, week in enumerate(plan["weeks"], 1)]
        optional = [
            (f"in place of week {week['instead']}" if "instead" in week else "project", *_row(week, by_name))
            for week in plan["optional"]
        ]
        used = {name for week in (*plan["weeks"], *plan["optional"]) for name in week["chapters"]}
        further = [heading(page) for page in by_name.values() if page.short not in used]
        parts.append(f"<h2>{html.escape(plan['title'])}</h2><p>{inline(plan['for'])}</p>")
        parts.append(table(("Week", "Subject", "Chapters", "Reading", "Exercises", "In class"), rows))
        parts.append(f"<h3>{html.escape(plan['title'])}: optional weeks and projects</h3>")
        parts.append(table(("When", "Subject", "Chapters", "Reading", "Exercises", "What to do"), optional))
        if further:
            parts.append(f"<p>Further chapters: {', '.join(further)}.</p>")
    return "".join(parts)


def rubric_page() -> str:
    """The open exercises, and any other project, with how they are graded."""
    entries = {label: (name, heading(page)) for label, (page, name) in open_exercises().items()}
    parts = []
    for label, (name, subject) in {**entries, PROJECT: ("Any other project", "Of the syllabus")}.items():
        rows = [
            (
                inline(row["what"]),
                str(row["points"]),
                *(inline(row[level]) for level in ("all", "half", "none")),
            )
            for row in rubrics().get(label, [])
        ]
        total = sum(row["points"] for row in rubrics().get(label, []))
        parts.append(f"<h2>{html.escape(name)}</h2><p>{subject}; {total} points</p>")
        parts.append(
            table(("Criterion", "Points", "All", "Half", "None"), rows) if rows else "<p>No rubric yet.</p>"
        )
    return "".join(parts)


def topic_page(name: str, pages: Sequence[Page]) -> str:
    """Solutions of a topic, and the wrong answers with what each teaches."""
    from reasonlib.grading import edition

    solved, seconds, parts = edition.load(TEACHING / f"{name}.py"), measured(), []
    for page in pages:
        elapsed = seconds["notebook_seconds"].get(page.short)
        clock = next((run["clock"] for run in seconds["runs"] if page.short in run["chapters"]), "")
        grading_time = f"<p>Grading one notebook took {elapsed:g} s ({clock} time).</p>" if elapsed else ""
        parts.append(f"<h2>{heading(page)}</h2>{grading_time}")
        right = solutions(page.text)
        for exercise in graded(page):
            check = seconds["check_seconds"].get(f"{name}.{exercise.name}")
            facts = f"{exercise.points} points; about {hours(exercise.minutes)} for a student" + (
                f"; the check took {check:g} s" if check is not None else ""
            )
            parts.append(f"<h3>{inline(exercise.title)} <code>{exercise.name}</code></h3><p>{facts}.</p>")
            parts.append(f"<pre>{html.escape(right.get(exercise.name, ''))}</pre>")
            rows = [
                (inline(mistake.hint.replace("|", " or ")), inline(mistake.teaches))
                for mistake in solved[exercise.name].mistakes
            ]
            parts.append(table(("The hint that a wrong answer gets", "What to explain"), rows))
    return "".join(parts)


def write(folder: Path) -> list[Path]:
    """Write the pages; return them."""
    by_topic: dict[str, list[Page]] = {}
    for page in chapters():
        if graded(page) and (TEACHING / f"{page.topic}.py").is_file():
            by_topic.setdefault(page.topic, []).append(page)
    note = (
        f"<p>Minutes of exercises are estimates; reading time is measured on the text{measured_when()}.</p>"
    )
    titles = {name: topic(name).title for name in by_topic}
    links = "".join(
        f'<li><a href="{name}.html">{html.escape(title)}</a></li>' for name, title in titles.items()
    )
    written = {
        "index": (
            "Teacher's edition",
            f'<p><a href="rubrics.html">Rubrics for open exercises</a></p><h2>Solutions</h2><ul>{links}</ul>'
            f"{syllabus()}{note}",
        ),
        "rubrics": ("Rubrics for open exercises", rubric_page()),
        **{name: (titles[name], topic_page(name, pages)) for name, pages in by_topic.items()},
    }
    for name, (title, body) in written.items():
        write_if_changed(folder / f"{name}.html", document(title, body))
    return [folder / f"{name}.html" for name in written]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("write", "times", "mock", "open"))
    parser.add_argument("folder", type=Path, nargs="?", help="of a mock class")
    parser.add_argument("--to", type=Path, default=BUILD / "edition")
    parser.add_argument("--again", action="store_true", help="measure also what has a time already")
    given = parser.parse_args()
    if given.what == "times":
        write_if_changed(TIMES, json.dumps(times(remeasure=given.again), indent=1) + "\n")
    elif given.what == "mock":
        if given.folder is None:
            parser.error("name a folder for the class")
        print(f"{len(mock(given.folder))} notebooks handed in under {given.folder}")
    elif given.what == "open":
        for label, (page, name) in open_exercises().items():
            print(f"{page.short:<28} {name}: {'rubric' if label in rubrics() else 'no rubric'}")
    else:
        print(f"{len(write(given.to))} pages: {given.to / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
