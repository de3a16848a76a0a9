"""The metric of this topic: the share of right responses, and of dialogues without a wrong one.

::

    Split --fit--> System --answer--> one candidate for each Example --accuracy--> per response, per dialogue
"""

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Bool, Int

from reasonlib.goal_dialogue.data.example import Dialogue, Example, examples
from reasonlib.goal_dialogue.models.system import System

__all__ = ["evaluate", "response_accuracy", "score_answers"]


def response_accuracy(correct: Bool[np.ndarray, " N"], dialogue: Int[np.ndarray, " N"]) -> dict[str, float]:
    """Count right responses, and dialogues with right responses alone (Bordes et al. 2017, section 5).

    Parameters
    ----------
    correct : (N,)
        Whether each response is right.
    dialogue : (N,)
        Index of the dialogue that each response belongs to.

    Returns
    -------
    dict
        ``per_response``: fraction of right responses; ``per_dialogue``: fraction of dialogues in which every
        response is right.

    Raises
    ------
    ValueError
        If there is no response, or not one dialogue for each.

    Examples
    --------
    >>> response_accuracy(np.array([True, False, True]), np.array([0, 0, 1]))
    {'per_response': 0.6666666666666666, 'per_dialogue': 0.5}
    """
    correct, dialogue = np.asarray(correct, dtype=bool), np.asarray(dialogue)
    if not len(correct):
        raise ValueError("accuracy needs at least one response, got none")
    if len(correct) != len(dialogue):
        raise ValueError(f"dialogue must be one for each of {len(correct)} responses, got {len(dialogue)}")
    whole = np.ones(int(dialogue.max()) + 1, dtype=bool)
    np.logical_and.at(whole, dialogue, correct)
    present = np.bincount(dialogue, minlength=len(whole)) > 0
    return {"per_response": float(correct.mean()), "per_dialogue": float(whole[present].mean())}


def score_answers(examples: Sequence[Example], answers: Sequence[str]) -> dict[str, float]:
    """Compare answers with the responses that were given; see `response_accuracy`.

    Raises
    ------
    ValueError
        If there is no example, or not one answer for each.
    """
    if len(examples) != len(answers):
        raise ValueError(f"answers must be one for each of {len(examples)} examples, got {len(answers)}")
    correct = [answer == example.response for example, answer in zip(examples, answers, strict=True)]
    return response_accuracy(np.array(correct, dtype=bool), np.array([each.dialogue for each in examples]))


def evaluate(system: System, dialogues: Iterable[Dialogue]) -> dict[str, float]:
    """Let a system answer every turn of these dialogues, given what was really said before, and count."""
    turns = list(examples(dialogues))
    return score_answers(turns, system.answer(turns))
