"""The graded exercises of this topic; see `reasonlib.grading.checks`."""

from collections.abc import Callable

from reasonlib.grading.checks import exercise, expect_equal

__all__ = ["check_majority"]


@exercise(title="Count for yourself", minutes=5, points=1, hint="Compare twice the sum with the length.")
def check_majority(answer: Callable[[list[int]], int]) -> None:
    """Check ``majority(row)``: the digit that occurs more often in a row of 0 and 1."""
    for row in ([1, 0, 1], [0, 0, 1], [1, 1, 1, 0, 0]):
        wrong = {"that is the digit that occurs less often": int(2 * sum(row) <= len(row))}
        expect_equal(answer(list(row)), int(2 * sum(row) > len(row)), f"the majority of {row}", wrong=wrong)
