"""Subtitles as OPUS releases them (Lison and Tiedemann 2016): timed sentences, and links between languages.

A folder ``OpenSubtitles`` holds the links of a pair and the unpacked documents of both languages, as text or
as words::

    de-en.xml.gz                   <linkGrp fromDoc="de/1957/50083/1.xml.gz" toDoc="en/1957/50083/2.xml.gz">
                                     <link xtargets="1;1 2" overlap="0.922" />
    raw/de/1957/50083/1.xml        <s id="1"> <time id="T1S" value="00:00:48,600" /> Guten Tag. </s>

As the source prepares them (Yun 2022, section 3.3.1), a pair is kept if its overlap in time is at least 0.9.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from reasonlib.errors import DataError
from reasonlib.parallel.example import Document, SentencePair
from reasonlib.parallel.subtitles import OVERLAP

__all__ = ["TimedSentence", "links_of", "read_opus", "read_timed_sentences"]

KINDS = ("raw", "xml")
"""Folders of documents: as text, and cut into words, which are joined by blanks."""

_TIME = re.compile(r"(-?\d+)[^\d-]+(-?\d+)[^\d-]+(-?\d+)(?:[^\d-]+(\d+))?")
"""OPUS keeps the times of its files as they are: also ``00:50:5,123``, and colons or points for the comma."""


class TimedSentence(NamedTuple):
    """A sentence, and when the first subtitle that it is part of starts, in milliseconds."""

    start: int
    text: str


def read_timed_sentences(path: Path) -> dict[str, TimedSentence]:
    """Read a document, packed or not; a sentence without a time goes on in the subtitle before.

    Returns
    -------
    dict
        Number of a sentence, as the links name it, to the sentence.

    Raises
    ------
    DataError
        If the file cannot be read or is no document of OPUS.
    """
    sentences, start = {}, 0
    for element in _elements(path, "s"):
        words = [word.text or "" for word in element.iter("w")]
        text = " ".join(words or element.itertext())
        first = start
        for number, part in enumerate(element):
            if part.tag == "time" and part.get("id", "").endswith("S"):
                start = _milliseconds(path, part.get("value", ""))
                if not number:  # the sentence begins with this subtitle, not in the one before
                    first = start
        sentences[element.get("id", "")] = TimedSentence(first, " ".join(text.split()))
    if not sentences:
        raise DataError(f"{path}: holds no sentence <s>; is it a document of OPUS?")
    return sentences


def read_opus(folder: Path, source: str, target: str, *, least: float = OVERLAP) -> Iterator[Document]:
    """Read the films of a pair of languages one by one, in the order of the links.

    Parameters
    ----------
    folder
        With the links and the documents.
    source, target
        Languages such as ``en`` and ``de``, in any order.
    least
        Overlap in time of a pair, 0 to 1.

    Yields
    ------
    Document
        The pairs of one film that overlap enough, and when each starts; films without one are left out.

    Raises
    ------
    DataError
        If links or documents are absent or damaged.
    """
    links = links_of(folder, source, target)
    for group in _elements(links, "linkGrp"):
        names = group.get("fromDoc", ""), group.get("toDoc", "")
        kept = [link.get("xtargets", "") for link in group if _overlap(links, link) >= least]
        if not kept:
            continue
        sides = [read_timed_sentences(_document(folder, links, name)) for name in names]
        pairs, starts = [], []
        for targets in kept:
            a, b = (_join(links, side, ids) for side, ids in zip(sides, _sides(links, targets), strict=True))
            left, right = (a, b) if source < target else (b, a)
            if left.text and right.text:
                pairs.append(SentencePair(left.text, right.text))
                starts.append(left.start)
        if pairs:
            yield Document(tuple(pairs), names[0], tuple(starts))


def links_of(folder: Path, source: str, target: str) -> Path:
    """Return the file with the links of a pair of languages.

    Raises
    ------
    DataError
        If it is absent.
    """
    path = folder / f"{'-'.join(sorted((source, target)))}.xml.gz"
    if not path.is_file():
        raise DataError(
            f"{path}: missing; it links {source} and {target}, and OPUS releases it beside their documents"
        )
    return path


def _elements(path: Path, tag: str) -> Iterator[ElementTree.Element]:
    """Give the elements of an XML file with a tag, each forgotten after its use."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for _, element in ElementTree.iterparse(file):
                if element.tag == tag:
                    yield element
                    element.clear()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ElementTree.ParseError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: damaged ({error}); unpack or download it again") from error


def _document(folder: Path, links: Path, name: str) -> Path:
    """Return where the document lies that the links name, such as ``de/1957/50083/1.xml.gz``."""
    if not re.fullmatch(r"\w+(/[\w-]+)+\.xml\.gz", name):
        raise DataError(f"{links}: names a document {name!r}, expected such as de/1957/50083/1.xml.gz")
    for kind in KINDS:
        for path in (folder / kind / name.removesuffix(".gz"), folder / kind / name):
            if path.is_file():
                return path
    archive = f"{name.split('/')[0]}.zip"
    raise DataError(f"{folder}: holds no {name} in raw/ or xml/, packed or not; unpack {archive} here")


def _overlap(links: Path, link: ElementTree.Element) -> float:
    """Return the overlap in time that a link states; 0 if it states none."""
    value = link.get("overlap", "0")
    try:
        return float(value)
    except ValueError:
        raise DataError(f"{links}: an overlap {value!r}, expected a number from 0 to 1") from None


def _sides(links: Path, targets: str) -> tuple[list[str], list[str]]:
    """Cut ``1;1 2`` into the numbers of both sides."""
    left, semicolon, right = targets.partition(";")
    if not semicolon:
        raise DataError(f"{links}: a link {targets!r}, expected such as '1;1 2'")
    return left.split(), right.split()


def _join(links: Path, sentences: dict[str, TimedSentence], ids: list[str]) -> TimedSentence:
    """Join the linked sentences of one side; the first says when they start."""
    try:
        chosen = [sentences[number] for number in ids]
    except KeyError as error:
        raise DataError(f"{links}: links a sentence {error} that its document lacks") from None
    return TimedSentence(chosen[0].start if chosen else 0, " ".join(part.text for part in chosen))


def _milliseconds(path: Path, time: str) -> int:
    match = _TIME.fullmatch(time.strip())
    if match is None:
        raise DataError(f"{path}: a time {time!r}, expected such as 00:00:48,600")
    hours, minutes, seconds, rest = map(int, match.groups(default="0"))
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + rest
