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
(Agarwal et al. 2021). Orderings compare by the differences of runs that share a seed, where three or more do.
`reasonlib.tracking.samples` says what an error is made of.

*Two rows on the same drawn examples* count as if each had drawn its own. Mostly the same examples are hard
for both, and their difference is more certain than stated; but how often both err together is in no record.
Examples count as independent: where several come from one dialogue or document, the error is understated.

References
----------
Agarwal, Schwarzer, Castro, Courville, Bellemare (2021), Deep reinforcement learning at the edge of the
statistical precipice. Patil, Peng, Leek (2016), What should researchers expect when they replicate studies?
Schuirmann (1987), A comparison of the two one-sided tests procedure. Spence, Stanley (2016), Prediction
interval: what to expect when you're expecting ... a replication.
"""

import math
from dataclasses import dataclass

from scipy.special import ndtri  # scipy.stats takes a second to import

from reasonlib.tracking.samples import ALPHA, MIN_RUNS, Error, Sample, fewest_show, share_variance

__all__ = [
    "TIE",
    "Comparison",
    "bar",
    "difference",
    "level",
    "nearness",
    "no_loss",
]

TIE = 1e-6  # of the larger number: what is closer is a tie, and rounding no ordering
_NORMAL = float(ndtri(1 - ALPHA / 2))  # 1.96
_SLACK = 1e-9  # of a comparison with a tolerance: 0.3 - 0.25 is a little less than 0.05


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
        Whether no chance has a part in it: all sides are deterministic, and no examples are drawn.
    alike
        Whether the runs of every random side agree in every bit, so that only their number speaks.
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
    alike: bool = False
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
    drawn = sample.sampling
    if sample.drawn:
        drawn += share_variance(published, published_examples)
    error = sample.error(1 / sample.n, drawn)
    reach = sample.error(1 + 1 / sample.n, drawn)
    least = fewest_show(sample)
    room = max(tolerance, min(_NORMAL * math.sqrt(sample.spread), 2 * tolerance))
    low, high = reach.interval(sample.mean, sample.enough)
    return Comparison(
        kind="level",
        estimate=sample.mean,
        low=low,
        high=high,
        p_for=max(least, error.tail(room + _SLACK - abs(distance))),
        p_against=max(least, reach.tail(abs(distance) - tolerance - _SLACK)),
        enough=sample.enough,
        exact=sample.deterministic and reach.none,
        alike=least > 0,
        better=better == ("higher" if distance > 0 else "lower"),
        holds=abs(distance) <= tolerance + _SLACK,
        asked=(published - tolerance, published + tolerance),
    )


def bar(sample: Sample, bound: float, *, above: bool = True) -> Comparison:
    """Ask whether the mean of our runs lies at or above a bound (or at or below it).

    For statements without a published number, such as "the gradient vanishes", whose bound the ledger states.
    """
    error = sample.error(1 / sample.n, sample.sampling)
    ahead = (sample.mean - bound if above else bound - sample.mean) + _SLACK
    low, high = error.interval(sample.mean, sample.enough)
    least = fewest_show(sample)
    return Comparison(
        kind="bar",
        estimate=sample.mean,
        low=low,
        high=high,
        p_for=max(least, error.tail(ahead)),
        p_against=max(least, error.tail(-ahead)),
        enough=sample.enough,
        exact=sample.deterministic and error.none,
        alike=least > 0,
        holds=ahead >= 0,
        asked=(bound, None) if above else (None, bound),
    )


def difference(high: Sample, low: Sample, *, by: float = 0.0) -> Comparison:
    """Ask whether one row lies above another, by more than `by`.

    It speaks for the claim that the difference is above `by`, and against it that the difference is below 0:
    a lead that is only smaller than asked for contradicts nothing. Runs that share at least three seeds are
    paired; otherwise each row has a part in the error. Two deterministic rows are compared exactly, unless
    the test examples are another draw than the source's own.
    """
    gap, error, least = _gap(high, low)
    tie = abs(gap) <= TIE * max(abs(high.mean), abs(low.mean))
    ahead = gap - by + (_SLACK if by else 0.0)
    enough = high.enough and low.enough
    bounds = error.interval(gap, enough)
    return Comparison(
        kind="difference",
        estimate=gap,
        low=bounds[0],
        high=bounds[1],
        p_for=1.0 if tie else max(least, error.tail(ahead)),
        p_against=1.0 if tie else max(least, error.tail(-gap)),
        enough=enough,
        exact=error.none and not least,
        alike=least > 0,
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
    gap, error, least = _gap(first, second)
    bottom, top = asked
    inside = (gap - bottom if top is None else min(gap - bottom, top - gap)) + _SLACK
    enough = first.enough and second.enough
    low, high = error.interval(gap, enough)
    return Comparison(
        kind=kind,
        estimate=gap,
        low=low,
        high=high,
        p_for=max(least, error.tail(inside)),
        p_against=max(least, error.tail(-inside)),
        enough=enough,
        exact=error.none and not least,
        alike=least > 0,
        holds=inside >= 0,
        asked=asked,
    )


def _gap(high: Sample, low: Sample) -> tuple[float, Error, float]:
    """Difference of two rows, its error, and the least p-value where runs agree in every bit."""
    gap = high.mean - low.mean
    floor = _apart(gap, high, low)
    drawn = [(side.sampling, math.inf) for side in (high, low)]
    least = fewest_show(high, low)
    sides = [side for side in (high, low) if not side.deterministic]
    shared = sorted(set(high.seeds) & set(low.seeds)) if len(sides) == 2 else []
    if len(shared) >= MIN_RUNS:
        left, right = (dict(zip(side.seeds, side.values, strict=True)) for side in sides)
        pairs = Sample(values=tuple(left[seed] - right[seed] for seed in shared))
        gap, sides, least = pairs.mean, [pairs], least or fewest_show(pairs)
    runs = []
    for side in sides:
        spread, freedom = side.varies(floor / len(sides))
        runs.append((spread / side.n, freedom))
    return gap, Error((*runs, *drawn)), least


def _apart(gap: float, high: Sample, low: Sample) -> float:
    """Least variance of the difference of two shares of the same examples: at least `gap` of them differ."""
    if high.examples is None or low.examples is None:
        return 0.0
    return share_variance(abs(gap), min(high.examples, low.examples))
