"""MultiWOZ 2.1 as it is on disk: the released JSON, and the pre-processed table of the STAR authors.

The table has 35 columns: dialogue, turn number, "is it the last turn", system utterance, user utterance, 30
labels. Its authors edited the labels: domains outside the user's goal are set to none, free parking and the
like to ``true``, the ontology comes from all parts. A figure from it is not a figure on the source's labels,
and every table of this book says so.

The released JSON holds one log entry for each utterance, the user first; the state after a user's turn stands
in the system's answer (``metadata``).
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reasonlib import data
from reasonlib.arguments import check_choice
from reasonlib.data import Corpus
from reasonlib.data.files import read_lines
from reasonlib.errors import DataError
from reasonlib.state_tracking.data.cleaning import clean_state
from reasonlib.state_tracking.data.example import Dialogue, Turn
from reasonlib.state_tracking.data.ontology import DOMAINS, DONTCARE, NONE, PAIRS, is_pair

__all__ = ["CORPORA", "PARTS", "dumps", "read", "read_json", "read_table", "write"]

_COMMIT = "0ce04f5b77a8c853c5de625a1efb755f1854c1e4"

CORPORA: dict[str, Corpus] = {
    "multiwoz": Corpus(
        name="multiwoz",
        url=f"https://raw.githubusercontent.com/smartyfh/DST-STAR/{_COMMIT}/data/mwz2.1.zip",
        sha256="8e6b53f2387395d34a24bc48436008ae1c4f97137b5174012c07cd63ad023247",
        size=3_506_540,
        licence="MIT (the data); labels edited by the STAR authors",
        citation="eric2020",
        folder="mwz2.1",
        aliases=("multiwoz",),
        files=("train.tsv", "dev.tsv", "test.tsv"),
    )
}

PARTS = {"train": "train.tsv", "valid": "dev.tsv", "test": "test.tsv"}
_COLUMNS = 5 + len(PAIRS)
_EMPTY = ("", NONE, "not mentioned", "[]")


def read(part: str, *, clean: bool = True) -> list[Dialogue]:
    """Read one part of the pre-processed corpus from this machine.

    Parameters
    ----------
    part
        ``train``, ``valid`` or ``test``.
    clean
        Whether to apply TRADE's label corrections.

    Raises
    ------
    ValueError
        If there is no such part.
    DataError
        If the corpus is not on this machine, or a line is malformed.
    """
    check_choice("part", part, PARTS)
    return read_table(data.locate(CORPORA["multiwoz"]) / PARTS[part], clean=clean)


def read_table(path: Path, *, clean: bool = True) -> list[Dialogue]:
    """Read a pre-processed file.

    Raises
    ------
    DataError
        If the header or a line is malformed; names the file, the line and what is wrong.
    """
    lines = read_lines(path, missing="name a TSV file of the pre-processed release", whole=False)
    header = lines[0].rstrip("\t").split("\t") if lines else []
    if len(header) != _COLUMNS:
        raise DataError(
            f"{path}, line 1: expected {_COLUMNS} columns, got {len(header)}; is it the TSV release?"
        )
    if unknown := [name for name in header[5:] if not is_pair(name)]:
        raise DataError(f"{path}, line 1: {unknown[0][:60]!r} is not one of the 30 domain-slot pairs")
    turns: dict[str, list[Turn]] = {}
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split("\t")[:_COLUMNS]
        if len(cells) != _COLUMNS:
            raise DataError(f"{path}, line {number}: expected {_COLUMNS} columns, got {len(cells)}")
        name, index, _, system, user = (cell.strip() for cell in cells[:5])
        past = turns.setdefault(name, [])
        if index != str(len(past)):
            raise DataError(f"{path}, line {number}: expected turn {len(past)} of {name}, got {index!r}")
        values = {pair: cell.strip() for pair, cell in zip(header[5:], cells[5:], strict=True)}
        past.append(Turn(system=system, user=user, state=_state(values, clean)))
    return [Dialogue(name=name, turns=tuple(past)) for name, past in turns.items()]


def read_json(path: Path, *, clean: bool = True) -> list[Dialogue]:
    """Read dialogues of the released JSON (``data.json`` or a part of it).

    Raises
    ------
    DataError
        If the file is not such JSON, or a dialogue is malformed; names the dialogue.
    """
    lines = read_lines(path, missing="name data.json of the release, or a part of it", whole=False)
    try:
        items = json.loads("\n".join(lines)).items()
    except (ValueError, AttributeError) as error:
        raise DataError(f"{path}: not MultiWOZ's JSON ({error}); expected an object of dialogues") from None
    return [_dialogue(path, name, entry, clean) for name, entry in items]


def _dialogue(path: Path, name: str, entry: Any, clean: bool) -> Dialogue:
    log = entry.get("log") if isinstance(entry, dict) else None
    if not isinstance(log, list) or not log or len(log) % 2:
        count = len(log) if isinstance(log, list) else 0
        raise DataError(f"{path}, {name}: expected user and system in turn, got {count} utterances")
    turns, system = [], ""
    for number, (user, answer) in enumerate(zip(log[::2], log[1::2], strict=True)):
        try:
            user_text, reply = _words(user["text"]), _words(answer["text"])
            values = _flat(answer["metadata"])
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path}, {name}, turn {number}: malformed ({error!r})") from None
        turns.append(Turn(system=system, user=user_text, state=_state(values, clean)))
        system = reply
    return Dialogue(name=name, turns=tuple(turns))


def _flat(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Turn the nested state of the release into pairs of the five domains; other domains are left out."""
    values = {}
    for domain in DOMAINS:
        for group, slots in metadata.get(domain, {}).items():
            for slot, value in slots.items():
                pair = f"{domain}-{'book ' if group == 'book' else ''}{slot.lower()}"
                value = value[0] if isinstance(value, list) and value else value
                if is_pair(pair) and isinstance(value, str):
                    values[pair] = value.split("|")[0].strip().lower()
                elif value and (is_pair(pair) or (slot != "booked" and value not in _EMPTY)):
                    raise KeyError(pair)
    return values


def _state(values: Mapping[str, str], clean: bool) -> dict[str, str]:
    """Keep what has a value, under the one spelling of dontcare."""
    state = {
        pair: DONTCARE if value in ("do not care", "dont care") else value for pair, value in values.items()
    }
    state = {pair: value for pair, value in state.items() if value not in _EMPTY}
    return clean_state(state) if clean else state


def _words(text: str) -> str:
    """Lower the case and set punctuation apart, apostrophes kept as the source keeps them (section 4.3.1)."""
    for mark in ".,?!":
        text = text.replace(f"{mark} ", f" {mark} ")
    text = text.strip()
    if text and text[-1] in ".,?!":
        text = f"{text[:-1]} {text[-1]}"
    return " ".join(text.lower().split())


def dumps(dialogues: Iterable[Dialogue]) -> str:
    """Write dialogues as text, in the format of the pre-processed files."""
    header = ["# Dialogue ID", "Turn Index", "Last Turn", "System Response", "User Utterance", *PAIRS]
    lines = ["\t".join(header)]
    for dialogue in dialogues:
        for number, turn in enumerate(dialogue.turns):
            last = str(number == len(dialogue.turns) - 1)
            labels = [turn.state.get(pair, NONE) for pair in PAIRS]
            lines.append("\t".join([dialogue.name, str(number), last, turn.system, turn.user, *labels]))
    return "\n".join(lines) + "\n"


def write(dialogues: Iterable[Dialogue], path: Path) -> None:
    """Write dialogues as the pre-processed files are; the file is written atomically."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(dumps(dialogues), encoding="utf-8", newline="\n")
    draft.replace(path)
