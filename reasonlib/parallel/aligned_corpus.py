"""Real English-German documents: TED talks, Europarl and news, the parts that Maruf et al. (2019) released.

Their training parts are not released with them, so that the development parts train here; every tenth
document of those validates.
"""

from pathlib import Path

from reasonlib import data
from reasonlib.arguments import check_choice
from reasonlib.data import Corpus
from reasonlib.errors import DataError
from reasonlib.parallel.documents import read_aligned
from reasonlib.parallel.example import Document

__all__ = ["CORPORA", "SETS", "read", "read_parts"]

_COMMIT = "1cb44c5ddd2cdf4f32ea74768a3389b52fc4db27"

CORPORA: dict[str, Corpus] = {
    "doc-en-de": Corpus(
        name="doc-en-de",
        url=f"https://github.com/sameenmaruf/selective-attn/archive/{_COMMIT}.zip",
        sha256=None,
        size=None,
        licence="TED: CC BY-NC-ND 4.0; Europarl and News Commentary: free for research",
        citation="maruf2019",
        folder=f"selective-attn-{_COMMIT}/data",
        aliases=("doc_en_de",),
    )
}

SETS = {"ted": "IWSLT2017", "europarl": "Europarl7", "news": "NC-2016"}


def read(part: str, name: str, *, folder: Path | None = None) -> list[Document]:
    """Read one part of one set.

    Parameters
    ----------
    part
        ``dev`` or ``test``.
    name
        A key of `SETS`.
    folder
        Where the corpus lies; by default where `reasonlib.data.locate` finds it.

    Raises
    ------
    ValueError
        If there is no such part or set.
    DataError
        If the corpus is not on this machine, or a file is malformed.
    """
    if part not in ("dev", "test"):
        raise ValueError(f"part must be dev or test, got {part!r}")
    check_choice("name", name, SETS)
    folder = (data.locate(CORPORA["doc-en-de"]) if folder is None else folder) / SETS[name]
    names = (f"{part}.{{}}", f"concatenated_en2de_{part}_{{}}.txt")  # as repacked, and as released
    for pattern in names:
        if (folder / pattern.format("en")).is_file():
            return read_aligned(folder / pattern.format("en"), folder / pattern.format("de"))
    raise DataError(f"{folder}: holds neither {names[0].format('en')} nor {names[1].format('en')}")


def read_parts(folder: Path | None = None) -> tuple[list[Document], list[Document], list[Document]]:
    """Return documents to train on, to validate on and to test on, of all sets together.

    Of the development documents every tenth validates; the test parts test.
    """
    development = [document for name in SETS for document in read("dev", name, folder=folder)]
    train = [document for number, document in enumerate(development) if number % 10]
    valid = [document for number, document in enumerate(development) if not number % 10]
    return train, valid, [document for name in SETS for document in read("test", name, folder=folder)]
