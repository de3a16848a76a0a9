"""Training and measuring: what is learned and what is not, the same each time, and kept on disk."""

from dataclasses import fields

import numpy as np
import pytest
import torch
from rows import trial

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.visual_iq.data.encoding import TokenSet
from reasonlib.visual_iq.data.example import CONFIGURATIONS, KEYS, Problems
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.experiments import reasoners
from reasonlib.visual_iq.experiments.metrics import accuracy, accuracy_by_configuration
from reasonlib.visual_iq.experiments.reasoners import BRISK, SHORT, Recipe, run_reasoner, train
from reasonlib.visual_iq.models import pretrained, solvers
from reasonlib.visual_iq.models.pretrained import load_pretrained, save_pretrained
from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig
from reasonlib.visual_iq.models.relational import Relational, RelationalConfig
from reasonlib.visual_iq.models.solvers import build, encode, predict_scores


@pytest.fixture(scope="module")
def mixture():
    return Problems.concatenate([simulate(key, 8, seed=1) for key in KEYS])


# It learns, and its ablation does not


def same_colour(number, seed):
    """Problems of one entity, of one colour in the context: the candidate of that colour is right."""
    rng = np.random.default_rng(seed)
    entities = np.zeros((number, 16, 9, 4), dtype=np.int8)
    entities[:, :, 0, :3] = 1, 2, 0
    colours = np.argsort(rng.random((number, 10)), axis=1)[:, :8]
    target = rng.integers(8, size=number).astype(np.int8)
    entities[:, 8:, 0, 2] = colours
    entities[:, :8, 0, 2] = colours[np.arange(number), target][:, None]
    return Problems(
        np.zeros(number, dtype=np.int8),
        entities,
        np.full((number, 2), 3, dtype=np.int8),
        np.zeros((number, 2, 4, 3), dtype=np.int8),
        target,
    )


@pytest.mark.parametrize(("context", "solved"), [(True, True), (False, False)])
def test_what_the_context_says_needs_the_context(context, solved):
    sizes = ReasonerConfig(entity_layers=0, panel_layers=2, width=16, hidden=16, context=context)
    model = Reasoner(sizes)
    recipe = Recipe(epochs=16, batch_size=64, lr=0.005, schedule="linear", warmup=20, clip=1.0)
    train(model, same_colour(600, 1), recipe, progress=False)
    test_accuracy = accuracy(model, same_colour(300, 2))["accuracy"]
    assert test_accuracy > 0.9 if solved else test_accuracy < 0.2


def test_predicting_every_row_teaches_more_than_choosing():
    train_set, test = (simulate("Center", 800, seed=seed, answers="i-raven") for seed in (1, 2))
    recipe = Recipe(epochs=10, batch_size=64, lr=0.004, schedule="linear", warmup=20, clip=1.0)

    def reached(**steps):
        model = Relational(RelationalConfig(**steps))
        train(model, train_set, recipe, progress=False)
        return accuracy(model, test)["accuracy"]

    full = reached()
    assert full > 0.85
    assert reached(predict=False) < full - 0.08
    assert reached(rows=False) < full - 0.05


# Measuring


def test_accuracy_by_configuration(mixture):
    right = np.arange(len(mixture)) % 8 < 1 + mixture.configuration
    accuracies = accuracy_by_configuration(mixture.configuration, right)
    assert accuracies["accuracy"] == right.mean()
    for index, configuration in enumerate(CONFIGURATIONS):
        assert accuracies[f"accuracy_{configuration.title}"] == (1 + index) / 8
    only = mixture[mixture.configuration == 2]
    assert set(accuracy_by_configuration(only.configuration, np.ones(8, dtype=bool))) == {
        "accuracy",
        "accuracy_3x3Grid",
    }


@pytest.mark.parametrize("name", solvers.MODELS)
def test_scores_do_not_depend_on_the_batches(name, mixture):
    model = build({"model": name})
    whole = predict_scores(model, mixture)
    assert whole.shape == (len(mixture), 8)
    np.testing.assert_allclose(predict_scores(model, mixture, batch_size=5), whole, atol=1e-4)
    np.testing.assert_allclose(predict_scores(model, encode(model, mixture[10:20])), whole[10:20], atol=1e-4)
    assert accuracy(model, mixture)["accuracy"] == (whole.argmax(1) == mixture.target).mean()
    assert predict_scores(model, mixture[:0]).shape == (0, 8)


def test_measuring_leaves_a_model_in_its_mode(mixture):
    model = build({}).train()
    predict_scores(model, mixture[:3])
    assert model.training


# Training


@pytest.mark.parametrize("name", solvers.MODELS)
def test_the_same_seed_is_the_same_training_stopped_or_not(name, mixture, tmp_path):
    recipe = Recipe(epochs=2, batch_size=16, lr=0.01, schedule="linear")

    def trained(**options):
        model = build({"model": name})
        history = train(model, mixture, recipe, progress=False, **options)
        return model.state_dict(), history

    plain, _ = trained()
    _, stopped = trained(checkpoint=tmp_path, minutes=0)
    assert stopped.steps_done == 1 and stopped.stopped == "minutes"
    resumed, history = trained(checkpoint=tmp_path)
    assert history.steps_done == history.steps_planned == 8
    other, _ = trained(seed=1)
    assert all(torch.equal(plain[key], resumed[key]) for key in plain)
    assert not all(torch.equal(plain[key], other[key]) for key in plain)


def test_rows_swap_in_training_only_where_asked(mixture, monkeypatch):
    seen = []
    batch = TokenSet.batch

    def spy(self, items, swap=None):
        seen.append(swap)
        return batch(self, items, swap)

    monkeypatch.setattr(TokenSet, "batch", spy)
    for swap in (True, False):
        train(build({}), mixture, Recipe(epochs=1, swap=swap), progress=False)
    assert [mask is None for mask in seen] == [False, False, True, True]
    assert 0 < np.concatenate(seen[:2]).mean() < 1


def test_the_source_halves_its_rate_when_the_validation_loss_stays(mixture):
    recipe = Recipe()
    assert (recipe.epochs, recipe.lr, recipe.schedule, recipe.halve_after) == (400, 0.001, "plateau", 30)
    history = train(build({}), mixture, Recipe(epochs=2), valid_set=mixture, progress=False)
    assert {"valid_loss", "accuracy"} <= set(history[-1])


def test_a_batch_of_nothing_is_refused():
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        Recipe(batch_size=0)


def test_an_unknown_model_names_the_known_ones():
    with pytest.raises(ValueError, match="model must be one of reasoner, context-blind, relational, got 'x'"):
        build({"model": "x"})


def test_recipes_hold_nothing_that_is_not_one():
    names = {field.name for field in fields(Recipe)}
    assert set(SHORT) <= names and set(BRISK) <= names


# A trial


def full(**given):
    few = {"per_configuration": 20, "epochs": 1, "bundle": True}
    settings = {"model": "relational", **few, **BRISK, "warmup": 1}
    return trial("visual_iq/relational:full", settings, **{"data": "i-raven", "kind": "regenerated", **given})


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    bundled = {name: tmp_path / name for name in pretrained.BUNDLED}
    for module in (pretrained, reasoners):
        monkeypatch.setattr(module, "BUNDLED", bundled)
    return tmp_path


def test_a_trial_measures_every_configuration_and_every_answer_set(shelf):
    measured = run_reasoner(full())
    assert {f"accuracy_{layout.title}" for layout in CONFIGURATIONS} <= set(measured.metrics)
    assert measured.metrics["accuracy_on_i-raven"] == measured.metrics["accuracy"]
    assert {"accuracy_on_raven", "accuracy_on_raven-fair", "valid", "problems_per_second"} <= set(
        measured.metrics
    )
    assert (measured.steps_done, measured.steps_planned, measured.stopped) == (1, 1, "finished")
    assert [row["epoch"] for row in measured.details["curve"]] == [1]
    assert not list(shelf.iterdir())


def test_a_paper_trial_of_the_right_data_replaces_the_shipped_model(shelf):
    run_reasoner(full(scale="paper", data="raven"))
    assert not list(shelf.iterdir())
    measured = run_reasoner(full(scale="paper"))
    assert [path.name for path in shelf.iterdir()] == ["relational"]
    shipped = load_pretrained("relational")
    assert shipped.provenance["accuracy"] == round(measured.metrics["accuracy"], 4)
    assert shipped.provenance["command"].startswith(
        "reasonlib run visual_iq/relational --row full --scale paper"
    )


# On disk


@pytest.mark.parametrize("name", solvers.MODELS)
def test_a_model_is_read_as_it_was_written(name, mixture, tmp_path):
    model = build({"model": name, "hidden": 24})
    path = save_pretrained(tmp_path / "one.safetensors", model, {"steps": 3}, half=False)
    shipped = load_pretrained(path)
    assert shipped.model.config == model.config and shipped.provenance == {"steps": 3}
    assert np.array_equal(predict_scores(shipped.model, mixture), predict_scores(model, mixture))
    half = load_pretrained(save_pretrained(tmp_path / "half.safetensors", model, {}))
    np.testing.assert_allclose(predict_scores(half.model, mixture), predict_scores(model, mixture), atol=0.2)
    assert next(half.model.parameters()).dtype == torch.float32


@pytest.mark.parametrize(
    ("name", "answers", "least"),
    [("relational", "i-raven", 0.99), ("relational", "raven-fair", 0.99), ("reasoner", "raven", 0.9)],
)
def test_the_shipped_models_solve_fresh_problems(name, answers, least):
    fresh = Problems.concatenate([simulate(key, 40, seed=77, answers=answers) for key in KEYS])
    shipped = load_pretrained(name)
    assert shipped.provenance["command"].startswith("reasonlib run visual_iq/")
    assert accuracy(shipped.model, fresh)["accuracy"] > least


def test_what_is_no_model_is_one_clear_line(tmp_path):
    with pytest.raises(UserError, match=r"there is no visual reasoner at .*; choose detector or"):
        load_pretrained("nobody")
    other = training.save_weights(
        tmp_path / "other.safetensors", {"a": torch.zeros(1)}, metadata={"kind": "x"}
    )
    with pytest.raises(UserError, match="holds no visual reasoner"):
        load_pretrained(other)
    path = save_pretrained(tmp_path / "one.safetensors", build({}), {})
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match=r"one\.safetensors"):
        load_pretrained(path)


def test_a_model_of_another_shape_is_damaged(tmp_path):
    model = build({"hidden": 24})
    about = {"kind": "reasonlib visual reasoner", "model": "Reasoner", "config": {"hidden": 32}, "made": {}}
    path = training.save_weights(tmp_path / "one.safetensors", model, metadata=about)
    with pytest.raises(UserError, match=r"a damaged visual reasoner .*; make it again"):
        load_pretrained(path)
