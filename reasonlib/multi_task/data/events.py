"""Events of the small world, and sentences that tell them.

By hand: the event "a happy boy sells a fiddle in the park ." may also be told as "the violin is sold by a
glad lad in the park .". Its words are chosen anew, its meaning is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from reasonlib.multi_task.data.world import (
    ADJECTIVES,
    NOUNS,
    OPPOSITES,
    PLACES,
    POLARITY,
    VERBS,
    inflect,
    is_above,
    things,
)

__all__ = [
    "Event",
    "Speaker",
    "allowed_verbs",
    "change",
    "draw_adjective",
    "draw_event",
    "generalise",
    "is_narrower",
    "opposite",
    "pick",
    "sentence",
    "sibling",
    "specialise",
]

PEOPLE = tuple(concept for concept in NOUNS if concept.startswith("person/"))


@dataclass(frozen=True, kw_only=True)
class Event:
    """Who does what, with what, and where; all parts are concepts.

    Attributes
    ----------
    agent, verb, thing
        Concepts.
    agent_adjective, thing_adjective, place
        Concepts or None.
    negated
        Whether it does not happen.
    """

    agent: str
    verb: str
    thing: str
    agent_adjective: str | None = None
    thing_adjective: str | None = None
    place: str | None = None
    negated: bool = False


class Speaker:
    """Tells events in words, with the dictionary of a task.

    Parameters
    ----------
    draw
        Chooses among synonyms, voices and articles.
    trades
        Words that stand for one another in this task; see `world.dictionary`.
    """

    def __init__(self, draw: np.random.Generator, trades: Mapping[str, str]) -> None:
        self.draw, self.trades = draw, trades

    def word(self, words: tuple[str, ...]) -> str:
        """Choose one of several synonyms."""
        word = words[int(self.draw.integers(len(words)))]
        return self.trades.get(word, word)

    def noun(self, concept: str) -> str:
        """Name a concept."""
        return self.word(NOUNS[concept])

    def adjective(self, concept: str) -> str:
        """Name a quality."""
        return self.word(ADJECTIVES[concept][0])

    def verb(self, concept: str, form: str) -> str:
        """Name an action."""
        return inflect(self.word(VERBS[concept][0]), form)

    def place(self, concept: str) -> list[str]:
        """Name a place: ``in the park``."""
        return ["in", "the", self.word(PLACES[concept])]

    def phrase(self, concept: str, adjective: str | None = None, article: str | None = None) -> list[str]:
        """Name somebody or something, with an article: ``a happy boy``."""
        words = [self.adjective(adjective)] if adjective else []
        words.append(self.noun(concept))
        return [article or ("a" if self.draw.random() < 0.5 else "the"), *words]

    def tell(self, event: Event, *, passive: bool | None = None) -> list[str]:
        """Tell an event, in the active or passive voice; None chooses."""
        if passive is None:
            passive = bool(self.draw.random() < 0.05)
        agent = self.phrase(event.agent, event.agent_adjective)
        thing = self.phrase(event.thing, event.thing_adjective)
        location = self.place(event.place) if event.place else []
        if passive:
            action = ["is", *(["not"] if event.negated else []), self.verb(event.verb, "participle"), "by"]
            return [*thing, *action, *agent, *location]
        if event.negated:
            return [*agent, "does", "not", self.verb(event.verb, "base"), *thing, *location]
        return [*agent, self.verb(event.verb, "third"), *thing, *location]


def sentence(words: list[str], end: str = ".") -> str:
    """Join words; ``a`` becomes ``an`` before a vowel.

    Examples
    --------
    >>> sentence("a adult loves a old oak".split())
    'an adult loves an old oak .'
    """
    following = [*words[1:], end]
    return " ".join(
        "an" if word == "a" and after[0] in "aeiou" else word
        for word, after in zip([*words, end], [*following, ""], strict=True)
    )


def pick(draw: np.random.Generator, options: tuple[str, ...] | list[str]) -> str:
    """Draw one of several."""
    return options[int(draw.integers(len(options)))]


@cache
def allowed_verbs(thing: str) -> tuple[str, ...]:
    """List the actions that may be done to a thing."""
    return tuple(verb for verb, (_, kinds) in VERBS.items() if not kinds or thing.split("/")[0] in kinds)


def draw_event(
    draw: np.random.Generator,
    *,
    domain: str = "town",
    adjectives: float = 0.25,
    place: float = 0.15,
    negated: float = 0.0,
) -> Event:
    """Draw an event that can happen; the rates are those of adjectives, places and negation."""
    thing = pick(draw, things(domain))
    return Event(
        agent=pick(draw, PEOPLE),
        verb=pick(draw, allowed_verbs(thing)),
        thing=thing,
        agent_adjective=draw_adjective(draw, "person") if draw.random() < adjectives else None,
        thing_adjective=draw_adjective(draw, "thing") if draw.random() < adjectives else None,
        place=pick(draw, tuple(PLACES)) if draw.random() < place else None,
        negated=bool(draw.random() < negated),
    )


@cache
def _adjectives(kind: str, polarity: int | None) -> tuple[str, ...]:
    return tuple(
        concept
        for concept, (_, said_of) in ADJECTIVES.items()
        if said_of == kind and (polarity is None or POLARITY.get(concept, 0) == polarity)
    )


def draw_adjective(draw: np.random.Generator, kind: str, polarity: int | None = None) -> str:
    """Draw a quality of a ``person`` or ``thing``, good (1), bad (-1), neither (0) or any (None)."""
    return pick(draw, _adjectives(kind, polarity))


@cache
def _near(concept: str, way: str) -> tuple[str, ...]:
    """List the concepts below, above or beside another."""
    others = [other for other in NOUNS if other != concept and other.split("/")[0] == concept.split("/")[0]]
    below = [other for other in others if is_above(concept, other)]
    above = [other for other in others if is_above(other, concept)]
    beside = [other for other in others if other not in (*below, *above)]
    return tuple({"below": below, "above": above, "beside": beside}[way])


def specialise(draw: np.random.Generator, concept: str) -> str | None:
    """Draw a concept below another; None where there is none."""
    options = _near(concept, "below")
    return pick(draw, options) if options else None


def generalise(draw: np.random.Generator, concept: str) -> str | None:
    """Draw a concept above another; None where there is none."""
    options = _near(concept, "above")
    return pick(draw, options) if options else None


def sibling(draw: np.random.Generator, concept: str) -> str | None:
    """Draw a concept of the same category that excludes another; None where there is none."""
    options = _near(concept, "beside")
    return pick(draw, options) if options else None


def change(event: Event, part: str, value: str | bool | None) -> Event:
    """Return the event with one part changed."""
    return replace(event, **{part: value})  # type: ignore[arg-type]


def is_narrower(first: Event, second: Event) -> bool:
    """Whether an event that is not negated makes another one true.

    Examples
    --------
    >>> king = Event(agent="person/adult/man/king", verb="buy", thing="drink/wine/champagne", place="park")
    >>> man = Event(agent="person/adult/man", verb="buy", thing="drink")
    >>> is_narrower(king, man), is_narrower(man, king)
    (True, False)
    """
    return (
        is_above(second.agent, first.agent)
        and is_above(second.thing, first.thing)
        and first.verb == second.verb
        and all(
            getattr(second, part) in (None, getattr(first, part))
            for part in ("agent_adjective", "thing_adjective", "place")
        )
    )


def opposite(event: Event) -> list[tuple[str, str]]:
    """List the parts that have an opposite, each with it."""
    parts = ("verb", "agent_adjective", "thing_adjective")
    return [(part, OPPOSITES[getattr(event, part)]) for part in parts if getattr(event, part) in OPPOSITES]
