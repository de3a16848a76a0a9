"""What the simulators, the reader of released files and every model of this topic share.

A dialogue is a run of events in the order they happened: turns, and facts that the knowledge base returned.

::

    Turn   hi                             hello what can i help you with today
    Turn   may i have a table in paris    i'm on it
    ...
    Fact   resto_paris_cheap_thai_2stars  R_rating  2        what an API call brought back
    ...
    Turn   <SILENCE>                      what do you think of this option: resto_paris_cheap_thai_2stars

Every turn is one question to the system: given all that happened before and what the user just said, which
of the candidates does it say?
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = [
    "RELATIONS",
    "SILENCE",
    "TASK_NAMES",
    "TYPES",
    "Dialogue",
    "Event",
    "Example",
    "Fact",
    "KnowledgeBase",
    "Note",
    "Split",
    "Turn",
    "examples",
]

TASK_NAMES = {
    1: "issuing API calls",
    2: "updating API calls",
    3: "displaying options",
    4: "providing extra information",
    5: "conducting full dialogues",
    6: "dialogue state tracking challenge 2",
}

SILENCE = "<SILENCE>"
"""What the user says when the system speaks twice in a row."""

RELATIONS = ("R_phone", "R_cuisine", "R_address", "R_location", "R_number", "R_price", "R_rating")
"""The relations of the knowledge base, in the order in which dialogues list them."""

TYPES = ("restaurant", "phone", "cuisine", "address", "location", "number", "price", "rating")
"""The types of entities: a restaurant, and what each relation leads to."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user said and what the system answered."""

    user: str
    bot: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the knowledge base: ``subject``, ``relation``, ``value``.

    The relation is one of `RELATIONS`; in task 6 also ``R_post_code``.
    """

    subject: str
    relation: str
    value: str


@dataclass(frozen=True, slots=True)
class Note:
    """A line without an answer that is no fact, such as ``api_call no result`` (task 6)."""

    text: str


Event = Turn | Fact | Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """One conversation, oldest event first; ``task`` is 1 to 6."""

    task: int
    events: tuple[Event, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The events at which the system speaks."""
        return tuple(event for event in self.events if isinstance(event, Turn))


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One turn as a question (Bordes et al. 2017, section 3).

    Attributes
    ----------
    task
        1 to 6.
    history
        Every event before this turn, oldest first.
    user
        What the user just said; `SILENCE` when the system speaks on.
    response
        What the system is to say: one of the candidates.
    dialogue
        Number of the dialogue in its split.
    turn
        Number of this turn in its dialogue, from 0.
    """

    task: int
    history: tuple[Event, ...]
    user: str
    response: str
    dialogue: int
    turn: int


@dataclass(frozen=True, kw_only=True)
class KnowledgeBase:
    """Everything known about the restaurants.

    Attributes
    ----------
    facts
        Restaurant to relation to value, in the order of the file.
    """

    facts: Mapping[str, Mapping[str, str]]

    def types(self) -> dict[str, str]:
        """Map every entity, restaurants included, to its type, one of `TYPES`."""
        types = dict.fromkeys(self.facts, "restaurant")
        for values in self.facts.values():
            for relation, value in values.items():
                types[value] = relation.removeprefix("R_")
        return types


@dataclass(frozen=True, kw_only=True)
class Split:
    """One task, ready to train on and to measure.

    Attributes
    ----------
    train, valid, test, oov
        Dialogues; ``oov`` holds entities that occur nowhere in ``train`` and ``valid`` and is empty for
        task 6.
    candidates
        Everything the system may say, each once; every response is one of them.
    knowledge
        The knowledge base; ``None`` for task 6, which has none.
    """

    task: int
    train: Sequence[Dialogue]
    valid: Sequence[Dialogue]
    test: Sequence[Dialogue]
    oov: Sequence[Dialogue]
    candidates: Sequence[str]
    knowledge: KnowledgeBase | None


def examples(dialogues: Iterable[Dialogue]) -> Iterator[Example]:
    """Turn every turn of every dialogue into one example, in order."""
    for number, dialogue in enumerate(dialogues):
        turn = 0
        for position, event in enumerate(dialogue.events):
            if isinstance(event, Turn):
                yield Example(
                    task=dialogue.task,
                    history=dialogue.events[:position],
                    user=event.user,
                    response=event.bot,
                    dialogue=number,
                    turn=turn,
                )
                turn += 1
