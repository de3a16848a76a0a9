"""Every set of questions by its name, split into train, valid and test.

::

    easy, medium, hard in equal parts --> less those that are in a test set --> train
    interpolate, two other seeds -------------------------------------------> valid, test
    extrapolate ------------------------------------------------------------> extrapolation

No test question is in training: `Splits.leaks` counts those that were drawn and left out.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from reasonlib.arguments import check_choice
from reasonlib.maths_qa.data.encoding import Encoded
from reasonlib.maths_qa.data.example import Problem
from reasonlib.maths_qa.data.modules import EXTRAPOLATION, MODULES
from reasonlib.maths_qa.data.prepared import draw

__all__ = ["DATA", "LEVELS", "Splits", "extrapolation_of", "load"]

DATA = {"mathematics": "regenerated"}
"""The sets by name and kind: the canonical generator draws the questions again."""

_SEEDS = {"train": 1, "valid": 2, "test": 3}
LEVELS = ("easy", "medium", "hard")
"""Difficulties of training."""


class Splits(NamedTuple):
    """Questions to train on, to choose settings by, and to measure on.

    Attributes
    ----------
    train, valid, test
        Of the same modules, equally many each. No run reads `valid`: the source has no such part, and its
        curves and tables are read at fixed steps. It is for choosing settings.
    extrapolation
        Longer questions and larger numbers; None where the modules have none.
    leaks
        Training questions that were left out because a test set has them.
    """

    train: Encoded
    valid: Encoded
    test: Encoded
    extrapolation: Encoded | None
    leaks: int


def extrapolation_of(modules: Sequence[str]) -> tuple[str, ...]:
    """Return the extrapolation modules that go with training modules.

    >>> extrapolation_of(["numbers__place_value", "arithmetic__mul"])
    ('arithmetic__mul_big', 'numbers__place_value_big')
    """
    endings = ("", "_big", "_longer", "_more", "_more_samples")
    names = {module + ending for module in modules for ending in endings}
    return tuple(name for name in EXTRAPOLATION if name in names)


@lru_cache(maxsize=4)
def load(
    data: str,
    *,
    modules: tuple[str, ...] = MODULES,
    train: int,
    valid: int,
    test: int,
    extrapolation: int = 0,
    levels: tuple[str, ...] = LEVELS,
    tested: tuple[str, ...] = ("interpolate",),
) -> Splits:
    """Draw the questions of a set, or read what was drawn before; a second call gives the same object.

    Parameters
    ----------
    data
        One of `DATA`.
    modules
        Their names.
    train, valid, test, extrapolation
        How many questions of each module; those of training are fewer by those that a test set has.
    levels, tested
        Difficulties of training, and of valid and test, in equal parts.

    Raises
    ------
    ValueError
        If there is no such set or module.
    UserError
        If the generator is not installed.
    """
    check_choice("data", data, DATA)
    tests = {
        part: [_draw(module, count, tested, _SEEDS[part]) for module in modules]
        for part, count in (("valid", valid), ("test", test))
    }
    harder = [
        _draw(module, extrapolation, ("extrapolate",), _SEEDS["test"])
        for module in (extrapolation_of(modules) if extrapolation else ())
    ]
    test_questions = {problem.question for problem in chain(*tests["valid"], *tests["test"], *harder)}
    drawn = [problem for module in modules for problem in _draw(module, train, levels, _SEEDS["train"])]
    kept = [problem for problem in drawn if problem.question not in test_questions]
    return Splits(
        Encoded.of(kept),
        Encoded.of(list(chain(*tests["valid"]))),
        Encoded.of(list(chain(*tests["test"]))),
        Encoded.of(list(chain(*harder))) if harder else None,
        len(drawn) - len(kept),
    )


def _draw(module: str, count: int, difficulties: Sequence[str], seed: int) -> list[Problem]:
    each = -(-count // len(difficulties))
    return [
        problem
        for difficulty in difficulties
        for problem in draw(module, each, seed=seed, difficulty=difficulty, keep=True)
    ]
