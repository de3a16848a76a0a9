"""Paragraph vectors: the same in every process, near where words are shared, read by the network."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.encoding import encode, encode_split
from reasonlib.goal_dialogue.experiments.train_memory import Recipe, train_network
from reasonlib.goal_dialogue.models.memory_network import NetworkConfig
from reasonlib.goal_dialogue.models.memory_system import predict
from reasonlib.goal_dialogue.models.paragraph import (
    ParagraphConfig,
    build_paragraphs,
    distinct_sentences,
    train_paragraph_vectors,
)

SMALL = ParagraphConfig(width=12, epochs=300, inference=200)
TELL = [f"{a} {b} please" for a in ("in", "at", "near") for b in ("rome", "paris", "madrid")]
ASK = [f"do you {a} its {b}" for a in ("have", "know", "see") for b in ("phone", "address", "name")]
CORPUS = [text.split() for text in TELL + ASK]

SCRIPT = """
import hashlib
from reasonlib.goal_dialogue.models.paragraph import ParagraphConfig, train_paragraph_vectors
vectors = train_paragraph_vectors({corpus!r}, ParagraphConfig(width=12, epochs=300, inference=200), seed=3)
print(hashlib.sha256(vectors([["in", "oslo", "please"], ["do", "you"]]).tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def vectors():
    return train_paragraph_vectors(CORPUS, SMALL, seed=3)


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_vectors_are_the_same_in_every_process(vectors):
    """Python hashes strings differently in every process, and gensim by default makes use of it."""
    mine = hashlib.sha256(vectors([["in", "oslo", "please"], ["do", "you"]]).tobytes()).hexdigest()
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(corpus=CORPUS)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == mine


def test_a_vector_does_not_depend_on_what_was_inferred_before(vectors):
    alone = train_paragraph_vectors(CORPUS, SMALL, seed=3)([["near", "paris"]])
    together = vectors([["hello"], ["near", "paris"], ["hello"], ["near", "paris"]])
    assert (together[1] == alone[0]).all() and (together[3] == alone[0]).all()
    assert (together[0] == together[2]).all()
    assert (train_paragraph_vectors(CORPUS, SMALL, seed=4)([["near", "paris"]]) != alone).any()


def test_unseen_sentences_lie_with_those_whose_words_they_share(vectors):
    new, tell, ask = vectors([["at", "oslo", "please"], TELL[0].split(), ASK[0].split()])
    assert cosine(new, tell) > cosine(new, ask) + 0.3


def test_inference_is_that_of_gensim(vectors):
    """Ours differs from ``infer_vector`` by the random draws alone: both come to nearly the same place."""
    for text in (TELL[4], ASK[4]):
        theirs = vectors.model.infer_vector(text.split(), epochs=200)
        ours = vectors([text.split()])[0]
        assert cosine(ours, theirs) > 0.95


def test_repeated_inference_varies_less_with_more_passes():
    spreads = []
    for passes in (2, 200):
        config = ParagraphConfig(width=12, epochs=300, inference=passes)
        several = train_paragraph_vectors(CORPUS, config, seed=3).repeated(TELL[0].split(), 6)
        mean = several.mean(0)
        spreads.append(np.mean([1 - cosine(vector, mean) for vector in several]))
    assert 0 < spreads[1] < spreads[0] / 2


def test_the_network_reads_one_fixed_vector_a_sentence():
    split = datasets.load("simulated", 1, dialogues=6)
    task = encode_split(split)
    sentences = distinct_sentences(task)
    assert ["hi", "$u", "#0"] in sentences or ["hello", "$u", "#0"] in sentences
    vectors = train_paragraph_vectors(sentences, ParagraphConfig(width=12, epochs=20, inference=10))
    config = NetworkConfig(hops=3, slots=20)
    model, numbered, texts = build_paragraphs(config, task, vectors)
    assert {name for name, _ in model.named_parameters()} == {"steps.0.map", "answers.words.tables.0"}
    batch = numbered.test.batch([7], slots=20)
    with torch.no_grad():
        answered = model(batch)
    u = m = model.encoder.vectors
    u, m = u[batch.sentences.text[batch.question[0]]], m[batch.sentences.text[batch.memory[0]]]
    for hop in range(3):
        p = torch.softmax(m @ u, dim=0)
        torch.testing.assert_close(answered.weights[0, hop], p)
        u = u + p @ m
    w = model.answers.words.tables[0]
    rows = [task.vocabulary.encode(candidate.split()) for candidate in task.candidates[:50]]
    want = torch.stack([w[row].sum(0) for row in rows]) @ u
    torch.testing.assert_close(answered.logits[0, :50], want, rtol=1e-4, atol=1e-5)

    count = len(texts.numbers)
    fresh = encode(datasets.load("simulated", 1, dialogues=6, seed=9).test, task.vocabulary, task.candidates)
    numbered_turns = texts.of_turns(fresh)
    assert len(model.encoder.vectors) == len(texts.numbers) > count
    assert predict(model, numbered_turns).shape == (len(numbered_turns),)

    recipe = Recipe(epochs=6, lr=0.02, patience=None)
    history = train_network(model, numbered, recipe, progress=False)
    assert history.rows[-1]["loss"] < history.rows[0]["loss"] * 0.8


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match="inference must be at least 1, got 0"):
        ParagraphConfig(inference=0)
    with pytest.raises(ValueError, match="sentences must hold at least one with a word in it"):
        train_paragraph_vectors([[]])
    with pytest.raises(ValueError, match="times must be at least 1, got 0"):
        train_paragraph_vectors(CORPUS, ParagraphConfig(width=2, epochs=1)).repeated(["in"], 0)
