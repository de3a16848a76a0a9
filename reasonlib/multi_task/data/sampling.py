r"""Which task's mini-batch comes next (source, algorithm 1).

The source packs every set into mini-batches, merges and shuffles them, and so visits each task in proportion
to its size. Here a task of :math:`N_t` mini-batches is visited with a share

.. math:: p_t = \frac{N_t^{1/T}}{\sum_s N_s^{1/T}}

of the same number of steps: T = 1 is the source's rule, T = 2 the square root, a large T gives equal shares.
A small task that is visited more often than it has batches starts again in a new order.
"""

from collections.abc import Mapping, Sequence

import numpy as np

__all__ = ["RULES", "plan", "shares"]

RULES: Mapping[str, float] = {
    "proportional": 1.0,
    "square-root": 2.0,
    "temperature": 5.0,
    "uniform": float("inf"),
}
"""Name of a rule to its temperature T."""


def shares(sizes: Sequence[int], rule: str | float = "proportional") -> np.ndarray:
    """Return the share of the steps that each task gets.

    Parameters
    ----------
    sizes
        Mini-batches of each task, N.
    rule
        A name in `RULES`, or a temperature.

    Raises
    ------
    ValueError
        If a size is below 1, there is no such rule, or the temperature is below 1.

    Examples
    --------
    >>> shares([900, 100]).tolist(), shares([900, 100], "square-root").tolist()
    ([0.9, 0.1], [0.75, 0.25])
    """
    if not len(sizes) or min(sizes) < 1:
        raise ValueError(f"sizes must be at least 1, got {list(sizes)}")
    if isinstance(rule, str) and rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)} or a temperature, got {rule!r}")
    temperature = RULES[rule] if isinstance(rule, str) else float(rule)
    if not temperature >= 1:
        raise ValueError(f"temperature must be at least 1, got {temperature}")
    # excerpt: sampling
    weights = np.asarray(sizes, dtype=np.float64) ** (1 / temperature)
    return weights / weights.sum()
    # end excerpt


def plan(
    sizes: Sequence[int], *, rule: str | float = "proportional", seed: int = 0, epoch: int = 0
) -> list[int]:
    """List the tasks of an epoch's steps, shuffled; there are as many steps as mini-batches in all.

    Each task gets its share, rounded so that every task comes at least once and the sum is kept. With the
    rule ``proportional`` each task comes exactly once for each of its mini-batches.

    Parameters
    ----------
    sizes
        Mini-batches of each task.
    rule
        As of `shares`.
    seed, epoch
        Draw the order.

    Examples
    --------
    >>> sorted(plan([3, 1], seed=0))
    [0, 0, 0, 1]
    """
    total = max(sum(sizes), len(sizes))
    expected = shares(sizes, rule) * total
    counts = np.maximum(1, np.floor(expected)).astype(int)
    rest = np.argsort(counts - expected, kind="stable")  # those that lost most by rounding come first
    for number in range(total - int(counts.sum())):
        counts[rest[number % len(rest)]] += 1
    while counts.sum() > total:
        counts[int(counts.argmax())] -= 1
    steps = np.repeat(np.arange(len(sizes)), counts)
    return [int(task) for task in np.random.default_rng((seed, epoch)).permutation(steps)]
