"""The one example that the simulator, the corpus reader and every model of this topic share."""

import re
from dataclasses import dataclass

TASK_NAMES = {
    1: "one supporting fact",
    2: "two supporting facts",
    3: "three supporting facts",
    4: "two-argument relations",
    5: "three-argument relations",
    6: "yes/no questions",
    7: "counting",
    8: "lists and sets",
    9: "simple negation",
    10: "indefinite knowledge",
    11: "basic coreference",
    12: "conjunction",
    13: "compound coreference",
    14: "time reasoning",
    15: "basic deduction",
    16: "basic induction",
    17: "positional reasoning",
    18: "size reasoning",
    19: "path finding",
    20: "agents' motivations",
}

TASKS = tuple(TASK_NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One question about one story (Weston et al. 2015).

    Attributes
    ----------
    task
        1 to 20.
    story
        The sentences told before the question, oldest first, each with its full stop.
    question
        The question, with its question mark.
    answer
        One word, or several for lists (task 8) and paths (task 19), which the released files join by commas.
    support
        Positions in `story` of the sentences that the answer needs, in the order the files give them.
    group
        Number of the story this question belongs to; its questions share a growing list of sentences.
    """

    task: int
    story: tuple[str, ...]
    question: str
    answer: tuple[str, ...]
    support: tuple[int, ...]
    group: int


def words(sentence: str) -> list[str]:
    """Split a sentence into lower-case words without punctuation.

    >>> words("Where is Mary's milk?")
    ['where', 'is', "mary's", 'milk']
    """
    return re.findall(r"[a-z0-9']+", sentence.lower())
