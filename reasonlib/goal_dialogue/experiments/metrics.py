"""One measure for every system: how many responses are right, and how many dialogues as a whole.

::

    Split --fit--> System --answer--> one candidate for each Example --accuracy--> per response, per dialogue
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from reasonlib.goal_dialogue.data.example import Dialogue, Example, examples

__all__ = ["System", "accuracy", "measure"]


class System(Protocol):
    """Whatever talks: rules, retrieval or a trained network."""

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the response to each example."""


def accuracy(examples: Sequence[Example], answers: Sequence[str]) -> dict[str, float]:
    """Compare answers with the responses that were given (Bordes et al. 2017, section 5).

    Returns
    -------
    dict
        ``per_response``: fraction of turns answered rightly; ``per_dialogue``: fraction of dialogues of which
        every turn is.

    Raises
    ------
    ValueError
        If there is no example, or not one answer for each.
    """
    if not examples:
        raise ValueError("accuracy needs at least one example, got none")
    if len(examples) != len(answers):
        raise ValueError(f"answers must be one for each of {len(examples)} examples, got {len(answers)}")
    whole: dict[int, bool] = {}
    right = 0
    for example, answer in zip(examples, answers, strict=True):
        good = answer == example.response
        right += good
        whole[example.dialogue] = whole.get(example.dialogue, True) and good
    return {
        "per_response": right / len(examples),
        "per_dialogue": sum(whole.values()) / len(whole),
    }


def measure(system: System, dialogues: Iterable[Dialogue]) -> dict[str, float]:
    """Let a system answer every turn of these dialogues, given what was really said before, and count."""
    asked = list(examples(dialogues))
    return accuracy(asked, system.answer(asked))
