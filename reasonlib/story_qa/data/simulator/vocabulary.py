"""What the simulated worlds share: their words, and how chance is drawn.

Chance comes from one function `draw` that gives a float in [0, 1): ``random.Random(seed).random``, whose
sequence Python promises to keep. Nothing else is random here and nothing depends on hashes, so a seed gives
the same bytes on every machine.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

Draw = Callable[[], float]
T = TypeVar("T")

HOME = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
TOWN = ("bedroom", "cinema", "kitchen", "office", "park", "school")

# The order matters for gifts alone: the first person near is given the first object.
FAMILY = ("John", "Mary", "Sandra", "Daniel")
FRIENDS = ("Mary", "Fred", "Bill", "Jeff")
CLASSMATES = ("Mary", "Julie", "Fred", "Bill")

OBJECTS = ("apple", "football", "milk")

WENT = ("moved", "went", "went back", "travelled", "journeyed")
TOOK = ("picked up", "got", "grabbed", "took")
LEFT = ("put down", "left", "dropped", "discarded")
GAVE = ("gave", "handed", "passed")

WINDOW = 5  # a question is about one of the last five facts told


class Asked(NamedTuple):
    """One question about the first `told` sentences of a story."""

    told: int
    question: str
    answer: tuple[str, ...]
    support: tuple[int, ...]


class Story(NamedTuple):
    """All sentences of a story and the questions asked on the way, in order."""

    sentences: list[str]
    asked: list[Asked]


def pick(draw: Draw, items: Sequence[T]) -> T:
    """Choose one item, each with equal probability."""
    return items[int(draw() * len(items))]


def other(draw: Draw, count: int, not_this: int) -> int:
    """Choose one of 0 to ``count - 1`` except `not_this`, each with equal probability."""
    chosen = int(draw() * (count - 1))
    return chosen + (chosen >= not_this)


def shuffled(draw: Draw, items: Sequence[T]) -> list[T]:
    """Give the items in random order, each order with equal probability."""
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        swap = int(draw() * (last + 1))
        order[last], order[swap] = order[swap], order[last]
    return order
