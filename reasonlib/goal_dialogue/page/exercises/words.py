"""Exercises of the chapter "Paragraph vectors and key tags".

Axes: B turns, D width.
"""

import random
from collections.abc import Callable
from typing import Any

import torch

from reasonlib.goal_dialogue.data.example import TYPES
from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint

__all__ = ["check_beside", "check_break_tagger", "check_lstm_step"]


def _neighbours(word: str, other: str) -> bool:
    """Tell whether one letter put in, left out or exchanged makes one word the other."""
    if len(word) == len(other):
        return sum(a != b for a, b in zip(word, other, strict=True)) == 1
    short, long = sorted((word, other), key=len)
    return len(long) - len(short) == 1 and any(
        long[:index] + long[index + 1 :] == short for index in range(len(long))
    )


@exercise(title="Break the tagger", minutes=20, points=3)
@hint("Try every letter at every position, and call the tagger each time.")
def check_break_tagger(answer: Answer, seed: int) -> None:
    """Check ``break_tagger(tag, word)``: a word one letter away from `word` that gets another type.

    ``tag`` maps a word to its type. The answer is the new word, or an empty one where no change of one letter
    (put in, left out or exchanged, all of them ``a`` to ``z``) changes the type.
    """
    calls = 0
    draw = random.Random(seed)
    marked, letter = draw.sample("bcdfghjklmnpqrstvwxz", 2)

    def by_ending(word: str) -> str:
        nonlocal calls
        calls += 1
        return "cuisine" if word.endswith(("ese", "ish", "ian")) else "location"

    def by_length(word: str) -> str:
        return "price" if len(word) == 6 else "number"

    def deaf(word: str) -> str:
        return "rating"

    def by_sound(word: str) -> str:
        return TYPES[2] if word == "roma" else "location"

    def by_start(word: str) -> str:
        return "price" if word.startswith(marked) else "cuisine"

    def by_letter(word: str) -> str:
        return "price" if letter in word[:3] else "location"

    cases: list[tuple[Callable[[str], str], str, bool]] = [
        (by_ending, "spanish", True),
        (by_ending, "chinese", True),
        (by_length, "eight", True),
        (by_length, "cheaper", True),
        (by_sound, "rome", True),
        (by_start, "italian", True),
        (by_letter, "eeeaaoo", True),
        (deaf, "five", False),
    ]
    for tag, word, possible in cases:
        result = answer(tag, word)
        if not possible:
            expect(result == "", f"nothing changes what this tagger says of {word!r}: return an empty word")
            continue
        expect(
            isinstance(result, str) and result,
            f"there is a word one letter from {word!r} with another type; return it (also insert and "
            f"delete letters)",
        )
        expect(_neighbours(word, result), f"{result!r} is not one letter away from {word!r}")
        expect(tag(result) != tag(word), f"the tagger still says {tag(word)} of {result!r}")
    expect(calls > 0, "ask the tagger: call tag(word)")


@exercise(title="One LSTM cell", minutes=15, points=2)
@hint("Join h and x, in this order; three sigmoids, one tanh; the new state, then the output.")
def check_lstm_step(answer: Answer, seed: int) -> None:
    """Check ``lstm_step(x, h, cell, W, b)``: the output and the state after one step (eq. 4.1 to 4.7).

    ``x`` is (B, I), ``h`` and ``cell`` are (B, H). ``W`` and ``b`` map ``f``, ``i``, ``c`` and ``o`` to a
    matrix (H, H + I) and a bias (H,). The answer is a pair of (B, H): h and C.
    """
    generator = torch.Generator().manual_seed(11 + 100 * seed)
    x, h = torch.randn(2, 3, generator=generator), torch.randn(2, 4, generator=generator)
    old = torch.randn(2, 4, generator=generator)
    weights = {name: torch.randn(4, 7, generator=generator) for name in "fico"}
    biases = {name: torch.randn(4, generator=generator) for name in "fico"}

    def step(first: torch.Tensor, second: torch.Tensor, bias: dict[str, torch.Tensor]) -> tuple[Any, Any]:
        given = {name: torch.cat([first, second], 1) @ weights[name].T + bias[name] for name in "fico"}
        new = old * given["f"].sigmoid() + given["i"].sigmoid() * given["c"].tanh()
        return given["o"].sigmoid() * new.tanh(), new

    (right_h, right_c), (swapped_h, swapped_c) = step(h, x, biases), step(x, h, biases)
    shown_h, shown_c = step(h, x, {**biases, "c": biases["i"], "o": biases["i"]})
    result = answer(x.clone(), h.clone(), old.clone(), dict(weights), dict(biases))
    expect(
        isinstance(result, (tuple, list)) and len(result) == 2, "return a pair: the output h and the state C"
    )
    printed = "these are the biases as printed in the source, b_i three times; each gate has its own"
    joined = "h comes first in [h, x]"
    expect_close(
        result[1],
        right_c,
        "the new state is not right",
        wrong={joined: swapped_c, printed: shown_c},
        what="C",
    )
    expect_close(
        result[0],
        right_h,
        "the output is not right",
        wrong={
            joined: swapped_h,
            printed: shown_h,
            "apply tanh to the state before the output gate": right_h / right_c.tanh() * right_c,
        },
        what="h",
    )


@exercise(title="Words and tags side by side", minutes=10, points=1)
@hint("Pick the rows, sum over the sentence, and join the two sums along the width.")
def check_beside(answer: Answer, seed: int) -> None:
    """Check ``beside(words, tags, A, T)``: the vector of one sentence (eq. 4.8 to 4.13).

    ``words`` and ``tags`` hold the number of each word and of its tag; ``A`` is (V, D) and ``T`` (G, D). The
    answer is (2 D,).
    """
    generator = torch.Generator().manual_seed(13 + 100 * seed)
    table, types = torch.randn(9, 3, generator=generator), torch.randn(5, 3, generator=generator)
    draw = random.Random(seed)
    some = [draw.randrange(9) for _ in range(5)]
    for words, kinds in (([1, 4, 4, 8], [1, 1, 1, 3]), ([2], [4]), (some, [word % 5 for word in some])):
        first, second = table[words].sum(0), types[kinds].sum(0)
        expect_close(
            answer(torch.tensor(words), torch.tensor(kinds), table.clone(), types.clone()),
            torch.cat([first, second]),
            "the vector is not right",
            wrong={
                "that adds the two sums; they stand side by side": first + second,
                "the words come first": torch.cat([second, first]),
                "sum over the words, do not average them": torch.cat([first, second]) / len(words),
                "a word that occurs twice counts twice": torch.cat(
                    [table[sorted(set(words))].sum(0), types[sorted(set(kinds))].sum(0)]
                ),
            },
            what="the vector",
        )
