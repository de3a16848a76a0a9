"""Graded exercises of the chapters "Stories and memory" and "BERT on the same stories".

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from reasonlib.story_qa.page.exercises.bert import check_agreement, check_best_span, check_encode_once
from reasonlib.story_qa.page.exercises.memory import (
    MOST_EPOCHS,
    MOST_WEIGHTS,
    ONE_HOP_MARK,
    PASS_MARK,
    check_find_location,
    check_position_weights,
    check_read_once,
    check_two_hops,
    two_facts,
)

__all__ = [
    "MOST_EPOCHS",
    "MOST_WEIGHTS",
    "ONE_HOP_MARK",
    "PASS_MARK",
    "check_agreement",
    "check_best_span",
    "check_encode_once",
    "check_find_location",
    "check_position_weights",
    "check_read_once",
    "check_two_hops",
    "two_facts",
]
