"""Text files that are read as lines, and files that are written as a whole."""

import os
from pathlib import Path

from reasonlib.errors import DataError

__all__ = ["excerpt", "read_lines", "write_atomic"]


def read_lines(path: Path, *, missing: str, whole: bool = True) -> list[str]:
    """Read a text file in UTF-8 as lines without their ends.

    Parameters
    ----------
    path
        The file; a mark before its first line, as some editors put there, is left out.
    missing
        What to do where there is no such file, for the error message.
    whole
        Whether the last line must have an end, so that a file that was cut short is noticed.

    Raises
    ------
    DataError
        If the file is absent, cannot be read, is not UTF-8, or breaks off inside a line.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; {missing}") from None
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}); check the path and its permissions"
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: byte {error.start} is not UTF-8 text; save it as UTF-8, or get it again"
        ) from None
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    elif whole:
        raise DataError(
            f"{path}, line {len(lines)}: the last line has no line end, so it may be cut short; "
            "get the file again, or end the line if it is complete"
        )
    return lines


def excerpt(line: str) -> str:
    """Quote the first 60 characters of a line for an error message."""
    return repr(line if len(line) <= 60 else line[:60] + "...")


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a file so that it is the old one until all of the new one is there; text in UTF-8, as it is.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
