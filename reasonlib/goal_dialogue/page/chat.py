"""Book a table: a conversation with rules or a trained system, and what it looked at before it spoke.

::

    you say --> Example(history, what you said) --> system.answer --> what it says
                                                          |
                  api_call ...: the knowledge base is asked, and you may still change your mind;
                                keep silent, and what it returned joins the history
                  a response that calls for another: the system goes on, you keep silent

In the dialogues that the systems learned from, a request is changed before any restaurant is offered. So a
conversation stops after a call: a line changes the request, silence goes on to the first offer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data.example import SILENCE, Dialogue, Event, Example, Fact, KnowledgeBase, Turn
from reasonlib.goal_dialogue.data.world import (
    WORLD,
    Goal,
    make_knowledge,
    restaurant_facts,
    restaurants_by_goal,
)
from reasonlib.goal_dialogue.models.system import System

if TYPE_CHECKING:
    from numpy import ndarray

    from reasonlib.display.plotting import Picture

__all__ = ["MODELS", "Conversation", "SystemReply", "open_conversation", "replay", "user_lines"]

GOES_ON = (
    "i'm on it",
    "ok let me look into some options for you",
    "sure let me find an other option for you",
)
"""Responses after which the user waits and the system speaks again."""

LONGEST = 6  # responses in a row

OFFER, DETAIL = "what do you think of this option", "here it is"
"""How an offer begins, and how a phone number or an address is given."""


class SystemReply(NamedTuple):
    """One thing the system said.

    Attributes
    ----------
    text
        The response.
    facts
        What the knowledge base returned; empty unless it was queried.
    attention
        The sentences the last hop of a memory network read most, each with its share; empty for others.
    remark
        What a listener who knows the restaurants found would object; empty where there is nothing.
    turn
        The number of the turn it was said in.
    """

    text: str
    facts: tuple[Fact, ...]
    attention: tuple[tuple[str, float], ...]
    remark: str = ""
    turn: int = 0


@lru_cache(maxsize=1)
def _knowledge() -> KnowledgeBase:
    return make_knowledge(WORLD)


def _rules() -> System:
    from reasonlib.goal_dialogue.models.rules import RestaurantRules

    return RestaurantRules(_knowledge().types())


def _pretrained(name: str) -> Callable[[], System]:
    def load() -> System:
        from reasonlib.goal_dialogue.models.pretrained import from_pretrained

        return from_pretrained(name)

    return load


MODELS: Mapping[str, Callable[[], System]] = {
    "copying": _pretrained("copying"),
    "rules": _rules,
    **{name: _pretrained(name) for name in ("n2n", "gn2n", "un2n")},
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
    replies
        What the system said, turn after turn.
    waiting
        What the last API call found, as long as the request may still be changed; empty otherwise.
    """

    def __init__(self, system: System, knowledge: KnowledgeBase | None = None) -> None:
        self.system = system
        self.knowledge = knowledge or _knowledge()
        self.events: list[Event] = []
        self.replies: list[SystemReply] = []
        self.waiting: tuple[Fact, ...] = ()

    def say(self, text: str = "") -> tuple[SystemReply, ...]:
        """Say something; the system answers, once or, where it works on, several times.

        Parameters
        ----------
        text
            What the user says. Nothing, or `SILENCE`, where the system waits after an API call: it then goes
            on with what was found. Anything else takes the place of what was found.

        Raises
        ------
        UserError
            If nothing is said and the system does not wait.
        """
        user = " ".join(text.lower().split())
        if user == SILENCE.lower():
            user = ""
        if not user and not self.waiting:
            raise UserError("nothing was said; say something")
        if not user:
            user = SILENCE
            self.events.extend(self.waiting)
        self.waiting = ()
        began = len(self.replies)
        while len(self.replies) - began < LONGEST:
            reply = self._answer(user)
            self.replies.append(reply)
            if reply.text not in GOES_ON:
                break
            user = SILENCE
        return tuple(self.replies[began:])

    def say_all(self, lines: Iterable[str]) -> None:
        """Say lines that were written beforehand, whatever the system says.

        Parameters
        ----------
        lines
            What the user says. An empty one, silence, is passed over where the system does not wait for it.
        """
        for line in lines:
            if line or self.waiting:
                self.say(line)

    def dialogue(self) -> Dialogue:
        """Give what was said so far as a dialogue, with what the knowledge base returned last."""
        return Dialogue(task=5, events=(*self.events, *self.waiting))

    def picture(self, reply: SystemReply) -> "Picture | None":
        """Draw what the system looked at before it said this.

        Returns
        -------
        Picture or None
            The hops of a memory network; the gaps that the copying network filled; None for rules.
        """
        from reasonlib.goal_dialogue.page import figures

        indices = [index for index, event in enumerate(self.events) if isinstance(event, Turn)]
        example = self._example(self.events[: indices[reply.turn]], self.dialogue().turns[reply.turn].user)
        if example.history and (weights := self._weights(example)) is not None:
            return figures.hops(example, weights, answer=reply.text, least=0.05)
        copier: Any = self.system
        return figures.gaps(copier, example) if hasattr(copier, "language") else None

    def show(self, *, caption: str | None = None, opened: bool = False) -> "Picture":
        """Draw the conversation; under each response, folded away, what the system looked at.

        Parameters
        ----------
        caption
            Printed under it.
        opened
            Whether what it looked at last is unfolded.
        """
        from reasonlib.goal_dialogue.page.figures import conversation

        pictures = {
            reply.turn: picture for reply in self.replies if (picture := self.picture(reply)) is not None
        }
        return conversation(
            self.dialogue(),
            looks=pictures,
            remarks={reply.turn: reply.remark for reply in self.replies if reply.remark},
            opened=max(pictures, default=None) if opened else None,
            caption=caption,
        )

    def _example(self, history: Sequence[Event], user: str) -> Example:
        turns = sum(isinstance(event, Turn) for event in history)
        return Example(task=5, history=tuple(history), user=user, response="", dialogue=0, turn=turns)

    def _answer(self, user: str) -> SystemReply:
        example = self._example(self.events, user)
        (text,) = self.system.answer([example])
        attention, remark = self._attention(example), self._remark(text)
        self.events.append(Turn(user, text))
        self.waiting = tuple(self._look_up(text))
        return SystemReply(text, self.waiting, attention, remark, example.turn)

    def _look_up(self, text: str) -> list[Fact]:
        words = text.split()
        if words[:1] != ["api_call"] or len(words) != 5:
            return []
        names = restaurants_by_goal(self.knowledge).get(Goal(*words[1:]), [])
        return [fact for name in names for fact in restaurant_facts(name, self.knowledge.facts[name])]

    def _remark(self, text: str) -> str:
        """Hold what was said against the facts, which the system has heard as well."""
        last = text.split()[-1]
        if text.startswith("api_call"):
            lacking = [word for word in text.split()[1:] if word not in self.knowledge.types()]
            return f"the knowledge base knows no {lacking[0]}" if lacking else ""
        facts = [event for event in self.events if isinstance(event, Fact)]
        if text.startswith(OFFER) and last not in {fact.subject for fact in facts}:
            return "none of those that were found"
        if text.startswith(DETAIL):
            offered = [reply.text.split()[-1] for reply in self.replies if reply.text.startswith(OFFER)][-1:]
            if last not in {fact.value for fact in facts if fact.subject in offered}:
                return "not of the restaurant that was offered last"
        return ""

    def _weights(self, example: Example) -> "ndarray | None":
        """Attention (K, S) of a memory network; None for any other system."""
        ask: Any = getattr(self.system, "ask", None)
        model: Any = getattr(self.system, "model", None)
        if ask is None or not hasattr(model, "slots"):
            return None
        return ask([example]).weights[0].numpy()

    def _attention(self, example: Example, most: int = 3) -> tuple[tuple[str, float], ...]:
        weights = self._weights(example)
        if weights is None:
            return ()
        from reasonlib.goal_dialogue.page.figures import memory_of

        shares = weights[-1].tolist()
        sentences = memory_of(example, len(shares))
        order = sorted(range(len(sentences)), key=lambda slot: -shares[slot])[:most]
        return tuple((sentences[slot], shares[slot]) for slot in order if shares[slot] >= 0.005)


def user_lines(dialogue: Dialogue) -> tuple[str, ...]:
    """List what the user of a dialogue says to a `Conversation`: silence only where it waits after a call."""
    lines, before = [], ""
    for turn in dialogue.turns:
        if turn.user != SILENCE:
            lines.append(turn.user)
        elif before.startswith("api_call"):
            lines.append("")
        before = turn.bot
    return tuple(lines)


def replay(model: str, lines: Iterable[str], *, knowledge: KnowledgeBase | None = None) -> Conversation:
    """Hold a conversation in which the user's lines are written beforehand.

    Parameters
    ----------
    model
        One of `MODELS`.
    lines
        What the user says, as of `Conversation.say_all`.
    knowledge
        As for `Conversation`.
    """
    talk = open_conversation(model, knowledge=knowledge)
    talk.say_all(lines)
    return talk


def open_conversation(model: str | None = None, *, knowledge: KnowledgeBase | None = None) -> Conversation:
    """Begin a conversation.

    Parameters
    ----------
    model
        One of `MODELS`; the first by default.
    knowledge
        As for `Conversation`.

    Raises
    ------
    UserError
        If there is no such model.

    Examples
    --------
    >>> talk = open_conversation("rules")
    >>> [reply.text for reply in talk.say("hello")]
    ['hello what can i help you with today']
    >>> [reply.text for reply in talk.say("can you replay a table in paris")]
    ["i'm on it", 'any preference on a type of cuisine']
    """
    name = model or next(iter(MODELS))
    if name not in MODELS:
        raise UserError(f"there is no model {name!r} to talk to; take one of {', '.join(MODELS)}")
    return Conversation(MODELS[name](), knowledge)
