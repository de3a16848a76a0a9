"""Exercises of the chapter "Puzzles".

Axes: N problems, B problems of a batch, C 8 candidates, D width, S slots, A attributes.
"""

import random
from collections import Counter
from typing import Any

import numpy as np

from reasonlib.grading.checks import Answer, exercise, expect, expect_equal, hint
from reasonlib.visual_iq.data.example import ATTRIBUTES, COLOURS, SIZES, TYPES

__all__ = ["check_answer_set", "check_row_rules"]

Rows = tuple[tuple[int, int, int], tuple[int, int, int]]


@exercise(title="Name the rules", minutes=20, points=3)
@hint("Try each rule on both full rows: a rule counts only if it explains the first and the second.")
def check_row_rules(answer: Answer, seed: int) -> None:
    """Check ``row_rules(rows)``: which rules explain both full rows of one attribute.

    ``rows`` is two tuples of three levels, such as ``((1, 2, 3), (4, 5, 6))``. The answer is a set of
    words from ``constant``, ``progression`` (a step of the same size and sign in both rows, not zero),
    ``arithmetic`` (the third level is the sum of the first two in both rows, or the difference in both)
    and ``distribute three`` (both rows hold the same three different levels, in another order).
    """
    cases: list[tuple[Rows, set[str], str]] = [
        (((2, 2, 2), (5, 5, 5)), {"constant"}, "each row may have its own constant level"),
        (((1, 2, 3), (4, 5, 6)), {"progression"}, "both rows rise by one"),
        (((5, 3, 1), (9, 7, 5)), {"progression"}, "a progression may fall, here by two"),
        (
            ((1, 2, 3), (6, 5, 4)),
            set(),
            "one row rises and the other falls: the step must be the same in both",
        ),
        (((1, 2, 3), (2, 4, 6)), {"arithmetic"}, "the steps differ, the sums do not"),
        (((1, 2, 3), (2, 3, 5)), {"arithmetic"}, "the third is the sum of the first two in both rows"),
        (((7, 2, 5), (6, 5, 1)), {"arithmetic"}, "the third is the difference in both rows"),
        (((1, 2, 3), (5, 2, 3)), set(), "a sum in one row and a difference in the other is no rule"),
        (((1, 4, 9), (9, 1, 4)), {"distribute three"}, "the same three levels, shifted"),
        (((1, 4, 9), (1, 4, 9)), set(), "the order of the three levels must change"),
        (((1, 1, 2), (2, 1, 1)), set(), "the three levels must be different"),
        (((3, 2, 5), (5, 3, 2)), {"distribute three"}, "the sum holds in the first row alone"),
        (((0, 0, 0), (0, 0, 0)), {"constant", "arithmetic"}, "two rules may explain the same rows"),
    ]
    cases += [
        (
            ((1, 2, 3), (2, 3, 4)),
            {"progression"},
            "a sum in the first row alone does not spoil the progression",
        ),
        (((1, 2, 3), (1, 2, 3)), {"progression", "arithmetic"}, "a progression can be arithmetic, too"),
        (((6, 4, 2), (6, 4, 2)), {"progression", "arithmetic"}, "a progression can be arithmetic, too"),
    ]
    draw = random.Random(seed)
    for _ in range(40):
        cases.append(_drawn_rows(draw))
    for rows, right, why in cases:
        result = answer(rows)
        expect(isinstance(result, (set, frozenset)), "return a set of words, such as {'constant'}")
        expect_equal(set(result), right, f"for the rows {rows[0]} and {rows[1]}: {why}")


def _drawn_rows(draw: random.Random) -> tuple[Rows, set[str], str]:
    """Draw two rows, many of them by a rule, with the rules that explain them."""
    a, b, c, d = (draw.randint(0, 6) for _ in range(4))
    step = draw.choice([-2, -1, 1, 2])
    three = draw.sample(range(9), 3)
    rows: Rows = draw.choice(
        [
            ((a, a, a), (b, b, b)),
            ((a + 4, a + 4 + step, a + 4 + 2 * step), (b + 4, b + 4 + step, b + 4 + 2 * step)),
            ((a, b, a + b), (c, d, c + d)),
            ((a + b, a, b), (c + d, c, d)),
            ((three[0], three[1], three[2]), (three[2], three[0], three[1])),
            ((a, b, c), (b, c, d)),
        ]
    )
    (a, b, c), (d, e, f) = rows
    rules = set()
    if a == b == c and d == e == f:
        rules.add("constant")
    if b - a == c - b == e - d == f - e != 0:
        rules.add("progression")
    if (a + b == c and d + e == f) or (a - b == c and d - e == f):
        rules.add("arithmetic")
    if len({a, b, c}) == 3 and {a, b, c} == {d, e, f} and (a, b, c) != (d, e, f):
        rules.add("distribute three")
    return rows, rules, f"what holds in both rows: {', '.join(sorted(rules)) or 'no rule'}"


@exercise(title="Draw wrong answers that give nothing away", minutes=20, points=3)
@hint("Draw one wrong level for each attribute; two levels of three attributes make eight combinations.")
def check_answer_set(answer: Answer, seed: int) -> None:
    """Check ``answer_set(right, levels, seed)``: eight candidates, and which of them is right.

    ``right`` holds the levels of the right answer, from 0: its type, size and colour. ``levels`` is how many
    levels each attribute has. The result is an array (8, 3) and the number of the right candidate, 0 to 7.
    Each attribute shows two levels, the right one and one drawn from all others, in all eight combinations;
    the order of the candidates is drawn, too.
    """
    levels = (len(TYPES) - 1, len(SIZES), len(COLOURS))
    draw = random.Random(seed)
    first = draw.randrange(10_000)
    rights = [tuple(draw.randrange(count) for count in levels) for _ in range(160)]
    positions: Counter[int] = Counter()
    offsets: list[Counter[int]] = [Counter() for _ in levels]
    for number, right in enumerate(rights):
        candidates, target = _read_answer_set(answer(right, levels, first + number), right, levels)
        positions[target] += 1
        for offset, column, level, count in zip(offsets, candidates.T, right, levels, strict=True):
            offset[(int(column[column != level][0]) - level) % count] += 1
    repeated, repeated_target = _read_answer_set(
        answer(rights[-1], levels, first + number), rights[-1], levels
    )
    expect(
        repeated_target == target and bool((repeated == candidates).all()),
        "the same seed must give the same candidates again: draw only from the seed",
    )
    others = [
        _read_answer_set(answer(rights[-1], levels, other), rights[-1], levels)[0] for other in range(9)
    ]
    expect(
        any(bool((other != others[0]).any()) for other in others),
        "another seed must give other candidates: draw from the argument `seed`",
    )
    position, times = positions.most_common(1)[0]
    expect(
        len(positions) == len(repeated) and times < 0.3 * len(rights),
        f"the right answer stands at place {position} in {100 * times / len(rights):.0f} % of your sets: "
        "draw the order",
    )
    for name, offset, count in zip(ATTRIBUTES, offsets, levels, strict=False):
        expect(
            len(offset) == count - 1,
            f"draw the wrong {name} from all {count - 1} other levels: yours shows only {len(offset)} of "
            "the distances from the right level, and so gives the right answer away",
        )


def _read_answer_set(result: Any, right: tuple[int, ...], levels: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """Return candidates (8, 3) and target of one answer set, or complain."""
    expect(
        isinstance(result, (tuple, list)) and len(result) == 2,
        "return two things: the candidates, and the number of the right one",
    )
    candidates, target = np.asarray(result[0]), result[1]
    expect(candidates.shape == (8, 3), f"the candidates must have shape (8, 3), got {candidates.shape}")
    expect(
        np.ndim(target) == 0 and int(target) == target and 0 <= target < 8,
        f"the number of the right candidate must be 0 to 7, got {target!r}",
    )
    target = int(target)
    expect(
        tuple(candidates[target].tolist()) == right,
        f"candidate {target} should be the right one, {right}, and is {tuple(candidates[target].tolist())}",
    )
    expect(
        len({tuple(candidate) for candidate in candidates.tolist()}) == 8,
        "two of your candidates are equal: make all differ",
    )
    for name, column, level, count in zip(ATTRIBUTES, candidates.T, right, levels, strict=False):
        expect(
            bool(np.isin(column, range(count)).all()),
            f"the levels of {name} are the whole numbers 0 to {count - 1}, and there is another",
        )
        shown = Counter(column.tolist())
        expect(
            len(shown) == 2,
            f"{name} must show two levels, the right one and one other; yours shows {len(shown)}",
        )
        expect(
            shown[level] == 4,
            f"the right {name} must stand in four of the eight candidates, and stands in {shown[level]}: "
            "a vote would count that",
        )
    return candidates, target
