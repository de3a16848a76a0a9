"""Graded exercises of the three chapters on the Transformer.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from reasonlib.transformer.page.exercises.attention import check_attend, check_may_see, check_waves
from reasonlib.transformer.page.exercises.parts import check_best_pair, check_next_beam, check_shared
from reasonlib.transformer.page.exercises.pretraining import check_continues, check_hide, check_pair

__all__ = [
    "check_attend",
    "check_best_pair",
    "check_continues",
    "check_hide",
    "check_may_see",
    "check_next_beam",
    "check_pair",
    "check_shared",
    "check_waves",
]
