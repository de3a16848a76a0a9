"""Labels held against a list of the values that each pair may have, such as MultiWOZ's ``ontology.json``.

Reading does not need such a list, and trackers take their candidates from the training labels alone. Whoever
writes or corrects labels checks them here.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from reasonlib.errors import DataError
from reasonlib.state_tracking.data.example import Dialogue
from reasonlib.state_tracking.data.ontology import DONTCARE, is_pair

__all__ = ["check_values", "read_values"]


def read_values(path: Path) -> dict[str, frozenset[str]]:
    """Read an ontology: a JSON object that maps each pair to the list of its values.

    An entry such as ``centre|west`` is two values.

    Raises
    ------
    DataError
        If the file cannot be read, or is not such an object; names the entry.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        items = content.items()
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: not an ontology ({error}); expected an object of pairs") from None
    values = {}
    for pair, entries in items:
        if not is_pair(pair):
            raise DataError(f"{path}: {pair[:60]!r} is not one of the 30 domain-slot pairs")
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise DataError(f"{path}: {pair} needs a list of texts")
        values[pair] = frozenset(value.strip().lower() for entry in entries for value in entry.split("|"))
    return values


def check_values(dialogues: Iterable[Dialogue], values: Mapping[str, frozenset[str]]) -> None:
    """Raise an error where a label is not among the values of its pair; dontcare always is.

    A label such as ``centre|west`` names two right values, and each is looked up.

    Parameters
    ----------
    dialogues
        Labelled dialogues, read or simulated.
    values
        The values of each pair, as `read_values` gives them.

    Raises
    ------
    DataError
        If a label is outside; names the first, with its dialogue and turn, and how many labels are.

    Examples
    --------
    >>> from reasonlib.state_tracking.data.example import Turn
    >>> talk = Dialogue(name="MUL1", turns=(Turn(system="", user="north", state={"hotel-area": "nort"}),))
    >>> check_values([talk], {"hotel-area": frozenset({"north", "south"})})
    Traceback (most recent call last):
        ...
    reasonlib.errors.DataError: MUL1, turn 0: hotel-area has no value 'nort'; 1 label is outside the ontology
    """
    outside = [
        (f"{dialogue.name}, turn {number}", pair, value)
        for dialogue in dialogues
        for number, turn in enumerate(dialogue.turns)
        for pair, value in turn.state.items()
        if value != DONTCARE and not values.get(pair, frozenset()).issuperset(value.split("|"))
    ]
    if outside:
        turn, pair, value = outside[0]
        count = "1 label is" if len(outside) == 1 else f"{len(outside):,} labels are"
        raise DataError(f"{turn}: {pair} has no value {value!r}; {count} outside the ontology")
