"""Each system learns what its inputs answer, and nothing else."""

from dataclasses import replace

import pytest
import torch

from reasonlib.modality_alignment.data.datasets import QuestionSet, load_points, load_questions
from reasonlib.modality_alignment.data.metrics import accuracy_by_need
from reasonlib.modality_alignment.experiments.captions import CaptionRecipe, measure_captions, train_captioner
from reasonlib.modality_alignment.experiments.points import PointsRecipe, measure_pairs, train_encoders
from reasonlib.modality_alignment.experiments.train import (
    Recipe,
    answer_all,
    measure_alignment,
    train_answerer,
)
from reasonlib.modality_alignment.models.stage import STAGE, STAGEConfig
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("streams", "least", "most"), [(("subtitle", "regions"), 0.95, 1.0), (("regions",), 0.1, 0.3)]
)
def test_stage_joins_both_streams_in_time(streams, least, most):
    """What moves while somebody speaks: both streams know, one alone is at chance."""
    vocabulary, parts = load_questions(train=1600, valid=1, test=200, kinds=("moment",))
    sizes = {"embedding": 32, "bridge": 32, "width": 32, "kernel": 3, "statement_kernel": 3, "extra": 0}
    config = STAGEConfig(vocabulary=len(vocabulary), features=32, dropout=0.0, streams=streams, **sizes)
    model = STAGE(config, seed=0)
    train_answerer(model, parts["train"], Recipe(epochs=4, lr=3e-3, clip=1.0), progress=False)
    shares = accuracy_by_need(parts["test"].questions, answer_all(model, parts["test"]))
    assert least <= shares["accuracy.both.moment"] <= most


@pytest.mark.slow
@pytest.mark.parametrize(("alignment", "aligned"), [("infonce", True), ("cka-linear", True), ("none", False)])
def test_stage_aligns_the_videos_it_trains_on(alignment, aligned):
    """Steps with an alignment alone bring the geometry of 20 videos to that of their words."""
    vocabulary, parts = load_questions(train=20, valid=1, test=1, kinds=("presence",))
    sizes = {"embedding": 32, "bridge": 32, "width": 32, "kernel": 3, "statement_kernel": 3, "extra": 0}
    config = STAGEConfig(vocabulary=len(vocabulary), features=32, dropout=0.0, streams=("regions",), **sizes)
    model = STAGE(config, seed=0)
    recipe = Recipe(alignment=alignment, warmup_steps=150, epochs=150, batch_size=20, lr=5e-3, clip=1.0)
    train_answerer(model, parts["train"], recipe, progress=False)
    cka = measure_alignment(model, parts["train"])["cka.regions.debiased"]
    assert cka >= 0.5 if aligned else cka <= 0.1


@pytest.mark.slow
def test_the_captioner_describes_what_it_sees():
    vocabulary, parts = load_questions(train=600, valid=1, test=40, kinds=("colour", "wish"))
    model, _ = train_captioner(parts["train"], vocabulary, CaptionRecipe(caption_steps=200), progress=False)
    test = parts["test"]
    assert measure_captions(model, test, vocabulary)["exact"] >= 0.95
    dark = QuestionSet(test.questions, replace(test.batch, regions=torch.zeros_like(test.batch.regions)))
    assert measure_captions(model, dark, vocabulary)["exact"] <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("data", "learns"), [("shared-cause", True), ("random-pairs", False)])
def test_only_pairs_with_a_cause_are_aligned_beyond_training(data, learns):
    """CKA of held-out pairs and their retrieval rise where pairs have something in common."""
    train, held_out = load_points(data, pairs=3000, held_out=500, seed=0)

    def measured(**changes):
        recipe = PointsRecipe(epochs=8, batch_size=256, **changes)
        return measure_pairs(train_encoders(train, recipe, progress=False).model, held_out)

    assert (measured(objective="none")["cka.debiased"] > 0.05) == learns
    assert (measured(alignment="infonce", weight=1.0)["rank"] < 0.42) == learns
