"""Tokens of parallel text: words split at blanks, and the special tokens of every translator.

Padding is 0, the start of a translation 1, its end 2, and 3 stands before each sentence of a context.
"""

from collections.abc import Iterable
from typing import Protocol

from reasonlib.training.vocabulary import PAD, UNKNOWN, Vocabulary

__all__ = ["CONTEXT", "END", "SPECIALS", "START", "Tokens", "Words"]

START, END, CONTEXT = 1, 2, 3
SPECIALS = (PAD, "<start>", "<end>", "<context>", UNKNOWN)


class Tokens(Protocol):
    """What turns text into ids and back: `Words`, or `reasonlib.parallel.bpe.Subwords`."""

    def __len__(self) -> int:
        """Count the tokens."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without start and end."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; specials are left out."""


class Words:
    """Tokens that are words, split at blanks: for the simulated languages.

    Parameters
    ----------
    vocabulary
        Of both languages, with `SPECIALS` first.

    Examples
    --------
    >>> words = Words.of(["it was old .", "ro veko esto ."])
    >>> words.decode(words.encode("it was red ."))
    'it was <unk> .'
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.tokens[: len(SPECIALS)] != SPECIALS:
            raise ValueError(f"the vocabulary must begin with {' '.join(SPECIALS)}")
        self.vocabulary = vocabulary

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Words":
        """Collect the words of texts."""
        return cls(Vocabulary.build((text.split() for text in texts), specials=SPECIALS))

    def __len__(self) -> int:
        return len(self.vocabulary)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        return self.vocabulary.encode(text.split())

    def decode(self, ids: Iterable[int]) -> str:
        """Return the words of ids; padding, start, end and context marks are left out."""
        return " ".join(self.vocabulary.decode(number for number in ids if number > CONTEXT))
