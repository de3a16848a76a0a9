"""TED talks as the IWSLT campaigns release them: XML with ``<seg>`` for tests, tagged text for training.

Both sides hold the same talks in the same order. Every talk becomes a document, so that no sentence has
context from another talk (Yun 2022, section 3.3.1).
"""

import html
import re
from pathlib import Path

from reasonlib.errors import DataError
from reasonlib.parallel.documents import BOUNDARY, paired, read_lines
from reasonlib.parallel.example import Document

__all__ = ["read_ted"]

_SEGMENT = re.compile(r"<seg[^>]*>(.*?)</seg>")


def read_ted(source: Path, target: Path) -> list[Document]:
    """Read the talks of two files, XML or tagged text; a sentence that one side lacks is left out.

    Raises
    ------
    DataError
        If a file holds no talk, or the two do not hold the same talks and lines.
    """
    return paired(_lines(source), _lines(target), (source, target), partial=True)


def _lines(path: Path) -> list[str]:
    """Return the sentences of a file with a boundary before each talk."""
    lines: list[str] = []
    for line in read_lines(path):
        if line.startswith(("<doc ", "<url>")):  # a talk begins with either, or with both
            if lines[-1:] != [BOUNDARY]:
                lines.append(BOUNDARY)
        elif match := _SEGMENT.fullmatch(line):
            lines.append(html.unescape(match[1]).strip())
        elif lines and not line.startswith("<"):
            lines.append(line)
    if not lines:
        raise DataError(f"{path}: holds no talk, neither <doc ...> nor <url>; is it an IWSLT file?")
    return lines
