"""How many examples the parts of the released sets hold: the source's summary of its benchmarks.

Training and development parts are counted as they are read, so that lines without a label that can be used
are left out. Most test parts have no labels; their lines are counted.
"""

from collections.abc import Mapping
from pathlib import Path

from reasonlib import data
from reasonlib.arguments import check_choice
from reasonlib.multi_task.data import benchmark, corpus, glue
from reasonlib.multi_task.data.tables import read_rows

__all__ = ["NAMES", "count_examples", "files_version"]

NAMES: Mapping[str, str] = {f"glue-{name}": name for name in benchmark.METRICS} | {
    name: name for name in ("snli", "scitail")
}
"""Name of a corpus to that of its set: GLUE's nine, and the two that the source adapts to."""

_TESTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "sst2": (("test.tsv",), ("test-labeled.tsv",)),
    "mrpc": (("test.tsv",), ("msr_paraphrase_test.txt",)),
    "stsb": (("test.tsv",), ("sts-test.csv",)),
    "mnli": (("test_matched.tsv", "test_mismatched.tsv"),),
}
"""Set of GLUE to the files of its test part; the first ones that are there are counted."""

_HEADERS = ("index", "id", "sentence", "Quality")
"""First columns of first lines that are headers."""


def count_examples(name: str) -> dict[str, int]:
    """Count the examples of a set on this machine; raises what `corpus.read` does.

    Parameters
    ----------
    name
        A key of `NAMES`.

    Returns
    -------
    dict
        ``train``, ``dev``, ``test`` as far as they are there, and ``labels``: the classes, 1 for a number.
    """
    check_choice("name", name, NAMES)
    task = NAMES[name]
    if name == task:
        present = [part for part, file in corpus.FILES[task].items() if (_folder(name) / file).is_file()]
        parts = {part: corpus.read(task, part) for part in present}
    else:
        parts = {part: benchmark.read_part(task, part) for part in ("train", "dev")}
        if task == "mnli":
            parts["dev"] += benchmark.read_part(task, "mismatched")
    counts = {part: len(examples) for part, examples in parts.items()}
    if name != task and (tests := _test_files(name)):
        counts["test"] = sum(_lines(path) for path in tests)
    classes = {example.label for examples in parts.values() for example in examples}
    return counts | {"labels": len(classes) if glue.TASKS[task].kind != "similarity" else 1}


def files_version(name: str) -> str | None:
    """Name the state of a set's files; None where they are not on this machine."""
    return data.version_if_here(corpus.CORPORA[name]) if name in NAMES else None


def _folder(name: str) -> Path:
    return data.locate(corpus.CORPORA[name])


def _test_files(name: str) -> tuple[Path, ...]:
    folder = _folder(name)
    for files in _TESTS.get(NAMES[name], (("test.tsv",),)):
        paths = tuple(folder / file for file in files)
        if all(path.is_file() for path in paths):
            return paths
    return ()


def _lines(path: Path) -> int:
    rows = list(read_rows(path, range(1, 20)))
    return len(rows) - (rows[0][0] in _HEADERS)
