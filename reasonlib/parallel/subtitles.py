"""Subtitles with time stamps, such as those of OpenSubtitles: pairs that are shown at the same time.

As the source prepares them (Yun 2022, section 3.3.1, after Voita et al. 2019): a pair is kept if its two
subtitles overlap by at least 0.9, and a sentence before counts as context if it starts within 3,000 ms::

    337733 - 339967   Daniel likes hanging out with his cousins.
    340035 - 341168   He's been going back and forth            starts 2,302 ms later: has context
    344373 - 345940   Listen, don't worry.                      starts 4,338 ms later: has none
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reasonlib.errors import DataError
from reasonlib.parallel.documents import read_lines
from reasonlib.parallel.example import Document, SentencePair

__all__ = ["OVERLAP", "Subtitle", "align", "overlap", "read_srt", "read_subtitles"]

OVERLAP = 0.9
_TIME = re.compile(r"(\d+):(\d\d):(\d\d)[,.](\d{3})\s*-->\s*(\d+):(\d\d):(\d\d)[,.](\d{3})")


class Subtitle(NamedTuple):
    """A text and when it is shown, in milliseconds."""

    start: int
    end: int
    text: str


def overlap(a: Subtitle, b: Subtitle) -> float:
    """Return the time when both are shown over the time when either is.

    >>> overlap(Subtitle(0, 1000, "a"), Subtitle(100, 1000, "b"))
    0.9
    """
    shared = min(a.end, b.end) - max(a.start, b.start)
    return max(0, shared) / (max(a.end, b.end) - min(a.start, b.start))


def read_srt(path: Path) -> list[Subtitle]:
    """Read the subtitles of a ``.srt`` file.

    Raises
    ------
    DataError
        If a block has no time stamp, ends before it starts, or comes before the one above it.
    """
    subtitles: list[Subtitle] = []
    lines = read_lines(path)
    number = 0
    while number < len(lines):
        if not lines[number]:
            number += 1
            continue
        first = number
        if lines[number].lstrip("\ufeff").isdigit():
            number += 1
        match = _TIME.fullmatch(lines[number]) if number < len(lines) else None
        if match is None:
            raise DataError(
                f"{path}, line {first + 1}: expected a number and a time, 00:00:01,000 --> 00:00:02,000"
            )
        h, m, s, ms, *last = (int(group) for group in match.groups())
        start, end = _milliseconds(h, m, s, ms), _milliseconds(*last)
        if end <= start or (subtitles and start < subtitles[-1].start):
            raise DataError(f"{path}, line {number + 1}: the times must rise")
        text = []
        number += 1
        while number < len(lines) and lines[number]:
            text.append(re.sub(r"<[^>]+>", "", lines[number]))
            number += 1
        if words := " ".join(" ".join(text).split()):
            subtitles.append(Subtitle(start, end, words))
    return subtitles


def _milliseconds(hours: int, minutes: int, seconds: int, milliseconds: int) -> int:
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds


def align(source: Sequence[Subtitle], target: Sequence[Subtitle], *, least: float = OVERLAP) -> Document:
    """Pair subtitles that are shown at the same time, each at most once; the document keeps when each starts.

    Parameters
    ----------
    source, target
        In the order of their times.
    least
        Overlap of a pair, 0 to 1.
    """
    if not 0 < least <= 1:
        raise ValueError(f"least must be above 0 and at most 1, got {least}")
    pairs, starts, first = [], [], 0
    paired: set[int] = set()  # numbers of target
    for left in source:
        while first < len(target) and target[first].end <= left.start:
            first += 1
        number = first
        while number < len(target) and target[number].start < left.end:
            if number not in paired and overlap(left, target[number]) >= least:
                paired.add(number)
                pairs.append(SentencePair(left.text, target[number].text))
                starts.append(left.start)
                break
            number += 1
    return Document(tuple(pairs), starts=tuple(starts))


def read_subtitles(source: Path, target: Path, *, least: float = OVERLAP) -> Document:
    """Read two ``.srt`` files of one film as a document of aligned subtitles.

    Raises
    ------
    DataError
        If a file is malformed, or no pair overlaps enough.
    """
    document = align(read_srt(source), read_srt(target), least=least)
    if not document.pairs:
        raise DataError(f"{source} and {target}: no two subtitles overlap by {least}; are they of one film?")
    return document
