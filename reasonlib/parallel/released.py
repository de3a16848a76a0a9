"""Corpora of the source that anyone can get, in both directions: talks and subtitles (Yun 2022, 3.3.1).

::

    iwslt17-en-de, iwslt17-de-en          talks of IWSLT 2017: dev2010 and tst2010 validate, tst2015 tests
    opensubtitles-en-de, ...-tr-en        OpenSubtitles 2018, as OPUS releases it
    opensubtitles-en-fr, ...-fr-en        a pair that the source does not have, for `contrasts`

The source does not say which subtitles it validates and tests on. Here the first film of every fifty
validates and the second tests, until there are as many as were asked for; all others train.
"""

from collections.abc import Iterator
from pathlib import Path

from reasonlib import data
from reasonlib.arguments import check_choice
from reasonlib.data import Corpus, version_if_here
from reasonlib.data.checks import digest
from reasonlib.errors import DataError
from reasonlib.parallel.example import Document, SentencePair
from reasonlib.parallel.opus import links_of, read_opus
from reasonlib.parallel.ted import read_ted

__all__ = ["CORPORA", "KINDS", "RELEASED", "read_released", "released_version"]

_TALKS = "IWSLT17.TED."

CORPORA: dict[str, Corpus] = {
    "iwslt17-en-de": Corpus(
        name="iwslt17-en-de",
        url="https://huggingface.co/datasets/iwslt2017/resolve/main/data/2017-01-trnted/texts/en/de/en-de.zip",
        sha256=None,
        size=None,
        licence="CC BY-NC-ND 4.0",
        citation="cettolo2017",
        folder="en-de",
        aliases=("iwslt17-en-de",),
        files=tuple(
            name
            for language in ("en", "de")
            for name in (
                f"train.tags.en-de.{language}",
                *(f"{_TALKS}{part}.en-de.{language}.xml" for part in ("dev2010", "tst2010", "tst2015")),
            )
        ),
    ),
    "opensubtitles": Corpus(
        name="opensubtitles",
        url="https://object.pouta.csc.fi/OPUS-OpenSubtitles/v2018/raw/en.zip",
        sha256=None,
        size=None,
        licence="free for research, with a link to opensubtitles.org",
        citation="lison2016",
        folder="OpenSubtitles",
        aliases=("opensubtitles",),
    ),
}

RELEASED: dict[str, tuple[str, str, str]] = {
    f"{prefix}-{source}-{target}": (corpus, source, target)
    for prefix, corpus, pairs in (
        ("iwslt17", "iwslt17-en-de", ("en-de",)),
        ("opensubtitles", "opensubtitles", ("en-de", "en-tr", "en-fr")),
    )
    for pair in pairs
    for source, target in (pair.split("-"), pair.split("-")[::-1])
}
"""Set to its corpus and to the languages that are read and written."""

KINDS = {
    name: "released" if corpus == "iwslt17-en-de" else "mixed" for name, (corpus, *_) in RELEASED.items()
}
"""Kinds of data: of the subtitles the films that validate and test are our choice."""

Parts = tuple[list[Document], list[Document], list[Document]]


def read_released(name: str, *, counts: tuple[int, int, int], folder: Path | None = None) -> Parts:
    """Read documents to train on, to validate on and to test on.

    Parameters
    ----------
    name
        A key of `RELEASED`.
    counts
        The most documents of each part.
    folder
        Where the corpus lies; by default where `reasonlib.data.locate` finds it.

    Raises
    ------
    ValueError
        If there is no such set.
    DataError
        If the corpus is not on this machine, or a file is malformed.
    """
    check_choice("name", name, RELEASED)
    corpus, source, target = RELEASED[name]
    folder = data.locate(CORPORA[corpus]) if folder is None else folder
    if corpus == "iwslt17-en-de":
        return _talks(folder, source, counts)
    return _films(read_opus(folder, source, target), counts, folder)


def _talks(folder: Path, source: str, counts: tuple[int, int, int]) -> Parts:
    """Read the talks of IWSLT, turned round if German is to be translated."""

    def read(name: str) -> list[Document]:
        documents = read_ted(folder / name.format("en"), folder / name.format("de"))
        return documents if source == "en" else [_turned(document) for document in documents]

    train = read("train.tags.en-de.{}")
    valid, more, test = (read(f"{_TALKS}{part}.en-de.{{}}.xml") for part in ("dev2010", "tst2010", "tst2015"))
    return train[: counts[0]], (valid + more)[: counts[1]], test[: counts[2]]


def _turned(document: Document) -> Document:
    """Return a document whose translation is to be translated."""
    return Document(tuple(SentencePair(pair.target, pair.source) for pair in document.pairs), document.name)


def _films(films: Iterator[Document], counts: tuple[int, int, int], folder: Path) -> Parts:
    """Share films out to the parts until all are full; no more of them are read."""
    parts: Parts = ([], [], [])
    train, valid, test = parts
    for number, film in enumerate(films):
        if number % 50 == 0 and len(valid) < counts[1]:
            valid.append(film)
        elif number % 50 == 1 and len(test) < counts[2]:
            test.append(film)
        elif len(train) < counts[0]:
            train.append(film)
        if (len(train), len(valid), len(test)) == counts:
            break
    if not all(parts):
        raise DataError(f"{folder}: holds too few films of this pair, at least three are needed")
    return parts


def released_version(name: str) -> str | None:
    """Name the state of the files behind a set; None where they are not on this machine.

    Of the subtitles only the links are read for it, which name all documents.
    """
    corpus, source, target = RELEASED[name]
    if corpus == "iwslt17-en-de":
        return version_if_here(CORPORA[corpus])
    try:
        return digest(links_of(data.locate(CORPORA[corpus]), source, target))[:12]
    except DataError:
        return None
