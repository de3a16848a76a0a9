"""What ``reasonlib data simulate maths_qa/<module>`` offers: easy training questions of each module."""

from collections.abc import Callable
from functools import partial

from reasonlib.maths_qa.data.example import Problem
from reasonlib.maths_qa.data.generator import simulate
from reasonlib.maths_qa.data.modules import MODULES

__all__ = ["SIMULATORS"]


def _draw(module: str, questions: int, seed: int) -> list[Problem]:
    return simulate(module, questions, seed=seed)


SIMULATORS: dict[str, Callable[[int, int], list[Problem]]] = {
    module: partial(_draw, module) for module in MODULES
}
"""Module to a function of the number of questions and a seed."""
