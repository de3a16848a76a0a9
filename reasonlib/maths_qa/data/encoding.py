"""Problems as compact arrays, and batches of them.

Axes: N problems, B problems of a batch, S characters of a question, U characters of an answer and its end,
T = S + U + 1 tokens of a joined question and answer.

::

    list of Problem --> Encoded: every character one byte, texts end to end --> batch(items) --> Batch
                                                                            --> join(batch)  --> Joined

By hand: the answer ``-5`` gives ``given`` = [SOS] - 5, what the decoder reads, and ``target`` = - 5 [EOS],
what it must write.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from reasonlib.maths_qa.data.example import Problem
from reasonlib.maths_qa.data.vocabulary import END, FIRST, PAD, START, decode, encode

__all__ = ["PLACES", "Batch", "Encoded", "Joined", "collate", "join", "place_values"]

PLACES = 16
"""Place values that are told apart, 0 for none."""

_ZERO = encode("0")[0]


class Batch(NamedTuple):
    """Questions and answers, padded with 0.

    Attributes
    ----------
    question : (B, S)
        Characters.
    given : (B, U)
        What the decoder reads: [SOS], then the answer.
    target : (B, U)
        What it must write: the answer, then [EOS].
    module : (B,)
        Number of the module in `Encoded.modules`.
    """

    question: Int[Tensor, "B S"]
    given: Int[Tensor, "B U"]
    target: Int[Tensor, "B U"]
    module: Int[Tensor, " B"]

    def __len__(self) -> int:
        return len(self.question)

    def to(self, device: str | torch.device) -> "Batch":
        """Move to a device."""
        return Batch(*(part.to(device) for part in self))


class Joined(NamedTuple):
    """Question and answer as one sequence: [question][SOS]answer[EOS].

    Attributes
    ----------
    tokens : (B, T)
        Ids, padded with 0.
    segments : (B, T)
        0 in the question, 1 from [SOS] on.
    positions : (B, T)
        Counted from 0 in the question, and again from 0 at [SOS] (figure 5.3).
    places : (B, T)
        Place values of the digits of the question, 0 elsewhere; see `place_values`. Not the source's.
    """

    tokens: Int[Tensor, "B T"]
    segments: Int[Tensor, "B T"]
    positions: Int[Tensor, "B T"]
    places: Int[Tensor, "B T"]

    def __len__(self) -> int:
        return len(self.tokens)


class Encoded:
    """Problems in compact arrays: one byte a character, eight a boundary between texts.

    Parameters
    ----------
    characters
        Bytes of all texts, end to end: question, answer, question, answer...
    bounds : (2 N + 1,)
        Where each text begins, and where the last ends.
    module : (N,)
        Index in `modules` of each problem.
    modules
        Names.
    """

    def __init__(
        self, characters: np.ndarray, bounds: np.ndarray, module: np.ndarray, modules: Sequence[str]
    ) -> None:
        if len(bounds) != 2 * len(module) + 1:
            raise ValueError(f"bounds must be {2 * len(module) + 1} numbers, got {len(bounds)}")
        self.characters = characters
        self.bounds = bounds
        self.module = module
        self.modules = tuple(modules)

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> "Encoded":
        """Encode problems.

        Raises
        ------
        UserError
            If a character is not printable ASCII.
        """
        modules = sorted({problem.module for problem in problems})
        texts = [text for problem in problems for text in (problem.question, problem.answer)]
        lengths = [len(text) for text in texts]
        joined = "".join(texts)
        if not (joined.isascii() and joined.isprintable()):
            for text in texts:
                encode(text)
        characters = np.frombuffer(joined.encode("ascii"), dtype=np.uint8) - np.uint8(32 - FIRST)
        bounds = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        numbers = {name: number for number, name in enumerate(modules)}
        module = np.array([numbers[problem.module] for problem in problems], dtype=np.int16)
        return cls(characters, bounds, module, modules)

    def __len__(self) -> int:
        return len(self.module)

    @property
    def lengths(self) -> np.ndarray:
        """Characters (N,) of each question and answer together."""
        return self.bounds[2::2] - self.bounds[:-1:2]

    def question(self, item: int) -> str:
        """Return the text of a question."""
        return decode(self.characters[self.bounds[2 * item] : self.bounds[2 * item + 1]].tolist())

    def answer(self, item: int) -> str:
        """Return the text of an answer."""
        return decode(self.characters[self.bounds[2 * item + 1] : self.bounds[2 * item + 2]].tolist())

    def batch(self, items: Sequence[int] | np.ndarray) -> Batch:
        """Collect some problems in one batch."""
        items = np.asarray(items, dtype=np.int64)
        question, _ = self._padded(2 * items)
        answer, lengths = self._padded(2 * items + 1)
        rows = np.arange(len(items))
        given = np.concatenate((np.full((len(items), 1), START), answer), 1)  # (B, U)
        target = np.concatenate((answer, np.full((len(items), 1), PAD)), 1)
        target[rows, lengths] = END
        parts = (question, given, target, self.module[items].astype(np.int64))
        return Batch(*(torch.from_numpy(part) for part in parts))

    def _padded(self, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the characters of texts (B, longest), and their lengths."""
        start, end = self.bounds[texts], self.bounds[texts + 1]
        lengths = end - start
        column = np.arange(int(lengths.max(initial=0)))
        inside = column < lengths[:, None]
        source = np.where(inside, start[:, None] + column, 0)
        padded = np.where(inside, self.characters[source], PAD) if len(self.characters) else source
        return padded.astype(np.int64), lengths


def collate(problems: Sequence[Problem]) -> Batch:
    """Make one batch of problems."""
    return Encoded.of(problems).batch(np.arange(len(problems)))


def join(batch: Batch) -> Joined:
    """Write each question and its answer as one sequence.

    >>> problem = Problem(question="2+2", answer="4", module="a__b", difficulty="easy")
    >>> joined = join(collate([problem]))
    >>> joined.tokens.tolist(), joined.segments.tolist(), joined.positions.tolist()
    ([[22, 15, 22, 1, 24, 2]], [[0, 0, 0, 1, 1, 1]], [[0, 1, 2, 0, 1, 2]])
    """
    size, first = batch.question.shape
    lengths = (batch.question != PAD).sum(1)  # characters of each question
    answer = torch.cat((batch.given[:, :1], batch.target), 1)  # [SOS], answer, [EOS]
    written = (answer != PAD).sum(1)
    longest = int((lengths + written).max())
    # excerpt: join
    column = torch.arange(longest).expand(size, -1)
    segments = (column >= lengths[:, None]).long()  # 0: question, 1: answer
    # the positions restart where the answer begins
    positions = torch.where(segments == 1, column - lengths[:, None], column)
    # end excerpt
    both = torch.cat((batch.question, answer), 1)
    source = torch.where(segments == 1, first + positions, positions)
    inside = column < (lengths + written)[:, None]
    tokens = both.gather(1, source.clamp(max=both.shape[1] - 1)).masked_fill(~inside, PAD)
    return Joined(tokens, segments * inside, positions * inside, place_values(tokens) * (segments == 0))


def place_values(tokens: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Number the digits of every run of digits from the right: 1 for units, 2 for tens; 0 elsewhere.

    >>> place_values(torch.tensor([encode("17+305")]))
    tensor([[2, 1, 0, 3, 2, 1]])
    """
    digit = (tokens >= _ZERO) & (tokens < _ZERO + 10)
    # excerpt: place values
    count = digit.flip(1).cumsum(1)  # digits from here to the end
    # those after the last character that is no digit do not count
    earlier = count.masked_fill(digit.flip(1), 0).cummax(1).values
    places = ((count - earlier) * digit.flip(1)).flip(1)
    # end excerpt
    return places.clamp(max=PLACES - 1)
