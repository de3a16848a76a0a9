"""The real files of this topic: where they are, and how to read and write them.

A line holds a row, a tab, and the answer. Replace the format by your source's; `dumps` gives what was read.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from reasonlib.TOPIC.simulate import Example

from reasonlib.data import Corpus
from reasonlib.errors import DataError

__all__ = ["CORPORA", "dumps", "read", "write"]

# Each real set with its pinned address, SHA-256, size, licence and citation: see `reasonlib.data.Corpus`.
CORPORA: dict[str, Corpus] = {}


def read(path: Path) -> list[Example]:
    """Read a file.

    Raises
    ------
    DataError
        If a line is malformed; names the file, the line and the remedy.
    """
    examples = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        row, _, answer = line.partition("\t")
        if not row or set(row) - {"0", "1"} or answer not in ("0", "1"):
            raise DataError(f"{path}, line {number}: expected digits, a tab, the answer; got {line!r}")
        digits = tuple(map(int, row))
        support = tuple(np.flatnonzero(np.array(digits) == int(answer)).tolist())
        examples.append(Example(row=digits, answer=int(answer), support=support))
    return examples


def dumps(examples: Iterable[Example]) -> str:
    """Write examples as text, in the format of the real files."""
    return "".join(f"{''.join(map(str, one.row))}\t{one.answer}\n" for one in examples)


def write(examples: Iterable[Example], path: Path) -> None:
    """Write a file, whole or not at all."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(dumps(examples), encoding="utf-8", newline="\n")
    draft.replace(path)
