"""Encode dialogues as sentences without names, and mentions of names.

Only its mentions distinguish a name from another. So a dialogue is two lists: its sentences, names replaced
by one mark, and its mentions, each with the words around it. By hand, with ``*`` for a name and three words
to either side::

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

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Float

from reasonlib.goal_dialogue.data.example import Dialogue, Fact, Note, Turn
from reasonlib.goal_dialogue.data.mentions import MARKS, MentionSet, vocabulary_of
from reasonlib.goal_dialogue.data.templates import Derivation, Language, event_lines
from reasonlib.training.vocabulary import UNKNOWN, Vocabulary

__all__ = ["encode"]


class _Writer:
    """Encodes one dialogue line by line; all dialogues share the tables of sentences and windows."""

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
        """Encode a line; return its row in the table of sentences."""
        ids = self.vocabulary.encode((MARKS[speaker], *words))
        stored = (True, False, True) if speaker == "fact" else (False,) * len(words)
        unknown = [word_id == self.unknown for word_id in ids[1:]]
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
        """Encode what an API call returned: a fact gives mentions only, a note is a line as well."""
        for speaker, words in event_lines(event):
            row = self.line(speaker, words)
            if isinstance(event, Note):
                self.lines.append(row)

    def fill(self, derivations: Iterable[Derivation]) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Keep the ways to say a response whose names the dialogue has mentioned, names as their numbers."""
        return tuple(
            (template, tuple(self.names[name] for name in fillers))
            for template, fillers in derivations
            if all(name in self.names for name in fillers)
        )


def encode(
    dialogues: Iterable[Dialogue], language: Language, *, radius: int = 3, echo: bool = True
) -> MentionSet:
    """Encode dialogues as sentences and mentions.

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
    derived: dict[str, tuple[Derivation, ...]] = {}
    for number, dialogue in enumerate(dialogues):
        writer = _Writer(vocabulary, sentences, windows, radius, echo)
        first = len(lines), len(mentions)
        for event in dialogue.events:
            if isinstance(event, Turn):
                before = len(writer.lines)
                question = writer.line("user", event.user.split())
                counts = len(writer.mentions), len(writer.names)
                turns.append((first[0], before, first[1], *counts, question, number, writer.turn))
                responses.append(event.bot)
                if event.bot not in derived:
                    derived[event.bot] = language.derive(event.bot)
                ways.append(writer.fill(derived[event.bot]))
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
    return MentionSet(
        language=language,
        sentences=torch.from_numpy(_bags(sentences, len(vocabulary))),
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


def _bags(sentences: Collection[Sequence[int]], words: int) -> Float[np.ndarray, "U V"]:
    """Count the words of each sentence."""
    bags = np.zeros((len(sentences), words), dtype=np.float32)
    for row, sentence in enumerate(sentences):
        np.add.at(bags[row], list(sentence), 1.0)
    return bags
