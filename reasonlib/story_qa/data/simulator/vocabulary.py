"""Names, verbs and random draws that the simulators of all tasks share.

Every random choice calls one function `draw`, which returns a float in [0, 1):
``random.Random(seed).random``, whose sequence Python guarantees. Nothing depends on hashes, so a seed gives
the same bytes on every machine.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

Draw = Callable[[], float]
T = TypeVar("T")

HOME = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
TOWN = ("bedroom", "cinema", "kitchen", "office", "park", "school")

# The order matters for gifts only: the first person in the room receives the first object.
FAMILY = ("John", "Mary", "Sandra", "Daniel")
FRIENDS = ("Mary", "Fred", "Bill", "Jeff")
CLASSMATES = ("Mary", "Julie", "Fred", "Bill")

OBJECTS = ("apple", "football", "milk")

WENT = ("moved", "went", "went back", "travelled", "journeyed")
TOOK = ("picked up", "got", "grabbed", "took")
LEFT = ("put down", "left", "dropped", "discarded")
GAVE = ("gave", "handed", "passed")

WINDOW = 5  # a question is about one of the last five facts


class Question(NamedTuple):
    """One question about the first `sentences` sentences of a story."""

    sentences: int
    question: str
    answer: tuple[str, ...]
    support: tuple[int, ...]


class SimulatedStory(NamedTuple):
    """All sentences of a story, and its questions in order."""

    sentences: list[str]
    questions: list[Question]


def pick(draw: Draw, items: Sequence[T]) -> T:
    """Return one item, each with equal probability."""
    return items[int(draw() * len(items))]


def other(draw: Draw, count: int, excluded: int) -> int:
    """Return one of 0 to ``count - 1`` except `excluded`, each with equal probability."""
    chosen = int(draw() * (count - 1))
    return chosen + (chosen >= excluded)


def shuffled(draw: Draw, items: Sequence[T]) -> list[T]:
    """Return the items in random order, each order with equal probability."""
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        swap = int(draw() * (last + 1))
        order[last], order[swap] = order[swap], order[last]
    return order
