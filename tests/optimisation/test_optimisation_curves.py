"""Slopes, curvatures and ranges that the source's figures show."""

import math

import pytest
import torch

from reasonlib.optimisation.experiments import EXPERIMENTS, curves


def measure(name: str, row: str) -> dict[str, float]:
    from types import SimpleNamespace

    experiment = EXPERIMENTS[f"optimisation/{name}"]
    return dict(experiment.run(SimpleNamespace(settings=experiment.rows[row])).metrics)


def test_slope_and_curvature_of_a_known_function():
    slope, curvature = curves.slope_and_curvature(torch.exp, 0.5)
    assert slope == pytest.approx(math.exp(0.5))
    assert curvature == pytest.approx(math.exp(0.5))
    assert curves.slope_and_curvature(lambda x: 3 * x, 2.0) == (3.0, 0.0)


def test_the_square_error_grows_faster_far_away_and_the_absolute_error_does_not():
    assert measure("loss-curves", "mse")["growth"] == pytest.approx(10)
    assert measure("loss-curves", "mae")["growth"] == 1


@pytest.mark.parametrize("row", ["huber-0.1", "huber-1", "huber-10"])
def test_huber_is_curved_within_delta_alone(row):
    metrics = measure("loss-curves", row)
    assert metrics["curvature_inside"] == pytest.approx(1)
    assert metrics["curvature_outside"] == 0


def test_log_cosh_and_tanh():
    assert measure("loss-curves", "log-cosh")["lowest_at"] == pytest.approx(0, abs=1e-9)
    metrics = measure("activation-curves", "tanh")
    assert (metrics["largest"], metrics["smallest"]) == (pytest.approx(1), pytest.approx(-1))


def test_elish_is_swish_above_zero_and_hard_elish_is_not():
    assert measure("activation-curves", "elish")["positive_difference"] < 1e-12
    assert measure("activation-curves", "hard-elish")["positive_difference"] > 0.1
