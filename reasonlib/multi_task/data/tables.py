"""Reading tables: lines of columns, and one clear line for what is wrong with one."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from reasonlib.errors import DataError

__all__ = ["Row", "class_number", "read_rows", "real_number"]


class Row(tuple[str, ...]):
    """The columns of a line, which knows where it stands.

    Attributes
    ----------
    source
        ``file, line n``, for error messages.
    """

    source: str


def read_rows(
    path: Path, columns: int | Sequence[int], *, header: Sequence[str] | None = None, more: bool = False
) -> Iterator[Row]:
    """Read the lines of a table whose columns are separated by tabs.

    Parameters
    ----------
    path
        A UTF-8 file; a mark at its beginning is skipped.
    columns
        How many columns a line has; or the numbers that are allowed.
    header
        First names of the first line, which is then not given; None for a file that has no header.
    more
        Whether further columns are allowed and left out.

    Raises
    ------
    DataError
        If the file cannot be read, the header is missing, a line has another number of columns, or there is
        no line.
    """
    allowed = (columns,) if isinstance(columns, int) else tuple(columns)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); put the corpus there") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text; fetch the corpus again") from None
    if header is not None:
        names = tuple(lines[0].rstrip("\r").split("\t"))
        if names[: len(header)] != tuple(header):
            raise DataError(f"{path}, line 1: must be the header {' | '.join(header)}, got {lines[0][:60]!r}")
    count = 0
    for number, line in enumerate(lines, start=1):
        if (number == 1 and header is not None) or not line.strip():
            continue
        row = Row(line.rstrip("\r").split("\t"))
        row.source = f"{path}, line {number}"
        if len(row) not in allowed and not (more and len(row) >= min(allowed)):
            expected = " or ".join(str(value) for value in allowed)
            raise DataError(f"{row.source}: must have {expected} columns, got {len(row)}: {line[:60]!r}")
        count += 1
        yield row
    if not count:
        raise DataError(f"{path}: holds no example")


def class_number(row: Row, column: int, names: Sequence[str]) -> int:
    """Return the position of a column's value among the names of the classes.

    Raises
    ------
    DataError
        If it is none of them.
    """
    value = row[column].strip()
    if value not in names:
        raise DataError(f"{row.source}: label must be {' or '.join(names)}, got {value!r}")
    return list(names).index(value)


def real_number(row: Row, column: int, low: float, high: float) -> float:
    """Return a column's number.

    Raises
    ------
    DataError
        If it is no number, or out of range.
    """
    try:
        value = float(row[column])
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise DataError(f"{row.source}: score must be from {low:g} to {high:g}, got {row[column]!r}")
    return value
