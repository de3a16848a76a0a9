"""The graded exercises of this topic; see `reasonlib.grading.checks`."""

from reasonlib.TOPIC.data.simulator import simulate

from reasonlib.grading.checks import Answer, exercise, expect_equal, hint

__all__ = ["check_margin"]


@exercise(title="Count for yourself", minutes=5, points=1)
@hint("Compare twice the sum with the length.")
def check_margin(answer: Answer, seed: int = 0) -> None:
    """Check ``margin(row)``: how much more often one digit occurs than the other; `seed` draws the rows."""
    for example in simulate(8, seed, length=5):
        row = list(example.digits)
        often = len(example.support)
        wrong = {
            "that is how often the digit occurs, not how much more often": often,
            "it is never negative: take the absolute value": len(row) - 2 * often,
        }
        expect_equal(answer(list(row)), 2 * often - len(row), f"the margin of {row}", wrong=wrong)
