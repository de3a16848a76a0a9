"""What a tagger learns from: sentences with the tag of each word, and names put into them.

The entities are those of the knowledge base whose cuisine and location occur in the training dialogues: one
half of it. Before a sentence is used, each entity in it is exchanged for another of its type, or for a
made-up name, so that a tagger that reads the sentence cannot memorise the names::

    api_call  italian  paris    two  cheap
    api_call  french   belmadu  two  cheap

Axes: S sentences, J words of the longest, T tags.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np
from jaxtyping import Int
from torch import Tensor

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data.example import Dialogue, Fact, KnowledgeBase, Note, Split
from reasonlib.goal_dialogue.models.tagger import NONE, TAGS, EncodedCharacters, encode_characters, look_up
from reasonlib.training.batching import pad

__all__ = [
    "TaggedBatch",
    "TaggerData",
    "collect_tagger_data",
    "count_sentences",
    "make_up_name",
    "training_entities",
]


def count_sentences(dialogues: Iterable[Dialogue]) -> Counter[tuple[str, ...]]:
    """Count the distinct sentences of dialogues, as words: what is said, and facts as their three words."""
    counts: Counter[tuple[str, ...]] = Counter()
    for dialogue in dialogues:
        for event in dialogue.events:
            if isinstance(event, Fact):
                counts[event.subject, event.relation, event.value] += 1
            elif isinstance(event, Note):
                counts[tuple(event.text.split())] += 1
            else:
                counts[tuple(event.user.split())] += 1
                counts[tuple(event.bot.split())] += 1
    counts.pop((), None)
    return counts


def training_entities(split: Split) -> KnowledgeBase:
    """Keep the restaurants whose cuisine and location occur in the training dialogues.

    Raises
    ------
    UserError
        If the task has no knowledge base, or none of its restaurants remain.
    """
    if split.knowledge is None:
        raise UserError(
            f"task {split.task} has no knowledge base, so no entities to train a tagger on; "
            "choose a task of 1 to 5"
        )
    words = {word for sentence in count_sentences(split.train) for word in sentence}
    facts = {
        name: values
        for name, values in split.knowledge.facts.items()
        if values.get("R_cuisine") in words and values.get("R_location") in words
    }
    if not facts:
        raise UserError(
            f"task {split.task}: no restaurant of the knowledge base has a cuisine and a location of the "
            "training dialogues; give the knowledge base that belongs to them"
        )
    return KnowledgeBase(facts=facts)


def make_up_name(rng: np.random.Generator) -> str:
    """Make a name of one to three syllables that means nothing.

    Examples
    --------
    >>> make_up_name(np.random.default_rng(3))
    'cegoondva'
    """
    onsets = ["", *"bcdfghjklmnprstvwz", "br", "ch", "fr", "gr", "kr", "ph", "sh", "st", "th", "tr"]
    vowels = ["a", "e", "i", "o", "u", "ai", "ee", "ie", "oo", "ou"]
    codas = ["", "", "", "l", "m", "n", "r", "s", "sh", "ng", "nd", "k"]
    parts = [str(rng.choice(group)) for _ in range(rng.integers(1, 4)) for group in (onsets, vowels, codas)]
    name = "".join(parts)
    return name if len(name) > 2 else name + "n" + str(rng.choice(vowels))


class TaggedBatch(NamedTuple):
    """Sentences to tag, with the tags to find (S, J), 0 where a sentence has ended."""

    spelled: EncodedCharacters
    tags: Int[Tensor, "S J"]


@dataclass(frozen=True)
class TaggerData:
    """What a tagger learns from.

    Attributes
    ----------
    patterns
        Distinct sentences, in which an entity stands as the number of its tag.
    chance
        How often each is drawn: with the square root of how often it occurs.
    entities
        The names of each tag.
    types
        Name to type, for all of them.
    ordinary
        Words of letters that are no names.
    """

    patterns: tuple[tuple[str | int, ...], ...]
    chance: np.ndarray
    entities: Mapping[int, tuple[str, ...]]
    types: Mapping[str, str]
    ordinary: tuple[str, ...]

    def draw(self, count: int, rng: np.random.Generator, made_up: float) -> TaggedBatch:
        """Draw sentences and put names into them.

        Parameters
        ----------
        count
            S.
        rng
            Draws the sentences and the names.
        made_up
            Share of the names that are made up.
        """
        sentences, tags = [], []
        for index in rng.choice(len(self.patterns), size=count, p=self.chance):
            pattern = self.patterns[index]
            sentences.append([self._name(slot, rng, made_up) for slot in pattern])
            tags.append([slot if isinstance(slot, int) else NONE for slot in pattern])
        return TaggedBatch(encode_characters(sentences), pad(tags))

    def _name(self, slot: str | int, rng: np.random.Generator, made_up: float) -> str:
        """Give a word as it is, and for an entity one of its type."""
        if isinstance(slot, str):
            return slot
        name = self.entities[slot][rng.integers(len(self.entities[slot]))]
        return self._disguise(name, rng) if rng.random() < made_up else name

    def _disguise(self, name: str, rng: np.random.Generator) -> str:
        """Make up every part of a name that is an entity itself: resto_rome becomes resto_luno."""
        parts = name.split("_")
        if len(parts) == 1:
            return str(rng.integers(1, 100)) if name.isdigit() else self._make_up(rng)
        open_ended = ("cuisine", "location")
        return "_".join(self._make_up(rng) if self.types.get(part) in open_ended else part for part in parts)

    def _make_up(self, rng: np.random.Generator) -> str:
        """Make a name up: from nothing, or from an ordinary word with two letters changed."""
        if not self.ordinary or rng.random() < 0.5:
            return make_up_name(rng)
        letters = list(self.ordinary[rng.integers(len(self.ordinary))])
        for position in rng.integers(len(letters) + 1, size=2):
            letters[position : position + 1] = ascii_lowercase[rng.integers(26)]
        return "".join(letters)


def collect_tagger_data(split: Split, *, alone: bool, knowledge: KnowledgeBase | None = None) -> TaggerData:
    """Collect data from the training dialogues and the half of the knowledge base that they know.

    Parameters
    ----------
    split
        Its training dialogues and its knowledge base are used.
    alone
        One word a batch, as a `WordTagger` learns; else whole sentences and all facts.
    knowledge
        The entities to learn; by default `training_entities`.

    Raises
    ------
    UserError
        If the task has no knowledge base.
    """
    knowledge = knowledge or training_entities(split)
    types = knowledge.types()
    counts: Counter[tuple[str, ...]] = count_sentences(split.train)
    for name, values in knowledge.facts.items():
        for relation, value in values.items():
            counts[name, relation, value] += 1
    patterns: Counter[tuple[str | int, ...]] = Counter()
    for (sentence, count), tags in zip(counts.items(), look_up(types, counts), strict=True):
        pattern = tuple(
            word if number == NONE else number for word, number in zip(sentence, tags, strict=True)
        )
        if alone:
            for slot in pattern:
                patterns[(slot,)] += count
        else:
            patterns[pattern] += count
    ordered = sorted(patterns, key=repr)
    chance = np.sqrt([patterns[pattern] for pattern in ordered])
    entities: dict[int, list[str]] = {}
    for word in sorted(types):
        entities.setdefault(TAGS.index(types[word]), []).append(word)
    names = {number: tuple(words) for number, words in entities.items()}
    ordinary = sorted({word for sentence in counts for word in sentence if word.isalpha()} - set(types))
    return TaggerData(tuple(ordered), chance / chance.sum(), names, types, tuple(ordinary))
