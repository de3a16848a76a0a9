"""Training of a tagger, and how often it is right on words it has never seen.

Axes: S sentences, J words of the longest, T tags.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least, check_choice
from reasonlib.goal_dialogue.data.example import Dialogue, KnowledgeBase, Split
from reasonlib.goal_dialogue.experiments.tagger_data import (
    TaggedBatch,
    TaggerData,
    collect_tagger_data,
    count_sentences,
    training_entities,
)
from reasonlib.goal_dialogue.models.tagger import (
    TAGS,
    ContextTagger,
    EncodedCharacters,
    Tagger,
    WordTagger,
    look_up,
    tag,
)

__all__ = [
    "TAGGERS",
    "TagAccuracy",
    "TaggerRecipe",
    "make_tagger",
    "tag_accuracy",
    "train_on_data",
    "train_tagger",
]

TAGGERS = ("letters", "letters-all", "context", "look-up", "look-up-all")
"""The source's tagger, trained on the known half of the knowledge base or on all of it; ours, which reads the
sentence; and no tagger at all, the known half or all of the knowledge base looked up."""


@dataclass(frozen=True, kw_only=True)
class TaggerRecipe:
    """How a tagger is trained.

    Raises `ValueError` if a number is out of range.
    """

    steps: int = 400
    batch_size: int = 64  # sentences, or words where words are tagged alone
    lr: float = 0.01
    made_up: float = 0.5  # share of the entities that become made-up names; 0 for the source's tagger

    def __post_init__(self) -> None:
        check_at_least(self, 1, "steps", "batch_size")
        if not 0 <= self.made_up <= 1:
            raise ValueError(f"made_up must be between 0 and 1, got {self.made_up}")


def train_tagger(
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
        With its first weights.
    split
        Its training dialogues and the half of the knowledge base that they know; nothing else is read.
    recipe
        Steps, rate, share of made-up names.
    knowledge
        The entities to learn, where they are not to be that half.
    seed
        Draws the data.
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
    data = collect_tagger_data(split, alone=isinstance(tagger, WordTagger), knowledge=knowledge)
    return train_on_data(tagger, data, recipe, seed=seed, progress=progress)


def train_on_data(
    tagger: nn.Module,
    data: TaggerData,
    recipe: TaggerRecipe | None = None,
    *,
    seed: int = 0,
    progress: bool | None = None,
) -> training.History:
    """Train on data, in place, whatever module scores the tags (S, J, T) of what is spelled.

    Parameters
    ----------
    tagger, recipe, seed, progress
        As in `train_tagger`.
    data
        From `collect_tagger_data`.
    """
    recipe = recipe or TaggerRecipe()
    every = min(50, recipe.steps)
    device = next(tagger.parameters()).device

    def batches(epoch: int) -> Iterator[TaggedBatch]:
        rng = np.random.default_rng([seed, epoch])
        for _ in range(every):
            spelled, tags = data.draw(recipe.batch_size, rng, recipe.made_up)
            yield TaggedBatch(EncodedCharacters(*(tensor.to(device) for tensor in spelled)), tags.to(device))

    def loss(model: nn.Module, batch: TaggedBatch) -> Tensor:
        logits = model(batch.spelled)
        return functional.cross_entropy(logits.flatten(0, 1), batch.tags.flatten(), ignore_index=0)

    settings = {
        "epochs": -(-recipe.steps // every),
        "schedule": "linear",
        "warmup": recipe.steps // 20,
        "clip": 1.0,
    }
    return training.fit_recipe(
        tagger,
        batches,
        recipe,
        loss=loss,
        settings=settings,
        steps_per_epoch=every,
        seed=seed,
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
        Draws the tagger's weights and data.

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
    check_choice("tagger", tagger, TAGGERS)
    half = training_entities(split)
    assert split.knowledge is not None
    if tagger.startswith("look-up"):
        return partial(look_up, (half if tagger == "look-up" else split.knowledge).types())
    model: Tagger = ContextTagger(seed=seed) if tagger == "context" else WordTagger(seed=seed)
    recipe = TaggerRecipe(steps=steps, made_up=TaggerRecipe.made_up if tagger == "context" else 0.0)
    entities = split.knowledge if tagger == "letters-all" else half
    train_tagger(model, split, recipe, knowledge=entities, seed=seed, progress=False)
    return partial(tag, model)


class TagAccuracy(NamedTuple):
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


def tag_accuracy(
    tagger: Tagger, split: Split, dialogues: Sequence[Dialogue], *, knowledge: KnowledgeBase | None = None
) -> list[TagAccuracy]:
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
        The entities the tagger was trained on; by default `training_entities`.

    Returns
    -------
    list of TagAccuracy
        In the order of `TAGS`, unseen words after seen ones; groups without words are left out.
    """
    knowledge = knowledge or training_entities(split)
    assert split.knowledge is not None
    sentences = list(count_sentences(dialogues))
    right = look_up(split.knowledge.types(), sentences)
    given = tag(tagger, sentences)
    seen = {word for sentence in count_sentences(split.train) for word in sentence} | set(knowledge.types())
    groups: dict[tuple[int, bool], list[tuple[str, int]]] = {}
    for sentence, truth, guess in zip(sentences, right, given, strict=True):
        for word, number, guessed in zip(sentence, truth, guess, strict=True):
            groups.setdefault((number, word not in seen), []).append((word, guessed))
    rows = []
    for (number, unseen), places in sorted(groups.items()):
        wrong = Counter(guess for _, guess in places if guess != number)
        rows.append(
            TagAccuracy(
                type=TAGS[number],
                seen=not unseen,
                words=len({word for word, _ in places}),
                places=len(places),
                accuracy=1 - wrong.total() / len(places),
                mistaken=TAGS[wrong.most_common(1)[0][0]] if wrong else "",
            )
        )
    return rows
