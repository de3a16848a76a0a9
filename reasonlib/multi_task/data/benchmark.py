"""GLUE as the benchmark splits it: training and development parts of nine sets (Wang et al. 2019).

The folder of a set holds the files of GLUE, or those of the set's own release::

    all sets      train.tsv, dev.tsv    MNLI: dev_matched.tsv, dev_mismatched.tsv
    CoLA          or raw/in_domain_train.tsv, and as dev raw/in_domain_dev.tsv with raw/out_of_domain_dev.tsv
    MRPC          or msr_paraphrase_train.txt and dev_ids.tsv, which names the pairs of dev by their two ids
    STS-B         or sts-train.csv, sts-dev.csv

Labels of the test parts are secret, so that systems are measured on the development parts.

QNLI was released twice, in one format: ``index, question, sentence, label``. In version 1, withdrawn on 30
January 2019, lines come in pairs about the same question, one with a right sentence, one with a wrong one::

    v2           every line is a pair to classify
    v1           the same of version 1
    v1-ranking   two lines are one question with two candidates, as in MT-DNN
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from reasonlib import data
from reasonlib.arguments import check_choice
from reasonlib.data.checks import digest
from reasonlib.errors import DataError
from reasonlib.multi_task.data import glue
from reasonlib.multi_task.data.corpus import GLUE
from reasonlib.multi_task.data.example import Example, Task
from reasonlib.multi_task.data.tables import class_number, read_rows, real_number

__all__ = ["METRICS", "QNLI", "glue_score", "read_part", "task_of", "version_here"]

METRICS: Mapping[str, tuple[str, ...]] = {
    "cola": ("matthews",),
    "sst2": ("accuracy",),
    "mrpc": ("f1", "accuracy"),
    "stsb": ("pearson", "spearman"),
    "qqp": ("f1", "accuracy"),
    "mnli": ("accuracy", "mismatched"),
    "qnli": ("accuracy",),
    "rte": ("accuracy",),
    "wnli": ("accuracy",),
}
"""The nine sets with the metrics that GLUE prints of each, in the order of the source's table 2."""

QNLI = ("v2", "v1", "v1-ranking")
"""Forms of QNLI."""

BROKEN = 0.01
"""Share of QQP's lines that may have another number of columns."""


def task_of(name: str, *, qnli: str = "v2") -> Task:
    """Return a task of GLUE; QNLI is a ranking in the form ``v1-ranking`` only."""
    check_choice("name", name, METRICS)
    check_choice("qnli", qnli, QNLI)
    if name == "qnli" and qnli != "v1-ranking":
        return Task(name="qnli", kind="pair", labels=glue.NOT_OR)
    return glue.TASKS[name]


def glue_score(metrics: Mapping[str, float]) -> float:
    """Return GLUE's score: the mean over the nine sets, each with the mean of its `METRICS`.

    Parameters
    ----------
    metrics
        ``set.metric`` to number.
    """
    total = 0.0
    for name, own in METRICS.items():
        total += sum(metrics[f"{name}.{metric}"] for metric in own) / len(own)
    return total / len(METRICS)


def read_part(name: str, part: str, *, qnli: str = "v2") -> list[Example]:
    """Read a part of a set from this machine.

    Parameters
    ----------
    name
        A key of `METRICS`.
    part
        ``train`` or ``dev``; of MNLI, where ``dev`` is the matched part, also ``mismatched``.
    qnli
        A form of `QNLI`.

    Raises
    ------
    ValueError
        If there is no such set, part or form.
    DataError
        If the files are not on this machine, or one is damaged.
    """
    check_choice("name", name, METRICS)
    check_choice("qnli", qnli, QNLI)
    check_choice(f"part of {name}", part, _RELEASES[name][0])
    folder, release = _release(name, qnli)
    read, *files = release[part]
    if name == "qnli" and qnli == "v1-ranking":
        read = _qnli_ranking
    return list(read(*(folder / file for file in files)))


def version_here(*, qnli: str = "v2") -> str | None:
    """Name the state of the files that are read; None where one of them is not on this machine."""
    try:
        releases = [_release(name, qnli) for name in METRICS]
    except DataError:
        return None
    contents = ("".join(digest(folder / file) for file in _files(release)) for folder, release in releases)
    return "+".join(sha256(content.encode()).hexdigest()[:8] for content in contents)


# Formats ----------------------------------------------------------------------------------------------------

Reader = Callable[..., Iterator[Example]]  # of one file or two
Release = Mapping[str, tuple]  # a part to its reader and its files


def _plain(task: str) -> Reader:
    """Make a reader of files that `reasonlib.multi_task.data.glue` reads, one after the other."""

    def reader(*paths: Path) -> Iterator[Example]:
        for path in paths:
            yield from glue.read_file(task, path)

    return reader


def _mrpc(*, listed: bool) -> Reader:
    """Make a reader of the pairs of MRPC's own training part that a file of ids lists, or of the others."""

    def reader(pairs: Path, ids: Path) -> Iterator[Example]:
        examples = glue.read_file("mrpc", pairs)
        keys = [(row[1].strip(), row[2].strip()) for row in read_rows(pairs, 5, header=("Quality",))]
        by_key = {(row[0].strip(), row[1].strip()): row for row in read_rows(ids, 2)}
        if absent := set(by_key) - set(keys):
            row = by_key[min(absent)]
            raise DataError(f"{row.source}: {pairs.name} has no pair {' '.join(row)}; get both files again")
        for key, example in zip(keys, examples, strict=True):
            if (key in by_key) == listed:
                yield example

    return reader


def _stsb(path: Path) -> Iterator[Example]:
    header = (
        "index", "genre", "filename", "year", "old_index", "source1", "source2", "sentence1", "sentence2",
        "score",
    )  # fmt: skip
    for row in read_rows(path, 10, header=header):
        yield Example(first=row[7], second=row[8], label=real_number(row, 9, 0, 5), task="stsb")


def _qqp(path: Path) -> Iterator[Example]:
    """Read pairs; a question with a line break in it makes broken lines, which are left out.

    The authors' code does the same.
    """
    header = ("id", "qid1", "qid2", "question1", "question2", "is_duplicate")
    rows = list(read_rows(path, range(1, 7), header=header))
    whole = [row for row in rows if len(row) == 6]
    if len(rows) - len(whole) > BROKEN * len(rows):
        raise DataError(f"{path}: {len(rows) - len(whole)} of {len(rows)} lines are broken; get it again")
    for row in whole:
        yield Example(first=row[3], second=row[4], label=class_number(row, 5, ("0", "1")), task="qqp")


_QNLI_HEADER = ("index", "question", "sentence", "label")


def _qnli(path: Path) -> Iterator[Example]:
    for row in read_rows(path, 4, header=_QNLI_HEADER):
        yield Example(first=row[1], second=row[2], label=class_number(row, 3, glue.NOT_OR), task="qnli")


def _qnli_ranking(path: Path) -> Iterator[Example]:
    """Read two lines as one question; as in the authors' code, those that do not fit are left out."""
    rows = list(read_rows(path, 4, header=_QNLI_HEADER))
    right = [class_number(row, 3, glue.NOT_OR) for row in rows]
    fit = [
        start
        for start in range(0, len(rows) - 1, 2)
        if rows[start][1] == rows[start + 1][1] and right[start] != right[start + 1]
    ]
    if 4 * len(fit) < len(rows):
        raise DataError(
            f"{path}: its lines are not pairs of one right and one wrong sentence; is it version 1 of QNLI?"
        )
    for start in fit:
        question, candidates = rows[start][1], (rows[start][2], rows[start + 1][2])
        yield Example(first=question, candidates=candidates, label=right[start + 1], task="qnli")


def _tsv(read: Reader) -> Release:
    return {"train": (read, "train.tsv"), "dev": (read, "dev.tsv")}


def _cola(folder: str) -> Release:
    read = _plain("cola")
    return {
        "train": (read, f"{folder}/in_domain_train.tsv"),
        "dev": (read, f"{folder}/in_domain_dev.tsv", f"{folder}/out_of_domain_dev.tsv"),
    }


def _msr(ids: str) -> Release:
    pairs = "msr_paraphrase_train.txt"
    return {"train": (_mrpc(listed=False), pairs, ids), "dev": (_mrpc(listed=True), pairs, ids)}


_MNLI = _plain("mnli")

_RELEASES: Mapping[str, tuple[Release, ...]] = {
    "cola": (_tsv(_plain("cola")), _cola("raw"), _cola("cola_public/raw")),
    "sst2": (_tsv(_plain("sst2")),),
    "mrpc": (_tsv(_plain("mrpc")), _msr("dev_ids.tsv"), _msr("mrpc_dev_ids.tsv")),
    "stsb": (
        _tsv(_stsb),
        {"train": (_plain("stsb"), "sts-train.csv"), "dev": (_plain("stsb"), "sts-dev.csv")},
    ),
    "qqp": (_tsv(_qqp),),
    "mnli": (
        {
            "train": (_MNLI, "train.tsv"),
            "dev": (_MNLI, "dev_matched.tsv"),
            "mismatched": (_MNLI, "dev_mismatched.tsv"),
        },
    ),
    "qnli": (_tsv(_qnli),),
    "rte": (_tsv(_plain("rte")),),
    "wnli": (_tsv(_plain("wnli")),),
}
"""Set to its releases; the first one that is whole is read."""


def _files(release: Release) -> list[str]:
    return list(dict.fromkeys(file for _, *files in release.values() for file in files))


def _release(name: str, qnli: str) -> tuple[Path, Release]:
    """Return the folder of a set, and which of its releases lies there."""
    folder = data.locate(GLUE["qnli-v1" if name == "qnli" and qnli != "v2" else name])
    nearest: list[str] | None = None
    for release in _RELEASES[name]:
        missing = [file for file in _files(release) if not (folder / file).is_file()]
        if not missing:
            return folder, release
        if nearest is None or len(missing) < len(nearest):
            nearest = missing
    raise DataError(f"{folder}: lacks {' and '.join(nearest or ())}; put the files of the release there")
