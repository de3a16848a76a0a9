"""Every set of this topic by its name, split into train, valid and test."""

from functools import lru_cache

from reasonlib.head_diversity.data.corpus import read
from reasonlib.head_diversity.data.text import Text, simulated_text
from reasonlib.parallel.datasets import DATA as PARALLEL
from reasonlib.parallel.datasets import Splits, files_version, load

__all__ = ["DATA", "files_version", "load_documents", "load_text"]

DATA = {
    **PARALLEL,  # text, and translations of it
    "iwslt17-de-en": "mixed",  # chapter 4 validates and tests on parts of other sizes, which it does not name
    "iwslt17-en-de": "mixed",
    "penn-treebank": "released",
    "gaussian": "stand-in",  # invented point clouds
    "bundled": "stand-in",  # the trained models of the book, on their own data
}
"""The sets by name and kind."""

_SEEDS = {"train": 1, "valid": 2, "test": 3}


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


def load_documents(data: str, *, train: int, valid: int, test: int) -> Splits:
    """Load parallel documents for a translator, see `reasonlib.parallel.datasets.load`.

    No simulated sentence needs its context.
    """
    return load(data, train=train, valid=valid, test=test, helpful=0.0)
