r"""Supervised embeddings: one product of two bags of words (Bordes et al. 2017, section 5.3).

A bag of words :math:`x` of what was said and a bag :math:`y` of a candidate are embedded by two tables, and
the candidate with the largest product is the response:

.. math:: f(x, y) = (A x)^\top B y

There is no memory and no order of words: what was said when is lost. With match features,
`match_features.Match` adds its part to :math:`f`. `experiments.train_supervised` trains the tables.

Axes: B examples in a batch, C candidates, V words, D width, E entities.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.goal_dialogue.data.example import Example, Split, examples
from reasonlib.goal_dialogue.models.match_features import Match, entity_types
from reasonlib.goal_dialogue.models.retrieval import words_of
from reasonlib.nn.sums import Groups, sum_groups
from reasonlib.training.vocabulary import PAD, UNKNOWN, Vocabulary

__all__ = ["EncodedInput", "SupervisedEmbeddings", "SupervisedSystem"]


class SupervisedEmbeddings(nn.Module):
    """The two tables, and the match features if there are any.

    Parameters
    ----------
    vocabulary
        Words of inputs and candidates.
    candidates
        Everything the system may say.
    types
        Entity to type; empty without match features.
    width
        D.
    generator
        Draws the first vectors from N(0, 0.1).
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        candidates: Sequence[str],
        types: dict[str, str],
        width: int,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        words = len(vocabulary)
        self.inputs = nn.Parameter(torch.randn((words, width), generator=generator) * 0.1)  # A
        self.outputs = nn.Parameter(torch.randn((words, width), generator=generator) * 0.1)  # B
        self.candidates = _groups([vocabulary.encode(text.split()) for text in candidates], words)
        self.match = Match(candidates, types, width, generator=generator) if types else None

    def forward(self, inputs: Groups, mentioned: Float[Tensor, "B E"] | None) -> Float[Tensor, "B C"]:
        """Score every candidate after each of B inputs."""
        # excerpt: score
        state = sum_groups(self.inputs, inputs)  # A x, (B, D)
        scores = state @ sum_groups(self.outputs, self.candidates).T  # (B, C)
        # end excerpt
        if self.match is not None and mentioned is not None:
            scores = scores + self.match(state, mentioned)
        return scores


class EncodedInput(NamedTuple):
    """An example as numbers: ids of its words, numbers of its entities."""

    words: list[int]
    entities: list[int]


class SupervisedSystem:
    """Answers with the candidate whose embedding matches best.

    Parameters
    ----------
    split
        The task: vocabulary, candidates and entities are taken from it.
    width
        D of both tables.
    history
        Whether x is all that was said or what the user said last.
    match
        Whether to use match features.
    generator
        Draws the first vectors.
    """

    def __init__(
        self, split: Split, *, width: int, history: bool, match: bool, generator: torch.Generator
    ) -> None:
        self.history = history
        self.candidates = tuple(split.candidates)
        self.candidate_ids = {text: index for index, text in enumerate(self.candidates)}
        types = entity_types(split) if match else {}
        self.entity_ids = {name: index for index, name in enumerate(types)}
        words = {word for text in self.candidates for word in text.split()}
        for example in examples(split.train):
            words.update(self._input_words(example))
        self.vocabulary = Vocabulary([PAD, UNKNOWN, *sorted(words - {PAD, UNKNOWN})])
        self.model = SupervisedEmbeddings(self.vocabulary, self.candidates, types, width, generator=generator)

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the candidate with the largest score."""
        inputs = self.encode(examples)
        best: list[int] = []
        self.model.eval()
        with torch.no_grad():
            for start in range(0, len(inputs), 256):
                best += self.scores(inputs[start : start + 256]).argmax(dim=1).tolist()
        return [self.candidates[index] for index in best]

    def encode(self, turns: Sequence[Example]) -> list[EncodedInput]:
        """Turn examples into numbers."""
        unknown = self.vocabulary.encode([UNKNOWN])[0]
        inputs = []
        for turn in turns:
            words = [word for word in self.vocabulary.encode(self._input_words(turn)) if word != unknown]
            named: set[str] = set()
            if self.entity_ids:
                named = self.entity_ids.keys() & {*words_of(turn.history), *turn.user.split()}
            inputs.append(EncodedInput(words, sorted(self.entity_ids[name] for name in named)))
        return inputs

    def scores(self, inputs: Sequence[EncodedInput]) -> Float[Tensor, "B C"]:
        """Score every candidate after each of B inputs."""
        mentioned = None
        if self.entity_ids:
            mentioned = torch.zeros(len(inputs), len(self.entity_ids))
            for row, encoded in enumerate(inputs):
                mentioned[row, encoded.entities] = 1
        return self.model(_groups([encoded.words for encoded in inputs], len(self.vocabulary)), mentioned)

    def _input_words(self, example: Example) -> list[str]:
        return [*(words_of(example.history) if self.history else ()), *example.user.split()]


def _groups(texts: Sequence[Sequence[int]], words: int) -> Groups:
    starts = np.cumsum([0, *(len(text) for text in texts)])
    members = np.fromiter((word for text in texts for word in text), dtype=np.int64, count=int(starts[-1]))
    return Groups.of(members, starts, words)
