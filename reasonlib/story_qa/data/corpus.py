"""Read and write the released bAbI text format (Weston et al. 2015), version 1.2.

A file is a run of stories. Every line starts with an ID that counts from 1 within its story; a line with a
tab is a question, with its answer and the IDs of the sentences that support it::

    1 Mary moved to the bathroom.
    2 John went to the hallway.
    3 Where is Mary? <tab>bathroom<tab>1
    4 Daniel went back to the hallway.
    5 Where is Daniel? <tab>hallway<tab>4

Questions take IDs too, so ID 4 above is the third sentence: `read_file` turns supporting IDs into positions
in `Example.story`, here ``(2,)``, and `dumps` turns them back. Reading a released file and writing it again
gives the same bytes.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reasonlib.data import Corpus
from reasonlib.data.files import excerpt, read_lines, write_atomic
from reasonlib.errors import DataError, UserError
from reasonlib.story_qa.data.example import TASKS, Example

__all__ = [
    "CORPORA",
    "FOLDER",
    "SIZES",
    "SLUGS",
    "SPLITS",
    "dumps",
    "parse",
    "path_of",
    "read",
    "read_file",
    "write",
]

FOLDER = "tasks_1-20_v1-2"

SLUGS = {
    1: "single-supporting-fact",
    2: "two-supporting-facts",
    3: "three-supporting-facts",
    4: "two-arg-relations",
    5: "three-arg-relations",
    6: "yes-no-questions",
    7: "counting",
    8: "lists-sets",
    9: "simple-negation",
    10: "indefinite-knowledge",
    11: "basic-coreference",
    12: "conjunction",
    13: "compound-coreference",
    14: "time-reasoning",
    15: "basic-deduction",
    16: "basic-induction",
    17: "positional-reasoning",
    18: "size-reasoning",
    19: "path-finding",
    20: "agents-motivations",
}

SIZES = ("en", "en-10k", "en-valid", "en-valid-10k")
SPLITS = ("train", "valid", "test")

_REQUIRED = tuple(
    f"en/qa{task}_{slug}_{split}.txt" for task, slug in SLUGS.items() for split in ("train", "test")
)
_OTHERS = (
    *(f"en-10k/qa{task}_{slug}_{split}.txt" for task, slug in SLUGS.items() for split in ("train", "test")),
    *(f"{size}/qa{task}_{split}.txt" for size in SIZES[2:] for task in SLUGS for split in SPLITS),
)

# Two archives of one tree. The address of the original is reported gone; the copy that ParlAI uses, on its
# authors' host, holds the same files and a variant of each without supporting facts. The checksums are those
# that other projects pin: datasets (Hugging Face) for the original, ParlAI for the copy.
CORPORA: dict[str, Corpus] = {
    "babi": Corpus(
        name="babi",
        url="https://dl.fbaipublicfiles.com/parlai/babi/babi.tar.gz",
        sha256="f7f0bee187efca0d81c3daac1b162cda4eb7f9505dee5ad6846eabbed3dbf92e",
        size=19_212_062,
        licence="CC BY 3.0",
        citation="weston2015",
        folder=FOLDER,
        files=_REQUIRED,
        others=_OTHERS,
        mirrors=("http://parl.ai/downloads/babi/babi.tar.gz",),
    ),
    "babi-original": Corpus(
        name="babi-original",
        url="http://www.thespermwhale.com/jaseweston/babi/tasks_1-20_v1-2.tar.gz",
        sha256="0364ebde659f14d11bc21744516c5ec49d3d06cb692733f66680771244998898",
        size=15_719_851,
        licence="CC BY 3.0",
        citation="weston2015",
        folder=FOLDER,
        files=_REQUIRED,
        others=_OTHERS,
    ),
}

# The released files put a space between question mark and tab in these tasks and none in the others.
SPACED = frozenset((1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14))


def parse(lines: Iterable[str], name: str, task: int) -> list[Example]:
    """Turn the lines of one bAbI file into examples, one for each question.

    Parameters
    ----------
    lines
        The lines, with or without their line ends.
    name
        What error messages call the source, usually the path.
    task
        1 to 20.

    Returns
    -------
    list of Example
        In file order. `group` counts the stories from 0. A question without a third field has no support.

    Raises
    ------
    DataError
        One line that names the source, the line and the remedy: a line without an ID, an ID out of sequence,
        a question without an answer, a support that is no sentence before the question, statements after
        the last question, or nothing to read at all.
    """
    if task not in TASKS:
        raise ValueError(f"task must be 1 to 20, got {task}")
    examples: list[Example] = []
    sentences: list[str] = []
    position: dict[int, int] = {}  # line ID of a statement -> its place in `sentences`
    previous, group, number, pending = 0, -1, 0, False
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")
        location = f"{name}, line {number}"
        identity, text = _numbered(line, location)
        if identity == 1:
            if pending:
                raise DataError(
                    f"{location}: a new story starts, but the one before it ends without a question; "
                    "add the question or remove the sentences after the last one"
                )
            sentences, position = [], {}
            group += 1
        elif identity != previous + 1:
            expected = f"{previous + 1} or 1" if previous else "1"
            raise DataError(
                f"{location}: ID {identity} is out of sequence, expected {expected}; "
                "number the lines of a story from 1"
            )
        previous = identity
        if "\t" not in text:
            if text.rstrip().endswith("?"):
                raise DataError(
                    f"{location}: question without an answer; write 'question?<tab>answer<tab>supporting IDs'"
                )
            position[identity] = len(sentences)
            sentences.append(text.rstrip())
            pending = True
            continue
        question, answer, support = _question(text, location, position)
        examples.append(
            Example(
                task=task,
                story=tuple(sentences),
                question=question,
                answer=answer,
                support=support,
                group=group,
            )
        )
        pending = False
    if number == 0:
        raise DataError(f"{name}: the file is empty; fetch the corpus again")
    if pending:
        raise DataError(
            f"{name}, line {number}: the file ends before the question of its last story; "
            "it looks cut short, fetch it again"
        )
    return examples


def _numbered(line: str, location: str) -> tuple[int, str]:
    """Part a line into its ID and its text."""
    head, _, text = line.partition(" ")
    if not (head.isascii() and head.isdigit() and text.strip()):
        raise DataError(
            f"{location}: expected 'ID text', got {excerpt(line)}; "
            "start the line with its number in the story"
        )
    return int(head), text


def _question(
    text: str, location: str, position: Mapping[int, int]
) -> tuple[str, tuple[str, ...], tuple[int, ...]]:
    """Part a line into a question, its answer, and the positions of the sentences that support it."""
    question, *rest = text.split("\t")
    answer = tuple(part.strip() for part in rest[0].split(","))
    if not question.strip() or not all(answer):
        raise DataError(
            f"{location}: question without an answer; write 'question?<tab>answer<tab>supporting IDs'"
        )
    if len(rest) > 2:
        raise DataError(f"{location}: {len(rest) + 1} fields, expected question, answer and supporting IDs")
    support = []
    for token in rest[1].split() if len(rest) == 2 else ():
        index = position.get(int(token)) if token.isascii() and token.isdigit() else None
        if index is None:
            raise DataError(
                f"{location}: supporting ID {token!r} names no sentence before this question; "
                "use the IDs of sentences of the same story"
            )
        support.append(index)
    return question.strip(), answer, tuple(support)


def read_file(path: str | os.PathLike[str], task: int | None = None) -> list[Example]:
    """Read one bAbI file.

    Parameters
    ----------
    path
        The file.
    task
        1 to 20; by default the number in a file name such as ``qa3_train.txt``.

    Raises
    ------
    DataError
        If the file is absent, is not UTF-8, breaks off inside a line or holds a malformed line (see `parse`).
    """
    path = Path(path)
    if task is None:
        result = re.match(r"qa(\d+)_", path.name)
        if result is None or int(result[1]) not in TASKS:
            raise DataError(
                f"{path}: no task number in the file name; call it qa<task>_... or pass task=1 to 20"
            )
        task = int(result[1])
    lines = read_lines(path, missing=_fetch_hint())
    return parse(lines, str(path), task)


def path_of(folder: str | os.PathLike[str], task: int, split: str = "train", size: str = "en") -> Path:
    """Path of one file of the released tree; `folder` is the tree itself or the folder that holds it.

    >>> path_of("tasks_1-20_v1-2", 3, "test", "en-10k").as_posix()
    'tasks_1-20_v1-2/en-10k/qa3_three-supporting-facts_test.txt'
    >>> path_of("tasks_1-20_v1-2", 3, "valid", "en-valid").as_posix()
    'tasks_1-20_v1-2/en-valid/qa3_valid.txt'
    """
    if task not in TASKS:
        raise UserError(f"task must be 1 to 20, got {task}")
    if split not in SPLITS:
        raise UserError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    if size not in SIZES:
        raise UserError(f"size must be one of {', '.join(SIZES)}, got {size!r}")
    if split == "valid" and "valid" not in size:
        raise UserError(f"{size} has no valid split; use size {size.replace('en', 'en-valid', 1)!r}")
    folder = Path(folder)
    if (folder / FOLDER).is_dir():
        folder = folder / FOLDER
    stem = f"qa{task}" if "valid" in size else f"qa{task}_{SLUGS[task]}"
    return folder / size / f"{stem}_{split}.txt"


def read(folder: str | os.PathLike[str], task: int, split: str = "train", size: str = "en") -> list[Example]:
    """Read one task and split of the released tree (see `path_of` and `read_file`).

    Parameters
    ----------
    folder
        The tree ``tasks_1-20_v1-2``, or the folder that holds it.
    task
        1 to 20.
    split
        "train", "valid" or "test"; "valid" only in the sizes that have it.
    size
        "en" (1,000 training questions), "en-10k" (10,000), "en-valid" and "en-valid-10k" (the same training
        questions, a tenth of them set aside as "valid").
    """
    return read_file(path_of(folder, task, split, size), task)


def dumps(examples: Sequence[Example]) -> str:
    """Write examples in the released text format; neighbours of one group share a story.

    Raises
    ------
    ValueError
        If two neighbours of one group do not share their sentences, or belong to two tasks.
    """
    lines: list[str] = []
    previous: Example | None = None
    identity = 0
    ids: list[int] = []  # line ID of each sentence of the story so far
    for example in examples:
        if previous is None or example.group != previous.group or example.task != previous.task:
            identity, ids = 0, []
        elif example.story[: len(ids)] != previous.story:
            raise ValueError(
                f"questions of story {example.group} disagree about its first {len(ids)} sentences"
            )
        for sentence in example.story[len(ids) :]:
            identity += 1
            ids.append(identity)
            lines.append(f"{identity} {sentence}")
        identity += 1
        space = " " if example.task in SPACED else ""
        line = f"{identity} {example.question}{space}\t{','.join(example.answer)}"
        if example.support:
            line += "\t" + " ".join(str(ids[index]) for index in example.support)
        lines.append(line)
        previous = example
    return "".join(f"{line}\n" for line in lines)


def write(examples: Sequence[Example], path: str | os.PathLike[str]) -> None:
    """Write examples to a file; an existing file stays as it is until the new one is complete."""
    write_atomic(Path(path), dumps(examples))


def _fetch_hint() -> str:
    return "run `reasonlib data fetch babi`, or set REASONLIB_DATA to the folder that holds " + FOLDER
