"""What of a test was heard in training: a bound for every system that learns a vector for each word.

Such a network raises a candidate's score by what it learned about its words. A candidate with a word that no
training dialogue holds is told from others of its kind by chance alone: the vector of that word is as random
after training as it was before. The share of responses without such a word is as far as it comes, and where
many numbers of the thesis stop.
"""

from collections.abc import Sequence
from typing import NamedTuple

from reasonlib.goal_dialogue.dialogue import Dialogue, examples
from reasonlib.goal_dialogue.tagging import sentences_of

__all__ = ["Heard", "heard"]


class Heard(NamedTuple):
    """What of some dialogues was heard in others.

    Attributes
    ----------
    turns
        Responses asked for.
    responses
        Share of them that are, word by word, a response of the training dialogues.
    words
        Share of them of which every word occurs somewhere in the training dialogues.
    api_calls, options, details
        The same as ``words`` among API calls, proposed restaurants, and phone numbers or addresses; None
        where there are none.
    """

    turns: int
    responses: float
    words: float
    api_calls: float | None
    options: float | None
    details: float | None


KINDS = {
    "api_calls": "api_call",
    "options": "what do you think of this option:",
    "details": "here it is",
}
"""How responses begin that name entities."""


def heard(train: Sequence[Dialogue], test: Sequence[Dialogue]) -> Heard:
    """Compare the responses of test dialogues with what training dialogues hold.

    Parameters
    ----------
    train, test
        Both not empty.

    Raises
    ------
    ValueError
        If one holds no turn.

    Examples
    --------
    >>> from reasonlib.goal_dialogue.dialogue import Turn
    >>> def talk(bot):
    ...     return [Dialogue(task=4, events=(Turn("the phone", bot),))]
    >>> heard(talk("here it is one_phone"), talk("here it is two_phone")).details
    0.0
    """
    said = {example.response for example in examples(train)}
    known = {word for sentence in sentences_of(train) for word in sentence}
    asked = [example.response for example in examples(test)]
    if not said or not asked:
        raise ValueError("train and test must each hold at least one turn")
    whole = [set(response.split()) <= known for response in asked]

    def share(start: str) -> float | None:
        kind = [good for response, good in zip(asked, whole, strict=True) if response.startswith(start)]
        return sum(kind) / len(kind) if kind else None

    return Heard(
        turns=len(asked),
        responses=sum(response in said for response in asked) / len(asked),
        words=sum(whole) / len(asked),
        **{name: share(start) for name, start in KINDS.items()},
    )
