"""Questions that differ in one property, put to the bundled models.

A probe is a family of sums whose answers are known: here, sums with a carry chain of a given length.
"""

import random
from collections.abc import Mapping, Sequence

from reasonlib.display import plotting
from reasonlib.display.plotting import Picture
from reasonlib.maths_qa.data.encoding import Encoded
from reasonlib.maths_qa.data.example import Problem
from reasonlib.maths_qa.models.decoding import answer_all
from reasonlib.maths_qa.models.pretrained import BUNDLED, from_pretrained
from reasonlib.maths_qa.page.exercises import longest_carry

__all__ = ["NAMES", "carries", "carry_questions"]

NAMES = {"pretrained": "pre-trained", "scratch": "from scratch"}
DIGITS = 3


def carry_questions(chain: int, count: int, *, seed: int = 0, digits: int = DIGITS) -> list[Problem]:
    """Draw sums of two numbers whose longest carry chain has a given length.

    Parameters
    ----------
    chain
        From 0 to `digits`.
    count
        How many different sums.
    seed
        Draws.
    digits
        Of each number.
    """
    if not 0 <= chain <= digits:
        raise ValueError(f"chain must be 0 to {digits}, got {chain}")
    draw, problems = random.Random(f"{seed}:{chain}"), {}
    while len(problems) < count:
        first, second = (draw.randrange(10 ** (digits - 1), 10**digits) for _ in range(2))
        if longest_carry(first, second) == chain:
            problems[first, second] = _problem(f"What is {first} + {second}?", first + second)
    return list(problems.values())


def carries(*, count: int = 60, seed: int = 0) -> Picture:
    """Draw exact match by the length of the carry chain, of both bundled models."""
    families = {chain: carry_questions(chain, count, seed=seed) for chain in range(DIGITS + 1)}
    return _draw(families, x=f"columns of the longest carry chain of two {DIGITS}-digit numbers", count=count)


def _draw(families: Mapping[int, list[Problem]], *, x: str, count: int) -> Picture:
    lines = {}
    for name in BUNDLED:
        model = from_pretrained(name).model
        shares = [_accuracy(answer_all(model, Encoded.of(family)), family) for family in families.values()]
        lines[NAMES[name]] = (list(families), shares)
    return plotting.show(
        plotting.lines(lines, x=x, y="exact match", limits=(0, 1.04)),
        alt=f"Exact match of the bundled models by {x}.",
        caption=f"Exact match of the bundled models by {x}; {count} new questions each.",
    )


def _accuracy(written: Sequence[str], family: Sequence[Problem]) -> float:
    return sum(text == problem.answer for text, problem in zip(written, family, strict=True)) / len(family)


def _problem(question: str, answer: int) -> Problem:
    return Problem(
        question=question, answer=str(answer), module="arithmetic__add_or_sub", difficulty="interpolate"
    )
