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
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from reasonlib.story_qa.data.example import Example, words
from reasonlib.training.vocabulary import PAD, UNKNOWN, Vocabulary

__all__ = ["ENCODINGS", "Batch", "StorySet", "answer_token", "build_vocabulary", "encode", "sentence_bags"]

ENCODINGS = ("position", "bag")


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


def sentence_bags(
    sentences: Sequence[Sequence[int]], vocabulary: int, encoding: str = "position"
) -> Float[Tensor, "U 2 V"]:
    r"""Weigh the words of each sentence so that a sentence vector is two matrix products.

    Position encoding (Sukhbaatar et al. 2015, section 4.1) weighs word j of J at unit k of D by
    :math:`l_{kj} = (1 - j/J) - (k/D)(1 - 2j/J)`. It is a straight line in :math:`k/D`, so

    .. math:: \sum_j l_{j} \circ A x_j = P A + \tfrac{k}{D} \circ (Q A),\quad
              P_v = \sum_{j: x_j = v} (1 - j/J),\quad Q_v = -\sum_{j: x_j = v} (1 - 2j/J).

    A bag of words is the special case where P counts the words and Q is zero.

    Parameters
    ----------
    sentences
        Word ids of each sentence; id 0 (padding) weighs nothing, which keeps the null symbol at zero.
    vocabulary
        V, the number of words.
    encoding
        ``"position"`` or ``"bag"``.

    Returns
    -------
    Float (U, 2, V)
        P and Q of each sentence.

    Raises
    ------
    ValueError
        If the encoding is unknown.
    """
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding must be one of {', '.join(ENCODINGS)}, got {encoding!r}")
    bags = np.zeros((len(sentences), 2, vocabulary), dtype=np.float32)
    for row, sentence in enumerate(sentences):
        length = len(sentence)
        for place, word in enumerate(sentence, start=1):
            bags[row, 0, word] += 1 - place / length if encoding == "position" else 1.0
            bags[row, 1, word] -= 1 - 2 * place / length if encoding == "position" else 0.0
    bags[:, :, 0] = 0.0
    return torch.from_numpy(bags)


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
        place = self.starts[items + 1][:, None] - 1 - age
        story = np.where(filled, self.flat[np.where(filled, place, 0)] if len(self.flat) else 0, 0)
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
