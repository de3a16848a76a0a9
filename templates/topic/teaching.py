"""Teacher's edition of `TOPIC`: solutions, wrong answers, and what each of them teaches."""

from reasonlib.grading.edition import Mistake, Solved

EDITION = {
    "margin": Solved(
        lambda row: abs(2 * sum(row) - len(row)),
        [
            Mistake(lambda row: 2 * sum(row) - len(row), "never negative", "a margin has no sign"),
            Mistake(lambda row: max(sum(row), len(row) - sum(row)), "how often", "a margin is a difference"),
            Mistake(lambda row: abs(sum(row) - len(row)), "the margin of|never|how often", "a 0 counts -1"),
        ],
    ),
}
