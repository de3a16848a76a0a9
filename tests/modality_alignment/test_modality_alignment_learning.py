"""Each stream learns what its modality answers, and nothing else."""

import pytest

from reasonlib.modality_alignment.data.datasets import load_questions
from reasonlib.modality_alignment.data.metrics import accuracy_by_need
from reasonlib.modality_alignment.experiments.train import Recipe, answer_all, train_answerer
from reasonlib.modality_alignment.models.tvqa_abc import TVQA_abc, TVQAConfig

SIZES = {"embedding": 48, "hidden": 24, "matched": 24, "dropout": 0.0, "feature_gain": 4.0}


def learnt(stream, kinds, *, train, epochs, lr):
    """Train one stream alone and measure it by need."""
    vocabulary, parts = load_questions(train=train, valid=1, test=300, kinds=kinds)
    config = TVQAConfig(vocabulary=len(vocabulary), features=32, streams=(stream,), **SIZES)
    model = TVQA_abc(config, seed=0)
    recipe = Recipe(epochs=epochs, lr=lr, clip=1.0)
    train_answerer(model, parts["train"], recipe, progress=False)
    test = parts["test"]
    return accuracy_by_need(test.questions, answer_all(model, test))


@pytest.mark.slow
def test_subtitles_answer_what_is_said():
    shares = learnt("subtitle", ("wish", "speaker", "presence"), train=2700, epochs=6, lr=3e-3)
    assert shares["accuracy.subtitle"] >= 0.95
    assert abs(shares["accuracy.video"] - 0.2) < 0.13


@pytest.mark.slow
def test_regions_answer_what_is_seen():
    shares = learnt("regions", ("presence", "presence", "wish"), train=4200, epochs=8, lr=5e-3)
    assert shares["accuracy.video"] >= 0.95
    assert abs(shares["accuracy.subtitle"] - 0.2) < 0.13


@pytest.mark.slow
def test_words_alone_answer_no_more_than_themselves():
    shares = learnt("question", ("opposite", "presence", "wish"), train=900, epochs=5, lr=5e-3)
    assert shares["accuracy.text"] >= 0.95
    assert abs(shares["accuracy.video"] - 0.2) < 0.13 and abs(shares["accuracy.subtitle"] - 0.2) < 0.13
