"""TRADE's corrections of MultiWOZ's labels: spelling errors and misplaced values (Wu et al. 2019).

The source applies them as they are (section 4.3.1). The table was read in TRADE's public preparation script;
the code here is our own.
"""

from collections.abc import Mapping

from reasonlib.state_tracking.data.ontology import DONTCARE, NONE

__all__ = ["clean_state", "clean_value"]

# corrected value, then the spellings that stand for it in any slot
_SPELLINGS: dict[str, tuple[str, ...]] = {
    "guest house": ("guesthouse", "guesthouses", "guest"),
    "multiple sports": ("mutiple sports", "sports", "mutliple sports"),
    "swimming pool": ("swimmingpool", "pool"),
    "concert hall": ("concerthall", "concert"),
    "nightclub": ("night club",),
    "museum": ("mus", "musuem"),
    "architecture": ("ol", "architectural"),
    "college": ("colleges", "coll"),
    "church": ("churches",),
    "centre": (
        "center", "center of town", "near city center", "cen", "ce", "town center", "centre of cambridge",
        "city center", "scentre", "town centre", "in town", "centre of town",
    ),
    "north": ("in the north", "north part of town"),
    "south": ("the south",),
    "east": ("east side", "east area"),
    "west": ("west part of town",),
    "moderate": ("mode", "moderate -ly", "mo"),
    "friday": ("next friday",),
    "monday": ("monda",),
    "free": ("free parking",),
    "yes": ("free internet", "y"),
    "no": ("n", "does not"),
    "3": ("3 .",),
    "4": ("4 star", "4 stars"),
    DONTCARE: ("any", "does not care", "do not care", "don't care", "dont care"),
    NONE: ("cb30aq", "0 star rarting", "not men", "not", "not mentioned", "", "not mendtioned", "fun", "art"),
}  # fmt: skip
_CORRECTED = {spelling: value for value, spellings in _SPELLINGS.items() for spelling in spellings}

# pair to the values that belong to no such slot
_MISPLACED: dict[str, tuple[str, ...]] = {
    "hotel-type": (
        "nigh", "moderate -ly priced", "bed and breakfast", "centre", "venetian", "intern",
        "a cheap -er hotel",
    ),
    "hotel-internet": ("4",),
    "hotel-pricerange": ("2",),
    "attraction-type": ("gastropub", "la raza", "galleria", "gallery", "science", "m"),
    "restaurant-area": ("stansted airport", "cambridge", "silver street"),
    "attraction-area": ("norwich", "ely", "museum", "same area as hotel"),
}  # fmt: skip
_HOTEL_TYPES = ("hotel with free parking and free wifi", "4", "3 star hotel")
_IN_SLOT: tuple[tuple[str, dict[str, str]], ...] = (
    ("area", {"moderate": NONE, "no": "north", "we": "west", "cent": "centre"}),
    ("day", {"t": NONE, "we": "wednesday", "no": NONE}),
    ("price", {"ch": "cheap"}),
    ("internet", {"free": "yes"}),
)


def clean_value(pair: str, value: str) -> str:
    """Correct one label.

    Examples
    --------
    >>> clean_value("hotel-area", "cen"), clean_value("hotel-area", "no"), clean_value("hotel-parking", "no")
    ('centre', 'north', 'no')
    """
    value = _CORRECTED.get(value, value)
    if value in _MISPLACED.get(pair, ()):
        return NONE
    if pair == "hotel-type" and value in _HOTEL_TYPES:
        return "hotel"
    for part, corrections in _IN_SLOT:
        if part in pair:
            value = corrections.get(value, value)
    return NONE if value in _MISPLACED.get(pair, ()) else value


def clean_state(state: Mapping[str, str]) -> dict[str, str]:
    """Correct every label of a state, and leave out those that become ``none``."""
    cleaned = {pair: clean_value(pair, value) for pair, value in state.items()}
    return {pair: value for pair, value in cleaned.items() if value != NONE}
