"""An invented city: places with names and properties, towns on its railway, times of day.

The names are two words, a first part and a kind of house, so that names which training never shows can be
made of words that it does show.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from reasonlib.arguments import check_choice

__all__ = ["NAME_WORDS", "SIZES", "Place", "World", "make_world"]

AREAS = ("centre", "north", "south", "east", "west")
PRICES = ("cheap", "moderate", "expensive")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
FOODS = (
    "italian", "indian", "thai", "french", "korean", "turkish", "greek", "spanish", "mexican", "polish",
    "vietnamese", "lebanese", "ethiopian", "portuguese", "japanese", "danish", "persian", "cuban",
)  # fmt: skip
SIGHTS = ("museum", "park", "theatre", "gallery", "pool", "college", "church", "cinema", "boat", "nightclub")
TOWNS = (
    "alderton", "birchley", "cravenmoor", "dunwick", "eastmere", "fenbridge", "gorsford", "holmby",
    "ivelchester", "kingsmarsh", "larkham", "merrowdale", "northolme", "oxhey", "penwith", "quarrington",
)  # fmt: skip
_FIRST = (
    "copper", "saffron", "willow", "amber", "silver", "crooked", "hidden", "golden", "quiet", "ivory",
    "scarlet", "winter", "summer", "harbour", "royal", "little", "old", "blue", "green", "lantern", "maple",
    "raven",
)  # fmt: skip
_LAST = {
    "restaurant": ("kettle", "table", "spoon", "kitchen", "oven", "plate"),
    "hotel": ("lodge", "inn", "rest", "court", "manor", "guesthouse"),
    "attraction": ("hall", "gardens", "collection", "stage", "tower", "works"),
}

NAME_WORDS = (*_FIRST, *(word for last in _LAST.values() for word in last))
"""All words of which names are made."""

SIZES = {"small": (6, 4, 4, 6), "medium": (12, 8, 8, 12), "large": (60, 18, 16, 60)}
"""Names a domain, foods, towns and times of day for each size of city."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A restaurant, hotel or attraction.

    Attributes
    ----------
    domain, name
        Which kind of place, and its name in small letters.
    properties
        Slot to value: ``area``, ``pricerange``, ``food`` and so on, those of its domain.
    """

    domain: str
    name: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The city.

    Attributes
    ----------
    places
        Domain to its places, those that training dialogues may name.
    unseen
        Domain to places that only dialogues with ``unseen=True`` name.
    towns, times, foods
        What the railway serves, times of day as ``hh:mm``, and cuisines.
    """

    places: Mapping[str, tuple[Place, ...]]
    unseen: Mapping[str, tuple[Place, ...]]
    towns: tuple[str, ...]
    times: tuple[str, ...]
    foods: tuple[str, ...]


@lru_cache(maxsize=8)
def make_world(size: str = "small") -> World:
    """Build the city of one size; equal sizes give equal cities.

    Raises
    ------
    ValueError
        If `size` is not one of `SIZES`.
    """
    check_choice("size", size, SIZES)
    names, foods, towns, times = SIZES[size]
    draw = random.Random(f"city:{size}")
    seen, unseen = {}, {}
    for domain, last in _LAST.items():
        pool = [f"{first} {second}" for first in _FIRST for second in last]
        draw.shuffle(pool)
        places = tuple(_place(domain, name, FOODS[:foods], draw) for name in pool[: 2 * names])
        seen[domain], unseen[domain] = places[:names], places[names:]
    step = 15 * max(1, 60 // times)
    clock = [f"{(7 * 60 + step * k) // 60:02d}:{(7 * 60 + step * k) % 60:02d}" for k in range(times)]
    return World(places=seen, unseen=unseen, towns=TOWNS[:towns], times=tuple(clock), foods=FOODS[:foods])


def _place(domain: str, name: str, foods: tuple[str, ...], draw: random.Random) -> Place:
    properties = {"area": draw.choice(AREAS)}
    if domain != "attraction":
        properties["pricerange"] = draw.choice(PRICES)
    if domain == "restaurant":
        properties["food"] = draw.choice(foods)
    elif domain == "hotel":
        properties["type"] = draw.choice(("hotel", "guesthouse"))
        properties["stars"] = str(draw.randint(1, 5))
        properties["parking"] = draw.choice(("yes", "no"))
        properties["internet"] = draw.choice(("yes", "no"))
    else:
        properties["type"] = draw.choice(SIGHTS)
    return Place(domain=domain, name=name, properties=properties)
