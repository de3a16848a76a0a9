"""Questions that differ in one property, put to the bundled models.

A probe is a family of questions whose answers are known: here, one digit of a number, by the length of the
number and by the place that is asked for.
"""

import random
from collections.abc import Sequence

from reasonlib.display import plotting
from reasonlib.display.plotting import Picture
from reasonlib.maths_qa.data.encoding import Encoded
from reasonlib.maths_qa.data.example import Problem
from reasonlib.maths_qa.models.decoding import answer_all
from reasonlib.maths_qa.models.pretrained import BUNDLED, from_pretrained

__all__ = ["NAMES", "PLACES", "TRAINED", "digit_questions", "lengths"]

NAMES = {"pretrained": "pre-trained", "scratch": "from scratch"}

PLACES = (
    "units",
    "tens",
    "hundreds",
    *(f"{first}{second}" for second in ("thousands", "millions") for first in ("", "ten ", "hundred ")),
)
"""Places of a digit, from the right, as the generator names them."""

TRAINED = range(3, 6)  # digits of nearly all numbers in easy training questions; 1, 2 and 6 are rare


def digit_questions(
    digits: int, count: int, *, seed: int = 0, digit_place: int | None = None
) -> list[Problem]:
    """Draw questions for one digit of a number.

    Parameters
    ----------
    digits
        Of the number; at most as many as `PLACES`.
    count
        How many questions.
    seed
        Seed of the random draws.
    digit_place
        Which digit is asked for, 1 for units; by default any.
    """
    if not 1 <= digits <= len(PLACES) or (digit_place is not None and not 1 <= digit_place <= digits):
        raise ValueError(
            f"a number has 1 to {len(PLACES)} digits and a place in it, got {digits}, {digit_place}"
        )
    draw = random.Random(f"{seed}:{digits}:{digit_place}")
    problems = []
    for _ in range(count):
        number = str(draw.randrange(10 ** (digits - 1), 10**digits))
        chosen = digit_place or draw.randint(1, digits)
        problems.append(
            Problem(
                question=f"What is the {PLACES[chosen - 1]} digit of {number}?",
                answer=number[-chosen],
                module="numbers__place_value",
                difficulty="interpolate",
            )
        )
    return problems


def lengths(*, count: int = 60, seed: int = 0, digits: Sequence[int] = range(2, len(PLACES) + 1)) -> Picture:
    """Draw exact match by the number of digits, of both bundled models."""
    families = {size: digit_questions(size, count, seed=seed) for size in digits}
    lines = {}
    for name in BUNDLED:
        model = from_pretrained(name).model
        shares = [_accuracy(answer_all(model, Encoded.of(family)), family) for family in families.values()]
        lines[NAMES[name]] = (list(families), shares)
    return plotting.show(
        plotting.lines(lines, x="digits of the number", y="exact match", limits=(0, 1.04)),
        alt="Exact match of the bundled models by the number of digits.",
        caption="One digit of a number: exact match of the bundled models by the length of the number, "
        f"{count} new questions for each length. Nearly all numbers of training have {TRAINED[0]} to "
        f"{TRAINED[-1]} digits; a few have fewer, or one digit more.",
    )


def _accuracy(written: Sequence[str], family: Sequence[Problem]) -> float:
    return sum(text == problem.answer for text, problem in zip(written, family, strict=True)) / len(family)
