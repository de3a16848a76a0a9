"""The runs of a row as a sample, and how far an estimate that depends on them may lie off.

Methods
-------
*An error has parts* that are not known equally well (`Error`). Runs vary by their seeds; that variance is
estimated from a few numbers, so its quantile is Student's with n - 1 degrees of freedom. The test set is a
sample, too, where it is another draw than the source's own (Miller 2024); its variance is computed from all
its examples, so its quantile is the normal one. Banerjee (1960) joins the parts: the half-width is the root
of the sum of their squares, each quantile times standard error, and the interval covers at least as often
as stated, whatever the true variances and however few the runs. The reason is short: the distribution
function of a squared normal variable is concave, so the coverage is at least the weighted mean of the
coverages that each part would have alone, and each of these is exact. One number of degrees of freedom for
all parts, by Welch and Satterthwaite, is less wide but not safe for few runs: where they agree by luck, the
many degrees of freedom of the test set count for everything, and in simulation up to 7.5 % of 95 %
intervals miss at three runs, and 6 % at ten beside three.

*Runs that agree by luck*, or because a score takes few values, may show next to no variance. So it counts
as at least that of a share of the test examples, had each been answered by chance (`share_variance`).
This floor is a guard and no estimate: it may lift a variance and leaves its degrees of freedom as they are.
Hence no p-value is below that of the t-test, and the error rate is kept whether or not the floor is right.

*Runs that agree in every bit* say nothing of a spread, and a t-test of them has no base: of a system of which
five runs in eight are perfect, three of four triples are not all perfect, but the fourth would look exact.
What such runs do show is their number, so no p-value is below `fewest_show`.

References
----------
Agresti, Coull (1998), Approximate is better than "exact" for interval estimation of binomial proportions.
Banerjee (1960), Approximate confidence interval for linear functions of means of k populations when the
population variances are not equal. Miller (2024), Adding error bars to evals.
"""

import math
import statistics
from dataclasses import dataclass

from scipy.special import ndtr, ndtri, stdtr, stdtrit  # scipy.stats takes a second to import

__all__ = ["ALPHA", "MIN_RUNS", "Error", "Sample", "fewest_show", "share_variance"]

ALPHA = 0.05  # two-sided, of every decision; 95 % intervals
MIN_RUNS = 3  # of a random system: fewer never decide
_LEAST = 1e-100  # probability that is told from 0 where parts are joined


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What the runs of one row measured.

    Attributes
    ----------
    values
        The metric, one number a run.
    seeds
        Of the runs, in the same order, to pair them with another row's; empty if they pair with nothing.
    deterministic
        Whether another run would give the same bits. Such a system needs one run.
    examples
        Number of test examples where the metric is a share of them; None otherwise.
    margin
        Half the width of the metric's 95 % interval over test examples, where the runs measured it, as they
        do for BLEU by bootstrap; None otherwise.
    drawn
        Whether the test examples are another draw than the source's own, so that their sampling error counts.
    """

    values: tuple[float, ...]
    seeds: tuple[int, ...] = ()
    deterministic: bool = False
    examples: int | None = None
    margin: float | None = None
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
    def alike(self) -> bool:
        """Whether all runs agree, but for what rounding does to a difference."""
        return max(self.values) - min(self.values) <= 1e-9 * max(map(abs, self.values))

    @property
    def enough(self) -> bool:
        """Whether the runs may decide anything."""
        return self.deterministic or self.n >= MIN_RUNS

    @property
    def sampling(self) -> float:
        """Variance by the draw of the test examples, which all runs share; 0 where they count as fixed."""
        if not self.drawn:
            return 0.0
        if self.margin is not None:
            return (self.margin / _quantile(1 - ALPHA / 2, math.inf)) ** 2
        return share_variance(self.mean, self.examples)

    @property
    def spread(self) -> float:
        """Variance of one run as it was seen."""
        return 0.0 if self.deterministic or self.n < 2 else statistics.variance(self.values)

    def varies(self, floor: float) -> tuple[float, float]:
        """Return the variance of one run, at least `floor`, and its degrees of freedom."""
        return max(self.spread, floor), max(1, self.n - 1)

    def error(self, scale: float, drawn: float) -> "Error":
        """Return the error of `scale` times one run and of drawn examples, whose variance is `drawn`."""
        if self.deterministic:
            return Error(((drawn, math.inf),))
        spread, freedom = self.varies(share_variance(self.mean, self.examples))
        return Error(((scale * spread, freedom), (drawn, math.inf)))


@dataclass(frozen=True)
class Error:
    """How far an estimate may lie off: variances, each with its degrees of freedom (Banerjee 1960)."""

    parts: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(part for part in self.parts if part[0] > 0))

    @property
    def none(self) -> bool:
        """Whether chance has no part in the estimate."""
        return not self.parts

    def half(self, tail: float) -> float:
        """Return how far the estimate may lie off on one side with probability `tail`, below 0.5."""
        return math.sqrt(
            math.fsum(variance * _quantile(tail, freedom) ** 2 for variance, freedom in self.parts)
        )

    def tail(self, ahead: float) -> float:
        """Return the probability of lying so far ahead by chance; exact without an error."""
        if self.none:
            return 0.0 if ahead > 0 else 1.0
        if ahead < 0:
            return 1.0 - self.tail(-ahead)
        ratio = -ahead / math.sqrt(math.fsum(variance for variance, _ in self.parts))
        alone = [_probability(ratio, freedom) for _, freedom in self.parts]
        low, high = max(min(alone), _LEAST), max(alone)  # as if one part were all of it
        while high - low > 1e-7 * high:
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (middle, high) if self.half(middle) > ahead else (low, middle)
        return high

    def interval(self, centre: float, enough: bool) -> tuple[float | None, float | None]:
        """Return the two-sided interval of level 1 - ALPHA; none for too few runs."""
        if not enough:
            return None, None
        half = self.half(ALPHA / 2)
        return centre - half, centre + half


def fewest_show(*samples: Sample) -> float:
    """Return the least p-value that runs which agree in every bit can have; 0 where a spread was seen.

    Beside a number it is that of the sign test: a coin falls on one side n times with probability 2 ** -n.
    For two rows it is that of the exact test of ranks: of all orders of their runs, one has this row on top.

    Examples
    --------
    >>> three, five = (Sample(values=(1.0,) * n) for n in (3, 5))
    >>> fewest_show(five), fewest_show(three, three), fewest_show(Sample(values=(1.0, 0.9)))
    (0.03125, 0.05, 0.0)
    """
    random = [sample for sample in samples if not sample.deterministic]
    if not random or not all(sample.alike for sample in random):
        return 0.0
    counts = [sample.n for sample in random]
    return 1 / math.comb(sum(counts), counts[0]) if len(counts) == 2 else 0.5 ** counts[0]


# Parts ------------------------------------------------------------------------------------------------------


def share_variance(share: float, examples: int | None) -> float:
    """Variance of a share of `examples`, two successes and two failures added (Agresti and Coull 1998)."""
    if examples is None or not 0 <= share <= 1:
        return 0.0
    share = (share * examples + 2) / (examples + 4)
    return share * (1 - share) / examples


def _quantile(tail: float, freedom: float) -> float:
    """Quantile of Student's distribution, or of the normal one."""
    return float(ndtri(tail) if math.isinf(freedom) else stdtrit(freedom, tail))


def _probability(ratio: float, freedom: float) -> float:
    """Probability of a smaller value: the inverse of `_quantile`."""
    return float(ndtr(ratio) if math.isinf(freedom) else stdtr(freedom, ratio))
