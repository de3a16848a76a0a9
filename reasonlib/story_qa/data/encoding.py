"""Stories as numbers: each distinct sentence once, each question as a list of places.

A set of stories repeats its sentences: the 191,000 training questions of the released 10k set hold only a few
thousand different ones. A sentence therefore becomes one row of a table, and a story the row numbers of its
sentences. By hand, for two stories of two sentences::

    table    0 mary moved to the bathroom     stories  [0, 1]
             1 john went to the hallway                [1, 2]
             2 mary went to the garden

Axes: N questions, U distinct sentences, V words, B questions in a batch, S memory slots.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from reasonlib.story_qa.data.bags import position_bags_as_released, sentence_bags
from reasonlib.story_qa.data.example import Example, words
from reasonlib.training.vocabulary import PAD, UNKNOWN, Vocabulary

__all__ = [
    "Batch",
    "EvidenceBatch",
    "StorySet",
    "answer_token",
    "build_vocabulary",
    "encode",
    "encode_ordered",
    "evidence_batch",
]


def answer_token(answer: Sequence[str]) -> str:
    """Join the words of an answer into the one class it is scored as, as the released files do.

    >>> answer_token(("apple", "milk"))
    'apple,milk'
    """
    return ",".join(answer)


def build_vocabulary(examples: Iterable[Example]) -> Vocabulary:
    """Collect every word of stories and questions and every answer class.

    Parameters
    ----------
    examples
        The training set (and, for the closed world of the twenty tasks, any other whose words must be known).

    Returns
    -------
    Vocabulary
        Padding first, then ``<unk>``, then words and answers in alphabetical order, so that the ids depend on
        which words occur and not on how often.
    """
    sentences: set[str] = set()
    tokens: set[str] = set()
    for example in examples:
        sentences.update(example.story)
        sentences.add(example.question)
        tokens.add(answer_token(example.answer))
    for sentence in sentences:
        tokens.update(words(sentence))
    return Vocabulary([PAD, UNKNOWN, *sorted(tokens)])


@dataclass(frozen=True)
class Batch:
    """What a model of this topic reads.

    Attributes
    ----------
    sentences : (U, 2, V)
        The distinct sentences of this batch, questions included, as weighed bags of words.
    story : (B, S)
        Row of `sentences` that each memory slot holds; slot 0 is the latest sentence.
    filled : (B, S)
        True where a slot holds a sentence.
    question : (B,)
        Row of `sentences` that holds the question.
    answer : (B,)
        Class of the answer, a word of the vocabulary.
    """

    sentences: Float[Tensor, "U 2 V"]
    story: Int[Tensor, "B S"]
    filled: Bool[Tensor, "B S"]
    question: Int[Tensor, " B"]
    answer: Int[Tensor, " B"]

    def __len__(self) -> int:
        return len(self.question)

    def shard(self, index: int, count: int) -> "Batch":
        """Keep the questions of one of `count` processes; the table of sentences stays whole."""
        cut = [getattr(self, name)[index::count] for name in ("story", "filled", "question", "answer")]
        return Batch(self.sentences, *cut)

    def to(self, device: torch.device | str) -> "Batch":
        """Move every tensor to a device."""
        return Batch(*(getattr(self, name).to(device) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class StorySet:
    """Questions about stories, ready to be cut into batches.

    Attributes
    ----------
    vocabulary
        Word ids; answers are words of it too.
    bags : (U, 2, V)
        Every distinct sentence (see `sentence_bags`).
    flat : (sum of story lengths,)
        Rows of `bags`, one story after another, oldest sentence first.
    starts : (N + 1,)
        Where each story begins in `flat`.
    question, answer, task : (N,)
        Row of the question, class of the answer, task number.
    examples
        The questions as text, in the same order.
    """

    vocabulary: Vocabulary
    bags: Float[Tensor, "U 2 V"]
    flat: np.ndarray
    starts: np.ndarray
    question: np.ndarray
    answer: np.ndarray
    task: np.ndarray
    examples: tuple[Example, ...]

    def __len__(self) -> int:
        return len(self.question)

    @property
    def lengths(self) -> np.ndarray:
        """Sentences in each story, shape (N,)."""
        return np.diff(self.starts)

    def batch(
        self,
        items: Sequence[int] | np.ndarray,
        *,
        slots: int,
        noise: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> Batch:
        """Gather some questions.

        Parameters
        ----------
        items
            B numbers of questions.
        slots
            S at most: how many of the latest sentences are kept (the source keeps 50).
        noise
            Random noise (section 4.1 of the source): up to this share of empty slots is put among the
            memories, so that a slot's number is not always the same age. 0.1 in the source.
        rng
            Draws the empty slots; needed when `noise` is above 0.

        Raises
        ------
        ValueError
            If `slots` is below 1, `noise` is negative, or `noise` is given without `rng`.
        """
        if slots < 1:
            raise ValueError(f"slots must be at least 1, got {slots}")
        if noise < 0:
            raise ValueError(f"noise must be at least 0, got {noise}")
        if noise and rng is None:
            raise ValueError("noise draws random numbers: give it an rng")
        items = np.asarray(items)
        lengths = np.minimum(self.lengths[items], slots)
        blanks = np.zeros_like(lengths)
        if rng is not None and noise:
            blanks = np.minimum(rng.integers(0, np.ceil(noise * lengths).astype(int) + 1), slots - lengths)
        width = max(1, int((lengths + blanks).max()))
        filled = np.arange(width) < (lengths + blanks)[:, None]  # (B, S)
        if blanks.any() and rng is not None:
            drawn = rng.integers(0, (lengths + blanks)[:, None], size=(len(items), int(blanks.max())))
            rows, columns = np.nonzero(np.arange(drawn.shape[1]) < blanks[:, None])
            filled[rows, drawn[rows, columns]] = False
        age = np.cumsum(filled, axis=1) - 1  # which sentence, counted back from the question
        filled &= age < lengths[:, None]  # two blanks drawn on one slot leave a slot too many
        position = self.starts[items + 1][:, None] - 1 - age
        story = np.where(filled, self.flat[np.where(filled, position, 0)] if len(self.flat) else 0, 0)
        question = self.question[items]

        used = np.zeros(len(self.bags), dtype=bool)
        used[story[filled]] = True
        used[question] = True
        rank = np.cumsum(used) - 1
        return Batch(
            self.bags[torch.from_numpy(used)],
            torch.from_numpy(np.where(filled, rank[story], 0)),
            torch.from_numpy(filled),
            torch.from_numpy(rank[question]),
            torch.from_numpy(self.answer[items]),
        )


def encode(examples: Iterable[Example], vocabulary: Vocabulary, encoding: str = "position") -> StorySet:
    """Turn examples into a `StorySet`.

    Parameters
    ----------
    examples
        From the simulator or from the released files.
    vocabulary
        Words it does not know become ``<unk>``; so does an answer it does not know, which no model can then
        get right.
    encoding
        ``"position"`` or ``"bag"`` (see `sentence_bags`).

    Raises
    ------
    ValueError
        If there are no examples or the encoding is unknown.
    """
    examples = tuple(examples)
    if not examples:
        raise ValueError("examples must hold at least one question, got none")
    rows: dict[str, int] = {}
    flat: list[int] = []
    starts = [0]
    for example in examples:
        flat += [rows.setdefault(sentence, len(rows)) for sentence in example.story]
        starts.append(len(flat))
    question = [rows.setdefault(example.question, len(rows)) for example in examples]
    answer = vocabulary.encode([answer_token(example.answer) for example in examples])
    sentences = [vocabulary.encode(words(sentence)) for sentence in rows]
    return StorySet(
        vocabulary=vocabulary,
        bags=sentence_bags(sentences, len(vocabulary), encoding),
        flat=np.asarray(flat, dtype=np.int64),
        starts=np.asarray(starts, dtype=np.int64),
        question=np.asarray(question, dtype=np.int64),
        answer=np.asarray(answer, dtype=np.int64),
        task=np.asarray([example.task for example in examples], dtype=np.int64),
        examples=examples,
    )


def encode_ordered(
    examples: Iterable[Example], vocabulary: Vocabulary, width: int, *, like: StorySet | None = None
) -> StorySet:
    """Turn examples into a `StorySet` whose sentences are weighed by `position_bags_as_released`.

    Parameters
    ----------
    examples, vocabulary
        As in `tensors.encode`.
    width
        D of the network.
    like
        The training set, whose longest sentence gives J; by default the examples' own. J is one more than
        that sentence has words: the released code counts the word that names a sentence's age.

    Raises
    ------
    ValueError
        If there are no examples.
    """
    stories = encode(examples, vocabulary)
    rows = [vocabulary.encode(words(sentence)) for sentence in _sentences(stories.examples)]
    longest = max(len(words(sentence)) for sentence in _sentences((like or stories).examples)) + 1
    return replace(stories, bags=position_bags_as_released(rows, len(vocabulary), width, longest))


def _sentences(examples: Sequence[Example]) -> list[str]:
    """List every sentence and question once, in the order of `tensors.encode`."""
    sentences = dict.fromkeys(sentence for example in examples for sentence in example.story)
    return list(sentences | dict.fromkeys(example.question for example in examples))


@dataclass(frozen=True)
class EvidenceBatch(Batch):
    """A batch that knows which sentences are needed.

    Attributes
    ----------
    needed : (B, S)
        1.0 where a slot holds a supporting sentence, as the data mark them.
    """

    needed: Float[Tensor, "B S"]

    def shard(self, index: int, count: int) -> "EvidenceBatch":
        """Keep the questions of one of `count` processes; the table of sentences stays whole."""
        names = ("story", "filled", "question", "answer", "needed")
        return EvidenceBatch(self.sentences, *(getattr(self, name)[index::count] for name in names))

    def to(self, device: torch.device | str) -> "EvidenceBatch":
        """Move every tensor to a device."""
        return EvidenceBatch(*(getattr(self, name).to(device) for name in self.__dataclass_fields__))


def evidence_batch(
    stories: StorySet,
    items: Sequence[int] | np.ndarray,
    *,
    slots: int,
    noise: float = 0.0,
    rng: np.random.Generator | None = None,
) -> EvidenceBatch:
    """Gather questions as `StorySet.batch` does, with the marks of their supporting sentences."""
    batch = stories.batch(items, slots=slots, noise=noise, rng=rng)
    filled = batch.filled.numpy()
    needed = np.zeros(filled.shape, dtype=np.float32)
    for row, item in enumerate(items):
        story = stories.examples[item]
        ages = [len(story.story) - 1 - sentence for sentence in story.support]
        places = np.flatnonzero(filled[row])
        needed[row, places[[age for age in ages if age < len(places)]]] = 1.0
    return EvidenceBatch(
        batch.sentences, batch.story, batch.filled, batch.question, batch.answer, torch.from_numpy(needed)
    )
