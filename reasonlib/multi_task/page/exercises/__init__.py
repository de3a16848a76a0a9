"""Graded exercises of the chapters on many tasks and one encoder.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from reasonlib.multi_task.page.exercises.heads import check_answer, check_fooling_pair, check_ranking_loss
from reasonlib.multi_task.page.exercises.sharing import check_project, check_safe_weights, check_third_task
from reasonlib.multi_task.page.exercises.tasks import check_luck, check_matthews, check_task_shares

__all__ = [
    "check_answer",
    "check_fooling_pair",
    "check_luck",
    "check_matthews",
    "check_project",
    "check_ranking_loss",
    "check_safe_weights",
    "check_task_shares",
    "check_third_task",
]
