"""Algorithmic tasks, each made so that one part of the Transformer is needed to solve it.

::

    copy        a c a e            ->  a c a e          where each letter stands
    reverse     a c d e            ->  e d c a          where it stands, counted from the other end
    sort        d a e c            ->  a c d e          which letters there are, and nothing else
    recall      a 3 e 7 ? e a      ->  a a e e ? 7 3    whose each digit is; which digit each letter has
    neighbours  3 7 1 2            ->  3 2 5 1          left minus right, modulo 10: two places at once
    parity      1 0 1 1            ->  odd              every bit, in one step
    aloud       1 0 1 1            ->  1 1 0 1          the same, one bit at a time
    fork        b d                ->  x 7 b d  or  y 0 d b        several right answers, unlike shares

The same seed gives the same examples on every machine. An example carries its task, and no padding.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from reasonlib.errors import UserError
from reasonlib.training.vocabulary import Vocabulary

__all__ = [
    "DIGITS",
    "END",
    "FORK",
    "LETTERS",
    "SIMULATORS",
    "START",
    "TASKS",
    "Example",
    "shares",
    "simulate",
    "symbols",
    "vocabulary",
]

LETTERS = tuple("abcdefghijklmnop")
DIGITS = tuple("0123456789")
KEYS = LETTERS[:8]
PAD, START, END = "<pad>", "<start>", "<end>"
SPECIALS = (PAD, START, END)


@dataclass(frozen=True, slots=True)
class Example:
    """What is read and what is to be written, as tokens.

    Attributes
    ----------
    task
        A key of `TASKS`.
    source, target
        Tokens, without start, end or padding.
    """

    task: str
    source: tuple[str, ...]
    target: tuple[str, ...]


# One task a function: from the length of its source and a stream of draws to an example ---------------------


def _copy(length: int, draw: random.Random) -> Example:
    source = tuple(draw.choices(LETTERS, k=length))
    return Example("copy", source, source)


def _reverse(length: int, draw: random.Random) -> Example:
    source = tuple(draw.choices(LETTERS, k=length))
    return Example("reverse", source, source[::-1])


def _sort(length: int, draw: random.Random) -> Example:
    source = tuple(draw.sample(LETTERS, k=length))
    return Example("sort", source, tuple(sorted(source)))


def _recall(length: int, draw: random.Random) -> Example:
    pairs = max(1, (length - 1) // 3)
    keys, values = draw.sample(KEYS, k=pairs), draw.choices(DIGITS, k=pairs)
    value_of = dict(zip(keys, values, strict=True))
    queries = draw.sample(keys, k=pairs)
    context = tuple(token for pair in value_of.items() for token in pair)
    owners = tuple(key for key in value_of for _ in range(2))
    return Example("recall", (*context, "?", *queries), (*owners, "?", *(value_of[key] for key in queries)))


def _neighbours(length: int, draw: random.Random) -> Example:
    digits = [draw.randrange(10) for _ in range(length)]
    around = zip([0, *digits], [*digits[1:], 0], strict=False)
    return Example(
        "neighbours",
        tuple(map(str, digits)),
        tuple(str((left - right) % 10) for left, right in around),
    )


def _parity(length: int, draw: random.Random) -> Example:
    source = tuple(draw.choices("01", k=length))
    return Example("parity", source, ("odd" if source.count("1") % 2 else "even",))


def _aloud(length: int, draw: random.Random) -> Example:
    source = tuple(draw.choices("01", k=length))
    return Example("aloud", source, tuple(str(source[: i + 1].count("1") % 2) for i in range(length)))


# A sure way and a forked one: the likeliest first step (0.6) leads to nine answers that share it, the other
# (0.4) to one. One step at a time takes the first; the likeliest whole answer lies behind the second.
FORK = {"x": 0.6, "y": 0.4}


def _fork(length: int, draw: random.Random) -> Example:
    source = tuple(draw.sample(LETTERS, k=2))
    if draw.random() < FORK["x"]:
        return Example("fork", source, ("x", draw.choice(DIGITS[1:]), *source))
    return Example("fork", source, ("y", "0", *source[::-1]))


TASKS: Mapping[str, Callable[[int, random.Random], Example]] = {
    "copy": _copy,
    "reverse": _reverse,
    "sort": _sort,
    "recall": _recall,
    "neighbours": _neighbours,
    "parity": _parity,
    "aloud": _aloud,
    "fork": _fork,
}
"""Task name to the function that makes one example of a given length."""

SYMBOLS: Mapping[str, tuple[str, ...]] = {
    "copy": LETTERS,
    "reverse": LETTERS,
    "sort": LETTERS,
    "recall": (*KEYS, *DIGITS, "?"),
    "neighbours": DIGITS,
    "parity": ("0", "1", "even", "odd"),
    "aloud": ("0", "1"),
    "fork": (*LETTERS, *DIGITS, "x", "y"),
}


def symbols(task: str) -> tuple[str, ...]:
    """Name every token that a task can use."""
    _known(task)
    return SYMBOLS[task]


def vocabulary(task: str) -> Vocabulary:
    """Number the tokens of a task: padding, start and end first.

    >>> vocabulary("aloud").tokens
    ('<pad>', '<start>', '<end>', '0', '1')
    """
    return Vocabulary((*SPECIALS, *symbols(task)))


def shares(example: Example) -> dict[tuple[str, ...], float]:
    """Give every right answer to a source and its probability; one with certainty but for ``fork``.

    >>> shares(Example("copy", ("a", "b"), ("a", "b")))
    {('a', 'b'): 1.0}
    """
    if example.task != "fork":
        return {example.target: 1.0}
    first, second = example.source
    forked: dict[tuple[str, ...], float] = {
        ("x", digit, first, second): FORK["x"] / len(DIGITS[1:]) for digit in DIGITS[1:]
    }
    return {**forked, ("y", "0", second, first): FORK["y"]}


def simulate(
    task: str, examples: int, *, shortest: int = 4, longest: int = 8, seed: int = 0
) -> list[Example]:
    """Make examples of a task.

    Parameters
    ----------
    task
        A key of `TASKS`.
    examples
        How many.
    shortest, longest
        Tokens of a source; the length is drawn evenly between them. A source of ``recall`` has three tokens a
        pair and one more; one of ``fork`` is always two.
    seed
        The same seed gives the same examples.

    Raises
    ------
    UserError
        If there is no such task.
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> simulate("reverse", 1, shortest=3, longest=3, seed=1)
    [Example(task='reverse', source=('h', 'k', 'p'), target=('p', 'k', 'h'))]
    """
    _known(task)
    if examples < 1:
        raise ValueError(f"examples must be at least 1, got {examples}")
    if not 1 <= shortest <= longest:
        raise ValueError(f"shortest must be at least 1 and at most longest={longest}, got {shortest}")
    most = {"sort": len(LETTERS), "recall": 3 * len(KEYS) + 1}.get(task)
    if most is not None and longest > most:
        raise ValueError(
            f"longest must be at most {most} for {task}, whose letters are distinct, got {longest}"
        )
    draw = random.Random(f"{task}:{seed}")
    return [TASKS[task](draw.randint(shortest, longest), draw) for _ in range(examples)]


def _known(task: str) -> None:
    if task not in TASKS:
        raise UserError(f"there is no task {task!r}; there are: {', '.join(TASKS)}")


SIMULATORS: dict[str, Callable[[int, int], list[Example]]] = {
    task: partial(lambda task, examples, seed: simulate(task, examples, seed=seed), task) for task in TASKS
}
"""For ``reasonlib data simulate transformer/TASK``."""
