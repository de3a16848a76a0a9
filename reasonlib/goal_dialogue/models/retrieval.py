"""Two systems that learn almost nothing: words in common decide (Bordes et al. 2017, section 5.2).

::

    TF-IDF             what was said so far  -- words in common -->  candidates       the most similar one
    nearest neighbour  what the user said    -- words in common -->  users in training: what they were told

`fit_tfidf` weighs a word by how rare it is. With ``match=True``, a candidate and what was said so far also
share one word more for each type of entity, if an entity of that type stands in both.

Axes: C candidates, E entities, T types.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from reasonlib.goal_dialogue.data.example import Event, Example, Fact, Note, Split, Turn, examples
from reasonlib.goal_dialogue.models.match_features import entity_types

__all__ = ["NearestNeighbour", "TfIdf", "fit_nearest_neighbour", "fit_tfidf", "words_of"]


TYPE_WEIGHT = 1.0
"""Weight of the word for a type: it stands in nearly every candidate, so it is as common as a word can be."""


def words_of(events: Iterable[Event]) -> Iterable[str]:
    """List every word of a history, facts included."""
    for event in events:
        match event:
            case Turn(user, bot):
                yield from user.split()
                yield from bot.split()
            case Fact(subject, relation, value):
                yield from (subject, relation, value)
            case Note(text):
                yield from text.split()


def _said(example: Example, history: bool) -> list[str]:
    words = list(words_of(example.history)) if history else []
    return words + example.user.split()


def _counter(texts: Iterable[Sequence[str]]) -> CountVectorizer:
    """Make the table of words; texts are lists of words already."""
    return CountVectorizer(analyzer=list).fit(texts)


# TF-IDF


def fit_tfidf(split: Split, *, history: bool = False, match: bool = False) -> "TfIdf":
    """Weigh words by their rarity among candidates and training inputs.

    Parameters
    ----------
    split
        One task.
    history
        Whether the input is all that was said, or what the user said last. Bordes et al. chose on the
        validation set; the last utterance comes closer to what they report.
    match
        Whether to add words for types of entities. A type counts if an entity of it stands in the candidate
        and in anything said so far, whatever `history` is.
    """
    candidates = [text.split() for text in split.candidates]
    inputs = [_said(example, history) for example in examples(split.train)]
    counter = _counter([*candidates, *inputs])
    types = entity_types(split) if match else {}
    kinds = sorted(set(types.values()))
    weigh = TfidfTransformer(norm=None).fit(counter.transform([*candidates, *inputs]))
    entities = sorted(types)
    column = {entity: number for number, entity in enumerate(entities)}
    rows, columns = [], []
    for row, words in enumerate(candidates):
        for word in set(words) & column.keys():
            rows.append(row)
            columns.append(column[word])
    contains = sparse.csc_matrix(
        (np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=(len(candidates), len(entities))
    )
    of_type = np.zeros((len(entities), len(kinds)), dtype=np.float32)
    for entity, kind in types.items():
        of_type[column[entity], kinds.index(kind)] = 1
    return TfIdf(
        candidates=tuple(split.candidates),
        counter=counter,
        weigh=weigh,
        weighed=weigh.transform(counter.transform(candidates)).tocsr(),
        history=history,
        types=types,
        column=column,
        contains=contains,
        of_type=of_type,
    )


@dataclass(frozen=True, kw_only=True)
class TfIdf:
    """Answers with the candidate nearest in words (see `fit_tfidf`).

    Attributes
    ----------
    candidates
        The C responses.
    counter, weigh
        Turn words into counts and counts into weights.
    weighed
        Candidates as weights, (C, V).
    history
        Whether the input is all that was said.
    types, column
        Entity to type, and to its column.
    contains
        Which entity each candidate holds, (C, E).
    of_type
        Type of each entity, (E, T).
    """

    candidates: tuple[str, ...]
    counter: CountVectorizer
    weigh: TfidfTransformer
    weighed: Any
    history: bool
    types: Mapping[str, str]
    column: Mapping[str, int]
    contains: Any
    of_type: np.ndarray

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the candidate with the largest cosine; of several the first."""
        squares = np.asarray(self.weighed.multiply(self.weighed).sum(axis=1)).ravel()  # (C,)
        squares = np.maximum(squares, 1e-12)
        row_of: dict[tuple[str, ...], int] = {}  # input text -> its row; many inputs occur often
        entities: list[frozenset[str]] = []
        rows: list[int] = []
        for example in examples:
            words = _said(example, self.history)
            matched = frozenset(words_of(example.history)).union(words) & self.types.keys()
            key = (*sorted(words), "", *sorted(matched))
            if key not in row_of:
                entities.append(matched)
            rows.append(row_of.setdefault(key, len(row_of)))
        texts = [list(key[: key.index("")]) for key in row_of]
        best = np.empty(len(texts), dtype=int)
        for start in range(0, len(texts), 256):
            # excerpt: tf-idf
            query = self.weigh.transform(self.counter.transform(texts[start : start + 256]))
            scores = (query @ self.weighed.T).toarray()  # (B, C)
            if not self.types:
                # the length of the input is the same for all candidates: it is left out
                best[start : start + 256] = (scores / np.sqrt(squares)).argmax(axis=1)
                # end excerpt
                continue
            for row, score in enumerate(scores, start=start):
                shared = self._matched(entities[row])
                best[row] = ((score + shared) / np.sqrt(squares + shared)).argmax()
        return [self.candidates[best[row]] for row in rows]

    def _matched(self, said: frozenset[str]) -> np.ndarray:
        """Product of the words for types of input and candidate, which is also their share of its length."""
        columns = sorted(self.column[word] for word in said)
        if not columns:
            return np.zeros(len(self.candidates))
        matched = (self.contains[:, columns] @ self.of_type[columns]) > 0  # (C, T)
        return TYPE_WEIGHT**2 * matched.sum(axis=1)


# Nearest neighbour


def fit_nearest_neighbour(split: Split) -> "NearestNeighbour":
    """Remember what training users said, and what they were told most often."""
    counts: dict[str, Counter[str]] = {}
    for example in examples(split.train):
        counts.setdefault(example.user, Counter())[example.response] += 1
    best = {user: responses.most_common(1)[0] for user, responses in counts.items()}
    users = sorted(best, key=lambda user: (-best[user][1], user))
    counter = _counter(user.split() for user in users)
    counter.set_params(binary=True)
    return NearestNeighbour(
        responses=tuple(best[user][0] for user in users),
        counter=counter,
        counts=counter.transform([user.split() for user in users]),
        lengths=np.array([len(set(user.split())) for user in users]),
    )


@dataclass(frozen=True, kw_only=True)
class NearestNeighbour:
    """Answers as the most similar training user was answered (see `fit_nearest_neighbour`).

    Attributes
    ----------
    responses
        What each of U utterances was followed by most often; the most frequent pair comes first.
    counter
        Turns words into counts.
    counts
        The words of each utterance, (U, V).
    lengths
        How many words it has, (U,).
    """

    responses: tuple[str, ...]
    counter: CountVectorizer
    counts: Any
    lengths: np.ndarray

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the response of the utterance with most words in common, as a share of the words of both."""
        users = sorted({example.user for example in examples})
        words = [user.split() for user in users]
        # excerpt: nearest neighbour
        # words in common, as a share of the words of both
        shared = (self.counter.transform(words) @ self.counts.T).toarray()  # (N, U)
        sizes = np.array([len(set(each)) for each in words])
        best = np.argmax(shared / (sizes[:, None] + self.lengths - shared), axis=1)
        # end excerpt
        nearest = {user: self.responses[index] for user, index in zip(users, best, strict=True)}
        return [nearest[example.user] for example in examples]
