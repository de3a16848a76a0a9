"""The one door to every representation of sentences."""

from dataclasses import replace

import pytest
import torch

from reasonlib.errors import UserError
from reasonlib.goal_dialogue import represent as door
from reasonlib.goal_dialogue import sets
from reasonlib.goal_dialogue.memory_network import NetworkConfig
from reasonlib.goal_dialogue.represent import make_tagger, represent
from reasonlib.goal_dialogue.tagger import NONE, TAGS
from reasonlib.goal_dialogue.tensors import encode_split

CONFIG = NetworkConfig(width=6, hops=2, slots=20)


@pytest.fixture(scope="module")
def split():
    return sets.load("simulated", 1, dialogues=6)


@pytest.fixture(scope="module")
def task(split):
    return encode_split(split)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"start": "word2vec"},
        {"start": "word2vec-scaled"},
        {"encoder": "keytags", "tagger": "known"},
        {"encoder": "tags-multiplied", "tagger": "all"},
        {"encoder": "paragraphs", "paragraph_width": 5},
    ],
    ids=str,
)
def test_every_representation_answers(split, task, settings):
    made = represent(CONFIG, split, task, seed=1, **settings)
    assert (made.texts is None) == ("encoder" not in settings)
    logits = made.model(made.task.test.batch([1, 4], slots=20)).logits
    assert logits.shape == (2, len(split.candidates))
    assert logits.isfinite().all()


def test_scaled_word2vec_is_as_short_as_the_random_start(split, task):
    def spread(start):
        return represent(CONFIG, split, task, start=start).model.encoder.tables[0].std().item()

    assert spread("word2vec") > spread("word2vec-scaled") * 1.5
    assert abs(spread("word2vec-scaled") - CONFIG.spread) < 0.02


def test_paragraphs_of_another_corpus(split, task):
    other = sets.load("simulated", 2, dialogues=6)
    settings = {"encoder": "paragraphs", "paragraph_width": 4, "marks": False}
    own = represent(CONFIG, split, task, **settings).model.encoder.vectors
    external = represent(CONFIG, split, task, external=other, **settings).model.encoder.vectors
    assert own.shape == external.shape and not torch.equal(own, external)


def test_looking_up_knows_half_or_all(split):
    everything = split.knowledge.types()
    known = door.known_half(split).types()
    new = next(word for word, kind in everything.items() if kind == "cuisine" and word not in known)
    assert make_tagger(split, "known")([[new]]) == [(NONE,)]
    assert make_tagger(split, "all")([[new]]) == [(TAGS.index("cuisine"),)]


def test_mistakes_are_named(split, task):
    with pytest.raises(ValueError, match=r"encoder must be one of words, keytags, .*, got 'bags'"):
        represent(CONFIG, split, task, encoder="bags")
    with pytest.raises(ValueError, match="start must be one of random, word2vec, word2vec-scaled, got 'x'"):
        represent(CONFIG, split, task, start="x")
    with pytest.raises(ValueError, match="start must be random with encoder keytags, got 'word2vec'"):
        represent(CONFIG, split, task, encoder="keytags", start="word2vec")
    with pytest.raises(ValueError, match="tagger must be one of letters, context, known, all, got 'x'"):
        make_tagger(split, "x")
    with pytest.raises(UserError, match="has no knowledge base"):
        make_tagger(replace(split, knowledge=None))
