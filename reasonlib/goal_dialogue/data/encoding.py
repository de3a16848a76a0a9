"""Dialogues as numbers: each distinct sentence once, each turn as a list of places.

What was said before a turn is its memory, one slot a sentence, the latest `slots` of them. A sentence is the
bag of its words and of two marks (Bordes et al. 2017): who spoke, ``$u`` or ``$r``, and in which turn,
``#0``, ``#1``, ... What the user says now is the question and carries no marks; a fact of the knowledge base
is a sentence of the system. By hand, for a dialogue's third turn::

    memory    hi $u #0 | hello what can i help you with today $r #0 | book a table $u #1 | i'm on it $r #1
    question  <SILENCE>
    response  any preference on a type of cuisine      one of the candidates

A set repeats its sentences, so a sentence is one row of a table and a memory a list of row numbers. The
memories of one dialogue are one list; each of its turns reads a longer piece of it.

Axes: N turns, U distinct sentences, C candidates, B turns in a batch, S memory slots, E entities.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from reasonlib.goal_dialogue.data.bags import Bags, Line, build_vocabulary, make_bags, memory_lines, words
from reasonlib.goal_dialogue.data.example import Dialogue, Split, Turn
from reasonlib.nn.sums import Groups
from reasonlib.training.vocabulary import UNKNOWN, Vocabulary

__all__ = ["Batch", "EncodedTask", "TurnSet", "encode", "encode_split"]


@dataclass(frozen=True)
class Batch:
    """What a model of this topic reads.

    Attributes
    ----------
    sentences
        The distinct sentences of this batch, questions included: U bags of words.
    memory : (B, S)
        Row of `sentences` that each slot holds, oldest first.
    filled : (B, S)
        True where a slot holds a sentence.
    question : (B,)
        Row of `sentences` that the user just said.
    response : (B,)
        Number of the right candidate; -1 where the candidates lack it.
    mentioned : (B, E) or None
        1 where an entity occurs in the question or the memory; only of sets encoded with `entities`.
    """

    sentences: Bags
    memory: Int[Tensor, "B S"]
    filled: Bool[Tensor, "B S"]
    question: Int[Tensor, " B"]
    response: Int[Tensor, " B"]
    mentioned: Float[Tensor, "B E"] | None = None

    def __len__(self) -> int:
        return len(self.question)

    def shard(self, index: int, count: int) -> "Batch":
        """Keep the turns of one of `count` processes; the table of sentences stays whole."""
        memory, filled, question, response = (
            getattr(self, name)[index::count] for name in ("memory", "filled", "question", "response")
        )
        mentioned = None if self.mentioned is None else self.mentioned[index::count]
        return Batch(self.sentences, memory, filled, question, response, mentioned)

    def to(self, device: torch.device | str) -> "Batch":
        """Move every tensor to a device."""
        return Batch(
            self.sentences.to(device),
            self.memory.to(device),
            self.filled.to(device),
            self.question.to(device),
            self.response.to(device),
            None if self.mentioned is None else self.mentioned.to(device),
        )


@dataclass(frozen=True)
class TurnSet:
    """Turns of dialogues, ready to be cut into batches.

    Attributes
    ----------
    texts
        Every distinct text, without marks.
    words, starts : (W,), (U + 1,)
        Word ids of every distinct sentence, and where each begins.
    text : (U,)
        Text of each sentence.
    memory : (sum of dialogue lengths,)
        Sentence of every memory line, one dialogue after another, oldest first.
    begin, end : (N,)
        The piece of `memory` that came before each turn.
    question, response : (N,)
        Sentence the user says, candidate the system is to say (-1 where the candidates lack it).
    dialogue, turn : (N,)
        Number of the dialogue, and of the turn in it.
    entities : (texts, most a text) or None
        Entities named in each text, -1 where there are no more.
    entity_count
        E.
    vocabulary
        How many words have an id.
    """

    texts: tuple[str, ...]
    words: np.ndarray
    starts: np.ndarray
    text: np.ndarray
    memory: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    question: np.ndarray
    response: np.ndarray
    dialogue: np.ndarray
    turn: np.ndarray
    vocabulary: int
    entities: np.ndarray | None = None
    entity_count: int = 0

    def __len__(self) -> int:
        return len(self.question)

    @property
    def lengths(self) -> np.ndarray:
        """Sentences before each turn, shape (N,)."""
        return self.end - self.begin

    def batch(self, items: Sequence[int] | np.ndarray, *, slots: int) -> Batch:
        """Gather some turns.

        Parameters
        ----------
        items
            Indices of B turns of this set.
        slots
            How many of the latest sentences are kept: S is at most this.

        Raises
        ------
        ValueError
            If `slots` is below 0.
        """
        if slots < 0:
            raise ValueError(f"slots must be at least 0, got {slots}")
        items = np.asarray(items)
        end = self.end[items]
        lengths = np.minimum(end - self.begin[items], slots)
        width = max(1, int(lengths.max()))
        position = np.arange(width)
        filled = position < lengths[:, None]  # (B, S)
        memory = (
            self.memory[np.where(filled, (end - lengths)[:, None] + position, 0)] if len(self.memory) else 0
        )
        question = self.question[items]

        used = np.zeros(len(self.text), dtype=bool)
        used[np.where(filled, memory, question[:, None])] = True
        used[question] = True
        rows = np.flatnonzero(used)
        rank = np.zeros(len(used), dtype=np.int64)
        rank[rows] = np.arange(len(rows))
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        take = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        mentioned = None
        if self.entities is not None:
            mentioned_columns = np.zeros((len(items), self.entity_count + 1), dtype=np.float32)
            sentences = np.column_stack([np.where(filled, memory, question[:, None]), question])
            named = self.entities[self.text[sentences]].reshape(len(items), -1)
            mentioned_columns[np.arange(len(items))[:, None], named] = (
                1.0  # -1, no entity, is the last column
            )
            mentioned = torch.from_numpy(mentioned_columns)[:, :-1]
        return Batch(
            Bags(Groups.of(self.words[take], starts, self.vocabulary), torch.from_numpy(self.text[rows])),
            torch.from_numpy(np.where(filled, rank[memory], 0)),
            torch.from_numpy(filled),
            torch.from_numpy(rank[question]),
            torch.from_numpy(self.response[items]),
            mentioned,
        )


def encode(
    dialogues: Iterable[Dialogue],
    vocabulary: Vocabulary,
    candidates: Sequence[str],
    *,
    facts: bool = True,
    entities: Mapping[str, int] | None = None,
) -> TurnSet:
    """Turn dialogues into a `TurnSet`.

    Parameters
    ----------
    dialogues
        From a simulator or from the released files.
    vocabulary
        Words it does not know are left out.
    candidates
        Everything the system may say, in order.
    facts
        Whether what API calls brought back is remembered.
    entities
        Word to number of entity, from 0: notes which entities each text names.

    Raises
    ------
    ValueError
        If there is no turn.
    """
    rows: dict[Line, int] = {}
    texts: dict[str, int] = {}
    candidate_ids = {candidate: index for index, candidate in enumerate(candidates)}
    memory: list[int] = []
    columns: list[tuple[int, int, int, int, int, int]] = []  # begin, end, question, response, dialogue, turn
    for dialogue_index, dialogue in enumerate(dialogues):
        begin, turn = len(memory), 0
        for event, sentences in zip(dialogue.events, memory_lines(dialogue, facts=facts), strict=True):
            if isinstance(event, Turn):
                question = rows.setdefault((event.user, "", 0), len(rows))
                columns.append(
                    (begin, len(memory), question, candidate_ids.get(event.bot, -1), dialogue_index, turn)
                )
                turn += 1
            memory += [rows.setdefault(line, len(rows)) for line in sentences]
    if not columns:
        raise ValueError("dialogues must hold at least one turn, got none")
    unknown = vocabulary.encode([UNKNOWN])[0]
    flat: list[int] = []
    starts = [0]
    for text, speaker, turn in rows:
        texts.setdefault(text, len(texts))
        marks = [speaker, f"#{turn}"] if speaker else []
        flat += [word for word in vocabulary.encode([*words(text), *marks]) if word != unknown]
        starts.append(len(flat))
    begin, end, question, response, dialogue_index, turn = np.asarray(columns, dtype=np.int64).T
    return TurnSet(
        texts=tuple(texts),
        words=np.asarray(flat, dtype=np.int64),
        starts=np.asarray(starts, dtype=np.int64),
        text=np.asarray([texts[text] for text, _, _ in rows], dtype=np.int64),
        memory=np.asarray(memory, dtype=np.int64),
        begin=begin,
        end=end,
        question=question,
        response=response,
        dialogue=dialogue_index,
        turn=turn,
        vocabulary=len(vocabulary),
        entities=None if entities is None else name_entities(texts, entities),
        entity_count=0 if entities is None else len(entities),
    )


def name_entities(texts: Iterable[str], entities: Mapping[str, int]) -> np.ndarray:
    """List the entities each text names, shape (texts, most a text), -1 where there are no more."""
    named = [sorted({entities[word] for word in words(text) if word in entities}) for text in texts]
    most = max(1, *(len(row) for row in named)) if named else 1
    return np.asarray([row + [-1] * (most - len(row)) for row in named], dtype=np.int64).reshape(-1, most)


@dataclass(frozen=True)
class EncodedTask:
    """One task as numbers.

    Attributes
    ----------
    vocabulary
        Words of the training dialogues and of the candidates.
    candidates
        Everything the system may say, as text.
    bags
        The same as bags of words.
    types
        Entity to its type; the order is that of the E entities. Empty for sets encoded without.
    train, valid, test, oov
        The four sets; ``oov`` is None for task 6.
    """

    vocabulary: Vocabulary
    candidates: tuple[str, ...]
    bags: Bags
    types: Mapping[str, str]
    train: TurnSet
    valid: TurnSet
    test: TurnSet
    oov: TurnSet | None

    @property
    def sets(self) -> dict[str, TurnSet]:
        """The sets there are, by name."""
        named = {"train": self.train, "valid": self.valid, "test": self.test, "oov": self.oov}
        return {name: turns for name, turns in named.items() if turns is not None}


def encode_split(
    split: Split, *, facts: bool = True, types: Mapping[str, str] | None = None, swapped: bool = False
) -> EncodedTask:
    """Turn a task into numbers.

    Parameters
    ----------
    split
        From `datasets.load`.
    facts
        Whether what API calls brought back is remembered.
    types
        Entity to type, see `match_features.entity_types`; None leaves `Batch.mentioned` out.
    swapped
        Train on the validation dialogues, and choose by them too.
    """
    train, valid = (split.valid, split.valid) if swapped else (split.train, split.valid)
    candidates = tuple(split.candidates)
    vocabulary = build_vocabulary(train, candidates)
    numbers = None if types is None else {entity: index for index, entity in enumerate(types)}

    def numbered(dialogues: Sequence[Dialogue]) -> TurnSet:
        return encode(dialogues, vocabulary, candidates, facts=facts, entities=numbers)

    return EncodedTask(
        vocabulary=vocabulary,
        candidates=candidates,
        bags=make_bags((words(candidate) for candidate in candidates), vocabulary),
        types={} if types is None else dict(types),
        train=numbered(train),
        valid=numbered(valid),
        test=numbered(split.test),
        oov=numbered(split.oov) if split.oov else None,
    )
