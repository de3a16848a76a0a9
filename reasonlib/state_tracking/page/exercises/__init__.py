"""Graded exercises of the chapters on dialogue state tracking.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from reasonlib.state_tracking.page.exercises.relations import (
    check_block_mask,
    check_breaking_dialogue,
    check_reach,
)
from reasonlib.state_tracking.page.exercises.tokens import check_ceiling, check_gated, check_order_gap
from reasonlib.state_tracking.page.exercises.turns import check_extremes, check_first_errors, check_joint_goal

__all__ = [
    "check_block_mask",
    "check_breaking_dialogue",
    "check_ceiling",
    "check_extremes",
    "check_first_errors",
    "check_gated",
    "check_joint_goal",
    "check_order_gap",
    "check_reach",
]
