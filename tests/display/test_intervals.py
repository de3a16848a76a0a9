"""The 95 % interval of a mean over runs, as numbers and as columns of a line."""

import pytest
from scipy import stats

from reasonlib.display.intervals import Spread, band, interval, spread
from reasonlib.tracking.records import Summary

VALUES = [0.4, 0.6, 0.55]


def test_the_interval_is_that_of_student():
    low, high = interval(0.5, 0.1, 4)
    assert (low, high) == pytest.approx((0.5 - 3.182446 * 0.05, 0.5 + 3.182446 * 0.05))
    assert interval(0.5, None, 4) is interval(0.5, 0.1, 1) is None


def test_a_spread_is_a_mean_and_half_of_its_interval():
    low, high = stats.t.interval(0.95, 2, loc=sum(VALUES) / 3, scale=stats.sem(VALUES))
    for runs in (VALUES, Summary.of(VALUES)):
        ours = spread(runs)
        assert (ours.mean - ours.half, ours.mean + ours.half) == pytest.approx((low, high))
    points = spread(VALUES, factor=100)
    assert (points.mean, points.half) == pytest.approx((100 * ours.mean, 100 * ours.half))


def test_one_run_has_no_interval():
    assert spread([0.4]) == Spread(0.4, None) and str(spread([0.4])) == "0.4"
    assert band([1, 2], [Spread(0.5, 0.25), Spread(0.4)]) == ([1, 2], [0.5, 0.4], [0.25, 0.4], [0.75, 0.4])
