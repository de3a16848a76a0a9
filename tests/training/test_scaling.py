"""The exponent of a cost is its slope on logarithmic axes."""

import pytest

from reasonlib.training.scaling import exponent


@pytest.mark.parametrize(
    ("costs", "power"), [([5.0, 5.0, 5.0], 0), ([3.0, 6.0, 12.0], 1), ([3.0, 12.0, 48.0], 2)]
)
def test_an_exponent_is_a_slope(costs, power):
    assert exponent((1, 2, 4), costs) == pytest.approx(power)
