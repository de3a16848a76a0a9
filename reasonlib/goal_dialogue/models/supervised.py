r"""Supervised embeddings: one product of two bags of words (Bordes et al. 2017, section 5.3).

A bag of words :math:`x` of what was said and a bag :math:`y` of a candidate are embedded by two tables, and
the candidate with the largest product is the response:

.. math:: f(x, y) = (A x)^\top B y

Training asks that the right candidate beats others, drawn at random, by a margin:
:math:`\max(0,\ m - f(x, y) + f(x, \bar y))`. There is no memory and no order of words: what was said when is
lost. With match features, `match.Match` adds its part to :math:`f`.

Axes: B examples in a batch, C candidates, V words, D width, E entities.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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

__all__ = ["Embeddings", "Settings", "Supervised", "fit_supervised"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How supervised embeddings are trained.

    Attributes
    ----------
    width
        D of both tables.
    margin
        m, by which the right candidate is to win.
    negatives
        Candidates drawn for each example.
    epochs, batch, lr
        Passes over the training set, examples in a batch, and first step of Adam, which falls to zero.
    history
        Whether x is all that was said or what the user said last; ``None`` takes all in tasks 1 and
        5, the last utterance elsewhere.

    Raises
    ------
    ValueError
        If a number breaks its rule.
    """

    width: int = 32
    margin: float = 1.0
    negatives: int = 1000
    epochs: int = 20
    batch: int = 32
    lr: float = 0.01
    history: bool | None = None

    def __post_init__(self) -> None:
        for name in ("width", "negatives", "epochs", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("margin", "lr"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")


class Embeddings(nn.Module):
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
    draw
        Draws the first vectors from N(0, 0.1).
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        candidates: Sequence[str],
        types: dict[str, str],
        width: int,
        *,
        draw: torch.Generator,
    ) -> None:
        super().__init__()
        words = len(vocabulary)
        self.inputs = nn.Parameter(torch.randn((words, width), generator=draw) * 0.1)  # A
        self.outputs = nn.Parameter(torch.randn((words, width), generator=draw) * 0.1)  # B
        self.named = _groups([vocabulary.encode(one.split()) for one in candidates], words)
        self.match = Match(candidates, types, width, draw=draw) if types else None

    def forward(self, said: Groups, mentioned: Float[Tensor, "B E"] | None) -> Float[Tensor, "B C"]:
        """Score every candidate after each of B inputs."""
        state = sum_groups(self.inputs, said)  # (B, D)
        scores = state @ sum_groups(self.outputs, self.named).T
        if self.match is not None and mentioned is not None:
            scores = scores + self.match(state, mentioned)
        return scores


class _Input(NamedTuple):
    """An example as numbers: ids of its words, numbers of its entities."""

    words: list[int]
    entities: list[int]


class Supervised:
    """Trained embeddings, ready to answer (see `fit_supervised`).

    Parameters
    ----------
    split
        The task: candidates and entities are taken from it.
    settings
        How to train.
    match
        Whether to use match features.
    seed
        Draws the first vectors, the order of the examples and the negatives.
    """

    def __init__(self, split: Split, settings: Settings, *, match: bool, seed: int) -> None:
        self.settings = settings
        self.history = split.task in (1, 5) if settings.history is None else settings.history
        self.candidates = tuple(split.candidates)
        self.number = {one: place for place, one in enumerate(self.candidates)}
        types = entity_types(split) if match else {}
        self.entity = {name: place for place, name in enumerate(types)}
        words = {word for one in self.candidates for word in one.split()}
        for example in examples(split.train):
            words.update(self._said(example))
        self.vocabulary = Vocabulary([PAD, UNKNOWN, *sorted(words - {PAD, UNKNOWN})])
        self.draw = torch.Generator().manual_seed(seed)
        self.model = Embeddings(self.vocabulary, self.candidates, types, settings.width, draw=self.draw)

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the candidate with the largest score."""
        inputs = self._inputs(examples)
        best: list[int] = []
        self.model.eval()
        with torch.no_grad():
            for start in range(0, len(inputs), 256):
                best += self._scores(inputs[start : start + 256]).argmax(dim=1).tolist()
        return [self.candidates[place] for place in best]

    def train(self, turns: Sequence[Example], valid: Sequence[Example]) -> list[float]:
        """Train, and keep the tables that answer most of `valid`.

        Returns
        -------
        list of float
            Fraction of right responses in `valid` after each epoch.
        """
        inputs, settings = self._inputs(turns), self.settings
        right = torch.tensor([self.number[turn.response] for turn in turns])
        optimiser = torch.optim.Adam(self.model.parameters(), lr=settings.lr)
        steps = settings.epochs * -(-len(inputs) // settings.batch)
        falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(0.0, 1 - step / steps))
        curve: list[float] = []
        kept = {name: value.clone() for name, value in self.model.state_dict().items()}
        for _ in range(settings.epochs):
            self.model.train()
            for items in torch.randperm(len(inputs), generator=self.draw).split(settings.batch):
                scores = self._scores([inputs[item] for item in items.tolist()])
                goal = right[items]
                others = torch.randint(
                    len(self.candidates), (len(items), settings.negatives), generator=self.draw
                )
                lost = settings.margin - scores.gather(1, goal[:, None]) + scores.gather(1, others)
                loss = (lost.clamp_min(0) * (others != goal[:, None])).sum(dim=1).mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                falling.step()
            given = self.answer(valid)
            good = sum(turn.response == one for turn, one in zip(valid, given, strict=True)) / len(valid)
            if good > max(curve, default=-1.0):
                kept = {name: value.clone() for name, value in self.model.state_dict().items()}
            curve.append(good)
        self.model.load_state_dict(kept)
        return curve

    def _said(self, example: Example) -> list[str]:
        return [*(words_of(example.history) if self.history else ()), *example.user.split()]

    def _inputs(self, turns: Sequence[Example]) -> list[_Input]:
        unknown = self.vocabulary.encode([UNKNOWN])[0]
        found = []
        for turn in turns:
            words = [word for word in self.vocabulary.encode(self._said(turn)) if word != unknown]
            named: set[str] = set()
            if self.entity:
                named = self.entity.keys() & {*words_of(turn.history), *turn.user.split()}
            found.append(_Input(words, sorted(self.entity[name] for name in named)))
        return found

    def _scores(self, inputs: Sequence[_Input]) -> Float[Tensor, "B C"]:
        mentioned = None
        if self.entity:
            mentioned = torch.zeros(len(inputs), len(self.entity))
            for row, one in enumerate(inputs):
                mentioned[row, one.entities] = 1
        return self.model(_groups([one.words for one in inputs], len(self.vocabulary)), mentioned)


def _groups(texts: Sequence[Sequence[int]], words: int) -> Groups:
    starts = np.cumsum([0, *(len(text) for text in texts)])
    members = np.fromiter((word for text in texts for word in text), dtype=np.int64, count=int(starts[-1]))
    return Groups.of(members, starts, words)


def fit_supervised(split: Split, *, match: bool = False, seed: int = 0, **options: float) -> Supervised:
    """Train supervised embeddings on one task.

    Parameters
    ----------
    split
        The task; its validation set chooses the epoch.
    match
        Whether to add match features.
    seed
        Everything drawn.
    **options
        Any of `Settings`.
    """
    system = Supervised(split, Settings(**options), match=match, seed=seed)  # type: ignore[arg-type]
    system.train(list(examples(split.train)), list(examples(split.valid)))
    return system
