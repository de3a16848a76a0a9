"""How far apart two samples are, such as the lengths of simulated and of released texts."""

import math
from collections.abc import Hashable, Mapping
from typing import TypeVar

__all__ = ["total_variation"]

Label = TypeVar("Label", bound=Hashable)


def total_variation(first: Mapping[Label, float], second: Mapping[Label, float]) -> float:
    """Half the summed difference of two histograms, each scaled to sum to one.

    Returns
    -------
    float
        0 for equal distributions, 1 for distributions without a common value.

    >>> total_variation({"yes": 1, "no": 1}, {"yes": 3, "no": 1})
    0.25
    """
    totals = sum(first.values()), sum(second.values())
    difference = math.fsum(
        abs(first.get(key, 0) / totals[0] - second.get(key, 0) / totals[1]) for key in {*first, *second}
    )
    return min(1.0, 0.5 * difference)
