"""Sentences of a dialogue as bags of words.

A sentence is the bag of its words and of two marks (Bordes et al. 2017): who spoke, ``$u`` or ``$r``, and in
which turn, ``#0``, ``#1``, ... A fact of the knowledge base is a sentence of the system.

Axes: U distinct sentences.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from reasonlib.goal_dialogue.data.example import Dialogue, Fact, Turn
from reasonlib.nn.sums import Groups
from reasonlib.training.vocabulary import PAD, UNKNOWN, Vocabulary

__all__ = ["SPEAKERS", "Bags", "build_vocabulary", "make_bags", "memory_lines", "words"]

SPEAKERS = ("$u", "$r")
"""Marks of a sentence of the user and of one of the system (a response or a fact)."""

Line = tuple[str, str, int]
"""A sentence of the memory: its text, its speaker's mark, its turn."""


def words(text: str) -> list[str]:
    """Split a sentence at its spaces.

    >>> words("i'm on it")
    ["i'm", 'on', 'it']
    """
    return text.split()


def memory_lines(dialogue: Dialogue, *, facts: bool = True) -> Iterable[tuple[Line, ...]]:
    """Turn each event into the sentences it leaves in the memory, without facts if `facts` is False."""
    turn = 0
    for event in dialogue.events:
        if isinstance(event, Turn):
            yield (event.user, "$u", turn), (event.bot, "$r", turn)
            turn += 1
        elif isinstance(event, Fact):
            yield ((f"{event.subject} {event.relation} {event.value}", "$r", turn),) if facts else ()
        else:
            yield ((event.text, "$r", turn),)


def build_vocabulary(dialogues: Iterable[Dialogue], candidates: Iterable[str]) -> Vocabulary:
    """Collect the words and marks of dialogues and the words of the candidates.

    Parameters
    ----------
    dialogues
        The training set.
    candidates
        Everything the system may say. The released list names every restaurant, cuisine and location, those
        of the out-of-vocabulary sets too: such a word has an id and a vector that no dialogue ever trained.

    Returns
    -------
    Vocabulary
        Padding first, then ``<unk>``, then the rest in alphabetical order.
    """
    tokens: set[str] = set()
    texts = set(candidates)
    for dialogue in dialogues:
        for sentences in memory_lines(dialogue):
            for text, speaker, turn in sentences:
                texts.add(text)
                tokens.update((speaker, f"#{turn}"))
    for text in texts:
        tokens.update(words(text))
    return Vocabulary([PAD, UNKNOWN, *sorted(tokens - {PAD, UNKNOWN})])


@dataclass(frozen=True)
class Bags:
    """Sentences as bags of words.

    Attributes
    ----------
    words
        U groups of word ids; unknown words are left out, which makes their vector zero.
    text : (U,)
        Which distinct text each sentence is, its marks left out: a row of `TurnSet.texts`.
    """

    words: Groups
    text: Int[Tensor, " U"]

    def __len__(self) -> int:
        return len(self.words)

    def to(self, device: torch.device | str) -> "Bags":
        """Move every tensor to a device."""
        return Bags(self.words.to(device), self.text.to(device))


def make_bags(texts: Iterable[Sequence[str]], vocabulary: Vocabulary) -> Bags:
    """Make bags of sentences that are split into words; row i is text i."""
    unknown = vocabulary.encode([UNKNOWN])[0]
    flat: list[int] = []
    starts = [0]
    for text in texts:
        flat += [word for word in vocabulary.encode(text) if word != unknown]
        starts.append(len(flat))
    groups = Groups.of(np.asarray(flat, dtype=np.int64), np.asarray(starts), len(vocabulary))
    return Bags(groups, torch.arange(len(groups)))
