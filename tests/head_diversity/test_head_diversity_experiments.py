"""Experiments: resumption, what a record keeps, the rows at smoke, what pruning and bundles measure."""

import math

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from reasonlib.cli import MISTAKE, app
from reasonlib.head_diversity.data.datasets import load_documents
from reasonlib.head_diversity.data.text import Text
from reasonlib.head_diversity.experiments import (
    COST,
    EVERY_MODEL,
    EXPERIMENTS,
    HEADS,
    LANGUAGE_MODEL,
    MODELS,
    PRUNING,
    cost,
    language_model,
    pruning,
    train,
    translation,
)
from reasonlib.head_diversity.experiments.every_model import bundled_models, random_heads
from reasonlib.head_diversity.experiments.measures import head_metrics, mean_metrics, rank_correlation
from reasonlib.head_diversity.experiments.train import Recipe, train_language_model
from reasonlib.head_diversity.models.diversity import compare_heads
from reasonlib.head_diversity.models.hooks import attention_sites
from reasonlib.head_diversity.models.language_model import LanguageModel, LanguageModelConfig
from reasonlib.head_diversity.models.regularisers import flat_tokens
from reasonlib.head_diversity.models.translator import Translator, TranslatorConfig
from reasonlib.parallel.datasets import texts
from reasonlib.parallel.words import SPECIALS
from reasonlib.tracking.experiment import settings
from reasonlib.tracking.runner import run

ROWS = torch.randint(3, 12, (30, 9), generator=torch.Generator().manual_seed(0))


def fit(recipe, **options):
    config = LanguageModelConfig(vocabulary=12, width=16, layers=1, heads=2, hidden=16)
    model = LanguageModel(config, seed=0)
    train_language_model(model, ROWS, ROWS[:6], recipe, seed=1, **options)
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_a_killed_run_goes_on_to_the_same_bits(tmp_path):
    recipe = Recipe(
        epochs=4, batch=8, warmup=1, hsic=0.1, orthogonality=0.5, drophead=0.3, drophead_start=0.2
    )
    whole = fit(recipe)
    fit(recipe, checkpoint=tmp_path, minutes=0.0)
    assert torch.equal(fit(recipe, checkpoint=tmp_path), whole)
    assert not torch.equal(fit(Recipe(epochs=4, batch=8, warmup=1)), whole)


def test_a_text_that_is_shorter_than_a_window_is_one_line_in_a_terminal(monkeypatch):
    short = (("a", "few", "words"),)
    monkeypatch.setattr(language_model, "load_text", lambda data, **sizes: Text(short, short, short))
    command = ["run", "head_diversity/treebank", "--row", "baseline", "--scale", "smoke", "--no-records"]
    result = CliRunner().invoke(app, [*command, "--data", "simulated", "--device", "cpu"])
    assert result.exit_code == MISTAKE and "Traceback" not in result.output
    assert "a window of 16 words needs more than the 4 of the text" in " ".join(result.output.split())


def test_the_rate_of_drophead_follows_its_schedule(monkeypatch):
    rates = []

    class Watched(train.Drophead):
        def _drop(self, site, heads):
            rates.append(self.rate)
            return super()._drop(site, heads)

    monkeypatch.setattr(train, "Drophead", Watched)
    fit(Recipe(epochs=8, batch=30, warmup=1, drophead=0.3, drophead_start=0.2))
    in_training = [rate for number, rate in enumerate(rates) if number % 2 == 0]  # each epoch: train, valid
    assert in_training == pytest.approx([0.2, 0.1, 0.0, 0.05, 0.1, 0.15, 0.2, 0.25])


def test_the_weights_with_the_lowest_loss_on_valid_are_kept():
    config = LanguageModelConfig(vocabulary=12, width=16, layers=1, heads=2, hidden=16)
    model = LanguageModel(config, seed=0)
    recipe = Recipe(epochs=20, batch=6, lr=3e-2, warmup=1)
    history = train_language_model(model, ROWS[:6], ROWS[6:], recipe, seed=1)
    losses = [row["valid_loss"] for row in history.rows]
    assert min(losses) < losses[-1]  # it overfits
    assert train.text_loss(model, ROWS[6:]) == pytest.approx(min(losses), abs=1e-6)


def test_sixteen_bits_round_the_products_and_learn_as_well():
    rows = torch.arange(9).repeat(30, 1) % 3 + 3
    losses = []
    for half in (False, True):
        config = LanguageModelConfig(vocabulary=12, width=16, layers=1, heads=2, hidden=16, dropout=0.0)
        model = LanguageModel(config, seed=0)
        recipe = Recipe(epochs=4, batch=8, lr=1e-2, warmup=1, hsic=0.1, orthogonality=0.1, half=half)
        history = train_language_model(model, rows, rows[:6], recipe, seed=1)
        assert next(model.parameters()).dtype == torch.float32
        losses.append([row["loss"] for row in history.rows])
    assert losses[0] != losses[1] and losses[1] == pytest.approx(losses[0], rel=0.05)
    assert losses[1][-1] < 0.9 * losses[1][0]


def test_penalties_of_rounded_heads_are_worked_out_in_32_bits():
    heads = torch.ones(2, 3, 4, 5, dtype=torch.bfloat16)
    assert flat_tokens(heads).dtype == torch.float32
    assert flat_tokens(heads.double()).dtype == torch.float64


@pytest.mark.parametrize("name", ["language_model", "head_counts", "weights", "heads", "controls"])
def test_first_and_last_row_at_smoke(name):
    experiment = EXPERIMENTS[f"head_diversity/{name}"]
    rows = [next(iter(experiment.rows)), list(experiment.rows)[-1]]
    records = run(experiment, rows=rows, scale="smoke", device="cpu")
    last = records[-1]
    assert last.steps.complete and all(math.isfinite(value) for value in last.metrics.values())
    assert set(last.metrics) > {"cka", "cka_debiased", "svcca", "top_svcca", "disagreement"}
    for similarity in last.details["similarity"].values():
        heads = experiment.rows[rows[-1]]["heads"]
        assert np.shape(similarity["svcca"]) == np.shape(similarity["cka_debiased"]) == (heads, heads)
        assert similarity["curve"] == sorted(similarity["curve"], reverse=True)


def test_a_single_head_has_no_similarity_and_a_wide_row_is_compared_with_it():
    (record,) = run(HEADS, rows="h1-d512", scale="smoke", device="cpu")
    assert "cka" not in record.metrics and record.details["similarity"] == {}
    parts = {"single_encoder", "single_decoder", "single_cross"}
    assert parts < set(record.metrics)
    assert all(record.metrics[part] < 0.99 for part in parts)  # another model, and not this one itself
    resolved = HEADS.resolve(settings(HEADS, "h8-d256", "quick"), "bleu")
    assert (resolved["width"], resolved["hidden"]) == (32, 128)


def test_pruning_measures_every_head():
    (record,) = run(PRUNING, rows="language-model", scale="smoke", device="cpu")
    rows = record.details["heads"]
    assert [row["head"] for row in rows] == list(range(8))
    assert record.metrics["damage"] == pytest.approx(np.mean([row["damage"] for row in rows]), abs=1e-4)


def test_a_head_is_not_compared_with_itself_before_it_is_pruned(monkeypatch):
    equal = compare_heads(torch.randn(8, 60, 2))._replace(cka_debiased=torch.eye(8))
    monkeypatch.setattr(pruning, "compare_heads", lambda heads: equal)
    (record,) = run(PRUNING, rows="language-model", scale="smoke", device="cpu")
    assert {row["similarity"] for row in record.details["heads"]} == {0}


def test_perplexity_is_that_of_test_text_and_the_vocabulary_that_of_train(monkeypatch):
    (record,) = run(LANGUAGE_MODEL, rows="baseline", scale="smoke", device="cpu")
    valid = math.exp(record.details["curve"][-1]["valid_loss"])
    assert record.metrics["valid_perplexity"] == pytest.approx(valid, rel=1e-3)
    assert record.metrics["perplexity"] != pytest.approx(valid, rel=1e-3)
    text = Text((("a", "b"),) * 9, (("a", "c"),) * 9, (("d", "a"),) * 9)
    monkeypatch.setattr(language_model, "load_text", lambda data, **sizes: text)
    sizes = settings(LANGUAGE_MODEL, "baseline", "smoke")
    model, (_, valid, test) = language_model.prepare("simulated", sizes, 0)
    assert model.config.vocabulary == 5  # padding, end, unknown, a, b
    assert set(valid.unique().tolist()) == set(test.unique().tolist())


def test_translators_are_measured_on_test_by_the_last_layers_and_the_words_of_train():
    sizes = {"train": 2, "valid": 1, "test": 3, "vocabulary": None, "longest": 24}
    prepared = translation.prepare_pairs("simulated", **sizes)
    documents = load_documents("simulated", train=2, valid=1, test=3)
    assert prepared.references == [pair.target for document in documents.test for pair in document.pairs]
    words = {word for text in texts(documents.train) for word in text.split()}
    others = {word for text in texts(documents.test) for word in text.split()} - words
    assert others and len(prepared.tokens) == len(words) + len(SPECIALS)
    model = Translator(TranslatorConfig(vocabulary=9, width=8, layers=2, heads=2, hidden=8), seed=0)
    names = [site.name for site in attention_sites(model)]
    assert translation.last_attentions(dict.fromkeys(names)) == {
        "encoder": "encoder.layers.1.attention",
        "decoder": "decoder.layers.1.attention",
        "memory": "decoder.layers.1.memory_attention",
    }


def test_every_row_of_bundled_models_is_found():
    models = bundled_models()
    assert set(MODELS) == set(models)
    heads = random_heads(models["transformer.encoder"], sequences=2, length=8, seed=0)
    assert {outputs.shape[:2] for outputs in heads.values()} == {(models["transformer.encoder"].heads, 16)}
    (record,) = run(EVERY_MODEL, rows="all", scale="smoke", device="cpu")
    assert -1 <= record.metrics["correlation"] <= 1 and record.metrics["models"] >= 4
    scored = [model for model in record.details["models"].values() if model["accuracy"] is not None]
    assert record.metrics["correlation"] == rank_correlation(
        [model["cka_debiased"] for model in scored], [model["accuracy"] for model in scored]
    )


def test_cost_is_a_ratio(monkeypatch):
    rates = []
    monkeypatch.setattr(cost, "Drophead", lambda model, rate: rates.append(rate))
    records = run(COST, rows=["drophead", "hsic"], scale="smoke", device="cpu")
    assert rates == [0.1, 0.0]
    assert all(record.metrics["seconds_ratio"] > 0 for record in records)


def test_the_leading_coefficients_are_the_largest_eight():
    heads = torch.randn(3, 200, 12, generator=torch.Generator().manual_seed(0))
    metrics, similarity = head_metrics(heads)
    assert len(similarity.curve) > 8
    assert metrics["top_svcca"] == pytest.approx(float(similarity.curve[:8].mean()))
    assert metrics["top_svcca"] > metrics["svcca"]


def test_measures_of_heads():
    heads = torch.randn(3, 40, 4, generator=torch.Generator().manual_seed(0))
    metrics, _ = head_metrics(heads)
    assert mean_metrics({"a": metrics, "b": metrics, "single": head_metrics(heads[:1])[0]}) == metrics
    assert head_metrics(heads[:1])[0] == {}
    equal, _ = head_metrics(heads[:1].repeat(2, 1, 1))
    assert equal["disagreement"] == pytest.approx(0, abs=1e-6) and equal["cka"] == pytest.approx(1)


def test_rank_correlation_of_ties_and_constants():
    assert rank_correlation([1, 2, 2, 3], [4, 5, 5, 9]) == pytest.approx(1.0)
    assert math.isnan(rank_correlation([1, 1], [1, 2]))
