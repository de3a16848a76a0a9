"""Graded exercises of the four chapters on goal-oriented dialogue.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

from reasonlib.goal_dialogue.page.exercises.dialogue import (
    check_most_alike,
    check_next_question,
    check_whole_dialogues,
)
from reasonlib.goal_dialogue.page.exercises.memory import check_gate, check_match_feature, check_tie
from reasonlib.goal_dialogue.page.exercises.questions import CUISINE, LOOK, NUMBER, PLACE, PRICE, QUESTIONS
from reasonlib.goal_dialogue.page.exercises.wall import check_bound, check_describe, check_template
from reasonlib.goal_dialogue.page.exercises.words import check_beside, check_break_tagger, check_lstm_step

__all__ = [
    "CUISINE",
    "LOOK",
    "NUMBER",
    "PLACE",
    "PRICE",
    "QUESTIONS",
    "check_beside",
    "check_bound",
    "check_break_tagger",
    "check_describe",
    "check_gate",
    "check_lstm_step",
    "check_match_feature",
    "check_most_alike",
    "check_next_question",
    "check_template",
    "check_tie",
    "check_whole_dialogues",
]
