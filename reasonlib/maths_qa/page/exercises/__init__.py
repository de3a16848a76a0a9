"""Graded exercises of the chapters on mathematics questions.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from reasonlib.maths_qa.page.exercises.holes import (
    check_equal_compute,
    check_mask,
    check_restarting_positions,
)
from reasonlib.maths_qa.page.exercises.limits import (
    check_longest_carry,
    check_place_values,
    check_short_sighted,
)
from reasonlib.maths_qa.page.exercises.questions import (
    check_mean_accuracy,
    check_remembering,
    check_wrong_reason,
)

__all__ = [
    "check_equal_compute",
    "check_longest_carry",
    "check_mask",
    "check_mean_accuracy",
    "check_place_values",
    "check_remembering",
    "check_restarting_positions",
    "check_short_sighted",
    "check_wrong_reason",
]
