"""Contrastive sets for English to French: two translations, one right and one wrong (Bawden et al. 2018).

Each item is a sentence, the one before it, a right translation of both and a wrong one of the second. Each
translation is right as often as it is wrong, so that a system which does not see what decides gets half of
them right. In the anaphora set that is the translation of the sentence before, not its source; in the set of
lexical choice it is the source, except where a word is to be repeated.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reasonlib import data
from reasonlib.data import Corpus
from reasonlib.errors import DataError
from reasonlib.parallel.example import Deciding, Document, SentencePair

__all__ = ["CORPORA", "read_contrasts"]

_COMMIT = "13d88cee7cfca92d3d5ae2b471b04c62795baac3"
_FILES = ("anaphora.json", "lexical-choice.json")

CORPORA: dict[str, Corpus] = {
    "discourse-en-fr": Corpus(
        name="discourse-en-fr",
        url=f"https://github.com/rbawden/discourse-mt-test-sets/archive/{_COMMIT}.zip",
        sha256=None,
        size=None,
        licence="CC BY-NC-SA 4.0",
        citation="bawden2018",
        folder=f"discourse-mt-test-sets-{_COMMIT}/test-sets",
        aliases=("discourse-mt-test-sets/test-sets",),
        files=_FILES,
    )
}

_TYPES = {"repet": "repetition", "disambig": "disambiguation", "repet, disambig": "disambiguation"}


def read_contrasts(folder: Path | None = None) -> list[Document]:
    """Read both sets.

    Parameters
    ----------
    folder
        Where the files lie; by default where `reasonlib.data.locate` finds them.

    Returns
    -------
    list of Document
        Two sentences each; the second is labelled with its contrast and its kind: ``anaphora``,
        ``disambiguation`` or ``repetition``. Nobody has labelled which words decide it.

    Raises
    ------
    DataError
        If the sets are not on this machine, or an item is malformed; names the file and the item.
    """
    folder = data.locate(CORPORA["discourse-en-fr"]) if folder is None else folder
    anaphora, choice = (folder / name for name in _FILES)
    return [*_items(anaphora, _anaphora), *_items(choice, _choice)]


def _items(path: Path, items: Any) -> Iterator[Document]:
    """Give the documents of a file, whose blocks `items` cuts into sources, right, wrong and kind."""
    try:
        blocks = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot read the file ({error.strerror or error})") from error
    except ValueError as error:
        raise DataError(f"{path}: no JSON ({error})") from error
    for number, block in blocks.items():
        try:
            for (before, source), (first, right), (_, wrong), kind in items(block):
                decides = Deciding(kind, word="", context_word="", distance=1, contrast=wrong)
                pair = SentencePair(source, right, helpful=True, decides=decides)
                yield Document((SentencePair(before, first), pair), f"{path.stem}-{number}")
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}, item {number}: malformed ({error!r})") from error


def _anaphora(block: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for pair in block["trg"]:
        right = pair["correct" if "correct" in pair else "semi-correct"]
        yield block["src"], right, pair["incorrect"], "anaphora"


def _choice(block: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for example in block["examples"]:
        yield example["src"], example["trg"]["correct"], example["trg"]["incorrect"], _TYPES[block["type"]]
