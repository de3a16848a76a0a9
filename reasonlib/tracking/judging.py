"""From comparisons to a verdict: the one rule for all topics.

::

    Comparison --p_value--> one p-value a claim --holm--> corrected for its table --judge--> verdict

The comparisons of one claim are joined by Simes (1986), those of one table corrected by Holm (1979).

References
----------
Holm (1979), A simple sequentially rejective multiple test procedure. Simes (1986), An improved Bonferroni
procedure.
"""

from collections.abc import Iterable, Sequence

from reasonlib.tracking.samples import ALPHA, MIN_RUNS
from reasonlib.tracking.significance import Comparison

__all__ = ["VERDICTS", "doubt", "holm", "judge", "p_value"]

VERDICTS = ("reproduced", "exceeded", "supported", "inconclusive", "challenged", "contradicted", "not run")

AGREEMENTS = ("level", "nearness")  # kinds of comparison that are read one by one: not corrected


def p_value(comparisons: Sequence[Comparison]) -> float | None:
    """Return the two-sided p-value of what the comparisons of one claim decide together.

    For the claim the weakest comparison speaks, since every one must hold; against it all of them, by Simes.
    None for what takes no place in a table's correction: too few runs, comparisons in which chance has no
    part, and those that ask only whether numbers agree.
    """
    if not comparisons or not all(part.enough for part in comparisons) or all(p.exact for p in comparisons):
        return None
    if _alone(comparisons):
        return None
    against = _simes([part.p_against for part in comparisons])
    if against <= ALPHA / 2:
        return 2 * against
    ordered = [part.p_for for part in comparisons if part.kind not in AGREEMENTS]
    return min(1.0, 2 * min(against, max(ordered, default=1.0)))


def holm(values: Iterable[float | None]) -> list[float | None]:
    """Correct the p-values of one table (Holm 1979); None stays None and does not count.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    values = list(values)
    order = sorted((value, index) for index, value in enumerate(values) if value is not None)
    adjusted: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, (value, index) in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * value))
        adjusted[index] = largest
    return adjusted


def judge(comparisons: Sequence[Comparison], *, same_conditions: bool, adjusted: float | None = None) -> str:
    """Give the verdict on a claim: the one rule.

    Parameters
    ----------
    comparisons
        Everything the claim asks for: at most one level, any number of bars and differences. Empty if nothing
        was measured, or there is nothing to compare with.
    same_conditions
        Whether the runs have the source's conditions: released or regenerated data, the settings it prints,
        and an end where the source ends.
    adjusted
        The claim's `p_value` after `holm` over its table; the p-value itself if None.

    Returns
    -------
    str
        ==================================================  ==============  ==============
        what the comparisons say                            same conditions otherwise
        ==================================================  ==============  ==============
        every one holds beyond chance                       reproduced      supported
        a level fails beyond chance, on the better side     exceeded        challenged
        any other fails beyond chance                       contradicted    challenged
        fewer than three runs of a random system            inconclusive    inconclusive
        a tie                                               inconclusive    inconclusive
        an interval that holds both answers                 inconclusive    inconclusive
        nothing was measured, or nothing to compare with    not run         not run
        ==================================================  ==============  ==============

    Notes
    -----
    *Beyond chance*: the corrected p-value is at most 0.05. Whether two numbers agree (a level, nearness) is
    read number by number: both that they do and that they do not are tested at 5 %, without correction for
    the other numbers of the table. Exact comparisons, in which chance has no part, are not tested.
    """
    if not comparisons:
        return "not run"
    if not all(part.enough for part in comparisons):
        return "inconclusive"
    p = p_value(comparisons) if adjusted is None else adjusted
    beyond = _alone(comparisons) or (p is not None and p <= ALPHA)
    exact = all(part.exact for part in comparisons)
    against = _simes([part.p_against for part in comparisons])
    ordered = max((part.p_for for part in comparisons if part.kind not in AGREEMENTS), default=None)
    if (exact or beyond) and against <= ALPHA / 2:
        failing = [part for part in comparisons if part.p_against <= ALPHA / 2]
        if failing and all(part.kind == "level" and part.better for part in failing):
            return "exceeded" if same_conditions else "challenged"
        return "contradicted" if same_conditions else "challenged"
    agree = all(part.p_for <= ALPHA for part in comparisons if part.kind in AGREEMENTS)
    if agree and against > ALPHA / 2 and (ordered is None or ((exact or beyond) and ordered <= ALPHA / 2)):
        return "reproduced" if same_conditions else "supported"
    return "inconclusive"


def doubt(comparisons: Sequence[Comparison]) -> str:
    """Say in a few words why comparisons that were measured decide nothing."""
    if not all(part.enough for part in comparisons):
        return f"fewer than {MIN_RUNS} runs of a system that varies from run to run"
    if any(part.tie for part in comparisons):
        return "a tie"
    if any(part.alike for part in comparisons):
        return "runs that agree in every digit, too few to show how often another would not"
    if judge(comparisons, same_conditions=True) != "inconclusive":
        return "significant by itself, but not after correction for the other comparisons of its table"
    if any(_short(part) for part in comparisons):
        return "the difference is smaller than asked for, but not clearly the other way round"
    return "the interval includes values for and against"


def _short(part: Comparison) -> bool:
    """Whether the whole interval of a difference lies below what is asked for."""
    least = part.asked[0]
    return part.kind == "difference" and least is not None and part.high is not None and part.high < least


def _alone(comparisons: Sequence[Comparison]) -> bool:
    """Whether nothing is asked but whether numbers agree."""
    return all(part.kind in AGREEMENTS for part in comparisons)


def _simes(values: Sequence[float]) -> float:
    """Join p-values of which any may count (Simes 1986)."""
    return min(len(values) * value / rank for rank, value in enumerate(sorted(values), start=1))
