"""Readers of the sets of GLUE, of SNLI, SciTail, Quora pairs and WikiQA, as they were released.

::

    cola    source, label, star, sentence                       no header
    sst2    sentence, label
    mrpc    Quality, #1 ID, #2 ID, #1 String, #2 String
    stsb    genre, file, year, number, score, two sentences     no header
    rte     index, sentence1, sentence2, label                  as qnli, wnli (label 0 or 1)
    mnli    index, ..., sentence1, sentence2, ..., gold_label   twelve columns
    qqp     id, qid1, qid2, question1, question2, is_duplicate
    snli    premise, hypothesis, number                         as scitail, quora; no header
    wikiqa  question, sentence, label                           no header; lines of a question together

Test parts of which no labels were released cannot be read.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from reasonlib.arguments import check_choice
from reasonlib.multi_task.data.example import Example, Task
from reasonlib.multi_task.data.tables import class_number, read_rows, real_number

__all__ = ["TASKS", "read_file"]

NOT_OR = ("not_entailment", "entailment")
THREE = ("contradiction", "neutral", "entailment")

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(name="cola", kind="single", labels=("unacceptable", "acceptable"), metric="matthews"),
        Task(name="sst2", kind="single", labels=("negative", "positive")),
        Task(name="mrpc", kind="pair", labels=("different", "paraphrase")),
        Task(name="stsb", kind="similarity", metric="pearson"),
        Task(name="rte", kind="pair", labels=NOT_OR),
        Task(name="wnli", kind="pair", labels=NOT_OR),
        Task(name="mnli", kind="pair", labels=THREE),
        Task(name="qqp", kind="pair", labels=("different", "duplicate")),
        Task(name="qnli", kind="ranking"),
        Task(name="snli", kind="pair", labels=THREE),
        Task(name="scitail", kind="pair", labels=NOT_OR),
        Task(name="quora", kind="pair", labels=("different", "duplicate")),
        Task(name="wikiqa", kind="ranking", metric="map"),
    )
}


def read_file(task: str, path: Path) -> list[Example]:
    """Read a file in the format of a set.

    Raises
    ------
    ValueError
        If there is no such set.
    DataError
        If the file cannot be read, has no header where it must have one, or a line is malformed.
    """
    check_choice("task", task, _READERS)
    return list(_READERS[task](path))


def _cola(path: Path) -> Iterator[Example]:
    for row in read_rows(path, 4):
        yield Example(first=row[3], label=class_number(row, 1, ("0", "1")), task="cola")


def _sst2(path: Path) -> Iterator[Example]:
    for row in read_rows(path, 2, header=("sentence", "label")):
        yield Example(first=row[0].strip(), label=class_number(row, 1, ("0", "1")), task="sst2")


def _mrpc(path: Path) -> Iterator[Example]:
    for row in read_rows(path, 5, header=("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")):
        yield Example(first=row[3], second=row[4], label=class_number(row, 0, ("0", "1")), task="mrpc")


def _stsb(path: Path) -> Iterator[Example]:
    for row in read_rows(path, 7, more=True):  # some lines name their source and licence at the end
        yield Example(first=row[5], second=row[6], label=real_number(row, 4, 0, 5), task="stsb")


def _rte(path: Path) -> Iterator[Example]:
    for row in read_rows(path, 4, header=("index", "sentence1", "sentence2", "label")):
        yield Example(first=row[1], second=row[2], label=class_number(row, 3, NOT_OR), task="rte")


def _wnli(path: Path) -> Iterator[Example]:
    for row in read_rows(path, 4, header=("index", "sentence1", "sentence2", "label")):
        yield Example(first=row[1], second=row[2], label=class_number(row, 3, ("0", "1")), task="wnli")


def _mnli(path: Path) -> Iterator[Example]:
    for row in read_rows(path, (12, 16), header=("index",)):
        if row[-1].strip() == "-":
            continue  # the annotators did not agree
        yield Example(first=row[8], second=row[9], label=class_number(row, len(row) - 1, THREE), task="mnli")


def _qqp(path: Path) -> Iterator[Example]:
    header = ("id", "qid1", "qid2", "question1", "question2", "is_duplicate")
    for row in read_rows(path, 6, header=header):
        yield Example(first=row[3], second=row[4], label=class_number(row, 5, ("0", "1")), task="qqp")


def _qnli(path: Path) -> Iterator[Example]:
    """Group the pairs of a question, as the source does; a question needs a right and a wrong sentence."""
    rows = read_rows(path, 4, header=("index", "question", "sentence", "label"))
    by_question: dict[str, list[tuple[str, bool]]] = {}
    for row in rows:
        by_question.setdefault(row[1], []).append((row[2], bool(class_number(row, 3, NOT_OR))))
    for question, candidates in by_question.items():
        yield from _ranking("qnli", question, candidates)


def _snli(path: Path) -> Iterator[Example]:
    """Read the released table, which has a header and fourteen columns, or three columns."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            released = file.readline().startswith("gold_label\t")
    except (OSError, UnicodeDecodeError):
        released = False
    if not released:
        yield from _numbered("snli", ("2", "1", "0"))(path)
        return
    for row in read_rows(path, 14, header=("gold_label",)):
        if row[0].strip() != "-":  # the annotators agreed
            yield Example(first=row[5], second=row[6], label=class_number(row, 0, THREE), task="snli")


def _scitail(path: Path) -> Iterator[Example]:
    """Read premise, hypothesis and a label: ``entails`` or ``neutral`` as released, or 0 or 1."""
    for row in read_rows(path, 3):
        names = ("neutral", "entails") if row[2].strip().isalpha() else ("1", "0")
        yield Example(first=row[0], second=row[1], label=class_number(row, 2, names), task="scitail")


def _numbered(task: str, numbers: tuple[str, ...]) -> Callable[[Path], Iterator[Example]]:
    """Make a reader of pairs with a number at the end; `numbers` are those of the task's labels, in order."""

    def reader(path: Path) -> Iterator[Example]:
        for row in read_rows(path, 3):
            yield Example(first=row[0], second=row[1], label=class_number(row, 2, numbers), task=task)

    return reader


def _wikiqa(path: Path) -> Iterator[Example]:
    rows = ((row[0], (row[1], bool(class_number(row, 2, ("0", "1"))))) for row in read_rows(path, 3))
    for question, group in groupby(rows, key=lambda row: row[0]):
        yield from _ranking("wikiqa", question, [candidate for _, candidate in group])


def _ranking(task: str, question: str, candidates: list[tuple[str, bool]]) -> Iterator[Example]:
    """Give a question with its candidates, unless all or none of them are right."""
    right = [number for number, (_, relevant) in enumerate(candidates) if relevant]
    if right and len(right) < len(candidates):
        texts = tuple(text for text, _ in candidates)
        yield Example(first=question, candidates=texts, label=right[0], others=tuple(right[1:]), task=task)


_READERS: dict[str, Callable[[Path], Iterator[Example]]] = {
    "cola": _cola,
    "sst2": _sst2,
    "mrpc": _mrpc,
    "stsb": _stsb,
    "rte": _rte,
    "wnli": _wnli,
    "mnli": _mnli,
    "qqp": _qqp,
    "qnli": _qnli,
    "snli": _snli,
    "scitail": _scitail,
    "quora": _numbered("quora", ("0", "1")),
    "wikiqa": _wikiqa,
}
