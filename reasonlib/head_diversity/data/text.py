"""Text of a language model: sentences of words, simulated or read; and the windows that it is trained on.

Axes: N windows, T + 1 tokens of one (the last is predicted and not read).

By hand, with windows of three words::

    the lamp was old . / it rained again .
    the lamp was old . <end> it rained again . <end>        one stream
    the lamp was old | old . <end> it | it rained again .   each begins with the last word before it
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from reasonlib.errors import DataError
from reasonlib.parallel.simulator import simulate
from reasonlib.training.vocabulary import PAD, UNKNOWN, Vocabulary

__all__ = ["END", "Sentence", "Text", "shuffled", "simulated_text", "vocabulary_of", "windows"]

END = "<end>"
"""Ends a sentence."""

Sentence = tuple[str, ...]


class Text(NamedTuple):
    """Sentences to train on, to choose settings by, and to measure on."""

    train: tuple[Sentence, ...]
    valid: tuple[Sentence, ...]
    test: tuple[Sentence, ...]


def simulated_text(documents: int, *, seed: int) -> tuple[Sentence, ...]:
    """Draw documents of `reasonlib.parallel` and return their source sentences, in order.

    >>> " ".join(simulated_text(1, seed=3)[0])
    'peter hid the knife .'
    """
    return tuple(
        tuple(pair.source.split()) for document in simulate(documents, seed=seed) for pair in document.pairs
    )


def vocabulary_of(sentences: Sequence[Sentence]) -> Vocabulary:
    """Collect the words of sentences, with their end."""
    return Vocabulary.build(sentences, specials=(PAD, END, UNKNOWN))


def windows(sentences: Sequence[Sentence], vocabulary: Vocabulary, length: int) -> Int[Tensor, "N T+1"]:
    """Cut the stream of all sentences into windows; what is left at the end is dropped.

    Parameters
    ----------
    sentences
        In order.
    vocabulary
        Of the training part.
    length
        T, words that a window predicts.

    Raises
    ------
    ValueError
        If a window has no words.
    DataError
        If the text is shorter than one window.
    """
    if length < 1:
        raise ValueError(f"length must be at least 1, got {length}")
    end = vocabulary.encode([END])
    stream = torch.tensor([token for words in sentences for token in vocabulary.encode(words) + end])
    if len(stream) <= length:
        raise DataError(
            f"a window of {length} words needs more than the {len(stream)} of the text; give more sentences"
        )
    return stream.unfold(0, length + 1, length)


def shuffled(
    rows: Int[Tensor, "N T+1"], *, size: int, seed: int, epoch: int
) -> Iterator[Int[Tensor, "B T+1"]]:
    """Give batches of windows in an order that depends on the seed and the epoch alone."""
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed * 100_003 + epoch))
    for items in order.split(size):
        yield rows[items]
