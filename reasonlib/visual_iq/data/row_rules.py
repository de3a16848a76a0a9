"""The rules that rows can follow, each as a function that tests eight panels and predicts the ninth.

Each function takes eight values a problem (levels, counts, or slots as bits), a step or sign, and one more
number: how many slots there are, or what is added to the second level of a sum. It returns where rows one and
two follow the rule and row three does not contradict it, and the value of the ninth panel by the rule.

Axes: N problems, G 4 groups of rules.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from reasonlib.visual_iq.data.grammar import RuleOption

__all__ = ["LEVEL_RULES", "SLOT_RULES", "colour_arithmetic", "matches_named"]

Rule = Callable[[Int[ndarray, "N 8"], int, int], tuple[Bool[ndarray, "N"], Int[ndarray, "N"]]]


def _constant(values: ndarray, step: int, extra: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    return _rows_agree(a == b, b == c), values[:, 7]


def _progression(values: ndarray, step: int, extra: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    return _rows_agree(b == a + step, c == b + step), values[:, 7] + step


def _arithmetic(values: ndarray, sign: int, extra: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    third = values[:, 6] + sign * (values[:, 7] + extra)
    return _rows_agree(np.ones_like(a, bool), c == a + sign * (b + extra)), third


def colour_arithmetic(values: ndarray, sign: int, extra: int) -> tuple[ndarray, ndarray]:
    """Test arithmetic of colours: two rows that add or subtract white (0) do not count as arithmetic."""
    fits, third = _arithmetic(values, sign, extra)
    return fits & ((values[:, 1] > 0) | (values[:, 4] > 0)), third


def _distribute_three(values: ndarray, step: int, extra: int) -> tuple[ndarray, ndarray]:
    first, second, third = values[:, :3], values[:, 3:6], values[:, 6:]
    different = (first != np.roll(first, 1, axis=1)).all(axis=1)
    left, right = np.roll(first, -1, axis=1), np.roll(first, 1, axis=1)
    leftward = (second == left).all(axis=1) & (third == right[:, :2]).all(axis=1)
    rightward = (second == right).all(axis=1) & (third == left[:, :2]).all(axis=1)
    return different & (leftward | rightward), np.where(leftward, right[:, 2], left[:, 2])


def _moved_slots(values: ndarray, step: int, size: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    return _rows_agree(b == _rotate_slots(a, step, size), c == _rotate_slots(b, step, size)), _rotate_slots(
        values[:, 7], step, size
    )


def _set_arithmetic(values: ndarray, sign: int, size: int) -> tuple[ndarray, ndarray]:
    a, b, c = _columns(values)
    together = np.where(sign > 0, a | b, a & ~b)
    grows = np.where(sign > 0, b & ~a, a & ~b) != 0
    return _rows_agree(grows, c == together), together[:, 2]


def _columns(values: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Give the first and second values of three rows, and the third of two."""
    return values[:, [0, 3, 6]], values[:, [1, 4, 7]], values[:, [2, 5, 5]]


def _rows_agree(start: Bool[ndarray, "N 3"], end: Bool[ndarray, "N 3"]) -> Bool[ndarray, "N"]:
    return np.asarray(np.logical_and.reduce([*start.T, *end[:, :2].T]))


def _rotate_slots(sets: ndarray, step: int, size: int) -> ndarray:
    """Move every slot of a set on by some steps, the last to the first."""
    step %= size
    return (sets << step | sets >> (size - step)) & ((1 << size) - 1)


LEVEL_RULES: dict[str, Rule] = {
    "constant": _constant,
    "progression": _progression,
    "arithmetic": _arithmetic,
    "distribute three": _distribute_three,
}
SLOT_RULES: dict[str, Rule] = {
    "constant": _constant,
    "progression": _moved_slots,
    "arithmetic": _set_arithmetic,
    "distribute three": _distribute_three,
}


def matches_named(named: Int[ndarray, "N G 3"] | None, group: int, option: RuleOption) -> ndarray | bool:
    """Tell where a rule is of the kind that the problem names, or none is named."""
    if named is None:
        return True
    return (named[:, group, 0] == option.code[0]) & (named[:, group, 1] == option.code[1])
