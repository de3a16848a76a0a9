"""Documents of aligned sentences: what the simulator makes and what every reader of files returns."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["KINDS", "Deciding", "Document", "SentencePair", "contexts"]

KINDS = ("pronoun", "subject", "verb", "formality")
"""What a sentence can leave to its context."""


@dataclass(frozen=True, slots=True)
class Deciding:
    """What decides the translation of a sentence that its context alone makes clear.

    Attributes
    ----------
    kind
        One of `KINDS`, or of those of a public set.
    word
        The word of the target that the context decides; empty where nobody has labelled it.
    context_word
        The word of an earlier source sentence that decides it; empty as `word`.
    distance
        How many sentences back that word stands; 1 is the sentence before.
    contrast
        The target as another context would have it: fluent, and wrong here.
    """

    kind: str
    word: str
    context_word: str
    distance: int
    contrast: str


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence and its translation.

    Attributes
    ----------
    source, target
        Text, without a line break.
    helpful
        Whether the context is needed to translate it; None where nobody has labelled it.
    decides
        What decides it; None for an unhelpful or unlabelled sentence.
    """

    source: str
    target: str
    helpful: bool | None = None
    decides: Deciding | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """Sentence pairs in the order in which they stand.

    Attributes
    ----------
    pairs
        The sentences.
    name
        Of the document.
    starts
        When each sentence starts, in milliseconds; empty for text without time stamps.
    """

    pairs: tuple[SentencePair, ...]
    name: str = ""
    starts: tuple[int, ...] = ()


def contexts(document: Document, sentences: int, *, within: int = 3000) -> list[tuple[str, ...]]:
    """Return the source sentences before each sentence of a document, nearest first.

    Parameters
    ----------
    document
        The sentences.
    sentences
        The most to return; there are fewer at the start of the document.
    within
        Where sentences have times, the most milliseconds between the starts of a sentence and its context.

    Examples
    --------
    >>> document = Document(tuple(SentencePair(word, word) for word in ("a", "b", "c")))
    >>> contexts(document, 2)
    [(), ('a',), ('b', 'a')]
    """
    if sentences < 0:
        raise ValueError(f"sentences must be at least 0, got {sentences}")
    sources: Sequence[str] = [pair.source for pair in document.pairs]
    starts = document.starts or (0,) * len(sources)
    return [
        tuple(
            sources[position - back]
            for back in range(1, min(sentences, position) + 1)
            if abs(starts[position] - starts[position - back]) <= within
        )
        for position in range(len(sources))
    ]
