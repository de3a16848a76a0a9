"""How far apart two histograms are."""

import pytest

from reasonlib.data.distributions import total_variation


def test_total_variation_of_histograms():
    assert total_variation({"a": 2}, {"a": 5}) == 0
    assert total_variation({"a": 1}, {"b": 1}) == 1
    assert total_variation({"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 2}) == pytest.approx(0.5)
