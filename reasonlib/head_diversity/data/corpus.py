"""The Penn Treebank as language models read it: a sentence a line, 10,000 words, the others ``<unk>``.

Prepared by Mikolov et al. (2010): small letters, no punctuation, numbers as ``N``; 42,068, 3,370 and 3,761
sentences.
"""

from pathlib import Path

from reasonlib import data
from reasonlib.data import Corpus
from reasonlib.errors import DataError
from reasonlib.head_diversity.data.text import Sentence, Text
from reasonlib.parallel.documents import read_lines
from reasonlib.training.vocabulary import UNKNOWN

__all__ = ["CORPORA", "read"]

_COMMIT = "e26dff5d8f4b5d07ee459f192ee2131923d7584f"

CORPORA: dict[str, Corpus] = {
    "penn-treebank": Corpus(
        name="penn-treebank",
        url=f"https://raw.githubusercontent.com/timbmg/RNNLM/{_COMMIT}/data/ptb.zip",
        sha256="6957baa63e145820032f12d3f1e6f4ba71789c3f5dbf289902bc3f0a96beef7a",
        size=1983463,
        licence="derived from the Penn Treebank (LDC99T42): research",
        citation="marcus1993",
        folder=".",
        aliases=("ptb",),
        files=("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"),
    )
}


def read(folder: Path | None = None) -> Text:
    """Read the three parts.

    Parameters
    ----------
    folder
        Where ``ptb.train.txt``, ``ptb.valid.txt`` and ``ptb.test.txt`` lie; by default where
        `reasonlib.data.locate` finds them.

    Raises
    ------
    DataError
        If a part is missing or empty, holds an empty line, or has a word that the training part lacks where
        there is no ``<unk>`` for it; names the file and the line.
    """
    folder = data.locate(CORPORA["penn-treebank"]) if folder is None else folder
    train = _sentences(folder / "ptb.train.txt")
    words = {word for sentence in train for word in sentence}
    parts = [_sentences(folder / f"ptb.{part}.txt") for part in ("valid", "test")]
    if UNKNOWN not in words:
        for part, sentences in zip(("valid", "test"), parts, strict=True):
            for number, sentence in enumerate(sentences, start=1):
                if unseen := [word for word in sentence if word not in words]:
                    raise DataError(
                        f"{folder / f'ptb.{part}.txt'}, line {number}: the word {unseen[0]!r} is not in the "
                        f"training part, which has no {UNKNOWN} for it"
                    )
    return Text(train, *parts)


def _sentences(path: Path) -> tuple[Sentence, ...]:
    lines = read_lines(path)
    if not lines:
        raise DataError(f"{path}: the file is empty")
    for number, line in enumerate(lines, start=1):
        if not line:
            raise DataError(f"{path}, line {number}: an empty line")
    return tuple(tuple(line.split()) for line in lines)
