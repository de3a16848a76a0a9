"""Graded exercises of the four chapters on visual IQ tests.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from reasonlib.visual_iq.page.exercises.perception import check_angle_ceiling, check_keep_best, check_overlap
from reasonlib.visual_iq.page.exercises.problems import some_problems
from reasonlib.visual_iq.page.exercises.puzzles import check_answer_set, check_row_rules
from reasonlib.visual_iq.page.exercises.reasoning import check_contrast, check_twin, check_without_contrast
from reasonlib.visual_iq.page.exercises.shortcut import (
    check_border,
    check_other_questions,
    check_preferred_share,
    check_vote,
)

__all__ = [
    "check_angle_ceiling",
    "check_answer_set",
    "check_border",
    "check_contrast",
    "check_keep_best",
    "check_other_questions",
    "check_overlap",
    "check_preferred_share",
    "check_row_rules",
    "check_twin",
    "check_vote",
    "check_without_contrast",
    "some_problems",
]
