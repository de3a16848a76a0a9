"""Texts as token ids of a BERT: two texts in one sequence (Devlin et al. 2019, section 3).

::

    [CLS] mary went to the [MASK] . [SEP] mary is in the garden . [SEP]     tokens
      0     0    0   0  0     0   .    0     1   1  1   1   1   .    1      segments

Axes: B pairs of texts, T tokens.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from reasonlib.training.batching import pad
from reasonlib.training.vocabulary import Vocabulary
from reasonlib.transformer.data.stories import WORDS, LabelledStatement, Story

__all__ = [
    "SPECIALS",
    "LabelledPairs",
    "Pairs",
    "cloze_pairs",
    "pack",
    "question_pairs",
    "statement_pairs",
    "story_vocabulary",
]


SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


CLS, SEP, MASK = 2, 3, 4


def story_vocabulary(extra: Sequence[str] = ()) -> Vocabulary:
    """Number the words of the stories, after the five marks.

    >>> story_vocabulary().tokens[:6]
    ('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'mary')
    """
    return Vocabulary((*SPECIALS, *WORDS, *extra))


class Pairs(NamedTuple):
    """Pairs of texts as the encoder reads them.

    Attributes
    ----------
    tokens : (B, T)
        ``[CLS] first [SEP] second [SEP]``, padded with 0.
    segments : (B, T)
        0 up to the first [SEP], 1 after it.
    """

    tokens: Int[Tensor, "B T"]
    segments: Int[Tensor, "B T"]

    def take(self, items: Tensor) -> "Pairs":
        """Keep these pairs, without padding that none of them needs."""
        tokens = self.tokens[items]
        longest = int((tokens != 0).sum(1).max())
        return Pairs(tokens[:, :longest], self.segments[items, :longest])


def pack(pairs: Sequence[tuple[Sequence[str], Sequence[str]]], vocabulary: Vocabulary) -> Pairs:
    """Put two texts in one sequence; an empty second text leaves its [SEP] out too.

    >>> pack([(("mary", "is"), ("in", "the"))], story_vocabulary()).segments
    tensor([[0, 0, 0, 0, 1, 1, 1]])
    """
    tokens, segments = [], []
    for first, second in pairs:
        first_ids = [CLS, *_ids(first, vocabulary), SEP]
        second_ids = [*_ids(second, vocabulary), SEP] if second else []
        tokens.append(first_ids + second_ids)
        segments.append([0] * len(first_ids) + [1] * len(second_ids))
    return Pairs(pad(tokens), pad(segments))


def _ids(words: Sequence[str], vocabulary: Vocabulary) -> list[int]:
    return [vocabulary.id_of(word) if word in vocabulary else 1 for word in words]


class LabelledPairs(NamedTuple):
    """Pairs to fine-tune on: the pairs, the class of each (B,), and how many classes there are."""

    pairs: Pairs
    classes: Int[Tensor, " B"]
    choices: int

    def __len__(self) -> int:
        return len(self.classes)

    def take(self, items: Tensor) -> "LabelledPairs":
        """Keep these pairs."""
        return LabelledPairs(self.pairs.take(items), self.classes[items], self.choices)


def question_pairs(stories: Sequence[Story], vocabulary: Vocabulary) -> LabelledPairs:
    """Pair each story with its question; the class is the answer's id."""
    pairs = pack([(story.words, story.question) for story in stories], vocabulary)
    classes = torch.tensor([vocabulary.id_of(story.answer) for story in stories])
    return LabelledPairs(pairs, classes, len(vocabulary))


def cloze_pairs(stories: Sequence[Story], vocabulary: Vocabulary) -> LabelledPairs:
    """Pair each story with its question and a hidden word in the answer's place; the class is its id."""
    pairs = pack([(story.words, (*story.question, "[MASK]")) for story in stories], vocabulary)
    classes = torch.tensor([vocabulary.id_of(story.answer) for story in stories])
    return LabelledPairs(pairs, classes, len(vocabulary))


def statement_pairs(claims: Sequence[LabelledStatement], vocabulary: Vocabulary) -> LabelledPairs:
    """Pair each story with a statement; the class is 1 where it is true."""
    pairs = pack([(claim.words, claim.statement) for claim in claims], vocabulary)
    return LabelledPairs(pairs, torch.tensor([int(claim.true) for claim in claims]), 2)
