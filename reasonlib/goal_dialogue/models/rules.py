"""Systems of rules: what a programmer who has read the dialogues can do (Bordes et al. 2017, section 5.1).

`RestaurantRules` is a system for tasks 1 to 5. It reads the state off the history (which slots are filled,
what the knowledge base returned, what was offered) and needs the knowledge base for nothing but a list of the
cuisines and locations there are::

    history, user --> State --> first rule that applies --> response

Whoever wrote the simulated users could write these rules, so they are right every time, also on
out-of-vocabulary entities. Task 6 has rules of its own, in `rules_dstc2`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reasonlib.goal_dialogue.data.example import SILENCE, Example, Fact, Split, Turn
from reasonlib.goal_dialogue.data.world import SLOTS, Goal
from reasonlib.goal_dialogue.models.rules_dstc2 import Dstc2Rules
from reasonlib.goal_dialogue.models.system import System

__all__ = ["RestaurantRules", "State", "fit_rules"]

HELLO = "hello what can i help you with today"
ON_IT = "i'm on it"
ASK = {
    "cuisine": "any preference on a type of cuisine",
    "location": "where should it be",
    "number": "how many people would be in your party",
    "price": "which price range are looking for",
}
LOOK = "ok let me look into some options for you"
OFFER = "what do you think of this option: "
OTHER = "sure let me find an other option for you"
BOOK = "great let me do the reservation"
MORE = "sure is there anything else to update"
HERE = "here it is "
ANYTHING = "is there anything i can help you with"
WELCOME = "you're welcome"


@dataclass
class State:
    """What a dialogue has come to.

    Attributes
    ----------
    slots
        The last value that the user gave for each slot.
    facts
        Restaurant to relation to value, of all that the knowledge base returned.
    offered
        Options so far.
    chosen
        The restaurant to be booked, once it is known.
    last
        What the system said last; empty at the start.
    """

    slots: dict[str, str] = field(default_factory=dict)
    facts: dict[str, dict[str, str]] = field(default_factory=dict)
    offered: list[str] = field(default_factory=list)
    chosen: str = ""
    last: str = ""


class RestaurantRules:
    """The rules for tasks 1 to 5.

    Parameters
    ----------
    types
        Entity to type, as `KnowledgeBase.types` gives it.
    """

    def __init__(self, types: Mapping[str, str]):
        self.types = types

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the response to each example."""
        return [self.respond(example) for example in examples]

    def state(self, example: Example) -> State:
        """Read the state off the history and what the user just said."""
        state = State()
        for event in example.history:
            if isinstance(event, Fact):
                state.facts.setdefault(event.subject, {})[event.relation] = event.value
            elif isinstance(event, Turn):
                self._hear(state, event.user)
                state.last = event.bot
                if event.bot.startswith(OFFER):
                    state.offered.append(event.bot.removeprefix(OFFER))
                elif event.bot == BOOK and state.offered:
                    state.chosen = state.offered[-1]
        self._hear(state, example.user)
        return state

    def _hear(self, state: State, said: str) -> None:
        for word in said.split(" "):
            kind = self.types.get(word)
            if kind in SLOTS:
                state.slots[kind] = word
            elif kind == "restaurant":
                state.chosen = word

    def respond(self, example: Example) -> str:
        """Apply the first rule that fits."""
        # excerpt: rules
        state, user = self.state(example), example.user
        if not state.last:
            return HELLO
        if user == SILENCE:
            return self._go_on(state)
        words = set(user.split(" "))
        if state.last in ASK.values():
            return self._next_question(state)
        if words & {"table", "reservation"}:
            return BOOK if state.chosen else ON_IT
        if user.startswith(("instead could it be", "actually i would prefer")):
            return MORE
        if user == "no":
            return LOOK
        if state.last.startswith(OFFER):
            refused = words & {"no", "else"}
            return OTHER if refused else BOOK
        for detail in ("phone", "address"):
            if detail in words:
                return HERE + state.facts.get(state.chosen, {}).get(f"R_{detail}", "")
        if state.last.startswith(HERE):
            return ANYTHING
        return WELCOME
        # end excerpt

    def _next_question(self, state: State) -> str:
        """Ask for the first slot without a value; with all four, set to work."""
        return next((ASK[slot] for slot in SLOTS if slot not in state.slots), LOOK)

    def _go_on(self, state: State) -> str:
        """Say what follows when the user keeps silent."""
        if state.last == ON_IT:
            return self._next_question(state)
        if state.last == LOOK and not state.facts:
            return Goal(*(state.slots.get(slot, "") for slot in SLOTS)).call
        left = [name for name in state.facts if name not in state.offered]
        best = max(left, key=lambda name: int(state.facts[name]["R_rating"]), default="")
        return OFFER + best


def fit_rules(split: Split) -> System:
    """Give the rule-based system for a task; nothing is learned but the names of entities."""
    if split.knowledge is None:
        return Dstc2Rules.of(split)
    return RestaurantRules(split.knowledge.types())
