"""Every set of this topic by its name, split into train, valid and test."""

from functools import lru_cache
from typing import NamedTuple

from reasonlib.head_diversity.data.corpus import read
from reasonlib.head_diversity.data.text import Text, simulated_text
from reasonlib.parallel.aligned_corpus import read_parts
from reasonlib.parallel.example import Document
from reasonlib.parallel.simulator import SimulatorConfig, simulate

__all__ = ["DATA", "Documents", "load_documents", "load_text"]

DATA = {
    "simulated": "stand-in",  # text and translations of the grammar of reasonlib.parallel
    "penn-treebank": "released",
    "doc-en-de": "stand-in",  # real text, but not that which the source trained on
    "gaussian": "stand-in",  # invented point clouds
    "bundled": "stand-in",  # the trained models of the book, on their own data
}
"""The sets by name and kind."""

_SEEDS = {"train": 1, "valid": 2, "test": 3}


class Documents(NamedTuple):
    """Parallel documents to train on, to choose settings by, and to measure on."""

    train: tuple[Document, ...]
    valid: tuple[Document, ...]
    test: tuple[Document, ...]


@lru_cache(maxsize=4)
def load_text(data: str, *, train: int, valid: int, test: int) -> Text:
    """Load text for a language model; a second call gives the same object.

    Parameters
    ----------
    data
        ``simulated`` or ``penn-treebank``.
    train, valid, test
        Simulated documents of ten sentences, or sentences of the treebank, at most.

    Raises
    ------
    ValueError
        If there is no such text.
    DataError
        If the treebank is not on this machine.
    """
    counts = {"train": train, "valid": valid, "test": test}
    if data == "simulated":
        return Text(**{part: simulated_text(count, seed=_SEEDS[part]) for part, count in counts.items()})
    if data == "penn-treebank":
        return Text(*(sentences[:count] for sentences, count in zip(read(), counts.values(), strict=True)))
    raise ValueError(f"data must be simulated or penn-treebank, got {data!r}")


@lru_cache(maxsize=4)
def load_documents(data: str, *, train: int, valid: int, test: int) -> Documents:
    """Load parallel documents for a translator; a second call gives the same object.

    Parameters
    ----------
    data
        ``simulated``, in which no sentence needs its context, or ``doc-en-de``.
    train, valid, test
        Documents of each part, at most.

    Raises
    ------
    ValueError
        If there are no such documents.
    DataError
        If the real ones are not on this machine.
    """
    counts = {"train": train, "valid": valid, "test": test}
    if data == "simulated":
        config = SimulatorConfig(helpful=0.0)
        return Documents(
            **{part: tuple(simulate(n, seed=_SEEDS[part], config=config)) for part, n in counts.items()}
        )
    if data == "doc-en-de":
        return Documents(*(tuple(part[:n]) for part, n in zip(read_parts(), counts.values(), strict=True)))
    raise ValueError(f"data must be simulated or doc-en-de, got {data!r}")
