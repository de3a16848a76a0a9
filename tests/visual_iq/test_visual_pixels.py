"""Problems as pictures: what is drawn and kept, what is told, and the way from a row to its measures."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from rows import trial
from torch import Tensor, nn

from reasonlib.tracking.runner import run
from reasonlib.training import parameter_count
from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.data.example import CONFIGURATIONS, GOVERNED, RULES, Problems
from reasonlib.visual_iq.data.pixels import META_TARGETS, PixelSet, meta_targets, shrink
from reasonlib.visual_iq.data.render import render_problems
from reasonlib.visual_iq.experiments.pixels import PIXELS, Recipe, evaluate, run_pixels, train
from reasonlib.visual_iq.models.pixel_models import build, predict_scores

ROWS, SCALES = PIXELS.rows, PIXELS.scales


@pytest.fixture(scope="module")
def splits():
    return datasets.load("raven", per_configuration=10)


@pytest.fixture(scope="module")
def problems(splits):
    return Problems.concatenate(splits)[::5]


# Pictures


def test_shrinking_is_the_rounded_mean_of_blocks(problems):
    images = render_problems(problems[:2])
    small = shrink(images, 40)
    assert small.shape == (2, 16, 40, 40) and small.dtype == np.uint8
    blocks = images.astype(float).reshape(2, 16, 40, 4, 40, 4).mean((3, 5))
    assert np.array_equal(small, np.floor(blocks + 0.5))
    assert shrink(images, 160) is images


@pytest.mark.parametrize("size", [0, 81, 320])
def test_only_whole_blocks(size):
    with pytest.raises(ValueError, match=f"size must be a divisor of 160, got {size}"):
        shrink(np.zeros((1, 160, 160), np.uint8), size)


@pytest.mark.parametrize("keep", [0, 1024])
def test_a_batch_holds_the_problems_asked_for(problems, keep):
    pixels = PixelSet(problems, 80, keep)
    assert len(pixels) == len(problems) and (pixels.kept is None) == (keep == 0)
    expected = shrink(render_problems(problems), 80)
    for items in ([3, 1], [1, 1, 0], [3, 2]):  # drawn, in part kept, kept
        batch = pixels.batch(items)
        assert batch.images.dtype == torch.uint8
        assert np.array_equal(batch.images.numpy(), expected[items])
        assert batch.target.tolist() == problems.target[items].tolist()
        assert batch.configuration.tolist() == problems.configuration[items].tolist()
        assert np.array_equal(batch.meta.numpy(), meta_targets(problems.rules)[items])


def test_each_picture_is_drawn_once(problems, monkeypatch):
    drawn = []

    def counted(some):
        drawn.append(len(some))
        return render_problems(some)

    monkeypatch.setattr("reasonlib.visual_iq.data.pixels.render_problems", counted)
    pixels = PixelSet(problems)
    for items in ([0, 1], [1, 2, 1], [0, 2]):
        pixels.batch(items)
    assert drawn == [2, 1]


# Meta-targets


def test_meta_targets_by_the_names_of_the_rules(splits):
    problems = splits.train
    for rules, targets in zip(problems.rules, meta_targets(problems.rules), strict=True):
        names = set()
        for rule, governed, _ in rules[rules[..., 0] >= 0]:
            names |= {RULES[rule], *GOVERNED[governed].split("/")}
        assert {name for name, present in zip(META_TARGETS, targets, strict=True) if present} == names
    assert 0 < meta_targets(problems.rules).mean() < 1


# Settings


def test_a_bad_recipe_is_refused():
    with pytest.raises(ValueError, match="loss must be one of bce, ce, got 'mse'"):
        Recipe(loss="mse")
    with pytest.raises(ValueError, match="auxiliary must be at least 0, got -1"):
        Recipe(auxiliary=-1)
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        Recipe(batch_size=0)


def test_a_row_of_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match=r"model must be one of lstm, .*, got 'vit'"):
        build({"model": "vit"})


def test_rows_at_paper_scale_are_as_published():
    sizes = {
        row: parameter_count(build({**ROWS[row], **SCALES["paper"]})) for row in ("copinet", "cnn", "lstm")
    }
    assert sizes == {"copinet": 1_685_949, "cnn": 299_400, "lstm": 143_960}
    narrow = build({**ROWS["copinet"], **SCALES["quick"]})
    assert narrow.config.width == 64 // SCALES["quick"]["narrow"]


def test_a_seed_draws_the_first_weights():
    settings = {**ROWS["copinet"], **SCALES["smoke"]}
    first, same, other = (build(settings, seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


# Measures


class Output(NamedTuple):
    logits: Tensor


class Knows(nn.Module):
    """Finds the answer among those it was given, by looking at the whole picture."""

    def __init__(self, pixels, right):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.targets = {
            pixels.batch([k]).images.numpy().tobytes(): int(pixels.problems.target[k])
            for k in np.flatnonzero(right)
        }

    def forward(self, images):
        indices = [self.targets.get(image.numpy().tobytes(), -1) for image in images]
        return Output(nn.functional.one_hot(torch.tensor(indices) + 1, 9)[:, 1:] * self.scale)


def test_accuracy_of_each_configuration(splits):
    problems = splits.train
    problems = replace(problems, target=np.where(problems.target == 0, 1, problems.target))  # 0: not known
    pixels = PixelSet(problems, 40)
    right = np.arange(len(problems)) % 3 > 0
    measured = evaluate(Knows(pixels, right).train(), pixels)
    assert measured["accuracy"] == pytest.approx(right.mean())
    for kind, configuration in enumerate(CONFIGURATIONS):
        here = problems.configuration == kind
        assert measured[f"accuracy_{configuration.title}"] == pytest.approx(right[here].mean())
    assert len(measured) == 8


def test_prediction_does_not_depend_on_the_batch(splits):
    pixels, model = PixelSet(splits.train, 40), build({**ROWS["copinet"], **SCALES["smoke"]}).train()
    first, second = predict_scores(model, pixels, batch_size=5), predict_scores(model, pixels, batch_size=42)
    assert first.shape == (42, 8) and model.training
    np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-5)


# Training


def test_the_same_seed_gives_the_same_weights(splits):
    pixels = PixelSet(splits.train, 40)

    def weights(seed):
        model = build({**ROWS["cnn"], **SCALES["smoke"]})
        train(model, pixels, Recipe(epochs=1, batch_size=16), seed=seed, progress=False)
        return model.head[0].weight

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


def test_a_run_that_was_stopped_ends_as_one_that_was_not(splits, tmp_path):
    train_set, valid_set = PixelSet(splits.train, 40), PixelSet(splits.valid, 40)
    recipe = Recipe(epochs=2, batch_size=16)

    def learnt(**more):
        model = build({**ROWS["copinet"], **SCALES["smoke"]})
        history = train(model, train_set, recipe, valid_set=valid_set, progress=False, **more)
        return model.state_dict(), history

    whole, history = learnt()
    _, started = learnt(checkpoint=tmp_path, minutes=0)
    resumed, finished = learnt(checkpoint=tmp_path)
    assert started.stopped == "minutes" and finished.resumed_from == started.steps_done
    assert finished.column("loss") == history.column("loss")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_auxiliary_training_learns_the_rules(splits):
    pixels = PixelSet(splits.train, 40)
    model = build({**ROWS["wren-notag-aux"], "size": 40, "narrow": 8})
    history = train(model, pixels, Recipe(epochs=3, batch_size=14, lr=0.003, auxiliary=10.0), progress=False)
    plain = build({**ROWS["wren"], "size": 40, "narrow": 8})
    assert history[-1]["loss"] < history[0]["loss"] - 0.5
    assert plain(pixels.batch([0]).images).meta.shape == (1, 0)


def test_every_row_runs():
    smallest = replace(PIXELS, scales={"smoke": {**SCALES["smoke"], "problems": 10}})
    records = run(smallest, scale="smoke", data="i-raven")
    assert [record.row for record in records] == list(ROWS)
    titles = {f"accuracy_{layout.title}" for layout in CONFIGURATIONS}
    for record in records:
        assert {"accuracy", "valid", "parameters"} | titles <= {*record.metrics}
        assert record.steps.done == record.steps.planned == 2


def test_a_trial_stops_within_its_minutes():
    settings = {**ROWS["cnn"], **SCALES["smoke"], "problems": 10}
    measured = run_pixels(
        trial("visual_iq/pixels:cnn", settings, data="raven", kind="regenerated", minutes=0.0)
    )
    assert measured.stopped == "minutes" and measured.steps_done < measured.steps_planned
