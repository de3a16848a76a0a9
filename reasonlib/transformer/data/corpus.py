"""Algorithmic tasks as text: one example a line, task, source and target parted by tabs.

::

    copy<TAB>a c a e<TAB>a c a e
"""

from collections.abc import Iterable
from pathlib import Path

from reasonlib.errors import DataError
from reasonlib.transformer.data.simulator import SYMBOLS, Example

__all__ = ["dumps", "loads", "read", "write"]


def dumps(examples: Iterable[Example]) -> str:
    r"""Give examples as text.

    >>> dumps([Example("copy", ("a", "b"), ("a", "b"))])
    'copy\ta b\ta b\n'
    """
    return "".join(f"{item.task}\t{' '.join(item.source)}\t{' '.join(item.target)}\n" for item in examples)


def loads(text: str, *, name: str = "text") -> list[Example]:
    """Read what `dumps` gave.

    Raises
    ------
    DataError
        If a line has not three parts, or holds a task or a token that is unknown; names the line.
    """
    results = []
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split("\t")
        if len(fields) != 3:
            raise DataError(f"{name}:{number}: must be task, source and target parted by tabs, got {line!r}")
        task, source, target = fields[0], tuple(fields[1].split()), tuple(fields[2].split())
        if task not in SYMBOLS:
            raise DataError(f"{name}:{number}: there is no task {task!r}; there are: {', '.join(SYMBOLS)}")
        if strange := [token for token in (*source, *target) if token not in SYMBOLS[task]]:
            raise DataError(f"{name}:{number}: {task} has no token {strange[0]!r}")
        results.append(Example(task, source, target))
    return results


def write(examples: Iterable[Example], path: str | Path) -> Path:
    """Write examples to a file."""
    path = Path(path)
    path.write_text(dumps(examples), encoding="utf-8")
    return path


def read(path: str | Path) -> list[Example]:
    """Read a file that `write` wrote.

    Raises
    ------
    DataError
        If it cannot be read or breaks the format.
    """
    path = Path(path)
    try:
        return loads(path.read_text(encoding="utf-8"), name=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
