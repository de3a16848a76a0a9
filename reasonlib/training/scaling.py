"""How a cost grows with the size of what it is spent on."""

import math
from collections.abc import Sequence

__all__ = ["exponent"]


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Fit cost = c * size ** e by least squares on logarithms and return e.

    Examples
    --------
    >>> round(exponent((4, 8, 16), [32.0, 128.0, 512.0]), 6)
    2.0
    """
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    over = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return over / sum((a - mean_x) ** 2 for a in x)
