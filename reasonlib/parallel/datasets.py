"""Every set of parallel documents by its name, split into train, valid and test."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from reasonlib.arguments import check_choice
from reasonlib.data import version_if_here
from reasonlib.parallel.aligned_corpus import CORPORA, read_parts
from reasonlib.parallel.example import Document
from reasonlib.parallel.released import KINDS, read_released, released_version
from reasonlib.parallel.simulator import SimulatorConfig, simulate

__all__ = ["DATA", "Splits", "files_version", "load", "texts"]

DATA = {"simulated": "stand-in", "doc-en-de": "stand-in", **KINDS}
"""The sets by name and kind; ``doc-en-de`` is real text, but not that which the sources trained on."""

_SEEDS = {"train": 1, "valid": 2, "test": 3}


class Splits(NamedTuple):
    """Documents to train on, to choose the best weights by, and to measure on."""

    train: tuple[Document, ...]
    valid: tuple[Document, ...]
    test: tuple[Document, ...]


@lru_cache(maxsize=4)
def load(
    data: str,
    *,
    train: int,
    valid: int,
    test: int,
    distance: tuple[int, int] = (1, 2),
    sentences: int = 10,
    helpful: float = 0.3,
) -> Splits:
    """Load a set; a second call gives the same object.

    Parameters
    ----------
    data
        One of `DATA`.
    train, valid, test
        How many documents of each part.
    distance, sentences, helpful
        Of simulated documents, see `SimulatorConfig`; real text has none of them.

    Raises
    ------
    ValueError
        If there is no such set.
    DataError
        If the real documents are not on this machine.
    """
    check_choice("data", data, DATA)
    if data == "doc-en-de":
        return Splits(
            *(tuple(part[:count]) for part, count in zip(read_parts(), (train, valid, test), strict=True))
        )
    if data in KINDS:
        return Splits(*map(tuple, read_released(data, counts=(train, valid, test))))
    counts = {"train": train, "valid": valid, "test": test}
    config = SimulatorConfig(distance=distance, sentences=sentences, helpful=helpful)
    return Splits(
        **{part: tuple(simulate(count, seed=_SEEDS[part], config=config)) for part, count in counts.items()}
    )


def files_version(data: str) -> str | None:
    """Name the state of the files of a set; None for simulated text, or where they are not here."""
    if data in KINDS:
        return released_version(data)
    return version_if_here(CORPORA["doc-en-de"]) if data == "doc-en-de" else None


def texts(documents: Sequence[Document]) -> list[str]:
    """Return the sources and targets of documents."""
    return [text for document in documents for pair in document.pairs for text in (pair.source, pair.target)]
