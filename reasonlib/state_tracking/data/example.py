"""The one example that the simulator, the reader of the real files and every model of this topic share.

::

    turn   system                                  user                              state after the turn
    0                                              i need a cheap hotel .            hotel-pricerange cheap
    1      copper lodge is cheap . book it ?       yes , for 2 people .              + hotel-name copper lodge
                                                                                     + hotel-book people 2
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reasonlib.arguments import check_choice
from reasonlib.state_tracking.data.ontology import is_pair

__all__ = ["ORIGINS", "Dialogue", "Origin", "Turn"]

ORIGINS = ("stated", "offered", "inherited", "dontcare", "changed")
"""How a slot got its value.

stated: the user says the value; offered: the system names it and the user accepts; inherited: the user refers
to another slot ("the same day as the hotel"); dontcare: any value will do; changed: the user replaces a
value.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """How and when a slot got its present value.

    Attributes
    ----------
    kind
        One of `ORIGINS`.
    turn
        Turn at which the slot got this value, from 0.
    source
        The pair that the value is inherited from; None for the other kinds.
    distance
        Turns between the one at which the value was first stated and this one; 0 unless inherited.

    Raises
    ------
    ValueError
        If the kind is unknown, or `source` and `kind` disagree.
    """

    kind: str
    turn: int
    source: str | None = None
    distance: int = 0

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ORIGINS)
        if (self.kind == "inherited") != (self.source is not None):
            raise ValueError(
                f"source must be given for 'inherited' alone, got {self.source!r} with {self.kind!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the system said, what the user answered, and the state after both.

    Attributes
    ----------
    system, user
        Utterances; the first turn's `system` is empty because the user begins.
    state
        Pair to value, for the pairs that have one.
    origins
        Pair to how it got its value; empty for real dialogues, which do not say.
    unfilled
        Pairs with a value that the turn mentions and the user does not ask for (a declined offer, say).

    Raises
    ------
    ValueError
        If the state holds a pair that there is not.
    """

    system: str
    user: str
    state: Mapping[str, str]
    origins: Mapping[str, Origin] = field(default_factory=dict)
    unfilled: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for pair in self.state:
            if not is_pair(pair):
                raise ValueError(f"state must hold pairs of the ontology, got {pair!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """A whole dialogue.

    Attributes
    ----------
    name
        Identifier, unique in its set.
    turns
        Oldest first; at least one.
    """

    name: str
    turns: tuple[Turn, ...]

    def __post_init__(self) -> None:
        if not self.turns:
            raise ValueError(f"turns must hold at least one turn, got none in {self.name!r}")
