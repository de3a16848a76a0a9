"""Word2Vec as a start: neighbours decide, the tables hold it, and the run repeats."""

import numpy as np
import pytest
import torch

from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.encoding import encode_split
from reasonlib.goal_dialogue.models.keytags import build_keytags
from reasonlib.goal_dialogue.models.memory_network import NetworkConfig, build
from reasonlib.goal_dialogue.models.tagger import look_up
from reasonlib.goal_dialogue.models.word2vec import initialise_word_tables, train_word2vec

PLACES, FOODS = ("rome", "paris", "madrid", "london"), ("thai", "french", "indian", "spanish")
CORPUS = [
    sentence.split()
    for city, food in zip(PLACES, FOODS, strict=True)
    for verb in ("go", "travel", "fly")
    for sentence in (f"we {verb} to {city} by train", f"they eat {verb} {food} dishes at home")
]


@pytest.fixture(scope="module")
def task():
    return encode_split(datasets.load("simulated", 1, dialogues=6))


@pytest.mark.parametrize("skip_gram", [True, False])
def test_words_with_the_same_neighbours_are_near(skip_gram):
    vectors = train_word2vec(CORPUS, 16, skip_gram=skip_gram, window=2, epochs=300, seed=1)
    unit = {word: vector / np.linalg.norm(vector) for word, vector in vectors.items()}
    alike = np.mean([unit[a] @ unit[b] for a in PLACES for b in PLACES if a != b])
    apart = np.mean([unit[a] @ unit[b] for a in PLACES for b in FOODS])
    assert alike > apart + 0.3
    retrained = train_word2vec(reversed(CORPUS), 16, skip_gram=skip_gram, window=2, epochs=300, seed=1)
    assert all((retrained[word] == vector).all() for word, vector in vectors.items())


def test_every_table_starts_from_the_vectors(task):
    model = build(NetworkConfig(width=8, hops=2), task, seed=0)
    before = [table.detach().clone() for table in model.encoder.tables]
    vectors = train_word2vec([["hi", "hello", "xyzzy"], ["in", "please"]], 8, epochs=5)
    assert initialise_word_tables(model, task.vocabulary, vectors) == 4  # xyzzy is no word of the task
    rows = task.vocabulary.encode(["hi", "please"])
    for table, first in zip(model.encoder.tables, before, strict=True):
        np.testing.assert_array_equal(table[rows].detach().numpy(), [vectors["hi"], vectors["please"]])
        untouched = torch.ones(len(table), dtype=torch.bool)
        untouched[task.vocabulary.encode(["hi", "hello", "in", "please"])] = False
        assert torch.equal(table[untouched], first[untouched])


def test_a_spread_scales_them(task):
    model = build(NetworkConfig(width=8, hops=1), task, seed=0)
    vectors = train_word2vec([*CORPUS, ["hi", "hello", "in", "please"]], 8, epochs=20)
    initialise_word_tables(model, task.vocabulary, vectors, init_std=0.1)
    rows = [row for row, word in enumerate(task.vocabulary.tokens) if word in vectors]
    np.testing.assert_allclose(model.encoder.tables[0][rows].std().item(), 0.1, rtol=1e-4)


def test_mistakes_are_named(task):
    with pytest.raises(ValueError, match="width must be at least 1, got 0"):
        train_word2vec(CORPUS, 0)
    with pytest.raises(ValueError, match="sentences must hold at least one with a word"):
        train_word2vec([[]], 3)
    vectors = train_word2vec([["hi", "hello"]], 3, epochs=1)
    model = build(NetworkConfig(width=8, hops=1), task, seed=0)
    with pytest.raises(ValueError, match="vectors must be 8 wide as the model's, got 3"):
        initialise_word_tables(model, task.vocabulary, vectors)
    tagged, _, _ = build_keytags(NetworkConfig(), task, lambda texts: look_up({}, texts))
    with pytest.raises(ValueError, match="model must embed bags of words, got an encoder KeyTags"):
        initialise_word_tables(tagged, task.vocabulary, vectors)
    assert initialise_word_tables(model, task.vocabulary, {}) == 0
