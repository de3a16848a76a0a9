"""What dialogues are made of, so that simulated ones can be held against the released ones.

Entities give way to their types, and what remains are phrases, few enough to compare::

    may i have a table in rome for two  -->  may i have a table | in <location> | for <number>
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reasonlib.data.distributions import total_variation
from reasonlib.goal_dialogue.data.example import SILENCE, Dialogue, Fact, Turn

__all__ = ["Comparison", "Statistics", "compare", "describe", "phrases", "template"]

_CUT = re.compile(r" (?=(?:with|in|for|at) )")


def template(text: str, types: Mapping[str, str]) -> str:
    """Put the type of each entity in its place.

    >>> template("in rome please", {"rome": "location"})
    'in <location> please'
    """
    return " ".join(f"<{types[word]}>" if word in types else word for word in text.split(" "))


def phrases(text: str, types: Mapping[str, str]) -> tuple[str, ...]:
    """Split a template before each word that starts a wish, so that their order no longer matters."""
    return tuple(_CUT.split(template(text, types)))


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """What a file of dialogues is made of.

    Attributes
    ----------
    dialogues, turns, facts
        How many there are.
    lengths
        Number of turns to number of dialogues.
    silences
        Turns at which the user says nothing.
    responses
        Template of a response to how often it is given.
    phrases
        Phrase of a user to how often it is said.
    restaurants
        Restaurants that a dialogue lists to number of dialogues.
    offered
        Options that a dialogue shows to number of dialogues.
    """

    dialogues: int
    turns: int
    facts: int
    lengths: Mapping[int, int]
    silences: int
    responses: Mapping[str, int]
    phrases: Mapping[str, int]
    restaurants: Mapping[int, int]
    offered: Mapping[int, int]

    def rows(self) -> dict[str, float]:
        """List the numbers that fit a table."""
        return {
            "dialogues": self.dialogues,
            "turns per dialogue": self.turns / self.dialogues,
            "facts per dialogue": self.facts / self.dialogues,
            "silent turns": self.silences / self.turns,
            "different responses": len(self.responses),
            "different phrases": len(self.phrases),
            "restaurants found": sum(key * count for key, count in self.restaurants.items()) / self.dialogues,
            "options shown": sum(key * count for key, count in self.offered.items()) / self.dialogues,
        }


def describe(dialogues: Sequence[Dialogue], types: Mapping[str, str]) -> Statistics:
    """Count what dialogues are made of.

    Parameters
    ----------
    dialogues
        At least one.
    types
        Entity to type, as `KnowledgeBase.types` gives it.

    Raises
    ------
    ValueError
        If there is no dialogue.
    """
    if not dialogues:
        raise ValueError("describe needs at least one dialogue, got none")
    responses: Counter[str] = Counter()
    phrase_counts: Counter[str] = Counter()
    lengths: Counter[int] = Counter()
    restaurant_counts: Counter[int] = Counter()
    offered: Counter[int] = Counter()
    turns = facts = silences = 0
    for dialogue in dialogues:
        names: set[str] = set()
        options = 0
        for event in dialogue.events:
            if isinstance(event, Fact):
                facts += 1
                names.add(event.subject)
            elif isinstance(event, Turn):
                turns += 1
                silences += event.user == SILENCE
                response = template(event.bot, types)
                responses[response] += 1
                options += response.endswith(" <restaurant>")
                if event.user != SILENCE:
                    phrase_counts.update(phrases(event.user, types))
        lengths[len(dialogue.turns)] += 1
        restaurant_counts[len(names)] += 1
        offered[options] += 1
    return Statistics(
        dialogues=len(dialogues),
        turns=turns,
        facts=facts,
        lengths=dict(sorted(lengths.items())),
        silences=silences,
        responses=dict(responses.most_common()),
        phrases=dict(phrase_counts.most_common()),
        restaurants=dict(sorted(restaurant_counts.items())),
        offered=dict(sorted(offered.items())),
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two sets side by side.

    Attributes
    ----------
    only_first, only_second
        Responses and phrases that the other lacks.
    responses, phrases, lengths, restaurants, offered
        Total variation distance of the two distributions: 0 if they are the same, 1 if they share nothing.
    """

    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    responses: float
    phrases: float
    lengths: float
    restaurants: float
    offered: float


def compare(first: Statistics, second: Statistics) -> Comparison:
    """Compare what two files of dialogues are made of."""
    texts = [{*statistics.responses, *statistics.phrases} for statistics in (first, second)]
    return Comparison(
        only_first=tuple(sorted(texts[0] - texts[1])),
        only_second=tuple(sorted(texts[1] - texts[0])),
        responses=total_variation(first.responses, second.responses),
        phrases=total_variation(first.phrases, second.phrases),
        lengths=total_variation(first.lengths, second.lengths),
        restaurants=total_variation(first.restaurants, second.restaurants),
        offered=total_variation(first.offered, second.offered),
    )
