"""Pre-training data of a BERT: hidden words and next sentences (Devlin et al. 2019, section 3.1).

Axes: B pairs of texts, T tokens, V words.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from reasonlib.transformer.data.pairs import MASK, SPECIALS, Pairs

__all__ = ["IGNORED", "MaskedBatch", "mask_tokens", "next_sentence_pairs"]


IGNORED = -100
"""Label of a token whose word is not asked for."""


def mask_tokens(
    tokens: Int[Tensor, "B T"],
    *,
    words: int,
    share: float = 0.15,
    rule: tuple[float, float, float] = (0.8, 0.1, 0.1),
    generator: torch.Generator | None = None,
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Hide words by the 80/10/10 rule (section 3.1, task 1, and appendix A.1).

    Of all words, `share` are asked for. Of those, a part of `rule` each becomes [MASK], becomes a random
    word, and stays as it is: whatever word the encoder sees, it may be asked whether it is the right one.

    Parameters
    ----------
    tokens
        Ids; the five marks are never hidden.
    words
        V.
    share
        Probability that a word is asked for.
    rule
        Shares of [MASK], of random words and of words that stay; they sum to one.
    generator
        Source of the random draws.

    Returns
    -------
    seen, labels : (B, T)
        What the encoder reads, and what it must say: `IGNORED` where nothing is asked.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must be above 0 and below 1, got {share}")
    if len(rule) != 3 or min(rule) < 0 or abs(sum(rule) - 1) > 1e-9:
        raise ValueError(f"rule must be three shares that sum to 1, got {rule}")
    # excerpt: masking
    first = len(SPECIALS)  # ids below are special tokens, never hidden
    selected = (
        torch.rand(tokens.shape, generator=generator) < share  # 15 in 100
    ) & (tokens >= first)
    fate = torch.rand(tokens.shape, generator=generator)  # what becomes of each
    other = torch.randint(first, words, tokens.shape, generator=generator)
    # eight in ten become [MASK]
    seen = torch.where(
        selected & (fate < rule[0]),
        torch.full_like(tokens, MASK),
        tokens,
    )
    # one in ten becomes another word; the rest stay
    seen = torch.where(
        selected & (fate >= rule[0]) & (fate < rule[0] + rule[1]),
        other,
        seen,
    )
    # end excerpt
    return seen, torch.where(selected, tokens, torch.full_like(tokens, IGNORED))


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
        The hidden words; `IGNORED` where nothing is asked.
    follows : (B,)
        0 where the second part continues the first, 1 where it does not.
    """

    pairs: Pairs
    labels: Int[Tensor, "B T"]
    follows: Int[Tensor, " B"]

    def __len__(self) -> int:
        return len(self.follows)
