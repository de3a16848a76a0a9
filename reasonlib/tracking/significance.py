"""How strongly the runs of a row speak for a published number, a bound or an ordering, and against it.

::

    Sample (the runs of a row) --level, bar, difference, nearness, no_loss--> Comparison

Nothing here knows files, records or topics; `reasonlib.tracking.judging` turns the comparisons of a claim
into a verdict.

Methods
-------
A published number is one run of somebody else's. Whether it could be a run of ours is asked of the 95 %
*prediction interval* for one more run (Patil, Peng and Leek 2016; Spence and Stanley 2016), which is wider
than the confidence interval of our mean by the spread of that one run. That both *agree* is not the absence
of a difference: it is shown by equivalence, two one-sided tests at 5 % (Schuirmann 1987), so that few runs
cannot agree by being vague. Few runs of a random system carry t intervals and no point estimates alone
(Agarwal et al. 2021). Orderings use the paired t interval where rows share seeds, else Welch's.

References
----------
Agarwal, Schwarzer, Castro, Courville, Bellemare (2021), Deep reinforcement learning at the edge of the
statistical precipice. Patil, Peng, Leek (2016), What should researchers expect when they replicate studies?
Schuirmann (1987), A comparison of the two one-sided tests procedure. Spence, Stanley (2016), Prediction
interval: what to expect when you're expecting ... a replication.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.special import ndtr, ndtri, stdtr, stdtrit  # scipy.stats takes a second to import

__all__ = [
    "ALPHA",
    "MIN_RUNS",
    "TIE",
    "Comparison",
    "Sample",
    "bar",
    "difference",
    "level",
    "nearness",
    "no_loss",
]

ALPHA = 0.05  # two-sided, of every decision; 95 % intervals
MIN_RUNS = 3  # of a random system: fewer never decide
TIE = 1e-6  # of the larger number: what is closer is a tie, and rounding no ordering
_NORMAL = float(ndtri(1 - ALPHA / 2))  # 1.96
_SLACK = 1e-9  # of a comparison with a tolerance: 0.3 - 0.25 is a little less than 0.05


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What the runs of one row measured.

    Attributes
    ----------
    values
        One number a run.
    seeds
        Of the runs, in the same order, to pair them with another row's; empty if they pair with nothing.
    deterministic
        Whether another run would give the same bits. Such a system needs one run.
    examples
        Number of test examples where the metric is a share of them; None otherwise.
    drawn
        Whether the test examples are another draw than the source's own, so that their sampling error counts.
    """

    values: tuple[float, ...]
    seeds: tuple[int, ...] = ()
    deterministic: bool = False
    examples: int | None = None
    drawn: bool = False

    def __post_init__(self) -> None:
        if not self.values or not all(math.isfinite(value) for value in self.values):
            raise ValueError(f"values must be at least one finite number, got {self.values}")
        if self.seeds and len(self.seeds) != len(self.values):
            raise ValueError(
                f"seeds must be one a value, got {len(self.seeds)} for {len(self.values)} values"
            )
        if self.examples is not None and self.examples < 1:
            raise ValueError(f"examples must be at least 1, got {self.examples}")

    @property
    def n(self) -> int:
        """Number of runs."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """Mean of the runs."""
        return math.fsum(self.values) / self.n

    @property
    def enough(self) -> bool:
        """Whether the runs may decide anything."""
        return self.deterministic or self.n >= MIN_RUNS

    def variance(self, scale: float) -> list[tuple[float, float]]:
        """Variance of one run times `scale`, in parts with their degrees of freedom.

        The variance over seeds has n - 1. It is filled up to that of a share of `examples` that are answered
        by chance, which is known (infinite freedom), so that three equal runs do not pass for a system
        without spread. Empty for a deterministic system.
        """
        if self.deterministic:
            return []
        spread = _spread(self)
        lack = max(0.0, _binomial(self.mean, self.examples) - spread)
        return [(scale * spread, self.n - 1), (scale * lack, math.inf)]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Our runs beside a published level, a bound, or another row.

    Attributes
    ----------
    kind
        ``level``, ``bar``, ``difference``, ``nearness`` or ``no loss``.
    estimate
        Our mean for a level or a bar; the difference of the two means otherwise.
    low, high
        95 % interval: for one more run (level), of the mean (bar), of the difference. None where the runs are
        too few for one.
    p_for, p_against
        One-sided: how probable evidence as strong as ours would be if the claim were just false, just true.
    enough
        Whether every side is deterministic or has `MIN_RUNS` runs.
    exact
        Whether no chance is involved: all sides are deterministic.
    tie
        Whether the sides of a difference are equal.
    better
        Whether our level deviates from the published one on the better side.
    holds
        Whether our means satisfy the claim, chance aside.
    asked
        Where the estimate must lie for the claim to hold, from and to; None where it may go on for ever.
    """

    kind: str
    estimate: float
    low: float | None
    high: float | None
    p_for: float
    p_against: float
    enough: bool
    exact: bool = False
    tie: bool = False
    better: bool = False
    holds: bool = False
    asked: tuple[float | None, float | None] = (None, None)


def level(
    sample: Sample,
    published: float,
    *,
    tolerance: float,
    better: str = "higher",
    published_examples: int | None = None,
) -> Comparison:
    """Compare our runs with a published number.

    They agree if the mean lies within `tolerance` of the published number beyond doubt. Where one run of ours
    varies by more than that, so may the one run that was published: the room is then 1.96 standard deviations
    of a run, at most twice the tolerance. They disagree if the prediction interval for one more run lies
    wholly beyond the tolerance. An interval between the two decides nothing.

    Parameters
    ----------
    sample
        Our runs.
    published
        The source's number.
    tolerance
        What the table allows between two runs that count as the same result.
    better
        Which side of the published number is the better one: ``higher``, ``lower`` or ``neither``.
    published_examples
        Test examples behind the published number, whose sampling error counts where ours are another draw.
    """
    if tolerance < 0:
        raise ValueError(f"tolerance must be at least 0, got {tolerance}")
    distance = sample.mean - published
    drawn = []
    if sample.drawn:
        shares = ((sample.mean, sample.examples), (published, published_examples))
        drawn = [(_binomial(share, examples), math.inf) for share, examples in shares]
    error, error_freedom = _error([*sample.variance(1 / sample.n), *drawn])
    reach, reach_freedom = _error([*sample.variance(1 + 1 / sample.n), *drawn])
    room = max(tolerance, min(_NORMAL * math.sqrt(_spread(sample)), 2 * tolerance))
    interval = _interval(sample.mean, reach, reach_freedom, sample.enough)
    return Comparison(
        kind="level",
        estimate=sample.mean,
        low=interval[0],
        high=interval[1],
        p_for=_tail(room + _SLACK - abs(distance), error, error_freedom),
        p_against=_tail(abs(distance) - tolerance - _SLACK, reach, reach_freedom),
        enough=sample.enough,
        exact=sample.deterministic and reach == 0,
        better=better == ("higher" if distance > 0 else "lower"),
        holds=abs(distance) <= tolerance + _SLACK,
        asked=(published - tolerance, published + tolerance),
    )


def bar(sample: Sample, bound: float, *, above: bool = True) -> Comparison:
    """Ask whether the mean of our runs lies at or above a bound (or at or below it).

    For statements without a published number, such as "the gradient vanishes", whose bound the ledger states.
    """
    sampling = _binomial(sample.mean, sample.examples) if sample.drawn else 0.0
    error, freedom = _error([*sample.variance(1 / sample.n), (sampling, math.inf)])
    ahead = (sample.mean - bound if above else bound - sample.mean) + _SLACK
    low, high = _interval(sample.mean, error, freedom, sample.enough)
    return Comparison(
        kind="bar",
        estimate=sample.mean,
        low=low,
        high=high,
        p_for=_tail(ahead, error, freedom),
        p_against=_tail(-ahead, error, freedom),
        enough=sample.enough,
        exact=sample.deterministic and not sampling,
        holds=ahead >= 0,
        asked=(bound, None) if above else (None, bound),
    )


def difference(high: Sample, low: Sample, *, by: float = 0.0) -> Comparison:
    """Ask whether one row lies above another, by more than `by`.

    It speaks for the claim that the difference is above `by`, and against it that the difference is below 0:
    a lead that is only smaller than asked for contradicts nothing. Runs that share at least three seeds are
    paired; otherwise the interval is Welch's. Two deterministic rows are compared exactly, unless the test
    examples are another draw than the source's own.
    """
    gap, error, freedom = _gap(high, low)
    tie = abs(gap) <= TIE * max(abs(high.mean), abs(low.mean))
    ahead = gap - by + (_SLACK if by else 0.0)
    enough = high.enough and low.enough
    bounds = _interval(gap, error, freedom, enough)
    return Comparison(
        kind="difference",
        estimate=gap,
        low=bounds[0],
        high=bounds[1],
        p_for=1.0 if tie else _tail(ahead, error, freedom),
        p_against=1.0 if tie else _tail(-gap, error, freedom),
        enough=enough,
        exact=high.deterministic and low.deterministic and error == 0,
        tie=tie,
        holds=not tie and ahead > 0,
        asked=(by, None),
    )


def nearness(first: Sample, second: Sample, *, by: float) -> Comparison:
    """Ask whether two rows lie no further apart than `by`: two one-sided tests, as for a level."""
    return _within("nearness", first, second, (-by, by))


def no_loss(first: Sample, second: Sample, *, by: float) -> Comparison:
    """Ask whether a row is below another by no more than `by`: a one-sided test of non-inferiority.

    It speaks for the claim that the difference is above -`by`, and against it that it is below. Equal rows
    satisfy it: a tie is evidence for it, not against.
    """
    return _within("no loss", first, second, (-by, None))


def _within(kind: str, first: Sample, second: Sample, asked: tuple[float, float | None]) -> Comparison:
    """Compare two rows, whose difference should lie between two bounds, or above the first of them."""
    gap, error, freedom = _gap(first, second)
    least, most = asked
    inside = (gap - least if most is None else min(gap - least, most - gap)) + _SLACK
    enough = first.enough and second.enough
    low, high = _interval(gap, error, freedom, enough)
    return Comparison(
        kind=kind,
        estimate=gap,
        low=low,
        high=high,
        p_for=_tail(inside, error, freedom),
        p_against=_tail(-inside, error, freedom),
        enough=enough,
        exact=first.deterministic and second.deterministic and error == 0,
        holds=inside >= 0,
        asked=asked,
    )


def _gap(high: Sample, low: Sample) -> tuple[float, float, float]:
    """Difference of two rows, its standard error and the degrees of freedom."""
    gap = high.mean - low.mean
    floor = _apart(gap, high, low)
    sides = [side for side in (high, low) if not side.deterministic]
    shared = sorted(set(high.seeds) & set(low.seeds)) if len(sides) == 2 else []
    if len(shared) >= MIN_RUNS:
        left, right = (dict(zip(side.seeds, side.values, strict=True)) for side in sides)
        gaps = [left[seed] - right[seed] for seed in shared]
        gap = math.fsum(gaps) / len(gaps)
        parts = _filled([(statistics.variance(gaps), len(gaps), len(gaps) - 1)], floor)
    else:
        parts = _filled([(_spread(side), side.n, side.n - 1) for side in sides], floor)
    if high.drawn or low.drawn:
        parts.append((floor, math.inf))
    return gap, *_error(parts)


# Parts ------------------------------------------------------------------------------------------------------


def _binomial(share: float, examples: int | None) -> float:
    """Variance of a share of `examples`, two successes and two failures added (Agresti and Coull 1998)."""
    if examples is None or not 0 <= share <= 1:
        return 0.0
    share = (share * examples + 2) / (examples + 4)
    return share * (1 - share) / examples


def _apart(gap: float, high: Sample, low: Sample) -> float:
    """Least variance of the difference of two shares of the same examples: at least `gap` of them differ."""
    if high.examples is None or low.examples is None:
        return 0.0
    return _binomial(abs(gap), min(high.examples, low.examples))


def _filled(sides: Sequence[tuple[float, int, float]], floor: float) -> list[tuple[float, float]]:
    """Divide variances of one run by the number of runs, filled up to the known `floor`."""
    lack = max(0.0, floor - math.fsum(spread for spread, _, _ in sides)) / max(1, len(sides))
    parts: list[tuple[float, float]] = []
    for spread, runs, freedom in sides:
        parts += [(spread / runs, freedom), (lack / runs, math.inf)]
    return parts


def _spread(sample: Sample) -> float:
    """Variance of one run as it was seen."""
    return 0.0 if sample.deterministic or sample.n < 2 else statistics.variance(sample.values)


def _error(parts: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Join variances, each with its degrees of freedom: standard error, and Satterthwaite's freedom."""
    parts = [(variance, freedom) for variance, freedom in parts if variance > 0]
    total = math.fsum(variance for variance, _ in parts)
    lost = math.fsum(variance**2 / max(freedom, 1) for variance, freedom in parts)
    return math.sqrt(total), total**2 / lost if lost > 0 else math.inf


def _tail(ahead: float, error: float, freedom: float) -> float:
    """Probability of lying so far ahead by chance; exact without an error."""
    if error == 0:
        return 0.0 if ahead > 0 else 1.0
    ratio = -ahead / error
    return float(ndtr(ratio) if math.isinf(freedom) else stdtr(freedom, ratio))


def _interval(centre: float, error: float, freedom: float, enough: bool) -> tuple[float | None, float | None]:
    """Return the two-sided interval of level 1 - ALPHA; none for too few runs."""
    if not enough:
        return None, None
    quantile = ndtri(1 - ALPHA / 2) if math.isinf(freedom) else stdtrit(freedom, 1 - ALPHA / 2)
    half = float(quantile) * error
    return centre - half, centre + half
