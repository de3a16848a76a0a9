"""Exercises of the chapter "What the model can and cannot compute"."""

import random
import re
from collections import defaultdict

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, expect_equal, hint

__all__ = ["check_longest_carry", "check_place_values", "check_short_sighted"]


def longest_carry(first: int, second: int) -> int:
    """Return the length of the longest run of columns that carry when two whole numbers are added."""
    return _longest_run(_carries(first, second, chained=True))


def _longest_run(columns: list[int]) -> int:
    """Return the length of the longest run of ones."""
    return max(map(len, "".join(map(str, columns)).split("0")))


def _carries(first: int, second: int, *, chained: bool) -> list[int]:
    """Say of each column whether it carries; unchained, without the carry that it gets."""
    columns, carry = [], 0
    while first or second:
        total = first % 10 + second % 10
        carry = (total + carry * chained) // 10
        columns.append(carry)
        first, second = first // 10, second // 10
    return columns


@exercise(title="The longest carry chain", minutes=15, points=2)
@hint("Add column by column from the right with `divmod(..., 10)`, and count columns in a row that carry.")
def check_longest_carry(answer: Answer, seed: int) -> None:
    """Check ``longest_carry(first, second)``: how far a carry runs when two numbers are added.

    Both are whole numbers, not negative. Add them column by column from the right. Return the largest number
    of neighbouring columns that all carry.
    """
    draw = random.Random(seed)
    length = draw.randint(3, 5)
    cases = [
        (draw.choice([559505, 668606]), draw.choice([551515, 551616])),
        (10**length - 1, 1),
        (123, 456),
        (10**length - 1, 10 ** (length - 1)),
        (0, 0),
    ]
    for first, second in cases:
        right = longest_carry(first, second)
        columns = _carries(first, second, chained=True)
        alone = _carries(first, second, chained=False)
        expect_equal(
            int(answer(first, second)),
            right,
            f"{first} + {second}: count the columns in a row that carry",
            wrong={
                "a column can carry because of the carry that it gets": _longest_run(alone),
                "this is the number of all columns that carry; find the longest run": sum(columns),
                "say how long the chain is, not whether there is one": int(any(columns)),
            },
        )


def place_values(text: str) -> list[int]:
    """Return for every character how far its digit stands from the right end of its number."""
    places = [0] * len(text)
    for number in re.finditer(r"\d+", text):
        for position in range(number.start(), number.end()):
            places[position] = number.end() - position
    return places


@exercise(title="Positions by place value", minutes=15, points=2)
@hint("Read the text from the right: a digit is one more than the digit after it, all else is 0.")
def check_place_values(answer: Answer, seed: int) -> None:
    """Check ``place_values(text)``: for each character the place of its digit in its number.

    The last digit of a run of digits has place 1, the one before it 2, and so on. A character that is no
    digit has place 0. Return a list with one whole number for each character.
    """
    draw = random.Random(seed)
    first, second, third = (draw.randint(10 ** (n - 1), 10**n - 1) for n in draw.sample([2, 3, 4, 5, 6], 3))
    for text in (f"What is {first} + {second}?", f"-{third}*x**2 + {first}", "Is 7 a prime?"):
        right = place_values(text)
        runs = [(m.start(), m.end()) for m in re.finditer(r"\d+", text)]
        left = [0] * len(text)
        for start, end in runs:
            left[start:end] = range(1, end - start + 1)
        digits = [int(character.isdigit()) for character in text]
        behind, count = [0] * len(text), 0
        for position in reversed(range(len(text))):
            count += digits[position]
            behind[position] = count if digits[position] else 0
        returned = [int(digit_place) for digit_place in answer(text)]
        expect(len(returned) == len(text), f"one number for each of the {len(text)} characters of {text!r}")
        expect_equal(
            returned,
            right,
            f"the digits of each number in {text!r}, counted from the right",
            wrong={
                "count from the right: units are 1, tens 2": left if left != right else None,
                "every number begins again at 1": behind if behind != right else None,
                "units are 1 and everything else is 0: units are not 0": [
                    max(digit_place - 1, 0) for digit_place in right
                ],
                "say the place of a digit, not whether it is one": digits if digits != right else None,
            },
        )


NINE, ABOVE = 0.1, 0.45  # probability that two random digits add up to 9, and to more than 9


def short_sighted(columns: int, reach: int) -> float:
    """Return how often an adder is right if it sees only a few columns to the right of each.

    It fails where a column above 9 is followed, to the left, by `reach` columns of exactly 9. Such a pattern
    cannot overlap with itself, so its first end is at column n with the probability of the pattern times that
    of no pattern in the columns before it.
    """
    right = [1.0] * (reach + 1)
    for before in range(max(columns - reach, 0)):
        right.append(right[-1] - ABOVE * NINE**reach * right[before])
    return right[columns]


def _short_chains(columns: int, longest: int) -> float:
    """Return how often no chain of carries in a random sum is longer than `longest` columns."""
    runs = {0: 1.0}  # length of the chain that ends here, to its probability
    for _ in range(columns):
        after: dict[int, float] = defaultdict(float)
        for run, probability in runs.items():
            carries = ABOVE + NINE * (run > 0)
            after[0] += probability * (1 - carries)
            if run < longest:
                after[run + 1] += probability * carries
        runs = after
    return sum(runs.values())


@exercise(title="Score an adder that cannot carry far", minutes=25, points=3)
@hint(
    "Sort columns by the sum of their two digits: below 9, exactly 9, above 9. Which of these carry "
    "whatever arrives, and which only pass on a carry? Write down the pattern that makes the adder fail."
)
def check_short_sighted(answer: Answer, seed: int) -> None:
    """Check ``short_sighted(columns, reach)``: the exact match of an adder with a short reach.

    Two numbers with ``columns`` digits each are added; all digits are drawn independently and uniformly from
    0 to 9. The adder computes each digit of the sum from its own column and the ``reach`` columns to the
    right of it, as if no carry came into these from further right. The digit to the left of all columns,
    which is the last carry, is computed in the same way. Return the probability that every digit is right.
    """
    draw = random.Random(seed)
    cases = [
        (draw.randint(5, 9), 1),
        (draw.randint(6, 9), 2),
        (draw.randint(2, 5), 0),
        (2, draw.randint(2, 4)),
    ]
    for columns, reach in cases:
        right = short_sighted(columns, reach)
        pattern, windows = ABOVE * NINE**reach, max(columns - reach, 0)
        wrong = {
            "this is the probability of a mistake; return that of a right sum": 1 - right,
            "a column such as 6 + 7 carries whatever arrives; only a column of 9 passes a carry on": (
                _short_chains(columns, reach)
            ),
            "patterns in overlapping columns exclude each other: they are not independent": (1 - pattern)
            ** windows,
            "a sum can have two mistakes: do not subtract it twice": 1 - pattern * windows,
            "the digit left of all columns, the last carry, must be right, too": short_sighted(
                columns - 1, reach
            ),
            "the adder sees `reach` columns besides its own": short_sighted(columns, max(reach - 1, 0)),
            "columns of 9 do no harm unless a carry comes into them": (1 - NINE**reach) ** windows,
        }
        expect_close(
            answer(columns, reach),
            right,
            f"{columns} columns and a reach of {reach}: the probability that no carry is missed",
            wrong={message: value for message, value in wrong.items() if abs(value - right) > 1e-4},
        )
