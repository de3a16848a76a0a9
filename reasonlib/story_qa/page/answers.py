"""What a model says to a question about a story, where it looked, and what to know before trusting it.

Axes: K hops (or layers, or steps), S sentences.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float

from reasonlib.story_qa.data.example import Example, words
from reasonlib.story_qa.page.typed import listed
from reasonlib.training.vocabulary import Vocabulary

if TYPE_CHECKING:
    from reasonlib.display.plotting import Picture

__all__ = ["Answer", "absent_names", "name_best", "never_met"]

TOP = 5  # answers named with their probabilities


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a model says and where it looked.

    Attributes
    ----------
    question
        As asked.
    text
        The answer; several words of a list or a path are joined by commas.
    confidence
        Probability the model gives it.
    others
        The likeliest answers with their probabilities, this one first.
    sentences
        The S sentences of the story, oldest first.
    weights : (K, S)
        How much of each look fell on each sentence; zero for a sentence the model has no room for.
    look
        What one row of `weights` is: a ``"hop"`` of the memory network, a ``"layer"`` of the encoder (the
        attention of [CLS], averaged over heads), the ``"mark"`` (the chance that a sentence is needed), or
        the ``"pointer"`` (where the answer begins and ends).
    support
        Positions of the sentences that the answer needs, where somebody labelled them.
    expected
        The right answer, where it is known.
    notes
        What the reader should know before trusting the answer, one line each.
    """

    question: str
    text: str
    confidence: float
    others: tuple[tuple[str, float], ...]
    sentences: tuple[str, ...]
    weights: Float[np.ndarray, "K S"]
    look: str = "hop"
    support: tuple[int, ...] | None = None
    expected: str | None = None
    notes: tuple[str, ...] = ()

    def labelled(self, example: Example) -> "Answer":
        """Add what is known of this question: the right answer and the sentences it needs."""
        return replace(self, support=example.support, expected=", ".join(example.answer))

    def picture(self) -> "Picture":
        """Draw the sentences and the weight of each look."""
        from reasonlib.display.plotting import memory_hops  # drawing takes longer to load than answering

        return memory_hops(
            self.sentences,
            self.weights,
            question=self.question,
            answer=self.text,
            expected=self.expected,
            support=self.support,
            caption=" ".join(f"{note[0].upper()}{note[1:]}." for note in self.notes) or None,
            look=self.look,
        )

    def _repr_html_(self) -> str:
        return self.picture()._repr_html_()

    def __str__(self) -> str:
        return self.text


def name_best(
    shares: torch.Tensor,
    classes: Vocabulary,
    question: str,
    sentences: Sequence[str],
    weights: np.ndarray,
    look: str,
    notes: Sequence[str],
) -> Answer:
    """Name the likeliest classes; padding and the unknown word are none."""
    order = shares.argsort(descending=True, stable=True).tolist()
    named = [position for position in order if not classes.token_of(position).startswith("<")][:TOP]
    others = tuple(
        (classes.token_of(position).replace(",", ", "), float(shares[position])) for position in named
    )
    return Answer(
        question=question,
        text=others[0][0],
        confidence=others[0][1],
        others=others,
        sentences=tuple(sentences),
        weights=weights,
        look=look,
        notes=tuple(notes),
    )


def never_met(unknown: Sequence[str]) -> str:
    """Write the note on words that a model has never met."""
    many = "this word" if len(unknown) == 1 else "these words"
    return f"it has never met {many}, so the answer may mean nothing: {listed(unknown)}"


def _is_name(word: str) -> bool:
    """Whether a word starts with a capital and goes on in small letters: a question may be all capitals."""
    return word[0].isupper() and not (word.isupper() and len(word) > 1)


def absent_names(sentences: Sequence[str], question: str) -> list[str]:
    """Give the names in a question that its story has not: these models always answer something."""
    story_words = {word for sentence in sentences for word in words(sentence)}
    names = (re.sub(r"('s)?\W*$", "", word) for word in question.split()[1:] if _is_name(word))
    return [name for name in dict.fromkeys(names) if words(name) and not story_words.issuperset(words(name))]
