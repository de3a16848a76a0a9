"""Questions of arithmetic that differ in one property, the rest being equal.

::

    family         trains on                          probes                           what they hold fixed
    sums           random sums of 2 to 4 digits       carry.<columns of the chain>     4 digits
                                                      control.<the same>               4 digits, no carry
                                                      digits.<of each number>          a chain of one column
    chained-sums   half of them with a chain whose    as `sums`
                   length is drawn uniformly
    trees          + and - with 2 to 6 terms          terms.<number of terms>          steps in a row: 3
                                                      depth.<steps in a row>           6 terms, characters
    gaps           sums of 2 digits, up to 8 spaces   gap.<spaces>                     where the first begins
                   between the numbers                lead.<spaces before the sum>     4 spaces between

A carry chain is a column that adds up to more than 9, followed by columns of exactly 9, which pass the carry
on. All other columns add up to 8 at most, so that no other column carries. The control of a chain has the
same columns of 9, but its first column adds up to 8 at most: no carry arrives.

By hand: 2164 + 3842 = 6006 has a chain of two columns. The column 4 + 2 does not carry; 6 + 4 does; 1 + 8
passes the carry on to 2 + 3, where it ends.
"""

from collections.abc import Callable, Container, Mapping
from functools import partial
from random import Random
from typing import NamedTuple

from reasonlib.arguments import check_choice
from reasonlib.maths_qa.data.datasets import Splits
from reasonlib.maths_qa.data.encoding import Encoded
from reasonlib.maths_qa.data.example import Problem

__all__ = ["FAMILIES", "Family", "chained_sum", "draw_probes", "expression", "random_sum", "spaced_sum"]

Pair = tuple[str, str]
"""A question and its answer."""

ALL = [(first, second) for first in range(10) for second in range(10)]
LOW, NINE, HIGH = (
    [pair for pair in ALL if sum(pair) in totals] for totals in (range(9), range(9, 10), range(10, 19))
)
LENGTH = 24  # characters of a sum with spaces


def _numbers(first: int, second: int) -> Pair:
    return f"{first}+{second}", str(first + second)


def random_sum(draw: Random, digits: int) -> Pair:
    """Draw two numbers with this number of digits, and their sum."""
    first, second = (draw.randrange(10 ** (digits - 1), 10**digits) for _ in range(2))
    return _numbers(first, second)


def chained_sum(draw: Random, digits: int, chain: int, *, carried: bool = True) -> Pair:
    """Draw a sum whose only carry runs through `chain` columns, or its control.

    Parameters
    ----------
    draw
        Source of the random draws.
    digits
        Of both numbers.
    chain
        Columns that carry, 1 to `digits`. Where the chain begins is drawn.
    carried
        False for the control: the columns of the chain after its first still add up to 9, but none carries.

    Raises
    ------
    ValueError
        If the chain is shorter than 1 or longer than the numbers.
    """
    if not 1 <= chain <= digits:
        raise ValueError(f"chain must be 1 to {digits} columns, got {chain}")
    start = draw.randint(0, digits - chain)  # columns to its right
    columns = [LOW] * digits
    columns[start : start + chain] = [HIGH if carried else LOW, *[NINE] * (chain - 1)]
    columns[-1] = [pair for pair in columns[-1] if min(pair) > 0]  # no number begins with 0
    pairs = [draw.choice(pairs) for pairs in columns]
    first, second = (sum(pair[side] * 10**column for column, pair in enumerate(pairs)) for side in (0, 1))
    return _numbers(first, second)


def expression(draw: Random, terms: int, depth: int | None = None) -> Pair:
    """Draw digits of 0 to 4 joined by + and -, with brackets around every step but the last.

    Parameters
    ----------
    draw
        Source of the random draws.
    terms
        Digits, at least 2. Expressions of equally many terms have equally many characters.
    depth
        Steps that must be done one after another; by default any.

    Raises
    ------
    ValueError
        If no expression with this number of terms has this depth.
    """
    if depth is not None and not depth < terms <= 2**depth:
        raise ValueError(f"{terms} terms must fit a depth of {depth}")
    while True:
        text, value, steps = _tree(draw, terms)
        if depth in (None, steps):
            return text[1:-1], str(value)


def _tree(draw: Random, terms: int) -> tuple[str, int, int]:
    """Return the text in brackets, the value and the depth of a random tree."""
    if terms == 1:
        digit = draw.randrange(5)
        return str(digit), digit, 0
    size = draw.randrange(1, terms)
    (left, first, high), (right, second, low) = _tree(draw, size), _tree(draw, terms - size)
    sign = draw.choice("+-")
    return f"({left}{sign}{right})", first + second if sign == "+" else first - second, 1 + max(high, low)


def spaced_sum(draw: Random, gap: int, lead: int) -> Pair:
    """Draw a sum of two numbers of two digits, with spaces before it and inside it, in 24 characters.

    Parameters
    ----------
    draw
        Source of the random draws.
    gap
        Spaces between the plus and the second number.
    lead
        Spaces before the first number; those after the second fill up the line.

    Raises
    ------
    ValueError
        If it is longer than the line.
    """
    first, second = (draw.randrange(10, 100) for _ in range(2))
    text = f"{' ' * lead}{first}+{' ' * gap}{second}"
    if len(text) > LENGTH:
        raise ValueError(f"gap and lead must leave room for the sum in {LENGTH}, got {gap} and {lead}")
    return text.ljust(LENGTH), str(first + second)


class Family(NamedTuple):
    """What a model is trained on, and what it is then asked.

    Attributes
    ----------
    train
        Draws one question of training.
    probes
        Name to a function that draws one question.
    """

    train: Callable[[Random], Pair]
    probes: Mapping[str, Callable[[Random], Pair]]


def _train_sums(draw: Random) -> Pair:
    return random_sum(draw, draw.randint(2, 4))


def _train_chained_sums(draw: Random) -> Pair:
    if draw.random() < 0.5:
        return _train_sums(draw)
    digits = draw.randint(2, 4)
    return chained_sum(draw, digits, draw.randint(1, digits))


def _train_trees(draw: Random) -> Pair:
    return expression(draw, draw.randint(2, 6))


def _train_gaps(draw: Random) -> Pair:
    gap = draw.randint(0, 8)
    return spaced_sum(draw, gap, draw.randint(0, LENGTH - 5 - gap))


_SUMS: Mapping[str, Callable[[Random], Pair]] = {
    **{
        f"{name}.{chain}": partial(chained_sum, digits=4, chain=chain, carried=name == "carry")
        for name in ("carry", "control")
        for chain in range(1, 5)
    },
    **{f"digits.{digits}": partial(chained_sum, digits=digits, chain=1) for digits in range(2, 7)},
}


def _spaced(draw: Random, gap: int) -> Pair:
    return spaced_sum(draw, gap, draw.randint(0, 5))


FAMILIES: Mapping[str, Family] = {
    "sums": Family(_train_sums, _SUMS),
    "chained-sums": Family(_train_chained_sums, _SUMS),
    "trees": Family(
        _train_trees,
        {
            **{f"terms.{terms}": partial(expression, terms=terms, depth=3) for terms in range(4, 9)},
            **{f"depth.{depth}": partial(expression, terms=6, depth=depth) for depth in range(3, 6)},
        },
    ),
    "gaps": Family(
        _train_gaps,
        {
            **{f"gap.{gap}": partial(_spaced, gap=gap) for gap in range(0, 15, 2)},
            **{f"lead.{lead}": partial(spaced_sum, gap=4, lead=lead) for lead in range(0, 16, 3)},
        },
    ),
}
"""The families of questions by name."""


def draw_probes(family: str, *, train: int, valid: int, test: int) -> Splits:
    """Draw the questions of a family; the same call gives the same questions.

    Parameters
    ----------
    family
        One of `FAMILIES`.
    train, valid
        How many questions to train on, and to choose settings by; both are drawn alike.
    test
        Of each probe, all different. The name of the probe stands in place of a module.

    Returns
    -------
    Splits
        Without extrapolation. Training and valid have no question of a probe, training none of valid.

    Raises
    ------
    ValueError
        If there is no such family.
    """
    check_choice("family", family, FAMILIES)
    draw, probes = FAMILIES[family]
    tests = [
        problem
        for name, probe in probes.items()
        for problem in _different(probe, Random(name), test, module=name, difficulty="interpolate")
    ]
    asked = {problem.question for problem in tests}
    chosen = _different(draw, Random("valid"), valid, module="training", difficulty="easy", avoid=asked)
    asked |= {problem.question for problem in chosen}
    source = Random("train")
    kept = [
        Problem(question=question, answer=answer, module="training", difficulty="easy")
        for question, answer in (draw(source) for _ in range(train))
        if question not in asked
    ]
    parts = (Encoded.of(part) for part in (kept, chosen, tests))
    return Splits(*parts, extrapolation=None, leaks=train - len(kept))  # type: ignore[misc, arg-type]


def _different(
    draw: Callable[[Random], Pair], source: Random, count: int, *, avoid: Container[str] = (), **labels: str
) -> list[Problem]:
    """Draw `count` different questions."""
    problems: dict[str, Problem] = {}
    while len(problems) < count:
        question, answer = draw(source)
        if question not in avoid:
            problems[question] = Problem(question=question, answer=answer, **labels)
    return list(problems.values())
