"""The restaurants that dialogues are about: two disjoint worlds of them, and one knowledge base.

::

    half        5 cuisines x 5 locations x 3 prices x 8 ratings = 600 restaurants, each for a drawn party size
    seen        italian, ... in rome, ...      training, validation and test sets
    unseen      thai, ...    in hanoi, ...     the out-of-vocabulary test set, and nowhere else

Prices, party sizes and ratings are shared by both halves. Names and sizes are those of the released set
(Bordes, Boureau & Weston 2017, section 3.1), so both can be read by the same models.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import NamedTuple, TypeVar

from reasonlib.goal_dialogue.data.example import RELATIONS, Fact, KnowledgeBase

__all__ = [
    "SLOTS",
    "WORLD",
    "Goal",
    "Half",
    "PortableRandom",
    "World",
    "make_candidates",
    "make_knowledge",
    "restaurant_facts",
    "restaurants_by_goal",
]

SLOTS = ("cuisine", "location", "number", "price")
"""What a reservation needs, in the order of an API call and of the system's questions."""

FIXED = (
    "hello what can i help you with today",
    "i'm on it",
    "any preference on a type of cuisine",
    "where should it be",
    "how many people would be in your party",
    "which price range are looking for",
    "ok let me look into some options for you",
    "sure is there anything else to update",
    "sure let me find an other option for you",
    "great let me do the reservation",
    "is there anything i can help you with",
    "you're welcome",
)
"""The responses that name no entity."""

_FILE_ORDER = ("R_cuisine", "R_location", "R_price", "R_rating", "R_phone", "R_address", "R_number")

T = TypeVar("T")


class PortableRandom:
    """Choices that are the same on every machine and in every version of Python.

    Parameters
    ----------
    seed
        A text: two texts share no sequence.
    """

    def __init__(self, seed: str):
        self._next = Random(seed).random

    def bernoulli(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        return self._next() < probability

    def randrange(self, limit: int) -> int:
        """An integer from 0 to ``limit - 1``."""
        return int(self._next() * limit)

    def choice(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[int(self._next() * len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in another order."""
        shuffled = list(items)
        for last in range(len(shuffled) - 1, 0, -1):
            other = int(self._next() * (last + 1))
            shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
        return shuffled


class Goal(NamedTuple):
    """What a user wants: the arguments of an API call, in its order."""

    cuisine: str
    location: str
    number: str
    price: str

    @property
    def call(self) -> str:
        """The API call, as the system says it."""
        return f"api_call {self.cuisine} {self.location} {self.number} {self.price}"


@dataclass(frozen=True, kw_only=True)
class Half:
    """Cuisines and locations that occur together."""

    cuisines: tuple[str, ...]
    locations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class World:
    """Every entity there is.

    Attributes
    ----------
    seen, unseen
        Two halves without a common name; ``unseen`` is that of the out-of-vocabulary set.
    numbers, prices, ratings
        Sizes of a party, prices and ratings, shared by both halves.

    Raises
    ------
    ValueError
        If a name occurs twice, holds a blank or is missing.
    """

    seen: Half
    unseen: Half
    numbers: tuple[str, ...] = ("two", "four", "six", "eight")
    prices: tuple[str, ...] = ("cheap", "moderate", "expensive")
    ratings: tuple[str, ...] = ("1", "2", "3", "4", "5", "6", "7", "8")

    def __post_init__(self) -> None:
        groups = (
            *(self.seen.cuisines, self.seen.locations, self.unseen.cuisines, self.unseen.locations),
            *(self.numbers, self.prices, self.ratings),
        )
        names = [name for group in groups for name in group]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"every name must be given once, got {name!r} {names.count(name)} times")
            if not name or any(blank in name for blank in " \t\r\n"):
                raise ValueError(f"a name must be one word, got {name!r}")
        if not all(groups):
            raise ValueError("every group of names needs at least one")

    def half(self, unseen: bool) -> Half:
        """Give one of the two halves."""
        return self.unseen if unseen else self.seen

    def goals(self, unseen: bool = False) -> list[Goal]:
        """List every API call that a half allows."""
        half = self.half(unseen)
        return [Goal(*each) for each in product(half.cuisines, half.locations, self.numbers, self.prices)]


WORLD = World(
    seen=Half(
        cuisines=("british", "french", "indian", "italian", "spanish"),
        locations=("bombay", "london", "madrid", "paris", "rome"),
    ),
    unseen=Half(
        cuisines=("cantonese", "japanese", "korean", "thai", "vietnamese"),
        locations=("bangkok", "beijing", "hanoi", "seoul", "tokyo"),
    ),
)
"""The entities of the released set."""


def make_knowledge(world: World = WORLD, *, seed: int = 0) -> KnowledgeBase:
    """Make the knowledge base: one restaurant for each location, price, cuisine and rating of a half.

    Parameters
    ----------
    world
        The entities.
    seed
        Draws which party each restaurant can seat; everything else follows from `world`.
    """
    rng = PortableRandom(f"knowledge {seed}")
    facts: dict[str, dict[str, str]] = {}
    for unseen in (False, True):
        half = world.half(unseen)
        for location, price, cuisine, rating in product(
            half.locations, world.prices, half.cuisines, world.ratings
        ):
            name = f"resto_{location}_{price}_{cuisine}_{rating}stars"
            values = {
                "R_phone": f"{name}_phone",
                "R_cuisine": cuisine,
                "R_address": f"{name}_address",
                "R_location": location,
                "R_number": rng.choice(world.numbers),
                "R_price": price,
                "R_rating": rating,
            }
            facts[name] = {relation: values[relation] for relation in _FILE_ORDER}
    return KnowledgeBase(facts=facts)


def restaurants_by_goal(knowledge: KnowledgeBase) -> dict[Goal, list[str]]:
    """Map every API call that finds something to the restaurants it finds, in order of the knowledge base."""
    restaurants: dict[Goal, list[str]] = {}
    for name, values in knowledge.facts.items():
        goal = Goal(values["R_cuisine"], values["R_location"], values["R_number"], values["R_price"])
        restaurants.setdefault(goal, []).append(name)
    return restaurants


def restaurant_facts(name: str, values: Mapping[str, str]) -> Iterator[Fact]:
    """List what is known about a restaurant, in the order of the dialogues."""
    return (Fact(name, relation, values[relation]) for relation in RELATIONS)


def make_candidates(world: World, knowledge: KnowledgeBase, *, seed: int = 0) -> tuple[str, ...]:
    """List everything the system may say in tasks 1 to 5, shuffled.

    As in the released list: every API call of both halves; for every restaurant the option, its phone and
    its address; and the twelve responses that name no entity.
    """
    every = [
        *FIXED,
        *(goal.call for unseen in (False, True) for goal in world.goals(unseen)),
        *(f"what do you think of this option: {name}" for name in knowledge.facts),
        *(
            f"here it is {values[relation]}"
            for values in knowledge.facts.values()
            for relation in ("R_phone", "R_address")
        ),
    ]
    return tuple(PortableRandom(f"candidates {seed}").shuffled(every))
