"""Stories as tokens of a BERT: question and story in one sequence, or one sequence a sentence.

::

    [CLS] where is mary [SEP] john went to the hallway . mary moved to the garden . [SEP]
      0     0    0   0    0     1    1   1  1     1    1   ...                        1     segments

Axes: B questions, N questions of a set, T tokens, U distinct sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from reasonlib.errors import UserError
from reasonlib.story_qa.data.encoding import StorySet, answer_token, encode
from reasonlib.story_qa.data.example import Example
from reasonlib.training.batching import mask_of, pad
from reasonlib.training.vocabulary import Vocabulary

__all__ = [
    "LabelledPairs",
    "Pair",
    "PairBatch",
    "PairSet",
    "StoryTokens",
    "answer_classes",
    "encode_sentences",
    "stack",
]


LONGEST = 512  # tokens; the positions BERT was pre-trained with


class Pair(NamedTuple):
    """Question and story as one token sequence.

    Attributes
    ----------
    tokens : list of int
        ``[CLS] question [SEP] story [SEP]``.
    segments : list of int
        0 for the question and its two marks, 1 for the story and its mark.
    dropped : int
        Sentences left out at the story's beginning because the sequence would have been too long.
    """

    tokens: list[int]
    segments: list[int]
    dropped: int


class StoryTokens:
    """Turn questions and stories into token ids; every distinct sentence is tokenised once.

    Parameters
    ----------
    tokenizer
        A `transformers` tokenizer with ``cls_token_id`` and ``sep_token_id``.
    longest
        Tokens in a sequence at most. A longer story loses its oldest sentences, as a reader who forgets
        would, and `Pair.dropped` says how many.
    """

    def __init__(self, tokenizer: Any, longest: int = LONGEST) -> None:
        self.tokenizer = tokenizer
        self.longest = longest
        self.cache: dict[str, list[int]] = {}

    def sentence(self, text: str) -> list[int]:
        """Give the token ids of one sentence, without marks."""
        ids = self.cache.get(text)
        if ids is None:
            ids = self.cache[text] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def pair(self, question: str, story: Sequence[str]) -> Pair:
        """Pack a question and as much of the end of its story as fits.

        Raises
        ------
        ValueError
            If the question alone does not fit.
        """
        # excerpt: pack
        question_ids = self.sentence(question)
        room = self.longest - len(question_ids) - 3  # tokens left for the story
        # end excerpt
        if room < 0:
            raise ValueError(f"question must fit into {self.longest} tokens, got {len(question_ids)}")
        # excerpt: pack
        kept: list[list[int]] = []
        for sentence in reversed(story):  # the latest sentence first
            ids = self.sentence(sentence)
            if len(ids) > room:
                break
            kept.append(ids)
            room -= len(ids)
        story_ids = [token for ids in reversed(kept) for token in ids]
        sep = self.tokenizer.sep_token_id
        tokens = [self.tokenizer.cls_token_id, *question_ids, sep, *story_ids, sep]
        return Pair(
            tokens,
            [0] * (len(question_ids) + 2) + [1] * (len(story_ids) + 1),  # segments
            len(story) - len(kept),  # sentences dropped
        )
        # end excerpt


class PairBatch(NamedTuple):
    """Pairs of one length, padded.

    Attributes
    ----------
    tokens, segments : (B, T)
        Token ids and segment ids.
    mask : (B, T)
        True where a token stands.
    """

    tokens: Int[Tensor, "B T"]
    segments: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]

    def to(self, device: torch.device | str) -> "PairBatch":
        """Move every tensor to a device."""
        return PairBatch(*(tensor.to(device) for tensor in self))


def stack(pairs: Sequence[Pair], padding: int = 0) -> PairBatch:
    """Pad B pairs to the length of the longest.

    Parameters
    ----------
    pairs
        Pairs of any length.
    padding
        The tokenizer's ``pad_token_id``.
    """
    return PairBatch(
        pad([pair.tokens for pair in pairs], padding),
        pad([pair.segments for pair in pairs]),
        mask_of([len(pair.tokens) for pair in pairs]),
    )


def answer_classes(examples: Sequence[Example]) -> Vocabulary:
    """List the answer classes of a training set, in alphabetical order, behind ``<unk>``."""
    return Vocabulary(["<unk>", *sorted({answer_token(example.answer) for example in examples})])


class LabelledPairs(NamedTuple):
    """A batch of pairs with the class of each answer, shape (B,)."""

    pairs: PairBatch
    answer: Tensor

    def __len__(self) -> int:
        return len(self.answer)

    def to(self, device: torch.device | str) -> "LabelledPairs":
        """Move every tensor to a device."""
        return LabelledPairs(self.pairs.to(device), self.answer.to(device))


@dataclass(frozen=True)
class PairSet:
    """Questions and stories as pairs of token sequences.

    Attributes
    ----------
    pairs
        N pairs; `Pair.dropped` counts the sentences that did not fit.
    answer, task : (N,)
        Class of the answer and task number.
    padding
        The tokenizer's ``pad_token_id``.
    """

    pairs: tuple[Pair, ...]
    answer: np.ndarray
    task: np.ndarray
    padding: int

    @classmethod
    def encode(cls, examples: Sequence[Example], tokens: StoryTokens, answers: Vocabulary) -> "PairSet":
        """Tokenise every question with its story.

        Raises
        ------
        UserError
            If there are no examples.
        """
        if not examples:
            raise UserError("examples must hold at least one question, got none")
        return cls(
            tuple(tokens.pair(example.question, example.story) for example in examples),
            np.asarray(answers.encode([answer_token(example.answer) for example in examples])),
            np.asarray([example.task for example in examples]),
            tokens.tokenizer.pad_token_id or 0,
        )

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> list[int]:
        """Tokens in each pair."""
        return [len(pair.tokens) for pair in self.pairs]

    def batch(self, items: Sequence[int]) -> LabelledPairs:
        """Pad some pairs to one length."""
        return LabelledPairs(
            stack([self.pairs[item] for item in items], self.padding), torch.from_numpy(self.answer[items])
        )


def encode_sentences(examples: Sequence[Example], tokenizer: Any, answers: Vocabulary) -> StorySet:
    """Turn examples into a `StorySet` whose sentences are rows of token ids, ``[CLS]`` first, zero behind.

    Parameters
    ----------
    examples
        Questions with their stories.
    tokenizer
        Of the sentence encoder; its ``pad_token_id`` must be 0.
    answers
        The answer classes (see `reading.answer_classes`).

    Returns
    -------
    StorySet
        With ``bags`` of shape (U, T): the token ids of every distinct sentence, and `answers` as vocabulary.

    Raises
    ------
    ValueError
        If there are no examples or the padding has another id.
    """
    if tokenizer.pad_token_id != 0:
        raise ValueError(f"tokenizer must pad with id 0, got {tokenizer.pad_token_id}")
    stories = encode(examples, answers, "bag")
    tokens = StoryTokens(tokenizer)
    rows: dict[str, list[int]] = {}
    for example in examples:  # in the order in which `encode` numbers them
        for sentence in example.story:
            rows.setdefault(sentence, [])
    for example in examples:
        rows.setdefault(example.question, [])
    ids = [[tokenizer.cls_token_id, *tokens.sentence(sentence)] for sentence in rows]
    return replace(stories, bags=pad(ids))
