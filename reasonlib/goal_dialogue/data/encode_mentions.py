"""Dialogues as numbers in which no name has a number of its own.

A name is told from another by nothing but the places where it was mentioned. So a dialogue is two lists: its
sentences, names replaced by one mark, and its mentions, each with the words around it. By hand, with ``*``
for a name and three words to either side::

    in paris please       after where should it be
        sentence          $user in * please
        mention           name 1, turn 4, window   be $user in | * | please

    resto_1 R_rating 7    a fact
        mention           name 2, turn 6, window   $fact | * | R_rating 7

A name in the window of another is put down twice, as the mark and by its number in the dialogue, in the order
of first mention. So renaming the names of a dialogue changes no number here, nor anything computed from them.
Subject and value of a fact are always mentions, even where the value is a known word, as a rating is: what a
fact is about can be asked for.

Axes: N turns, U distinct sentences, G distinct windows, B turns in a batch, S memory slots, M mentions,
W words in a window, E names in a dialogue (0 stands for none), A ways to say a response, K gaps,
C candidates, V words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from reasonlib.goal_dialogue.data.example import Dialogue, Fact, Note, Turn
from reasonlib.goal_dialogue.data.templates import Language, event_lines
from reasonlib.training.vocabulary import PAD, UNKNOWN, Vocabulary

__all__ = ["MARKS", "Batch", "Candidates", "MentionSet", "encode", "vocabulary_of"]

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
        C responses.
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
        Place of a name among those of the language, from 1; 0 for an unheard one. The copying network never
        reads it; its ablation does.
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


class _Writer:
    """Writes one dialogue down line by line; the tables of sentences and windows are those of all."""

    def __init__(
        self, vocabulary: Vocabulary, sentences: dict, windows: dict, radius: int, echo: bool
    ) -> None:
        self.vocabulary, self.unknown = vocabulary, vocabulary.id_of(UNKNOWN)
        self.sentences, self.windows = sentences, windows
        self.radius, self.echo = radius, echo
        self.names: dict[str, int] = {}
        self.lines: list[int] = []
        self.mentions: list[tuple[int, int, int]] = []  # window, name, turn
        self.beside: list[list[int]] = []
        self.spoken: tuple[list[int], list[int]] = ([], [])  # the line that was spoken last
        self.turn = 0

    def sentence(self, ids: list[int]) -> int:
        return self.sentences.setdefault(tuple(ids), len(self.sentences))

    def line(self, speaker: str, words: Sequence[str]) -> int:
        """Write a line down; return its row in the table of sentences."""
        ids = self.vocabulary.encode((MARKS[speaker], *words))
        stored = (True, False, True) if speaker == "fact" else (False,) * len(words)
        unknown = [which == self.unknown for which in ids[1:]]
        names = [0]
        for word, is_stored, is_unknown in zip(words, stored, unknown, strict=True):
            names.append(self.names.setdefault(word, len(self.names) + 1) if is_stored or is_unknown else 0)
        before, names_before = self.spoken if speaker != "fact" else ([], [])
        pad = [0] * self.radius
        around = [*pad, *before, *ids, *pad]
        names_around = [*pad, *names_before, *names, *pad]
        if speaker != "system" or self.echo:
            for start in range(len(before), len(before) + len(ids)):
                name = names_around[start + self.radius]
                if name:
                    self._mention(start, name, around, names_around)
        if speaker != "fact":
            self.spoken = ids, names
        return self.sentence(ids)

    def _mention(self, start: int, name: int, around: list[int], names_around: list[int]) -> None:
        end = start + 2 * self.radius + 1
        window = tuple(around[start:end])
        names = names_around[start:end]
        names[self.radius] = 0
        self.mentions.append((self.windows.setdefault(window, len(self.windows)), name, self.turn))
        self.beside.append(names)

    def store(self, event: Fact | Note) -> None:
        """Write down what an API call brought back: a fact leaves mentions only, a note is a line as well."""
        for speaker, words in event_lines(event):
            row = self.line(speaker, words)
            if isinstance(event, Note):
                self.lines.append(row)


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
        The same names as places among those of the language, from 1; 0 for unheard ones.
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
        heard = np.zeros((len(items), int(turns[:, 4].max()) + 1), dtype=bool)
        np.put_along_axis(heard, name, True, axis=1)
        heard[:, 0] = False
        identity = np.zeros(heard.shape, dtype=np.int64)
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
            heard=torch.from_numpy(heard),
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


def encode(
    dialogues: Iterable[Dialogue], language: Language, *, radius: int = 3, echo: bool = True
) -> MentionSet:
    """Write dialogues down as sentences and mentions.

    Parameters
    ----------
    dialogues
        Each turn becomes one question to the network.
    language
        Tells words from names, and knows the templates.
    radius
        How many words on either side of a mention belong to its window. To the left a window goes on into
        what was said before, since an answer is understood from its question; a fact stands alone.
    echo
        Count what the system says as mentions too.

    Raises
    ------
    ValueError
        If there is no turn or `radius` is negative.
    """
    if radius < 0:
        raise ValueError(f"radius must be at least 0, got {radius}")
    vocabulary = vocabulary_of(language)
    sentences: dict[tuple[int, ...], int] = {}
    windows: dict[tuple[int, ...], int] = {(0,) * (2 * radius + 1): 0}
    lines: list[int] = []
    mentions: list[tuple[int, int, int]] = [(0, 0, 0)]  # the first stands for none
    beside: list[list[int]] = [[0] * (2 * radius + 1)]
    turns, ways, spelling, responses = [], [], [], []
    derived: dict[str, tuple] = {}
    for number, dialogue in enumerate(dialogues):
        writer = _Writer(vocabulary, sentences, windows, radius, echo)
        first = len(lines), len(mentions)
        for event in dialogue.events:
            if isinstance(event, Turn):
                before = len(writer.lines)
                question = writer.line("user", event.user.split())
                heard = len(writer.mentions), len(writer.names)
                turns.append((first[0], before, first[1], *heard, question, number, writer.turn))
                responses.append(event.bot)
                if event.bot not in derived:
                    derived[event.bot] = language.derive(event.bot)
                ways.append(
                    tuple(
                        (template, tuple(writer.names[name] for name in fillers))
                        for template, fillers in derived[event.bot]
                        if all(name in writer.names for name in fillers)
                    )
                )
                writer.lines += [question, writer.line("system", event.bot.split())]
                writer.turn += 1
            else:
                writer.store(event)
        lines += writer.lines
        mentions += writer.mentions
        beside += writer.beside
        spelling.append(tuple(writer.names))
    if not turns:
        raise ValueError("dialogues must hold at least one turn, got none")
    identity_of = {name: number for number, name in enumerate(language.names, start=1)}
    bags = np.zeros((len(sentences), len(vocabulary)), dtype=np.float32)
    for row, sentence in enumerate(sentences):
        np.add.at(bags[row], list(sentence), 1.0)
    return MentionSet(
        language=language,
        sentences=torch.from_numpy(bags),
        windows=torch.tensor(list(windows)),
        lines=np.asarray(lines, dtype=np.int64),
        mentions=np.asarray(mentions, dtype=np.int64).reshape(-1, 3),
        beside=np.asarray(beside, dtype=np.int64).reshape(-1, 2 * radius + 1),
        turns=np.asarray(turns, dtype=np.int64),
        ways=tuple(ways),
        spelling=tuple(spelling),
        identity=tuple(
            np.asarray([identity_of.get(name, 0) for name in names], dtype=np.int64) for names in spelling
        ),
        responses=tuple(responses),
    )
