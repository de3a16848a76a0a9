"""What a tagger learns from, how it is trained, and how often it is right on words it has never seen.

A lesson is a sentence with the tag of each word. The entities are those of the knowledge base whose cuisine
and place occur in the training dialogues: one half of it. Before a lesson is read, each entity in it is
exchanged for another of its type, or for a made-up name, so that a tagger that sees the sentence cannot learn
the names by heart::

    api_call  italian  paris    two  cheap
    api_call  french   belmadu  two  cheap

Axes: S sentences, J words of the longest, T tags.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data.example import Dialogue, Fact, KnowledgeBase, Note, Split
from reasonlib.goal_dialogue.models.tagger import (
    NONE,
    TAGS,
    ContextTagger,
    Spelled,
    Tagger,
    WordTagger,
    look_up,
    spell,
    tag,
)
from reasonlib.training.batching import pad

__all__ = [
    "TAGGERS",
    "Accuracy",
    "Lessons",
    "TaggerRecipe",
    "accuracy",
    "gather",
    "known_half",
    "learn_lessons",
    "learn_tagger",
    "made_up_name",
    "make_tagger",
    "sentences_of",
]

TAGGERS = ("letters", "letters-all", "context", "look-up", "look-up-all")
"""The source's tagger, trained on the known half of the knowledge base or on all of it; ours, which reads the
sentence; and no tagger at all, the known half or all of the knowledge base looked up."""


def sentences_of(dialogues: Iterable[Dialogue]) -> Counter[tuple[str, ...]]:
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


def known_half(split: Split) -> KnowledgeBase:
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
    words = {word for sentence in sentences_of(split.train) for word in sentence}
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


def made_up_name(rng: np.random.Generator) -> str:
    """Make a name of one to three syllables that means nothing.

    Examples
    --------
    >>> made_up_name(np.random.default_rng(3))
    'cegoondva'
    """
    onsets = ["", *"bcdfghjklmnprstvwz", "br", "ch", "fr", "gr", "kr", "ph", "sh", "st", "th", "tr"]
    vowels = ["a", "e", "i", "o", "u", "ai", "ee", "ie", "oo", "ou"]
    codas = ["", "", "", "l", "m", "n", "r", "s", "sh", "ng", "nd", "k"]
    parts = [str(rng.choice(group)) for _ in range(rng.integers(1, 4)) for group in (onsets, vowels, codas)]
    name = "".join(parts)
    return name if len(name) > 2 else name + "n" + str(rng.choice(vowels))


@dataclass(frozen=True, kw_only=True)
class TaggerRecipe:
    """How a tagger is trained.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    steps: int = 400
    batch_size: int = 64  # sentences, or words where words are tagged alone
    lr: float = 0.01
    made_up: float = 0.5  # share of the entities that become made-up names; 0 for the source's tagger

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.made_up <= 1:
            raise ValueError(f"made_up must be between 0 and 1, got {self.made_up}")


class Lesson(NamedTuple):
    """Sentences to tag, with the tags to find (S, J), 0 where a sentence has ended."""

    spelled: Spelled
    tags: Int[Tensor, "S J"]


@dataclass(frozen=True)
class Lessons:
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

    def draw(self, count: int, rng: np.random.Generator, made_up: float) -> Lesson:
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
        for which in rng.choice(len(self.patterns), size=count, p=self.chance):
            pattern = self.patterns[which]
            sentences.append([self._name(slot, rng, made_up) for slot in pattern])
            tags.append([slot if isinstance(slot, int) else NONE for slot in pattern])
        return Lesson(spell(sentences), pad(tags))

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
            return made_up_name(rng)
        letters = list(self.ordinary[rng.integers(len(self.ordinary))])
        for place in rng.integers(len(letters) + 1, size=2):
            letters[place : place + 1] = ascii_lowercase[rng.integers(26)]
        return "".join(letters)


def gather(split: Split, *, alone: bool, knowledge: KnowledgeBase | None = None) -> Lessons:
    """Collect lessons from the training dialogues and the half of the knowledge base that they know.

    Parameters
    ----------
    split
        Its training dialogues and its knowledge base are used.
    alone
        One word a lesson, as a `WordTagger` learns; else whole sentences and all facts.
    knowledge
        The entities to learn; by default `known_half`.

    Raises
    ------
    UserError
        If the task has no knowledge base.
    """
    knowledge = knowledge or known_half(split)
    types = knowledge.types()
    counts: Counter[tuple[str, ...]] = sentences_of(split.train)
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
    return Lessons(tuple(ordered), chance / chance.sum(), names, types, tuple(ordinary))


def learn_tagger(
    tagger: Tagger,
    split: Split,
    recipe: TaggerRecipe | None = None,
    *,
    knowledge: KnowledgeBase | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> training.History:
    """Train a tagger on a task, in place.

    Parameters
    ----------
    tagger
        Freshly made.
    split
        Its training dialogues and the half of the knowledge base that they know; nothing else is read.
    recipe
        Steps, rate, share of made-up names.
    knowledge
        The entities to learn, where they are not to be that half.
    seed
        Draws the lessons.
    progress
        As in `reasonlib.training.fit`.

    Returns
    -------
    History
        One row every fifty steps, with the loss in nats a word.

    Raises
    ------
    UserError
        If the task has no knowledge base.
    """
    lessons = gather(split, alone=isinstance(tagger, WordTagger), knowledge=knowledge)
    return learn_lessons(tagger, lessons, recipe, seed=seed, progress=progress)


def learn_lessons(
    tagger: nn.Module,
    lessons: Lessons,
    recipe: TaggerRecipe | None = None,
    *,
    seed: int = 0,
    progress: bool | None = None,
) -> training.History:
    """Train on lessons, in place, whatever module scores the tags (S, J, T) of what is spelled.

    Parameters
    ----------
    tagger, recipe, seed, progress
        As in `learn_tagger`.
    lessons
        From `gather`.
    """
    recipe = recipe or TaggerRecipe()
    every = min(50, recipe.steps)
    device = next(tagger.parameters()).device

    def batches(epoch: int) -> Iterator[Lesson]:
        rng = np.random.default_rng([seed, epoch])
        for _ in range(every):
            spelled, tags = lessons.draw(recipe.batch_size, rng, recipe.made_up)
            yield Lesson(Spelled(*(tensor.to(device) for tensor in spelled)), tags.to(device))

    def loss(model: nn.Module, lesson: Lesson) -> Tensor:
        logits = model(lesson.spelled)
        return functional.cross_entropy(logits.flatten(0, 1), lesson.tags.flatten(), ignore_index=0)

    config = training.TrainingConfig(
        epochs=-(-recipe.steps // every),
        lr=recipe.lr,
        schedule="linear",
        warmup=recipe.steps // 20,
        clip=1.0,
        seed=seed,
    )
    return training.fit(
        tagger,
        batches,
        loss=loss,
        config=config,
        monitor="loss",
        mode="min",
        steps_per_epoch=every,
        progress=progress,
    )


def make_tagger(
    split: Split, tagger: str = "letters", *, steps: int = 400, seed: int = 0
) -> Callable[[Sequence[Sequence[str]]], list[tuple[int, ...]]]:
    """Train a tagger on a task, or look words up.

    Parameters
    ----------
    split
        Its training dialogues and its knowledge base.
    tagger
        One of `TAGGERS`.
    steps
        Of training, where there is any.
    seed
        Draws the tagger's weights and lessons.

    Returns
    -------
    callable
        From the words of sentences to the number of each word's tag.

    Raises
    ------
    ValueError
        If there is no such tagger.
    UserError
        If the task has no knowledge base.
    """
    if tagger not in TAGGERS:
        raise ValueError(f"tagger must be one of {', '.join(TAGGERS)}, got {tagger!r}")
    half = known_half(split)
    assert split.knowledge is not None
    if tagger.startswith("look-up"):
        return partial(look_up, (half if tagger == "look-up" else split.knowledge).types())
    model: Tagger = ContextTagger(seed=seed) if tagger == "context" else WordTagger(seed=seed)
    recipe = TaggerRecipe(steps=steps, made_up=TaggerRecipe.made_up if tagger == "context" else 0.0)
    entities = split.knowledge if tagger == "letters-all" else half
    learn_tagger(model, split, recipe, knowledge=entities, seed=seed, progress=False)
    return partial(tag, model)


class Accuracy(NamedTuple):
    """How often words of one type get the right tag.

    Attributes
    ----------
    type
        A type of the knowledge base, or ``none``.
    seen
        Whether the words occur in what the tagger was trained on.
    words
        Distinct words.
    places
        Their places in distinct sentences.
    accuracy
        Share of the places with the right tag.
    mistaken
        What a wrong word is taken for most often; empty where none is.
    """

    type: str
    seen: bool
    words: int
    places: int
    accuracy: float
    mistaken: str


def accuracy(
    tagger: Tagger, split: Split, dialogues: Sequence[Dialogue], *, knowledge: KnowledgeBase | None = None
) -> list[Accuracy]:
    """Measure a tagger on distinct sentences of dialogues, type by type, seen and unseen words apart.

    Parameters
    ----------
    tagger
        Trained on ``split``.
    split
        Says what was seen in training, and by its whole knowledge base what is right.
    dialogues
        Test dialogues.
    knowledge
        The entities the tagger was trained on; by default `known_half`.

    Returns
    -------
    list of Accuracy
        In the order of `TAGS`, unseen words after seen ones; groups without words are left out.
    """
    knowledge = knowledge or known_half(split)
    assert split.knowledge is not None
    sentences = list(sentences_of(dialogues))
    right = look_up(split.knowledge.types(), sentences)
    given = tag(tagger, sentences)
    seen = {word for sentence in sentences_of(split.train) for word in sentence} | set(knowledge.types())
    groups: dict[tuple[int, bool], list[tuple[str, int]]] = {}
    for sentence, truth, guess in zip(sentences, right, given, strict=True):
        for word, number, guessed in zip(sentence, truth, guess, strict=True):
            groups.setdefault((number, word not in seen), []).append((word, guessed))
    rows = []
    for (number, unseen), places in sorted(groups.items()):
        wrong = Counter(guess for _, guess in places if guess != number)
        rows.append(
            Accuracy(
                type=TAGS[number],
                seen=not unseen,
                words=len({word for word, _ in places}),
                places=len(places),
                accuracy=1 - wrong.total() / len(places),
                mistaken=TAGS[wrong.most_common(1)[0][0]] if wrong else "",
            )
        )
    return rows
