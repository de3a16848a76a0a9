"""Figures of this topic: conversations, what a network sees in a turn, names, and cells that disagree."""

from reasonlib.goal_dialogue.page.figures.conversations import choose, conversation, parts
from reasonlib.goal_dialogue.page.figures.disagreements import objections
from reasonlib.goal_dialogue.page.figures.names import gaps, tagged
from reasonlib.goal_dialogue.page.figures.turns import cut, hops, memory_of, ranking

__all__ = [
    "choose",
    "conversation",
    "cut",
    "gaps",
    "hops",
    "memory_of",
    "objections",
    "parts",
    "ranking",
    "tagged",
]
