"""The real files of this topic: where they are, and how to read them.

A line holds the digits, a tab, and the answer. Replace the format by your source's; `dumps` writes what
`read` reads.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from reasonlib.TOPIC.data.example import Example

from reasonlib.data import Corpus
from reasonlib.errors import DataError

__all__ = ["CORPORA", "dumps", "read"]

# Each real data set with its address, SHA-256, size, licence and citation: see `reasonlib.data.Corpus`.
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
        examples.append(Example(digits=digits, answer=int(answer), support=support))
    return examples


def dumps(examples: Iterable[Example]) -> str:
    """Write examples as text, in the format of the real files."""
    return "".join(f"{''.join(map(str, example.digits))}\t{example.answer}\n" for example in examples)
