"""How near simulated dialogues come to MultiWOZ in numbers: turns, words, slots filled, references.

`MULTIWOZ` was measured with `describe` on the 7,904 pre-processed training dialogues (labels edited by the
STAR authors; see `corpus`).
"""

from collections.abc import Sequence
from statistics import fmean

from reasonlib.state_tracking.data.example import Dialogue
from reasonlib.state_tracking.data.metrics import inherited_pairs
from reasonlib.state_tracking.data.ontology import DONTCARE, domain_of

__all__ = ["MULTIWOZ", "NAMES", "describe"]

NAMES = {
    "turns": "turns a dialogue",
    "user_words": "words in a user's turn",
    "system_words": "words in a system's turn",
    "dialogue_words": "words in a dialogue",
    "filled": "slots filled, mean over turns",
    "filled_at_end": "slots filled at the end",
    "domains": "domains a dialogue",
    "dontcare": "share of dontcare among filled slots at the end",
    "inherited": "share of slots that refer to another slot, at the end",
}

MULTIWOZ = {
    "turns": 6.956,
    "user_words": 13.599,
    "system_words": 18.634,
    "dialogue_words": 205.624,
    "filled": 5.406,
    "filled_at_end": 7.353,
    "domains": 1.789,
    "dontcare": 0.028,
    "inherited": 0.042,
}


def describe(dialogues: Sequence[Dialogue]) -> dict[str, float]:
    """Measure what `NAMES` lists.

    A reference is counted as `metrics.inherited_pairs` does: by label where there is one, else by inference.

    Raises
    ------
    ValueError
        If there are no dialogues.
    """
    if not dialogues:
        raise ValueError("dialogues must hold at least one dialogue, got none")
    turns = [turn for dialogue in dialogues for turn in dialogue.turns]
    ends = [dialogue.turns[-1].state for dialogue in dialogues]
    filled = sum(len(state) for state in ends)
    texts = [[f"{turn.system} {turn.user}".split() for turn in dialogue.turns] for dialogue in dialogues]
    references = sum(len(inherited_pairs(dialogue, len(dialogue.turns) - 1)) for dialogue in dialogues)
    return {
        "turns": len(turns) / len(dialogues),
        "user_words": fmean(len(turn.user.split()) for turn in turns),
        "system_words": fmean(len(turn.system.split()) for turn in turns if turn.system),
        "dialogue_words": fmean(sum(map(len, text)) for text in texts),
        "filled": fmean(len(turn.state) for turn in turns),
        "filled_at_end": filled / len(dialogues),
        "domains": fmean(len({domain_of(pair) for pair in state}) for state in ends),
        "dontcare": sum(value == DONTCARE for state in ends for value in state.values()) / max(filled, 1),
        "inherited": references / max(filled, 1),
    }
