"""Book a table: a conversation with rules or a trained system, and what it looked at before it spoke.

::

    you say --> Example(history, what you said) --> system.answer --> what it says
                                                          |
                           api_call ...: the knowledge base is asked, its facts join the history
                           a response that calls for another: the system goes on, you keep silent
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.dialogue import (
    SILENCE,
    Dialogue,
    Event,
    Example,
    Fact,
    KnowledgeBase,
    Turn,
)
from reasonlib.goal_dialogue.evaluation import System
from reasonlib.goal_dialogue.world import WORLD, Goal, facts_of, make_knowledge, results

__all__ = ["MODELS", "Conversation", "Said", "open_conversation"]

GOES_ON = (
    "i'm on it",
    "ok let me look into some options for you",
    "sure let me find an other option for you",
)
"""Responses after which the user waits and the system speaks again."""

LONGEST = 6  # responses in a row


class Said(NamedTuple):
    """One thing the system said.

    Attributes
    ----------
    text
        The response.
    found
        Facts that the knowledge base returned; empty unless it was asked.
    looked
        The sentences the last hop of a memory network read most, each with its share; empty for others.
    """

    text: str
    found: tuple[Fact, ...]
    looked: tuple[tuple[str, float], ...]


@lru_cache(maxsize=1)
def _knowledge() -> KnowledgeBase:
    return make_knowledge(WORLD)


def _rules() -> System:
    from reasonlib.goal_dialogue.rules import RestaurantRules

    return RestaurantRules(_knowledge().types())


def _copying() -> System:
    from reasonlib.goal_dialogue.wall import load_copier

    return load_copier()


def _network(name: str) -> Callable[[], System]:
    def load() -> System:
        from reasonlib.goal_dialogue.shipped import load_network

        return load_network(name)

    return load


MODELS: Mapping[str, Callable[[], System]] = {
    "copying": _copying,
    "rules": _rules,
    **{name: _network(name) for name in ("n2n", "gn2n", "un2n")},
}
"""Who can be talked to, the first by default: the network that copies, rules, memory networks with match
features."""


class Conversation:
    """A dialogue that grows.

    Parameters
    ----------
    system
        Who answers.
    knowledge
        The restaurants that API calls find; by default the simulator's.

    Attributes
    ----------
    events
        What happened so far.
    """

    def __init__(self, system: System, knowledge: KnowledgeBase | None = None) -> None:
        self.system = system
        self.knowledge = knowledge or _knowledge()
        self.events: list[Event] = []

    def say(self, text: str) -> tuple[Said, ...]:
        """Say something; the system answers, once or, where it works on, several times.

        Raises
        ------
        UserError
            If nothing is said.
        """
        user = " ".join(text.lower().split())
        if not user:
            raise UserError("say something, or nothing will happen")
        said: list[Said] = []
        while len(said) < LONGEST:
            told = self._answer(user)
            said.append(told)
            if told.text not in GOES_ON and not told.found:
                break
            user = SILENCE
        return tuple(said)

    def dialogue(self) -> Dialogue:
        """Give what was said so far as a dialogue."""
        return Dialogue(task=5, events=tuple(self.events))

    def _answer(self, user: str) -> Said:
        turns = sum(isinstance(event, Turn) for event in self.events)
        example = Example(task=5, history=tuple(self.events), user=user, response="", dialogue=0, turn=turns)
        (text,) = self.system.answer([example])
        looked = self._looked(example)
        self.events.append(Turn(user, text))
        found = tuple(self._look_up(text))
        self.events.extend(found)
        return Said(text, found, looked)

    def _look_up(self, text: str) -> list[Fact]:
        words = text.split()
        if words[:1] != ["api_call"] or len(words) != 5:
            return []
        names = results(self.knowledge).get(Goal(*words[1:]), [])
        return [fact for name in names for fact in facts_of(name, self.knowledge.facts[name])]

    def _looked(self, example: Example, most: int = 3) -> tuple[tuple[str, float], ...]:
        ask: Any = getattr(self.system, "ask", None)
        model: Any = getattr(self.system, "model", None)
        if ask is None or not hasattr(model, "slots"):
            return ()
        from reasonlib.goal_dialogue.figures import memory_of

        shares = ask([example]).weights[0, -1].tolist()
        sentences = memory_of(example, len(shares))
        order = sorted(range(len(sentences)), key=lambda place: -shares[place])[:most]
        return tuple((sentences[place], shares[place]) for place in order)


def open_conversation(model: str | None = None) -> Conversation:
    """Begin a conversation.

    Parameters
    ----------
    model
        One of `MODELS`; the first by default.

    Raises
    ------
    UserError
        If there is no such model.

    Examples
    --------
    >>> talk = open_conversation("rules")
    >>> [one.text for one in talk.say("hello")]
    ['hello what can i help you with today']
    >>> [one.text for one in talk.say("can you book a table in paris")]
    ["i'm on it", 'any preference on a type of cuisine']
    """
    name = model or next(iter(MODELS))
    if name not in MODELS:
        raise UserError(f"there is no model {name!r} to talk to; take one of {', '.join(MODELS)}")
    return Conversation(MODELS[name]())
