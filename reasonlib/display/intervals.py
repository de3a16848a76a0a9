"""The spread of runs as every figure draws it: the 95 % interval of a mean over seeds.

It is the interval of Student's t distribution, over two runs or more. A single run has no interval, and
nothing is drawn around it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

from reasonlib.tracking.records import Summary

__all__ = ["Spread", "band", "interval", "spread"]


@dataclass(frozen=True)
class Spread:
    """A mean over runs and half of its 95 % interval, None for a single run."""

    mean: float
    half: float | None = None

    def __str__(self) -> str:
        return f"{self.mean:.3g}" + (f" ± {self.half:.2g}" if self.half else "")


def interval(mean: float, sd: float | None, n: int | None) -> tuple[float, float] | None:
    """Compute the 95 % t interval of a mean over runs; None for a single run.

    >>> interval(0.5, 0.1, 4)
    (0.3408776..., 0.6591223...)
    """
    if not sd or not n or n < 2:
        return None
    reach = float(stdtrit(n - 1, 0.975)) * sd / math.sqrt(n)
    return mean - reach, mean + reach


def spread(runs: Summary | Sequence[float], *, factor: float = 1.0) -> Spread:
    """Compute what `plotting.bars` draws of some runs.

    Parameters
    ----------
    runs
        A metric of a group of records, or one value a run.
    factor
        Multiplies the values, such as 100 for points.

    Examples
    --------
    >>> print(spread([0.4, 0.6]))
    0.5 ± 1.3
    >>> spread([0.4], factor=100)
    Spread(mean=40.0, half=None)
    """
    summary = runs if isinstance(runs, Summary) else Summary.of(runs)
    ends = interval(summary.mean, summary.sd, summary.n)
    half = None if ends is None else factor * (ends[1] - summary.mean)
    return Spread(factor * summary.mean, half)


def band(
    across: Sequence[float], spreads: Sequence[Spread]
) -> tuple[list[float], list[float], list[float], list[float]]:
    """Return the columns of a line of `plotting.lines`: positions, means, and the two ends of the interval.

    Parameters
    ----------
    across
        Positions on the horizontal axis.
    spreads
        One a position; both ends of a single run are its value.
    """
    low = [value.mean - (value.half or 0.0) for value in spreads]
    high = [value.mean + (value.half or 0.0) for value in spreads]
    return list(across), [value.mean for value in spreads], low, high
