"""Pre-training data of a BERT: hidden words and next sentences (Devlin et al. 2019, section 3.1).

Axes: B pairs of texts, T tokens, V words.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

from jaxtyping import Int
from torch import Tensor

from reasonlib.transformer.data.pairs import Pairs

__all__ = ["MaskedBatch", "next_sentence_pairs"]


def next_sentence_pairs(
    texts: Sequence[Sequence[Sequence[str]]], draw: random.Random, *, exchanged: float = 0.5
) -> list[tuple[tuple[str, ...], tuple[str, ...], bool]]:
    """Cut each text in two; half the second parts are exchanged for another text's (section 3.1).

    Parameters
    ----------
    texts
        Sentences of words; of each text two or more.
    draw
        Where to cut, and whether to exchange.
    exchanged
        Probability of an exchange.

    Returns
    -------
    list of (first part, second part, whether it continues)
    """
    if len(texts) < 2:
        raise ValueError(f"texts must be at least 2, to exchange parts, got {len(texts)}")
    # excerpt: next sentence
    cuts = [draw.randrange(1, len(text)) for text in texts]  # one cut in each text
    results = []
    for position, (text, cut) in enumerate(zip(texts, cuts, strict=True)):
        continues = draw.random() >= exchanged
        other = (
            position
            if continues  # else another text, drawn at random
            else (position + draw.randrange(1, len(texts))) % len(texts)
        )
        second = texts[other][cuts[other] :]  # its own second part, or another's
        results.append((_flat(text[:cut]), _flat(second), continues))
    # end excerpt
    return results


def _flat(sentences: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(word for sentence in sentences for word in sentence)


class MaskedBatch(NamedTuple):
    """A batch to pre-train on.

    Attributes
    ----------
    pairs
        With words hidden.
    labels : (B, T)
        The hidden words; -100 where nothing is asked.
    follows : (B,)
        0 where the second part continues the first, 1 where it does not.
    """

    pairs: Pairs
    labels: Int[Tensor, "B T"]
    follows: Int[Tensor, " B"]

    def __len__(self) -> int:
        return len(self.follows)
