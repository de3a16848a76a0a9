"""Every experiment at smoke, every claim about something that is measured, and the trials' own promises."""

import math

import pytest
import torch

from reasonlib.display import plotting, results
from reasonlib.optimisation.experiments import EXPERIMENTS, descent
from reasonlib.optimisation.experiments import losses as loss_trials
from reasonlib.optimisation.experiments.batches import moved_digits
from reasonlib.optimisation.experiments.measures import try_rates
from reasonlib.optimisation.models import losses, optimisers
from reasonlib.optimisation.models.network import digits
from reasonlib.optimisation.models.surfaces import SURFACES, minimise
from reasonlib.tracking import claims, records, runner

CLAIMS = claims.load("optimisation")
SIDES = sorted(
    {side for claim in CLAIMS for side in claim.sides}, key=lambda side: (side.experiment, side.row)
)


def test_every_experiment_is_asked_for_by_a_claim():
    claimed = {side.experiment for side in SIDES}
    assert claimed == set(EXPERIMENTS)
    for claim in CLAIMS:
        assert claim.text and claim.chapter in {
            f"optimisation/{n}" for n in ("losses", "activations", "descent")
        }


@pytest.mark.parametrize("name", sorted({side.experiment for side in SIDES}))
def test_smoke_runs_measure_what_the_claims_ask_for(name):
    metrics_by_row: dict[str, set[str]] = {}
    for side in SIDES:
        if side.experiment == name:
            metrics_by_row.setdefault(side.row, set()).add(side.metric)
    for record in runner.run(name, rows=list(metrics_by_row), scale="smoke", records=None):
        assert metrics_by_row[record.row] <= set(record.metrics), record.row
        assert record.steps.complete


@pytest.mark.parametrize("name", ["optimisation/pits", "optimisation/networks", "optimisation/outliers"])
def test_a_trial_gives_the_same_again(name):
    row = next(iter(EXPERIMENTS[name].rows))
    first, second = (runner.run(name, rows=row, scale="smoke", records=None)[0] for _ in range(2))
    assert first.metrics == second.metrics


def test_steps_are_counted_from_where_a_walk_stays():
    ground = SURFACES["ravine"]
    path = minimise(ground, optimisers.GradientDescent(rate=0.05), start=[[-4.0, 1.0], [0.0, 0.0]], steps=200)
    when = descent.arrival(ground, path)
    assert when[1] == 0
    height = path.values[:, 0]
    first = int(when[0])
    assert (height[first:] < descent.ARRIVED).all() and height[first - 1] >= descent.ARRIVED
    never = minimise(ground, optimisers.GradientDescent(rate=1.0), steps=50)
    assert descent.arrival(ground, never) == 51
    gone = minimise(SURFACES["saddle"], optimisers.GradientDescent(rate=5.0), start=(0.0, 0.1), steps=999)
    assert not torch.isfinite(gone.values[-1])
    assert descent.arrival(SURFACES["saddle"], gone) == 1  # 0.1 times 11 is below, and it stays so


def test_the_best_rate_is_near_the_one_of_theory():
    rate, _ = descent.best_rate("gradient descent", "ravine", 3, 200, 21, 0)
    assert 0.05 < rate < 2 / 25


def test_a_best_rate_has_others_on_both_sides():
    (best,), tried = try_rates([1.0, 3.0, 9.0], lambda rate: abs(math.log(rate / 200)), float)
    assert list(tried) == [1.0, 3.0, 9.0, 27.0, 81.0, 243.0, 729.0] and best == 243.0
    both, tried = try_rates(
        [4.0, 1.0, 2.0], lambda rate: rate, lambda rate: max(rate, 0.3), lambda rate: -min(rate, 7)
    )
    assert both == [0.25, 8.0] and (min(tried), max(tried)) == (0.125, 16.0)


@pytest.mark.parametrize("score", [7.0, math.nan, math.inf])
def test_where_all_rates_are_equal_one_further_is_tried(score):
    assert try_rates([1.0, 2.0], lambda rate: score, float)[0] == [1.0]
    assert list(try_rates([1.0, 2.0], lambda rate: score, float)[1]) == [0.5, 1.0, 2.0]


def test_a_fixed_rate_is_the_only_one():
    assert try_rates([1.0, 1.0], lambda rate: rate, float) == ([1.0], {1.0: 1.0})


@pytest.mark.parametrize("word", ["race", "networks", "activations", "overfitting", "depth", "deep"])
def test_no_rate_of_a_record_is_the_lowest_or_the_highest(word):
    experiment = EXPERIMENTS[f"optimisation/{word}"]
    best = {
        (candidate.row, candidate.data.name): candidate for candidate in reversed(records.groups(experiment))
    }
    for (row, data), group in best.items():
        for record in group.records:
            tried = record.details.get("tried") or began_with(record.config)
            if len(tried) > 1:
                rate = record.metrics["rate"]
                assert min(tried) < 0.999 * rate and 1.001 * rate < max(tried), (row, data, record.seed)


def began_with(config):
    """The rates of a record that went no further, and so does not list them."""
    low, high = config.get("between", (1e-4, 10.0))
    return config["rates"] if isinstance(config.get("rates"), list) else sorted({low, high})


def test_pits_are_where_they_should_be():
    ground = descent.flat_and_sharp()
    low = [float(ground.value(torch.tensor([x, 0.0], dtype=torch.float64))) for x in (-1.5, 1.0)]
    assert low[0] == pytest.approx(low[1], abs=0.05)
    assert descent.many_pits(1).grid(9)[2].equal(descent.many_pits(1).grid(9)[2])
    assert not descent.many_pits(1).grid(9)[2].equal(descent.many_pits(2).grid(9)[2])


def test_moved_digits_are_the_digits_elsewhere():
    pictures, truths = digits(800, seed=3).train
    moved = moved_digits(3)
    assert moved.inputs.shape == (20_000, 64) and moved.truths[:800].equal(truths)
    assert moved.inputs[12 * 800 : 13 * 800].equal(pictures)  # the middle of 25 places
    first = moved.inputs[:800].unflatten(1, (8, 8))
    assert first[:, 2:, 2:].equal(pictures.unflatten(1, (8, 8))[:, :6, :6])
    assert (first[:, :2] == pictures.min()).all()


def test_a_bar_longer_than_one_is_drawn_whole(monkeypatch):
    drawn = []
    bars = plotting.bars
    monkeypatch.setattr(plotting, "bars", lambda *given, **more: drawn.append(more) or bars(*given, **more))
    results.rows("optimisation/outliers", metric="pull", unit="shift")
    results.rows("optimisation/outliers", metric="clean_error", unit="error")
    assert [more["limits"] for more in drawn] == [None, (0, 1)]


def test_rare_batches_mislead_adam_alone():
    ends = {
        name: float(descent.rare_gradients(optimiser, steps=3000, seed=0)[-1])
        for name, optimiser in (
            ("Adam", optimisers.Adam(rate=5.0, betas=(0.9, 0.99))),
            ("AMSGrad", optimisers.AMSGrad(rate=5.0, betas=(0.9, 0.99))),
            ("gradient descent", optimisers.GradientDescent(rate=0.05)),
        )
    }
    assert ends["Adam"] > 0.5
    assert ends["AMSGrad"] < -0.5
    assert ends["gradient descent"] < -0.3


def test_a_line_is_the_least_squares_one():
    draw = torch.Generator().manual_seed(1)
    inputs = torch.randn(80, 3, generator=draw, dtype=torch.float64)
    targets = (
        inputs @ torch.tensor([1.0, -2.0, 0.5]).double()
        + 0.3
        + 0.1 * torch.randn(80, generator=draw).double()
    )
    fit = loss_trials.fit_line(inputs, targets, losses.mse, steps=600)
    table = torch.cat([inputs, torch.ones(80, 1).double()], 1)
    exact = torch.linalg.lstsq(table, targets[:, None]).solution[:, 0]
    torch.testing.assert_close(torch.cat([fit.slope, fit.offset[None]]), exact, rtol=1e-3, atol=1e-3)


def test_the_absolute_error_oversteps_and_the_square_settles():
    for loss, settles in (("mse", True), ("mae", False), ("huber", True), ("log-cosh", True)):
        walked = loss_trials.approach(losses.REGRESSION[loss], start=90.1, target=100.0, rate=0.3, steps=120)
        assert (abs(float(walked[-1]) - 100) < 1e-3) == settles
        assert math.isfinite(float(walked[-1]))
