"""Graded exercises of the three chapters on losses, activations and descents.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from reasonlib.optimisation.page.exercises.activations import (
    check_balanced,
    check_gain,
    check_leaky,
    check_swish_slope,
)
from reasonlib.optimisation.page.exercises.descent import (
    check_adam_step,
    check_best_rate,
    check_look_ahead,
    check_momentum_step,
    check_own_descent,
)
from reasonlib.optimisation.page.exercises.losses import (
    check_best_constants,
    check_huber_slope,
    check_quantile_loss,
    check_robust_line,
    check_stable_log_loss,
)

__all__ = [
    "check_adam_step",
    "check_balanced",
    "check_best_constants",
    "check_best_rate",
    "check_gain",
    "check_huber_slope",
    "check_leaky",
    "check_look_ahead",
    "check_momentum_step",
    "check_own_descent",
    "check_quantile_loss",
    "check_robust_line",
    "check_stable_log_loss",
    "check_swish_slope",
]
