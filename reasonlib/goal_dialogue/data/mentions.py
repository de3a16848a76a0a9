"""Turns as a network that copies names reads them: sentences without names, and mentions of names.

`encode_mentions` makes a `MentionSet` of dialogues and shows by hand what is in it.

Axes: N turns, U distinct sentences, G distinct windows, B turns in a batch, S memory slots, M mentions,
W words in a window, E names in a dialogue (0 stands for none), A ways to say a response, K gaps,
C candidates, V words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from reasonlib.goal_dialogue.data.templates import Language
from reasonlib.training.vocabulary import PAD, UNKNOWN, Vocabulary

__all__ = ["MARKS", "Batch", "Candidates", "MentionSet", "vocabulary_of"]

MARKS = {"user": "$user", "system": "$system", "fact": "$fact", "note": "$note"}
"""The first token of every line: who says it."""


def vocabulary_of(language: Language) -> Vocabulary:
    """Number the words of a language; every name is ``<unk>``."""
    return Vocabulary([PAD, UNKNOWN, *MARKS.values(), *language.words])


@dataclass(frozen=True)
class Candidates:
    """Everything the system may say, as templates and fillers.

    Attributes
    ----------
    texts
        The C responses, word for word.
    template : (C, A)
        Template of each way to say it, -1 where there are fewer ways.
    fillers : (C, A, K)
        Name in each gap, as a row of `names`; 0 where there is no gap.
    names
        Every name in any candidate; the first is empty and stands for none.
    """

    texts: tuple[str, ...]
    template: Int[np.ndarray, "C A"]
    fillers: Int[np.ndarray, "C A K"]
    names: tuple[str, ...]

    @classmethod
    def make(cls, texts: Sequence[str], language: Language) -> "Candidates":
        """Take every candidate apart.

        Raises
        ------
        ValueError
            If there are no candidates.
        """
        if not texts:
            raise ValueError("candidates must hold at least one response, got none")
        ways = [language.derive(text) for text in texts]
        names: dict[str, int] = {"": 0}
        shape = (len(texts), max(1, *map(len, ways)), max(1, *language.gaps))
        template = np.full(shape[:2], -1, dtype=np.int64)
        fillers = np.zeros(shape, dtype=np.int64)
        for row, derivations in enumerate(ways):
            for way, derivation in enumerate(derivations):
                template[row, way] = derivation.template
                for gap, name in enumerate(derivation.fillers):
                    fillers[row, way, gap] = names.setdefault(name, len(names))
        return cls(tuple(texts), template, fillers, tuple(names))


@dataclass(frozen=True)
class Batch:
    """What the network reads.

    Attributes
    ----------
    sentences : (U, V)
        The distinct sentences of this batch, questions included: how often each word occurs.
    memory : (B, S)
        Row of `sentences` that each slot holds; slot 0 is the latest sentence.
    filled : (B, S)
        True where a slot holds a sentence.
    question : (B,)
        Row of `sentences` that the user just said.
    windows : (G, W)
        The distinct windows of this batch; 0 where there is no word.
    window : (B, M)
        Row of `windows` around each mention.
    name : (B, M)
        Which name is mentioned; 0 for no mention.
    age : (B, M)
        How many turns ago.
    beside : (B, M, W)
        Names in the window; 0 for none. The name itself, in the middle, is left out.
    heard : (B, E)
        True for a name that has been mentioned; never for name 0.
    identity : (B, E)
        Place of a name among those of the language, from 1; 0 for an out-of-vocabulary one. The copying
        network never reads it; its ablation does.
    template : (B, A)
        Template of each way to say the response, -1 where there are fewer ways.
    fillers : (B, A, K)
        Name in each gap; 0 where there is no gap.
    """

    sentences: Float[Tensor, "U V"]
    memory: Int[Tensor, "B S"]
    filled: Bool[Tensor, "B S"]
    question: Int[Tensor, " B"]
    windows: Int[Tensor, "G W"]
    window: Int[Tensor, "B M"]
    name: Int[Tensor, "B M"]
    age: Int[Tensor, "B M"]
    beside: Int[Tensor, "B M W"]
    heard: Bool[Tensor, "B E"]
    identity: Int[Tensor, "B E"]
    template: Int[Tensor, "B A"]
    fillers: Int[Tensor, "B A K"]

    def __len__(self) -> int:
        return len(self.question)

    def shard(self, index: int, count: int) -> "Batch":
        """Keep the turns of one of `count` processes; the tables stay whole."""
        whole = ("sentences", "windows")
        return Batch(
            *(
                getattr(self, name) if name in whole else getattr(self, name)[index::count]
                for name in self.__dataclass_fields__
            )
        )

    def to(self, device: torch.device | str) -> "Batch":
        """Move every tensor to a device."""
        return Batch(*(getattr(self, name).to(device) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class MentionSet:
    """Turns ready to be cut into batches.

    Attributes
    ----------
    language
        Whose words and templates these are.
    sentences : (U, V)
        How often each word occurs in each distinct sentence.
    windows : (G, W)
        Words of each distinct window.
    lines, mentions, beside
        Of all dialogues one after another: rows of `sentences`; window, name and turn of each mention; the
        names in its window.
    turns : (N, 8)
        Of each turn: first line of its dialogue, lines before it, first mention of its dialogue, mentions up
        to it, names up to it, question, number of its dialogue, number of the turn.
    ways
        Of each turn the ways to say its response: template and numbers of the names.
    spelling
        Of each dialogue its names, in the order of their numbers from 1.
    identity
        The same names as places among those of the language, from 1; 0 for out-of-vocabulary ones.
    responses
        Of each turn what was said, as text.
    """

    language: Language
    sentences: Float[Tensor, "U V"]
    windows: Int[Tensor, "G W"]
    lines: np.ndarray
    mentions: np.ndarray
    beside: np.ndarray
    turns: np.ndarray
    ways: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    spelling: tuple[tuple[str, ...], ...]
    identity: tuple[np.ndarray, ...]
    responses: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.turns)

    @property
    def lengths(self) -> np.ndarray:
        """Mentions up to each turn, shape (N,)."""
        return self.turns[:, 3]

    @property
    def dialogues(self) -> np.ndarray:
        """Number of each turn's dialogue, shape (N,)."""
        return self.turns[:, 6]

    def names(self, turn: int) -> tuple[str, ...]:
        """The names that had been heard at a turn, in the order of their numbers from 1."""
        return self.spelling[self.turns[turn, 6]][: self.turns[turn, 4]]

    def windows_of(self, turn: int) -> list[tuple[str, str]]:
        """Write out the mentions up to a turn, latest first: the name, and the words around it."""
        vocabulary = vocabulary_of(self.language)
        start, count = self.turns[turn, 2:4]
        mentions = []
        for window, name, _ in self.mentions[start : start + count][::-1]:
            ids = self.windows[window].tolist()
            around = [vocabulary.token_of(word_id) if word_id else "" for word_id in ids]
            around[len(ids) // 2] = "*"
            text = " ".join(word for word in around if word).replace(UNKNOWN, "*")
            mentions.append((self.names(turn)[name - 1], text))
        return mentions

    def take(self, items: Sequence[int] | np.ndarray) -> "MentionSet":
        """Keep some turns; the tables stay whole."""
        items = np.asarray(items)
        return replace(
            self,
            turns=self.turns[items],
            ways=tuple(self.ways[item] for item in items),
            responses=tuple(self.responses[item] for item in items),
        )

    def numbers(self, items: Sequence[int] | np.ndarray, names: Sequence[str]) -> Int[Tensor, "B n"]:
        """Find the numbers that some names have at some turns; 0 for a name not heard by then."""
        column_of = {name: column for column, name in enumerate(names)}
        numbers = np.zeros((len(items), len(names)), dtype=np.int64)
        for row, item in enumerate(items):
            for number, name in enumerate(self.names(item), start=1):
                if name in column_of:
                    numbers[row, column_of[name]] = number
        return torch.from_numpy(numbers)

    def batch(self, items: Sequence[int] | np.ndarray, *, slots: int, mentions: int | None = None) -> Batch:
        """Gather some turns.

        Parameters
        ----------
        items
            B numbers of turns.
        slots
            S at most: how many of the latest sentences are kept.
        mentions
            M at most: how many of the latest mentions are kept; None keeps all.
        """
        items = np.asarray(items)
        turns = self.turns[items]
        memory, filled = _latest(self.lines, turns[:, 0], turns[:, 1], slots)
        index, present = _latest(np.arange(len(self.mentions)), turns[:, 2], turns[:, 3], mentions)
        window, name, turn = np.moveaxis(self.mentions[index], -1, 0) * present
        ways = [self.ways[item] for item in items]
        shape = (len(items), max(1, *map(len, ways)), max(1, *self.language.gaps))
        template = np.full(shape[:2], -1, dtype=np.int64)
        fillers = np.zeros(shape, dtype=np.int64)
        for row, each in enumerate(ways):
            for way, (number, names) in enumerate(each):
                template[row, way] = number
                fillers[row, way, : len(names)] = names
        name_mask = np.zeros((len(items), int(turns[:, 4].max()) + 1), dtype=bool)
        np.put_along_axis(name_mask, name, True, axis=1)
        name_mask[:, 0] = False
        identity = np.zeros(name_mask.shape, dtype=np.int64)
        for row, (dialogue, count) in enumerate(turns[:, [6, 4]]):
            identity[row, 1 : count + 1] = self.identity[dialogue][:count]
        used, (memory, question) = _compact(len(self.sentences), memory * filled, turns[:, 5])
        seen, (window,) = _compact(len(self.windows), window)
        return Batch(
            sentences=self.sentences[used],
            memory=torch.from_numpy(memory),
            filled=torch.from_numpy(filled),
            question=torch.from_numpy(question),
            windows=self.windows[seen],
            window=torch.from_numpy(window),
            name=torch.from_numpy(name),
            age=torch.from_numpy((turns[:, 7:8] - turn) * present),
            beside=torch.from_numpy(self.beside[index] * present[:, :, None]),
            heard=torch.from_numpy(name_mask),
            identity=torch.from_numpy(identity),
            template=torch.from_numpy(template),
            fillers=torch.from_numpy(fillers),
        )


def _latest(
    flat: np.ndarray, start: np.ndarray, count: np.ndarray, most: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Lay the latest items of several runs side by side, latest first, and say which places are filled."""
    size = count if most is None else np.minimum(count, most)
    filled = np.arange(max(1, int(size.max()))) < size[:, None]
    index = (start + count)[:, None] - 1 - np.arange(filled.shape[1])
    return np.where(filled, flat[np.where(filled, index, 0)] if len(flat) else 0, 0), filled


def _compact(rows: int, *indices: np.ndarray) -> tuple[Tensor, list[np.ndarray]]:
    """Find which rows of a table are used and renumber the indices for these rows alone."""
    used = np.zeros(rows, dtype=bool)
    for index in indices:
        used[index] = True
    rank = np.cumsum(used) - 1
    return torch.from_numpy(used), [rank[index] for index in indices]
