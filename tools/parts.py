"""Pages made from data: the part page and the results page of each topic, and the table of topics.

Each function returns Markdown. The Sphinx extension `reasonlib_parts` puts it in place of a line of a page:

    ```{part} story_qa```       question, source, chapters with their reading times, results in one line
    ```{results} story_qa```    every claim of the source by its table or figure, and how to measure it
    ```{measured} story_qa tables.overview```  a table or chart that a function of the topic's `page` makes
    ```{topics}```              all topics of the book, with the state of each
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import yaml
from chapters import ROOT, Page, chapters
from reading import measure

if TYPE_CHECKING:
    from reasonlib.tracking.verdict import Verdict

TOPICS = ROOT / "book" / "topics.yaml"
SHORT = 3  # claims: a longer table is closed until a reader opens it


@dataclass(frozen=True)
class Topic:
    """What the book says of one topic."""

    name: str
    title: str
    question: str
    source: str

    @property
    def chapters(self) -> list[Page]:
        """Its chapters in reading order."""
        return [page for page in chapters() if page.topic == self.name]

    @property
    def built(self) -> bool:
        """Whether there is something to read."""
        return bool(self.chapters)

    @property
    def minutes(self) -> int:
        """Of reading, without the exercises."""
        return sum(measure(page).rounded for page in self.chapters)


@cache
def topics() -> dict[str, Topic]:
    """Every topic of the book, by name."""
    entries = yaml.safe_load(TOPICS.read_text(encoding="utf-8"))
    return {entry["name"]: Topic(**entry) for entry in entries}


def topic(name: str) -> Topic:
    """One topic.

    Raises
    ------
    ValueError
        If book/topics.yaml does not have it.
    """
    if name not in topics():
        raise ValueError(f"book/topics.yaml has no topic {name!r}; it has {', '.join(topics())}")
    return topics()[name]


def hours(minutes: int) -> str:
    """Minutes as a person says them.

    >>> hours(25), hours(60), hours(95)
    ('25 minutes', '1 hour', '1 h 35 min')
    """
    if minutes < 60:
        return f"{minutes} minutes"
    if minutes == 60:
        return "1 hour"
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes % 60 else f"{minutes // 60} hours"


# ---------------------------------------------------------------- claims


@cache
def verdicts(name: str) -> tuple[Verdict, ...]:
    """The verdict on every claim of a topic."""
    from reasonlib.tracking import claims

    return tuple(claims.verdicts(name))


@cache
def claim_rows(name: str) -> tuple[Mapping[str, Any], ...]:
    """Every claim of a topic with its verdict, as ``reasonlib claims --json`` prints them."""
    return tuple(verdict.to_json() for verdict in verdicts(name))


def board(rows: Sequence[Mapping[str, Any]], caption: str) -> str:
    """Claims with what was published and measured and their verdicts, as HTML; long tables are closed."""
    from reasonlib.display import findings

    return findings.folded(rows, caption, opened=len(rows) <= SHORT)


def tally(rows: Iterable[Mapping[str, Any]]) -> str:
    """Count the verdicts in one line.

    >>> tally([{"verdict": "not run"}, {"verdict": "reproduced"}, {"verdict": "not run"}])
    '3 claims: 1 reproduced, 2 not run'
    """
    from reasonlib.tracking.judging import VERDICTS

    verdicts = [row["verdict"] for row in rows]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts]
    return f"{len(verdicts)} claim{'s' * (len(verdicts) != 1)}: " + ", ".join(counts)


def heading(kind: str, locator: str) -> str:
    """Name a part of a source.

    >>> heading("table", "Joint training"), heading("table", "Table 2"), heading("section", "2.1: losses")
    ('Table: Joint training', 'Table 2', 'Section 2.1: losses')
    """
    if locator.lower().startswith(kind):
        return locator
    return f"{kind.capitalize()} {locator}" if locator[:1].isdigit() else f"{kind.capitalize()}: {locator}"


def groups(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, list[Mapping[str, Any]]]]:
    """The claims by the table, figure or section that makes them, in the order of the file."""

    def key(row: Mapping[str, Any]) -> tuple[str, str]:
        kind = next(kind for kind in ("table", "figure", "section") if row.get(kind))
        return kind, row[kind]

    claims_by_part: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for part, members in groupby(rows, key=key):
        claims_by_part.setdefault(part, []).extend(members)
    return [(kind, locator, members) for (kind, locator), members in claims_by_part.items()]


def commands(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The commands that measure these claims: one for each experiment and scale.

    >>> row = {"experiment": "a/b", "experiment_row": "x", "scale": "paper", "sides": []}
    >>> row["data"] = {"name": "babi"}
    >>> commands([row, {**row, "experiment_row": "y"}])
    ['reasonlib run a/b --row x --row y --scale paper --data babi']
    """
    rows_by_command: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        sides = [(side["experiment"], side["row"]) for side in row["sides"]]
        own = [(row["experiment"], row["experiment_row"])] if row["experiment"] else []
        data = (row["data"] or {}).get("name", "")
        for experiment, name in sides or own:
            lines = rows_by_command.setdefault((experiment, row["scale"] or "paper", data), [])
            if name and name not in lines:
                lines.append(name)
    return [
        f"reasonlib run {experiment}"
        + ("".join(f" --row {name}" for name in names) if len(names) <= 4 else "")
        + f" --scale {scale}"
        + (f" --data {data}" if data else "")
        for (experiment, scale, data), names in rows_by_command.items()
    ]


# ---------------------------------------------------------------- pages


def part_page(name: str) -> str:
    """The part page of a topic, below its title."""
    entry = topic(name)
    lines = [f"*{entry.question}*", "", f"**Source.** {entry.source}.", ""]
    lines += ["| | chapter | you will be able to | minutes |", "|--:|---|---|--:|"]
    for page in entry.chapters:
        gives = re.sub(r"^You will be able to ", "", page.objective).rstrip(".")
        minutes = measure(page).rounded
        lines.append(f"| {page.number} | {{doc}}`{page.title} <{page.path.stem}>` | {gives} | {minutes} |")
    lines += ["", f"**Time.** {hours(entry.minutes).capitalize()} of reading{exercise_time(name)}.", ""]
    if rows := [row for row in claim_rows(name) if not row["goal"]]:
        verdicts = "[the scoreboard](../scoreboard.md) explains the verdicts"
        lines += [f"**Results.** {tally(rows)}. See [the tables](results.md); {verdicts}.", ""]
    return "\n".join(lines)


def exercise_time(name: str) -> str:
    """How many exercises with code a topic has, and what they take."""
    from reasonlib.errors import UserError
    from reasonlib.grading.checks import exercises

    try:
        listed = exercises(name)
    except UserError:
        return ""
    minutes = sum(exercise.minutes for exercise in listed)
    return f", and {len(listed)} exercises with code that take {hours(minutes)} in all"


def results_page(name: str) -> str:
    """The results page of a topic, below its introduction."""
    rows = [row for row in claim_rows(name) if not row["goal"]]
    goals = [row for row in claim_rows(name) if row["goal"]]
    closed = (
        "On the site, long tables are folded: click the line that counts the verdicts to open a table. "
        "Line numbers count the lines of the source's text, as extracted from its PDF."
    )
    lines = [f"{tally(rows)}. {closed}", ""]
    for kind, locator, members in groups(rows):
        lines += section(heading(kind, locator), members)
    if goals:
        lines += [
            "### Goals of this book",
            "",
            "This book also has goals of its own. The source makes no such claims.",
            "",
        ]
        lines += [*raw(board(goals, "Goals of this book")), *rerun_commands(goals)]
    return "\n".join(lines)


def section(title: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One table, figure or section of the source: what was published, what we measured, and how to again."""
    return [f"### {title}", "", *raw(board(rows, title)), *rerun_commands(rows)]


def rerun_commands(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The commands that measure these claims, folded away."""
    lines = commands(rows)
    head = ["```{admonition} Measure it again", ":class: dropdown", "", "~~~bash"]
    return [*head, *lines, "~~~", "```", ""] if lines else []


def measured(names: str) -> str:
    """A table or a chart that a function of a topic's `page` package makes from records.

    Parameters
    ----------
    names
        Topic, and function with its module, such as ``visual_iq tables.training_budgets``.

    Raises
    ------
    ValueError
        If there is no such function.
    """
    name, _, path = names.strip().partition(" ")
    module, _, function = path.strip().rpartition(".")
    try:
        make = getattr(importlib.import_module(f"reasonlib.{topic(name).name}.page.{module}"), function)
    except (ImportError, AttributeError):
        raise ValueError(f"reasonlib.{name}.page has no function {path!r}") from None
    html = make()._repr_html_()
    if "dataframe" in html:  # may be wider than the page: it scrolls, and its first column stays
        html = f'<div class="rr-scroll rr-wide" tabindex="0" role="group" aria-label="Table">{html}</div>'
    return "\n".join(raw(f'<div class="cell_output docutils container">{html}</div>'))


def raw(html: str) -> list[str]:
    """HTML as a block of a page."""
    return ["````{raw} html", html, "````", ""]


def topics_table() -> str:
    """All topics with their state."""
    lines = ["| topic | question | chapters and reading time |", "|---|---|---|"]
    for entry in topics().values():
        if entry.built:
            title = f"[{entry.title}]({entry.name}/index.md)"
            state = f"{len(entry.chapters)} chapters, {hours(entry.minutes)}"
        else:
            title, state = entry.title, "next"
        lines.append(f"| {title} | {entry.question} | {state} |")
    built = [entry for entry in topics().values() if entry.built]
    chapters, minutes = sum(len(entry.chapters) for entry in built), sum(entry.minutes for entry in built)
    return (
        "\n".join([*lines, "", f"Reading all {chapters} chapters takes about {round(minutes / 60)} hours."])
        + "\n"
    )
