"""The whole set: ten thousand problems of each configuration, split as the released one.

Source: Zhang et al. (2019), "RAVEN: A Dataset for Relational and Analogical Visual Reasoning", section 3:
six parts in ten to train, two to validate, two to test, by the last digit of a problem's number.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from reasonlib.visual_iq.data.example import KEYS, Problems
from reasonlib.visual_iq.data.example import configuration_index as index_of
from reasonlib.visual_iq.data.simulator import simulate

__all__ = ["ANSWER_SETS", "KINDS", "SPLIT_OF_DIGIT", "Splits", "load", "split"]

ANSWER_SETS = {"raven": "RAVEN", "i-raven": "I-RAVEN", "raven-fair": "RAVEN-FAIR"}
"""Data sets by name, and their titles: the same questions, each set with its own way to make candidates."""

KINDS = {name: "regenerated" for name in ANSWER_SETS}
"""Kind of each data set: drawn by the rules that its authors published. Rules, attributes and pixels agree
with the public generators (``tests/visual_iq``)."""

SPLIT_OF_DIGIT = ("train", "train", "train", "train", "train", "train", "valid", "valid", "test", "test")
"""Where a problem belongs, by the last digit of its number within its configuration."""


class Splits(NamedTuple):
    """Problems to train with, to choose with, and to measure with."""

    train: Problems
    valid: Problems
    test: Problems


def split(problems: Problems) -> Splits:
    """Split problems of one configuration by the last digit of their number."""
    digits = np.arange(len(problems)) % len(SPLIT_OF_DIGIT)
    return Splits(
        *(problems[np.array([SPLIT_OF_DIGIT[digit] == part for digit in digits])] for part in Splits._fields)
    )


def load(
    answers: str = "raven",
    *,
    per_configuration: int = 10_000,
    seed: int = 1,
    configurations: Sequence[str] = KEYS,
) -> Splits:
    """Draw the set, or find it in memory if it has been drawn before.

    Parameters
    ----------
    answers
        One of `reasonlib.visual_iq.data.distractors.DISTRACTORS`. Questions are the same for each.
    per_configuration
        Problems of each configuration, in all three parts together.
    seed
        Of the set.
    configurations
        Keys or titles. A part holds the problems of the first configuration, then those of the next.

    Returns
    -------
    Splits
        Shared with other callers: do not write to it.

    Raises
    ------
    ValueError
        If a name is unknown, none is given, or there are fewer than ten problems of each.

    Examples
    --------
    >>> [len(part) for part in load(per_configuration=20, configurations=["Center", "O-IG"])]
    [24, 8, 8]
    """
    if per_configuration < len(SPLIT_OF_DIGIT):
        raise ValueError(f"per_configuration must be at least {len(SPLIT_OF_DIGIT)}, got {per_configuration}")
    if not configurations:
        raise ValueError(f"configurations must name at least one of {', '.join(KEYS)}")
    if isinstance(configurations, str):
        raise ValueError(f"configurations must be a list of names, got {configurations!r}")
    return _load(answers, per_configuration, seed, tuple(index_of(name) for name in configurations))


@lru_cache(maxsize=6)
def _load(answers: str, per_configuration: int, seed: int, configurations: tuple[int, ...]) -> Splits:
    splits = [
        split(simulate(configuration, per_configuration, seed=seed, answers=answers))
        for configuration in configurations
    ]
    return Splits(*(Problems.concatenate(problems) for problems in zip(*splits, strict=True)))
