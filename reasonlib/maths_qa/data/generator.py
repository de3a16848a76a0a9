"""Draw questions with the canonical generator, reproducibly.

Source: Saxton et al. (2019), section 2. Questions are drawn in blocks. A block has a seed of its own, made
from the seed, the module, the difficulty and the number of the block, so that the questions are the same in
whichever order and in however many processes the blocks are drawn.

By hand: ``simulate("numbers__place_value", 2, seed=0)`` draws the first two questions of block 0.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np

from reasonlib.arguments import check_choice
from reasonlib.maths_qa.data.compatibility import load_generator, released_printing
from reasonlib.maths_qa.data.example import DIFFICULTIES, LONGEST_ANSWER, LONGEST_QUESTION, Problem
from reasonlib.maths_qa.data.modules import EXTRAPOLATION, MODULES

__all__ = ["BLOCK", "check_request", "draw_block", "simulate"]

BLOCK = 500  # questions that share a seed


def simulate(module: str, questions: int, *, seed: int = 0, difficulty: str = "easy") -> list[Problem]:
    """Draw questions of one module.

    Parameters
    ----------
    module
        One of `MODULES`; of `EXTRAPOLATION` if the difficulty is ``extrapolate``.
    questions
        How many. Fewer are the beginning of more.
    seed
        Seed of the random draws.
    difficulty
        ``easy``, ``medium`` or ``hard``: a third each of the range of the entropy of the training questions;
        ``interpolate`` or ``extrapolate``: a test set.

    Returns
    -------
    list of Problem
        Questions of at most 160 characters, with answers of at most 30. The generator may draw a question
        twice.

    Raises
    ------
    ValueError
        If there is no such module or difficulty, or the number is negative.
    UserError
        If the generator is not installed.
    """
    check_request(module, questions, difficulty)
    problems: list[Problem] = []
    for block in range(-(-questions // BLOCK)):
        count = min(BLOCK, questions - len(problems))
        problems += draw_block(module, difficulty, block, seed=seed, count=count)
    return problems


def check_request(module: str, questions: int, difficulty: str) -> None:
    """Raise a ValueError if there is no such module or difficulty, or the number is negative."""
    check_choice("difficulty", difficulty, DIFFICULTIES)
    names = EXTRAPOLATION if difficulty == "extrapolate" else MODULES
    check_choice("module", module, names)
    if questions < 0:
        raise ValueError(f"questions must be at least 0, got {questions}")


def draw_block(module: str, difficulty: str, block: int, *, seed: int, count: int = BLOCK) -> list[Problem]:
    """Draw the first `count` questions of one block."""
    draw = _functions(difficulty)[module]
    problems: list[Problem] = []
    with _seeded(f"{seed}:{module}:{difficulty}:{block}"), released_printing():
        while len(problems) < count:
            problem = draw()
            question, answer = str(problem.question), str(problem.answer)
            if len(question) <= LONGEST_QUESTION and len(answer) <= LONGEST_ANSWER:
                problems.append(
                    Problem(question=question, answer=answer, module=module, difficulty=difficulty)
                )
    return problems


@lru_cache(maxsize=len(DIFFICULTIES))
def _functions(difficulty: str) -> dict[str, Callable[[], Any]]:
    """Return the functions that draw a problem, by the name of their module."""
    modules = load_generator()
    if difficulty == "interpolate":
        nested = modules.test()
    elif difficulty == "extrapolate":
        nested = modules.test_extra()
    else:
        third = DIFFICULTIES.index(difficulty)
        nested = modules.train(lambda entropy: _third(entropy, third))
    return {f"{area}__{name}": draw for area, names in nested.items() for name, draw in names.items()}


def _third(entropy: tuple[float, float], number: int) -> tuple[float, float]:
    """Return the lower, middle or upper third of a range of entropies.

    >>> _third((3.0, 9.0), 1)
    (5.0, 7.0)
    """
    low, high = entropy
    step = (high - low) / 3
    return low + number * step, low + (number + 1) * step


@contextmanager
def _seeded(name: str) -> Iterator[None]:
    """Seed the generators that the package draws from, and restore them after.

    They are those of Python and NumPy, and that of SymPy, which draws primes.
    """
    from sympy.core.random import rng

    digest = sha256(name.encode()).digest()
    before = random.getstate(), np.random.get_state(), rng.getstate()
    random.seed(int.from_bytes(digest[:8], "big"))
    np.random.seed(int.from_bytes(digest[8:12], "big"))
    rng.seed(int.from_bytes(digest[12:20], "big"))
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        rng.setstate(before[2])
