"""What the simulator and the reader of released files both give: a question and its answer."""

from dataclasses import dataclass

from reasonlib.arguments import check_choice

__all__ = ["DIFFICULTIES", "LONGEST_ANSWER", "LONGEST_QUESTION", "Problem"]

LONGEST_QUESTION = 160  # characters; the generator draws again where a question is longer
LONGEST_ANSWER = 30  # characters

DIFFICULTIES = ("easy", "medium", "hard", "interpolate", "extrapolate")
"""Three parts of the training data, and two kinds of test data."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A question in words and symbols, and the answer that must be written character for character.

    Attributes
    ----------
    question, answer
        Free text.
    module
        What drew it, such as ``arithmetic__add_or_sub``; see `reasonlib.maths_qa.data.modules`.
    difficulty
        One of `DIFFICULTIES`.
    """

    question: str
    answer: str
    module: str
    difficulty: str

    def __post_init__(self) -> None:
        check_choice("difficulty", self.difficulty, DIFFICULTIES)
