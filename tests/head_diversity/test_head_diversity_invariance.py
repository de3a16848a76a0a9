"""Which linear maps the measures of similarity do not see; the cosine of random vectors."""

import math

import pytest

from reasonlib.head_diversity.experiments import EXPERIMENTS
from reasonlib.tracking.runner import run


def measure(row):
    (result,) = run(EXPERIMENTS["head_diversity/invariance"], rows=row, scale="smoke", progress=False)
    return result.metrics


@pytest.mark.parametrize("row", ["rotation", "scaling"])
def test_rotations_and_isotropic_scaling_change_nothing(row):
    assert measure(row) == pytest.approx({"svcca": 1, "cca": 1, "cka": 1, "cka_rbf": 1})


def test_an_affine_map_changes_all_but_cca():
    metrics = measure("affine")
    assert metrics.pop("cca") == pytest.approx(1)
    assert max(metrics.values()) < 0.999


@pytest.mark.parametrize("width", [8, 512])
def test_random_vectors_are_nearly_at_right_angles_in_many_dimensions(width):
    experiment = EXPERIMENTS["head_diversity/random_vectors"]
    (result,) = run(experiment, rows=f"d{width}", scale="quick", progress=False)
    assert result.metrics["cosine"] == pytest.approx((2 / (math.pi * width)) ** 0.5, rel=0.1)
