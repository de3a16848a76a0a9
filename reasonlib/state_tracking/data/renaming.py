"""Augment training dialogues: places get invented names, and areas are exchanged.

The simulated city has few places. A tracker that sees them often memorises them: it then misses new names,
and areas that have no place of that kind. Replacing values in training is a known remedy (Xu and Hu 2018 drop
them instead).
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from reasonlib.state_tracking.data.example import Dialogue
from reasonlib.state_tracking.data.ontology import slot_of
from reasonlib.state_tracking.data.world import NAME_WORDS, make_world

__all__ = ["rename_places", "renamed"]

_COMPASS = ("north", "south", "east", "west")
_SYLLABLES = ("ba", "del", "fin", "go", "kar", "lo", "mi", "nu", "ra", "sel", "to", "vin")


def renamed(dialogues: Sequence[Dialogue], share: float, *, seed: int) -> tuple[Dialogue, ...]:
    """Rename the places of a share of dialogues.

    Parameters
    ----------
    dialogues
        Simulated dialogues.
    share
        The probability of each to be renamed, 0 to 1.
    seed
        Draws which, and the names.
    """
    changed = []
    for number, dialogue in enumerate(dialogues):
        draw = random.Random(f"names:{seed}:{number}")
        changed.append(rename_places(dialogue, draw) if draw.random() < share else dialogue)
    return tuple(changed)


def rename_places(dialogue: Dialogue, draw: random.Random) -> Dialogue:
    """Give every place of a dialogue an invented name, and exchange north, south, east and west.

    A name has one to three words. Some of the words are made of syllables, so that no tokenizer of whole
    words knows them. No name is one that only test dialogues have.
    """
    names = {
        value
        for turn in dialogue.turns
        for pair, value in (*turn.state.items(), *turn.unfilled)
        if slot_of(pair) == "name" and value != "dontcare"
    }
    new = dict(zip(_COMPASS, draw.sample(_COMPASS, k=len(_COMPASS)), strict=True))
    for name in sorted(names):
        invented = _name(draw)
        while invented in new.values() or invented in _kept():
            invented = _name(draw)
        new[name] = invented
    longest_first = sorted(map(re.escape, new), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\S)(?:{'|'.join(longest_first)})(?!\S)")

    def swap(text: str) -> str:
        return pattern.sub(lambda match: new[match[0]], text)

    return replace(
        dialogue,
        turns=tuple(
            replace(
                turn,
                system=swap(turn.system),
                user=swap(turn.user),
                state={pair: new.get(value, value) for pair, value in turn.state.items()},
                unfilled=tuple((pair, new.get(value, value)) for pair, value in turn.unfilled),
            )
            for turn in dialogue.turns
        ),
    )


@lru_cache(maxsize=1)
def _kept() -> frozenset[str]:
    return frozenset(venue.name for venues in make_world().unseen.values() for venue in venues)


def _name(draw: random.Random) -> str:
    words = []
    for _ in range(draw.choices((1, 2, 3), (1, 3, 1))[0]):
        real_word = draw.random() < 0.7
        words.append(draw.choice(NAME_WORDS) if real_word else "".join(draw.choices(_SYLLABLES, k=3)))
    return " ".join(words)
