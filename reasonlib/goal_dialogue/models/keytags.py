r"""Key tags: the types of a sentence's words beside the words themselves (Taraldsen and Vatne 2019, 4.2.2).

::

    i would like italian food ----A----> sum of word vectors (d)  --+
       |                                                            +--> 2d: query or memory
       tagger: 1 1 1 4 1 ---------T----> sum of tag vectors (d)   --+

.. math::
    q_t = \sum_i T z(q)_i,\quad u^0 = \sum_i A q_i \frown q_t,\qquad
    m_{ti} = \sum_j T z(s)_{ij},\quad m_i = \sum_j A s_{ij} \frown m_{ti}

(eq. 4.8 to 4.13). z is the number of each word's tag, given by a tagger that was trained apart. An encoder of
sentences is all that changes, and the width of the answer table W: V x 2d.

`ENCODERS` holds KTN2N and what the source tried before it.

Axes: U sentences, X distinct texts, V words, D width of words, G tags.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.arguments import check_choice
from reasonlib.goal_dialogue.data.bags import Bags
from reasonlib.goal_dialogue.data.encoding import EncodedTask, TurnSet
from reasonlib.goal_dialogue.data.text_index import TextIndex, with_sets
from reasonlib.goal_dialogue.models.match_features import Match
from reasonlib.goal_dialogue.models.memory_network import (
    NETWORKS,
    BagOfWordsEncoder,
    Candidates,
    MemoryNetwork,
    NetworkConfig,
)
from reasonlib.goal_dialogue.models.tagger import NONE, TAGS, tag_counts
from reasonlib.goal_dialogue.models.tying import TiedMemory

__all__ = [
    "ENCODERS",
    "AddedTags",
    "KeyTags",
    "MultipliedTags",
    "SentenceTag",
    "SeparateAnswerTables",
    "TagNumbers",
    "build_keytags",
    "repeat_words",
]

Tags = Sequence[Sequence[int]]
"""For each distinct text the number of each word's tag, see `tagger.TAGS`."""


class KeyTags(nn.Module):
    """Words and tags side by side, each embedded (eq. 4.8 to 4.13).

    Parameters
    ----------
    words
        Embeds the words of a sentence.
    tags
        Of every text.
    width
        D of the words.
    generator
        Draws the vectors of the tags from N(0, init_std).

    Notes
    -----
    The source has one T for query and memories; so has this, for input and output memories alike.
    """

    counts: Tensor

    def __init__(
        self,
        words: BagOfWordsEncoder,
        tags: Tags,
        width: int,
        *,
        generator: torch.Generator,
        init_std: float = 0.1,
    ) -> None:
        super().__init__()
        self.words, self.width = words, 2 * width
        self.tags = nn.Parameter(torch.randn((len(TAGS), width), generator=generator) * init_std)
        self.register_buffer("counts", tag_counts(tags), persistent=False)  # (X, G)

    def extend(self, tags: Tags) -> None:
        """Take the tags of further texts."""
        self.counts = torch.cat([self.counts, tag_counts(tags).to(self.counts)])

    def forward(self, sentences: Bags, tables: Iterable[int]) -> tuple[Float[Tensor, "U 2D"], ...]:
        """Embed sentences with each of some tables, and their tags with T."""
        # excerpt: tags beside words
        # how often each tag occurs in the sentence, times T
        tags = self.counts[sentences.text] @ self.tags  # (U, D)
        return tuple(
            torch.cat([words, tags], dim=1)  # side by side, (U, 2D)
            for words in self.words(sentences, tables)
        )
        # end excerpt


class TagNumbers(nn.Module):
    """Words embedded, then the numbers of their tags, one a position; the source tried this before T."""

    numbers: Tensor

    def __init__(self, words: BagOfWordsEncoder, tags: Tags, width: int) -> None:
        super().__init__()
        longest = max(1, *(len(numbers) for numbers in tags))
        table = [[*numbers, *[0] * (longest - len(numbers))] for numbers in tags]
        self.words, self.width = words, width + longest
        self.register_buffer("numbers", torch.tensor(table, dtype=torch.float), persistent=False)

    def forward(self, sentences: Bags, tables: Iterable[int]) -> tuple[Float[Tensor, "U W"], ...]:
        """Embed sentences with each of some tables."""
        numbers = self.numbers[sentences.text]
        return tuple(torch.cat([words, numbers], dim=1) for words in self.words(sentences, tables))


class AddedTags(nn.Module):
    """The number of its tag added to every unit of each word's vector."""

    sums: Tensor

    def __init__(self, words: BagOfWordsEncoder, tags: Tags, width: int) -> None:
        super().__init__()
        self.words, self.width = words, width
        total = torch.tensor([[float(sum(numbers))] for numbers in tags])
        self.register_buffer("sums", total, persistent=False)

    def forward(self, sentences: Bags, tables: Iterable[int]) -> tuple[Float[Tensor, "U D"], ...]:
        """Embed sentences with each of some tables."""
        return tuple(words + self.sums[sentences.text] for words in self.words(sentences, tables))


class SentenceTag(nn.Module):
    """One more word in every sentence: the greatest number among its tags."""

    greatest: Tensor

    def __init__(
        self,
        words: BagOfWordsEncoder,
        tags: Tags,
        width: int,
        *,
        generator: torch.Generator,
        init_std: float = 0.1,
    ) -> None:
        super().__init__()
        self.words, self.width = words, width
        self.tags = nn.ParameterList(
            torch.randn((len(TAGS), width), generator=generator) * init_std for _ in words.tables
        )
        greatest = torch.tensor([max(numbers, default=0) for numbers in tags])
        self.register_buffer("greatest", greatest, persistent=False)

    def forward(self, sentences: Bags, tables: Iterable[int]) -> tuple[Float[Tensor, "U D"], ...]:
        """Embed sentences with each of some tables, their tag among the words."""
        tables = tuple(tables)
        greatest = self.greatest[sentences.text]
        words = self.words(sentences, tables)
        return tuple(
            vectors + self.tags[table][greatest] for vectors, table in zip(words, tables, strict=True)
        )


class MultipliedTags(nn.Module):
    """Each word's vector times the number of its tag; the bags hold it as many times, see `repeat_words`."""

    def __init__(self, words: BagOfWordsEncoder, width: int) -> None:
        super().__init__()
        self.words, self.width = words, width

    def forward(self, sentences: Bags, tables: Iterable[int]) -> tuple[Float[Tensor, "U D"], ...]:
        """Embed sentences with each of some tables."""
        return self.words(sentences, tables)


def repeat_words(task: EncodedTask, texts: Iterable[str], tags: Tags) -> EncodedTask:
    """Multiply each word's vector by the number of its tag: put the word into its bag as many times.

    Words without a type have the number 1 and stay as they are; so do the marks of speaker and turn.

    Parameters
    ----------
    task
        Its sets numbered by one `text_index.TextIndex`.
    texts, tags
        Every text by its number, and its tags.
    """
    times = [
        {word: number for word, number in zip(text.split(), numbers, strict=True) if number > NONE}
        for text, numbers in zip(texts, tags, strict=True)
    ]
    tokens = task.vocabulary.tokens

    def repeated(turns: TurnSet) -> TurnSet:
        lengths = np.diff(turns.starts)
        texts = np.repeat(turns.text, lengths)
        counts = [times[text].get(tokens[word], 1) for text, word in zip(texts, turns.words, strict=True)]
        words = np.repeat(turns.words, counts)
        sentences = np.repeat(np.arange(len(lengths)), lengths)
        sizes = np.bincount(sentences, weights=counts, minlength=len(lengths)).astype(np.int64)
        return replace(turns, words=words, starts=np.concatenate([[0], np.cumsum(sizes)]))

    return with_sets(task, {name: repeated(turns) for name, turns in task.sets.items()})


class SeparateAnswerTables(nn.Module):
    """Score candidates with tables of their own, W of V x D: the query may be wider than the words.

    Parameters
    ----------
    candidates
        All of them as bags of words.
    vocabulary, width
        V, and D of the last state.
    tables
        How many the tying shares out; one but for `Unified`.
    generator
        Draws the tables from N(0, init_std).
    """

    def __init__(
        self,
        candidates: Bags,
        vocabulary: int,
        width: int,
        *,
        tables: int = 1,
        generator: torch.Generator,
        init_std: float = 0.1,
    ) -> None:
        super().__init__()
        self.words = BagOfWordsEncoder(vocabulary, tables, width, generator=generator, init_std=init_std)
        self.score = Candidates(candidates, range(tables))

    def forward(
        self, encoder: nn.Module, state: Float[Tensor, "B D"], tied: TiedMemory
    ) -> Float[Tensor, "B C"]:
        """Score them; the encoder of the sentences is not asked."""
        return self.score(self.words, state, tied)


TagEncoder = KeyTags | TagNumbers | AddedTags | MultipliedTags | SentenceTag

ENCODERS = ("keytags", "tags-numbers", "tags-added", "tags-multiplied", "tags-sentence")
"""KTN2N, and what the source tried on the way to it (section 4.2.2)."""


def make_encoder(
    name: str, words: BagOfWordsEncoder, tags: Tags, config: NetworkConfig, generator: torch.Generator
) -> TagEncoder:
    """Make one of `ENCODERS`; what it learns is drawn from N(0, init_std)."""
    if name == "tags-numbers":
        return TagNumbers(words, tags, config.width)
    if name == "tags-added":
        return AddedTags(words, tags, config.width)
    if name == "tags-multiplied":
        return MultipliedTags(words, config.width)
    learned = KeyTags if name == "keytags" else SentenceTag
    return learned(words, tags, config.width, generator=generator, init_std=config.init_std)


def build_keytags(
    config: NetworkConfig,
    task: EncodedTask,
    tagged: Callable[[Sequence[Sequence[str]]], Tags],
    *,
    encoder: str = "keytags",
    seed: int = 0,
) -> tuple[MemoryNetwork, EncodedTask, TextIndex]:
    """Put a memory network together whose sentences carry tags.

    Parameters
    ----------
    config
        Which network, how large; `width` is that of the words.
    task
        From `encoding.encode_split`; with types where the network has match features.
    tagged
        From the words of sentences to the tag of each word: a trained tagger, or a look-up.
    encoder
        One of `ENCODERS`.
    seed
        Draws the first weights.

    Returns
    -------
    MemoryNetwork
        Its encoder knows the tags of every text of the task.
    EncodedTask
        The task, with its texts numbered as that encoder knows them: train and measure on this one.
    TextIndex
        That numbering; `TextIndex.of_turns` makes the network read other dialogues.

    Raises
    ------
    ValueError
        If there is no such encoder, or match features lack types.
    """
    check_choice("encoder", encoder, ENCODERS)
    texts = TextIndex(task.vocabulary)
    task = texts.of_task(task)
    tags = tagged([text.split() for text in texts.numbers])
    if encoder == "tags-multiplied":
        task = repeat_words(task, texts.numbers, tags)
    generator = torch.Generator().manual_seed(seed)
    vocabulary = len(task.vocabulary)
    parts: Any = NETWORKS[config.network](config, generator)[0]  # as many tables at any width
    words = BagOfWordsEncoder(
        vocabulary, parts.tables, config.width, generator=generator, init_std=config.init_std
    )
    sentences = make_encoder(encoder, words, tags, config, generator)
    tying, steps = NETWORKS[config.network](replace(config, width=sentences.width), generator)
    answers = SeparateAnswerTables(
        task.bags,
        vocabulary,
        sentences.width,
        tables=len(parts.answers),
        generator=generator,
        init_std=config.init_std,
    )
    match = None
    if config.match:
        match = Match(
            task.candidates, task.types, sentences.width, generator=generator, init_std=config.init_std
        )
    model = MemoryNetwork(
        encoder=sentences, tying=tying, steps=steps, answers=answers, match=match, slots=config.slots
    )
    if isinstance(sentences, KeyTags):
        texts.met = lambda new: sentences.extend(tagged([text.split() for text in new]))
    return model, task, texts
