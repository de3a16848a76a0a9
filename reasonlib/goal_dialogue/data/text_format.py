"""Read and write the released text of the Dialog bAbI tasks (Bordes, Boureau & Weston 2017).

A file is a run of dialogues with a blank line after each. Every line starts with an ID that counts from 1
within its dialogue; a line with a tab is a turn, one of three words a fact of the knowledge base::

    1 hi<tab>hello what can i help you with today
    2 can you book a table in rome<tab>i'm on it
    ...
    9 resto_rome_cheap_thai_2stars R_phone resto_rome_cheap_thai_2stars_phone
    10 <SILENCE><tab>what do you think of this option: resto_rome_cheap_thai_2stars

The file of the knowledge base writes the value of a fact after a tab instead of a space, and numbers every
line 1; so does the file of the candidates, one response a line. Task 6 adds lines ``api_call no result``,
which become a `Note`, users who say nothing at all, and responses with blanks at either end: these are kept,
so that reading a released file and writing it again gives the same bytes.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from reasonlib.data.files import excerpt, read_lines
from reasonlib.errors import DataError
from reasonlib.goal_dialogue.data.example import (
    RELATIONS,
    TASK_NAMES,
    Dialogue,
    Event,
    Fact,
    KnowledgeBase,
    Note,
    Turn,
)

__all__ = [
    "FOLDERS",
    "dumps",
    "dumps_knowledge",
    "parse",
    "read_candidates",
    "read_file",
    "read_knowledge",
]

FOLDERS = ("dialog-bAbI-tasks", "dialog_babi")
"""Names that the folder of the released files has."""

FETCH_HINT = f"set REASONLIB_DATA to the folder that holds {' or '.join(FOLDERS)}"
_AGAIN = "get the file again"


# Dialogues


def parse(
    lines: Iterable[str],
    name: str,
    task: int,
    *,
    candidates: Collection[str] | None = None,
    source: str = "the candidates",
) -> list[Dialogue]:
    """Turn the lines of one file into dialogues.

    Parameters
    ----------
    lines
        The lines, with or without their line ends.
    name
        What error messages call the file.
    task
        1 to 6. Only task 6 has notes.
    candidates
        What the system may say; every response must be among them. ``None``: anything.
    source
        What error messages call the candidates.

    Returns
    -------
    list of Dialogue
        In file order.

    Raises
    ------
    DataError
        One line that names the file, the line and the remedy: a line without an ID, an ID out of sequence, a
        turn without a response or with several, a line that is neither turn nor fact, a response that is no
        candidate, a fact that contradicts another of its dialogue (except in task 6, where the released ones
        do), a dialogue without a turn, or nothing to read at all.
    """
    if task not in TASK_NAMES:
        raise ValueError(f"task must be 1 to {len(TASK_NAMES)}, got {task}")
    allowed = None if candidates is None else frozenset(candidates)
    dialogues: list[Dialogue] = []
    for dialogue, numbered in groupby(_numbered_lines(lines, name), key=itemgetter(0)):
        if not dialogue:
            continue
        events: list[Event] = []
        facts: dict[tuple[str, str], tuple[str, int]] = {}
        start = 0
        for _, number, text in numbered:
            start = start or number
            event = _event(text, f"{name}, line {number}", task)
            if isinstance(event, Turn) and allowed is not None and event.bot not in allowed:
                raise DataError(
                    f"{name}, line {number}: the response {excerpt(event.bot)} is no candidate; "
                    f"add it to {source}"
                )
            if isinstance(event, Fact) and task != 6:
                _check_fact(event, number, facts, name)
            events.append(event)
        if not any(isinstance(event, Turn) for event in events):
            raise DataError(
                f"{name}, line {start}: the dialogue that starts here has no turn; "
                "add 'ID user<tab>response' or remove its facts"
            )
        dialogues.append(Dialogue(task=task, events=tuple(events)))
    if not dialogues:
        raise DataError(f"{name}: the file holds no dialogue; {_AGAIN}")
    return dialogues


def _numbered_lines(lines: Iterable[str], name: str) -> Iterator[tuple[int, int, str]]:
    """Yield the number of the dialogue, the number of the line and the text of each line, without its ID.

    A dialogue starts with ID 1 and ends before a blank line, which belongs to dialogue 0, or the next ID 1.
    """
    dialogue = last = 0
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")
        if not line.strip():
            last = 0
            yield 0, number, ""
            continue
        identity, text = _numbered(line, f"{name}, line {number}")
        if identity == 1:
            dialogue += 1
        elif identity != last + 1:
            expected = f"{last + 1} or 1" if last else "1"
            raise DataError(
                f"{name}, line {number}: ID {identity} is out of sequence, expected {expected}; "
                "number the lines of a dialogue from 1"
            )
        last = identity
        yield dialogue, number, text


def _check_fact(fact: Fact, number: int, facts: dict[tuple[str, str], tuple[str, int]], name: str) -> None:
    """Note the value of a fact and its line; raise if an earlier fact of the dialogue has another value."""
    value, line = facts.setdefault((fact.subject, fact.relation), (fact.value, number))
    if value != fact.value:
        raise DataError(
            f"{name}, line {number}: {fact.subject} has {fact.relation} {fact.value!r}, but "
            f"{value!r} on line {line}; remove the wrong one"
        )


def _numbered(line: str, at: str) -> tuple[int, str]:
    """Part a line into its ID and its text."""
    head, space, text = line.partition(" ")
    if not (head.isascii() and head.isdigit() and space):
        raise DataError(
            f"{at}: expected 'ID user<tab>response' or 'ID subject relation value', "
            f"got {excerpt(line)}; start the line with its number in the dialogue"
        )
    return int(head), text


def _event(text: str, at: str, task: int) -> Event:
    """Make one event of a line without its ID."""
    user, *responses = text.split("\t")
    if responses:
        if len(responses) > 1:
            raise DataError(
                f"{at}: {len(responses)} tabs, expected one; write 'ID user<tab>response', a turn a line"
            )
        if not responses[0].strip():
            raise DataError(f"{at}: turn without a response; write 'ID user<tab>response'")
        return Turn(user, responses[0])
    words = text.split(" ")
    if len(words) == 3 and words[1].startswith("R_") and all(words):
        if task != 6 and words[1] not in RELATIONS:
            raise DataError(f"{at}: unknown relation {words[1]!r}; use one of {', '.join(RELATIONS)}")
        return Fact(*words)
    if task == 6 and words[0] == "api_call":
        return Note(text)
    raise DataError(
        f"{at}: neither a turn nor a fact: {excerpt(text)}; "
        "write 'ID user<tab>response' or 'ID subject relation value'"
    )


def read_file(
    path: str | os.PathLike[str],
    task: int | None = None,
    *,
    candidates: Collection[str] | None = None,
    source: str = "the candidates",
) -> list[Dialogue]:
    """Read one file of dialogues.

    Parameters
    ----------
    path
        The file.
    task
        1 to 6; by default the number in a file name such as ``dialog-babi-task3-options-trn.txt``.
    candidates, source
        As for `parse`.

    Raises
    ------
    DataError
        If the file is absent, is not UTF-8, breaks off inside a line or holds a malformed line (see `parse`).
    """
    path = Path(path)
    if task is None:
        number = re.search(r"task(\d+)", path.name)
        if number is None or int(number[1]) not in TASK_NAMES:
            raise DataError(
                f"{path}: no task number in the file name; call it ...task<1 to 6>... or pass task"
            )
        task = int(number[1])
    return parse(read_lines(path, missing=FETCH_HINT), str(path), task, candidates=candidates, source=source)


def dumps(dialogues: Iterable[Dialogue]) -> str:
    """Write dialogues in the released text format.

    Raises
    ------
    ValueError
        If a text holds a tab or a line end, which the format uses.
    """
    lines: list[str] = []
    parts: tuple[str, ...]
    for dialogue in dialogues:
        for identity, event in enumerate(dialogue.events, start=1):
            match event:
                case Turn(user, bot):
                    parts = (user, bot)
                case Fact(subject, relation, value):
                    parts = (f"{subject} {relation} {value}",)
                case Note(text):
                    parts = (text,)
            if any(re.search(r"[\t\r\n]", part) for part in parts):
                raise ValueError(f"an event must hold neither tab nor line end, got {event!r}")
            lines.append(f"{identity} " + "\t".join(parts))
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


# Candidates and knowledge


def read_candidates(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Read what the system may say: ``1 response`` a line, in file order.

    Raises
    ------
    DataError
        If the file cannot be read, a line does not start with its number, holds no response or a tab, or a
        response occurs twice.
    """
    path = Path(path)
    line_of: dict[str, int] = {}
    # The released file of task 6 has no line end after its last response.
    for number, line in enumerate(read_lines(path, missing=FETCH_HINT, whole=False), start=1):
        head, space, text = line.partition(" ")
        source = f"{path}, line {number}"
        if not (head.isascii() and head.isdigit() and space and text.strip()) or "\t" in text:
            raise DataError(f"{source}: expected '1 response', got {excerpt(line)}; write a response a line")
        if text in line_of:
            raise DataError(
                f"{source}: {excerpt(text)} is already on line {line_of[text]}; remove one of the two"
            )
        line_of[text] = number
    if not line_of:
        raise DataError(f"{path}: the file holds no candidate; {_AGAIN}")
    return tuple(line_of)


def read_knowledge(path: str | os.PathLike[str]) -> KnowledgeBase:
    """Read a knowledge base: ``1 subject relation<tab>value`` a line, or with a space in place of the tab.

    Raises
    ------
    DataError
        If the file cannot be read, a line is no fact or has an unknown relation, the knowledge base
        contradicts itself, or a restaurant lacks a relation.
    """
    path = Path(path)
    facts: dict[str, dict[str, str]] = {}
    seen: dict[tuple[str, str], int] = {}
    for number, line in enumerate(read_lines(path, missing=FETCH_HINT), start=1):
        source = f"{path}, line {number}"
        words = line.replace("\t", " ").split(" ")
        if len(words) != 4 or not all(words) or not (words[0].isascii() and words[0].isdigit()):
            raise DataError(
                f"{source}: expected '1 subject relation<tab>value', got {excerpt(line)}; write a fact a line"
            )
        _, subject, relation, value = words
        if relation not in RELATIONS:
            raise DataError(f"{source}: unknown relation {relation!r}; use one of {', '.join(RELATIONS)}")
        values = facts.setdefault(subject, {})
        if values.setdefault(relation, value) != value:
            raise DataError(
                f"{source}: {subject} has {relation} {value!r}, but {values[relation]!r} on line "
                f"{seen[subject, relation]}; remove the wrong one"
            )
        seen.setdefault((subject, relation), number)
    if not facts:
        raise DataError(f"{path}: the file holds no fact; {_AGAIN}")
    for subject, values in facts.items():
        missing = [relation for relation in RELATIONS if relation not in values]
        if missing:
            last = max(seen[subject, relation] for relation in values)
            raise DataError(f"{path}, line {last}: {subject} has no {missing[0]}; add the fact")
    return KnowledgeBase(facts=facts)


def dumps_knowledge(knowledge: KnowledgeBase) -> str:
    """Write a knowledge base as released: every line numbered 1, a tab before the value."""
    return "".join(
        f"1 {subject} {relation}\t{value}\n"
        for subject, values in knowledge.facts.items()
        for relation, value in values.items()
    )
