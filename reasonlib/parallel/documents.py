"""Aligned files of parallel text: a sentence a line, a line ``<d>`` before each document on both sides."""

from pathlib import Path

from reasonlib.errors import DataError
from reasonlib.parallel.example import Document, SentencePair

__all__ = ["BOUNDARY", "paired", "read_aligned", "read_lines", "write_aligned"]

BOUNDARY = "<d>"


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file, blanks at their ends removed.

    Raises
    ------
    DataError
        If the file is absent or no UTF-8 text.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot read the file ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start})") from error
    lines = [line.strip() for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


def paired(
    source: list[str], target: list[str], paths: tuple[Path, Path], *, partial: bool = False
) -> list[Document]:
    """Cut aligned lines into documents; see `read_aligned`. `partial` leaves out what one side lacks."""
    if len(source) != len(target):
        raise DataError(
            f"{paths[0]} and {paths[1]} must have equally many lines, got {len(source)} and {len(target)}"
        )
    groups: list[list[SentencePair]] = []
    for number, (left, right) in enumerate(zip(source, target, strict=True), start=1):
        if (left == BOUNDARY) != (right == BOUNDARY):
            path = paths[0] if left == BOUNDARY else paths[1]
            raise DataError(f"{path}, line {number}: a boundary {BOUNDARY} on this side only")
        if left == BOUNDARY:
            if groups and not groups[-1]:
                raise DataError(f"{paths[0]}, line {number}: the document before this boundary is empty")
            groups.append([])
            continue
        if not groups:
            raise DataError(f"{paths[0]}, line {number}: text before the first boundary {BOUNDARY}")
        if bool(left) != bool(right) and not partial:
            path = paths[1] if left else paths[0]
            raise DataError(f"{path}, line {number}: an empty line beside a sentence")
        if left and right:
            groups[-1].append(SentencePair(left, right))
    if not groups or not groups[-1]:
        raise DataError(f"{paths[0]}: the last document is empty")
    return [Document(tuple(pairs), f"{paths[0].stem}-{number}") for number, pairs in enumerate(groups)]


def read_aligned(source: Path, target: Path) -> list[Document]:
    """Read documents from two aligned files.

    Parameters
    ----------
    source, target
        The files of both languages.

    Raises
    ------
    DataError
        If the numbers of lines differ, a boundary stands on one side only, a document is empty, or a sentence
        has no translation; names the file and the line.
    """
    # some editors put a mark of the encoding first
    left, right = ([line.removeprefix("\ufeff") for line in read_lines(path)] for path in (source, target))
    return paired(left, right, (source, target))


def write_aligned(documents: list[Document], source: Path, target: Path) -> None:
    """Write documents as two aligned files."""
    for path, side in ((source, "source"), (target, "target")):
        lines = []
        for document in documents:
            lines += [BOUNDARY, *(getattr(pair, side) for pair in document.pairs)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
