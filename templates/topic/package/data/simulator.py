"""Simulated questions: which of two digits occurs more often in a row.

Replace this simulator by one of your source's data. What must stay: the same seed gives the same bytes on
every machine, and an example carries the labels that make the phenomenon measurable (here, which positions
decide).
"""

from collections.abc import Callable

import numpy as np
from reasonlib.TOPIC.data.example import Example

__all__ = ["SIMULATORS", "simulate"]


def simulate(count: int, seed: int, *, length: int = 9) -> list[Example]:
    """Simulate `count` questions.

    Raises
    ------
    ValueError
        If `count` is below 1, or `length` is even or below 1.

    Examples
    --------
    >>> simulate(1, seed=0, length=5)
    [Example(digits=(1, 1, 1, 0, 0), answer=1, support=(0, 1, 2))]
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    if length < 1 or length % 2 == 0:
        raise ValueError(f"length must be odd and at least 1, got {length}")
    rows = np.random.default_rng(seed).integers(0, 2, size=(count, length))
    answers = rows.sum(1) * 2 > length
    return [
        Example(
            digits=tuple(row.tolist()),
            answer=int(answer),
            support=tuple(np.flatnonzero(row == answer).tolist()),
        )
        for row, answer in zip(rows, answers, strict=True)
    ]


# What `reasonlib data simulate TOPIC/rows` calls, by the name of the task.
SIMULATORS: dict[str, Callable[[int, int], list[Example]]] = {"rows": simulate}
