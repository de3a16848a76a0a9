"""The problems that checks of several chapters try an answer on."""

from functools import cache

from reasonlib.visual_iq.data.datasets import load
from reasonlib.visual_iq.data.example import Problems

__all__ = ["some_problems"]


@cache
def some_problems(answers: str, number: int = 350, seed: int = 0) -> Problems:
    """Take a few held-out problems of all layouts: what the checks try an answer on.

    Parameters
    ----------
    answers
        ``raven``, ``i-raven`` or ``raven-fair``.
    number
        How many in all; a multiple of seven takes as many of each layout.
    seed
        Draws them.
    """
    return load(answers, per_configuration=max(10, number // 7 * 5), seed=70_001 + seed).test
