"""The source's two printed dialogues (tables 4.3 and 4.4), retold in the invented city.

The small tracker knows no word of Cambridge. So each dialogue keeps its course, its slots and the slots that
must be inferred; names, times and wordings are those that the simulator uses.
"""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["CASES", "Case"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One printed dialogue, retold.

    Attributes
    ----------
    table
        The source's table of it.
    turns
        (system, user) texts.
    state
        Pair to value after the last turn.
    inferred
        The pairs whose value is not said where they are filled, each with the pair that it refers to.
    """

    table: str
    turns: tuple[tuple[str, str], ...]
    state: Mapping[str, str]
    inferred: Mapping[str, str]


_BOOKED = "i have booked it . your reference number is {} . is there anything else i can do for you ?"

CASES = (
    Case(
        table="Table 4.3",
        turns=(
            ("", "i am looking for a restaurant in the south ."),
            (
                "silver oven is a nice place in the south . would you like it ?",
                "yes , please book it for 3 people on wednesday at 14:30 .",
            ),
            (_BOOKED.format("5cwu2u98"), "what is there to visit somewhere in the east ."),
            (
                "there are many places that match . what kind of place are you looking for ?",
                "and it should be a gallery please .",
            ),
            (
                "i recommend quiet collection in the east . how is that ?",
                "okay , let us take it . also , can you get me a taxi to the restaurant .",
            ),
        ),
        state={
            "attraction-area": "east",
            "attraction-name": "quiet collection",
            "attraction-type": "gallery",
            "restaurant-area": "south",
            "restaurant-book day": "wednesday",
            "restaurant-book people": "3",
            "restaurant-book time": "14:30",
            "restaurant-name": "silver oven",
            "taxi-arriveby": "14:30",
            "taxi-departure": "quiet collection",
            "taxi-destination": "silver oven",
        },
        inferred={
            "taxi-arriveby": "restaurant-book time",
            "taxi-departure": "attraction-name",
            "taxi-destination": "restaurant-name",
        },
    ),
    Case(
        table="Table 4.4",
        turns=(
            ("", "i need a place to stay at any price ."),
            ("sure , i can help you with that . do you need parking ?", "with free parking please ."),
            ("do you need internet ?", "with free wifi please ."),
            ("what kind of place are you looking for ?", "and it should be a guesthouse please ."),
            (
                "i recommend lantern manor in the east . how is that ?",
                "yes , please book it on sunday for 1 people for 5 nights .",
            ),
            (_BOOKED.format("nivmcdk1"), "i am looking for an attraction of the museum kind ."),
            (
                "how about amber stage ? it is in the south .",
                "perfect , i will go there .",
            ),
            ("what else can i do for you ?", "i need a taxi from the attraction back to the hotel ."),
            ("at what time would you like to leave ?", "leaving after 09:30 please ."),
        ),
        state={
            "attraction-name": "amber stage",
            "attraction-type": "museum",
            "hotel-book day": "sunday",
            "hotel-book people": "1",
            "hotel-book stay": "5",
            "hotel-internet": "yes",
            "hotel-name": "lantern manor",
            "hotel-parking": "yes",
            "hotel-pricerange": "dontcare",
            "hotel-type": "guesthouse",
            "taxi-departure": "amber stage",
            "taxi-destination": "lantern manor",
            "taxi-leaveat": "09:30",
        },
        inferred={"taxi-departure": "attraction-name", "taxi-destination": "hotel-name"},
    ),
)
