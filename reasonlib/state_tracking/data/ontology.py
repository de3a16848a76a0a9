"""The 30 domain-slot pairs of MultiWOZ, and the values none and dontcare (Budzianowski et al. 2018).

A state maps a pair to its value; a pair that the user has said nothing about is absent, and its value reads
``none``. ``dontcare`` is a value: the user was asked, or said so, and any value will do.
"""

__all__ = ["DOMAINS", "DONTCARE", "NONE", "PAIRS", "SLOTS", "domain_of", "is_pair", "slot_of"]

NONE = "none"
DONTCARE = "dontcare"

_SLOTS = {
    "attraction": ("area", "name", "type"),
    "hotel": (
        "area",
        "book day",
        "book people",
        "book stay",
        "internet",
        "name",
        "parking",
        "pricerange",
        "stars",
        "type",
    ),
    "restaurant": ("area", "book day", "book people", "book time", "food", "name", "pricerange"),
    "taxi": ("arriveby", "departure", "destination", "leaveat"),
    "train": ("arriveby", "book people", "day", "departure", "destination", "leaveat"),
}

DOMAINS = tuple(_SLOTS)
"""The five domains that the source uses, in alphabetical order."""

PAIRS = tuple(f"{domain}-{slot}" for domain, slots in _SLOTS.items() for slot in slots)
"""The 30 pairs, written ``domain-slot``, in the order of the columns of the pre-processed files."""

SLOTS = tuple(sorted({slot for slots in _SLOTS.values() for slot in slots}))
"""The 17 slot names; several domains share one."""


def domain_of(pair: str) -> str:
    """Return the domain of a pair.

    Examples
    --------
    >>> domain_of("hotel-book day"), slot_of("hotel-book day")
    ('hotel', 'book day')
    """
    return pair.partition("-")[0]


def slot_of(pair: str) -> str:
    """Return the slot of a pair; see `domain_of`."""
    return pair.partition("-")[2]


def is_pair(name: str) -> bool:
    """Return whether `name` is one of the 30 pairs."""
    return name in PAIRS
