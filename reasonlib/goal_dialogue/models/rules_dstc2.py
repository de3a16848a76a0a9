"""Rules for task 6, where people talk to a restaurant system through a speech recogniser.

The rules do what can be done by reading the dialogues; the responses they miss are those that the real system
chose by what its recogniser had misheard. `rules.fit_rules` gives them for a split of task 6.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from reasonlib.goal_dialogue.data.example import SILENCE, Example, Fact, Note, Split, Turn

__all__ = ["Dstc2Rules", "Dstc2State"]

DSTC2_HELLO = (
    "Hello , welcome to the Cambridge restaurant system . You can ask for restaurants by area , price range "
    "or food type . How may I help you ?"
)
DSTC2_ASK = {
    "food": "What kind of food would you like?",
    "area": "What part of town do you have in mind?",
    "price": "Would you like something in the cheap , moderate , or expensive price range?",
}
AREAS = ("north", "south", "east", "west", "centre")
PRICES = ("cheap", "moderate", "expensive")
ANY = "*"  # the user does not care
SYNONYMS = {"moderately": "moderate", "cheaply": "cheap", "center": "centre", "town": ""}
_ANY = re.compile(r"\b(any|anything|anywhere|care|matter|matters|mind|whatever|no preference|doesnt)\b")
_NAMED = re.compile(
    r"^(?:The phone number of |The post code of |Sure , |The price range at )?"
    r"(?P<name>[a-z_' ]+?) (?:is|serves|are) "
)
_QUESTIONS = {
    "area": re.compile(r"\b(area|part of|where|location)\b"),
    "price": re.compile(r"\b(price|prices|expensive|cost|pricey)\b"),
    "food": re.compile(r"\b(food|serve|serves|type|cuisine)\b"),
}
_DETAILS = (
    ("phone", re.compile(r"\b(phone|telephone|number)\b")),
    ("address", re.compile(r"\b(address|addres)\b")),
    ("post_code", re.compile(r"\b(post|postcode|postal|zip|code)\b")),
)
_BYE = re.compile(r"\b(bye|goodbye|thank you|thanks)\b")
_OTHER = re.compile(r"\b(else|another|other|different|next)\b")
_OPENING = {
    ("area", "price"): "{name} is a nice place in the {area} of town and the prices are {price}",
    ("area", "food"): "{name} is a nice place in the {area} of town serving tasty {food} food",
    ("food", "price"): "{name} serves {food} food in the {price} price range",
    ("area",): "{name} is a nice place in the {area} of town",
    ("price",): "{name} is in the {price} price range",
    ("food",): "{name} serves {food} food",
    ("area", "food", "price"): (
        "{name} is a great restaurant serving {price} {food} food in the {area} of town ."
    ),
    (): "{name} is a great restaurant",
}
"""How a place is first named, by what the user had asked for; the most common wording of several."""

_NONE = {
    ("area",): "Sorry but there is no other restaurant in the {area} of town",
    ("price",): "Sorry but there is no other restaurant in the {price} price range",
    (
        "area",
        "price",
    ): "Sorry but there is no other restaurant in the {price} price range and the {area} of town",
    ("food",): "I'm sorry but there is no restaurant serving {food} food",
    ("area", "food"): "Sorry there is no {food} restaurant in the {area} of town",
    ("food", "price"): "Sorry there is no {food} restaurant in the {price} price range",
    (
        "area",
        "food",
        "price",
    ): "Sorry there is no {price} restaurant in the {area} of town serving {food} food",
    (): "Sorry I am a bit confused ; please tell me again what you are looking for .",
}


@dataclass
class Dstc2State:
    """What a dialogue of task 6 has come to.

    Attributes
    ----------
    wishes
        ``food``, ``area`` and ``price`` as the user last gave them; "*" for one that does not matter.
    new
        Which of them the user just gave.
    asked
        Which of them the system has asked for.
    called
        The wishes at the last API call.
    facts
        What that call returned: place to relation to value.
    empty
        Whether it returned nothing.
    named
        Places the system has named, the last one at the end.
    last
        What the system said last.
    """

    wishes: dict[str, str] = field(default_factory=dict)
    new: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    called: dict[str, str] | None = None
    facts: dict[str, dict[str, str]] = field(default_factory=dict)
    empty: bool = False
    named: list[str] = field(default_factory=list)
    last: str = ""

    @property
    def constraints(self) -> dict[str, str]:
        """The wishes that have a value."""
        return {slot: value for slot, value in sorted(self.wishes.items()) if value != ANY}


@dataclass(frozen=True)
class Dstc2Rules:
    """The rules for task 6: restaurants of one town, asked for over a telephone.

    Attributes
    ----------
    foods
        Kinds of food, from the API calls among the candidates.
    served
        Those of which some place was found in a training dialogue.
    """

    foods: frozenset[str]
    served: frozenset[str]

    @classmethod
    def of(cls, split: Split) -> "Dstc2Rules":
        """Collect the kinds of food."""
        calls = [candidate.split(" ") for candidate in split.candidates if candidate.startswith("api_call ")]
        foods = Counter(call[1] for call in calls if len(call) == 4)
        served = {
            event.value
            for dialogue in split.train
            for event in dialogue.events
            if isinstance(event, Fact) and event.relation == "R_cuisine"
        }
        return cls(foods=frozenset(foods) - {"R_cuisine"}, served=frozenset(served))

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the response to each example."""
        return [self.respond(example) for example in examples]

    def state(self, example: Example) -> Dstc2State:
        """Read the state off the history and what the user just said."""
        state = Dstc2State()
        for event in example.history:
            if isinstance(event, Turn):
                self._hear(state, event.user)
                self._said(state, event.bot)
            elif isinstance(event, Note):
                state.facts, state.empty = {}, True
            else:
                state.facts.setdefault(event.subject, {})[event.relation] = event.value
        self._hear(state, example.user)
        return state

    def _hear(self, state: Dstc2State, said: str) -> None:
        wishes: dict[str, str] = {}
        for word in said.split(" "):
            plain = SYNONYMS.get(word, word)
            if plain in self.foods:
                wishes["food"] = plain
            elif plain in AREAS:
                wishes["area"] = plain
            elif plain in PRICES:
                wishes["price"] = plain
        if not wishes and _ANY.search(said):
            for slot, question in DSTC2_ASK.items():
                if state.last == question:
                    wishes[slot] = ANY
        state.wishes |= wishes
        state.new = set(wishes)

    def _said(self, state: Dstc2State, bot: str) -> None:
        state.last = bot
        for slot, question in DSTC2_ASK.items():
            if bot == question:
                state.asked.add(slot)
        if bot.startswith("api_call "):
            state.called, state.facts, state.empty = dict(state.wishes), {}, False
        elif named := _NAMED.match(bot):
            state.named.append(named["name"])

    def respond(self, example: Example) -> str:
        """Apply the first rule that fits."""
        state, user = self.state(example), example.user
        if not state.last:
            return DSTC2_HELLO
        if user == SILENCE and state.last.startswith("api_call"):
            return self._found(state)
        if _BYE.search(user):
            return " you are welcome"
        restaurant = state.named[-1] if state.named else ""
        if restaurant:
            for detail, pattern in _DETAILS:
                if pattern.search(user):
                    return self._detail(restaurant, detail)
            requested = tuple(slot for slot, pattern in _QUESTIONS.items() if pattern.search(user))
            if requested and not state.new:
                return self._describe(state, restaurant, requested)
            if _OTHER.search(user) and not state.new:
                return self._found(state)
        if state.new:
            return self._act(state)
        if user == SILENCE and restaurant:
            return _OPENING[()].format(name=restaurant)
        return self._repeat(state)

    def _detail(self, name: str, detail: str) -> str:
        value = f"{name.replace(' ', '_')}_{detail}"
        if detail == "address":
            return f"Sure , {name} is on {value}"
        return f"The {detail.replace('_', ' ')}{' number' if detail == 'phone' else ''} of {name} is {value}"

    def _describe(self, state: Dstc2State, restaurant: str, asked: tuple[str, ...]) -> str:
        facts = state.facts.get(restaurant, {})
        values = {
            "food": facts.get("R_cuisine", state.wishes.get("food", "")),
            "area": facts.get("R_location", state.wishes.get("area", "")),
            "price": facts.get("R_price", state.wishes.get("price", "")),
        }
        return _OPENING[tuple(sorted(asked))].format(name=restaurant, **values)

    def _found(self, state: Dstc2State) -> str:
        """Name the best place that was not named yet, or say that there is none."""
        left = [restaurant for restaurant in state.facts if restaurant not in state.named]
        if not left:
            return _NONE[tuple(state.constraints)].format(**state.constraints)
        best = max(left, key=lambda restaurant: int(state.facts[restaurant].get("R_rating", "0")))
        return self._describe(state, best, tuple(state.constraints))

    def _act(self, state: Dstc2State) -> str:
        """After a new wish: ask for another, or call."""
        food = state.wishes.get("food")
        if food is not None and food != ANY and food not in self.served:
            return f"I'm sorry but there is no restaurant serving {food} food"
        missing = [slot for slot in DSTC2_ASK if slot not in state.wishes and slot not in state.asked]
        if missing and (food is None or food == ANY) and not state.named:
            first = "area" if set(state.wishes) == {"price"} and "area" in missing else missing[0]
            return DSTC2_ASK[first]
        return self._call(state)

    def _call(self, state: Dstc2State) -> str:
        blank = {"food": "R_cuisine", "area": "R_location", "price": "R_price"}
        return " ".join(["api_call", *(state.constraints.get(slot, name) for slot, name in blank.items())])

    def _repeat(self, state: Dstc2State) -> str:
        """Ask again, or for the first wish without a value."""
        if state.last in DSTC2_ASK.values():
            return state.last
        if state.last == DSTC2_HELLO:
            return DSTC2_ASK["area"]
        return next(
            (question for slot, question in DSTC2_ASK.items() if slot not in state.wishes), self._call(state)
        )
