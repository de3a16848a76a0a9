"""Pre-training data: hidden words and next sentences, made from stories (Devlin et al. 2019, section 3.1).

::

    [CLS] mary went to the [MASK] . [SEP] she took the milk there . [SEP]
                             |        masked language model: garden
      |____________________________   next sentence prediction: does the second part continue the first?

Axes: B pairs, T tokens.
"""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.tokens import PairBatch

__all__ = ["MaskedBatch", "next_sentence_pairs", "tell_with_answers", "word_tokenizer"]


SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def word_tokenizer(sentences: Sequence[str]) -> Any:
    """Make a tokenizer whose tokens are lower-case words and punctuation marks.

    The closed world of the stories has under two hundred words, so that pieces of words would gain nothing.

    Parameters
    ----------
    sentences
        Text that holds every word to be known; others become ``[UNK]``.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    split = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    vocabulary = sorted(
        {piece for text in set(sentences) for piece, _ in split.pre_tokenize_str(text.lower())}
    )
    ids = {token: number for number, token in enumerate([*SPECIALS, *vocabulary])}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = split
    names = {f"{token[1:-1].lower()}_token": token for token in SPECIALS}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def tell_with_answers(examples: Sequence[Example]) -> list[tuple[str, ...]]:
    """Tell each story once, with its questions and their answers where they were asked.

    This is how the released files read; an encoder trained on it has met questions, and must recall the story
    to guess a hidden answer.

    Parameters
    ----------
    examples
        Questions; those of one story follow one another and share a growing list of sentences.

    Returns
    -------
    list of tuple of str
        The sentences of each story, "Where is Mary? garden." among them.
    """
    stories: dict[tuple[int, int], list[str]] = {}
    lengths: dict[tuple[int, int], int] = {}
    for example in examples:
        key = (example.task, example.group)
        sentences = stories.setdefault(key, [])
        sentences += example.story[lengths.get(key, 0) :]
        lengths[key] = len(example.story)
        sentences.append(f"{example.question} {' '.join(example.answer)}.")
    return [tuple(story) for story in stories.values()]


def next_sentence_pairs(
    examples: Sequence[Example], draw: random.Random, longest: int = 40
) -> list[tuple[str, tuple[str, ...], bool]]:
    """Cut each story in two and keep or exchange the second part.

    Parameters
    ----------
    examples
        Questions (see `tell_with_answers`).
    draw
        Chooses where to cut and whether to exchange.
    longest
        Sentences in each part at most.

    Returns
    -------
    list of (first part, second part, continues)
        Half of the second parts continue their first part, half come from another story.

    Raises
    ------
    ValueError
        If there are fewer than two stories to cut.
    """
    stories = [story for story in tell_with_answers(examples) if len(story) > 1]
    if len(stories) < 2:
        raise ValueError(f"examples must hold at least two stories, got {len(stories)}")
    cuts = [draw.randrange(1, len(story)) for story in stories]
    pairs = []
    for position, (story, cut) in enumerate(zip(stories, cuts, strict=True)):
        continues = draw.random() < 0.5
        other = (position + draw.randrange(1, len(stories))) % len(stories)
        second = story[cut:] if continues else stories[other][cuts[other] :]
        pairs.append((" ".join(story[:cut][-longest:]), second[:longest], continues))
    return pairs


class MaskedBatch(NamedTuple):
    """A batch to pre-train on.

    Attributes
    ----------
    pairs
        Token sequences in which some words are hidden.
    words : (B, T)
        The hidden words; -100 wherever nothing is asked.
    continues : (B,)
        0 where the second part continues the first, 1 where it does not, as in the source's code.
    """

    pairs: PairBatch
    words: Int[Tensor, "B T"]
    continues: Int[Tensor, " B"]

    def __len__(self) -> int:
        return len(self.continues)

    def to(self, device: torch.device | str) -> "MaskedBatch":
        """Move every tensor to a device."""
        return MaskedBatch(self.pairs.to(device), self.words.to(device), self.continues.to(device))
