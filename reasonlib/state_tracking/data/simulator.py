"""Simulated dialogues about several domains, each value labelled with how the user gave it.

One dialogue is a short agenda: for every domain a search (constraints, questions, an offer), then a booking,
then perhaps small talk or a change of mind. The taxi comes last, because it goes between places that are
settled.

By hand, a reference over three turns::

    user    i am looking for a restaurant in the north .
    system  copper oven is a nice place in the north . would you like it ?
    user    okay , let us take it .                       restaurant-name  copper oven   offered
    ...
    user    i need a taxi to the restaurant               taxi-destination copper oven   inherited
                                                          from restaurant-name
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from reasonlib.arguments import check_choice
from reasonlib.state_tracking.data.example import Dialogue, Origin, Turn
from reasonlib.state_tracking.data.ontology import DONTCARE, domain_of, slot_of
from reasonlib.state_tracking.data.phrases import (
    ASK,
    CHATTER,
    LEADS,
    OPENING,
    REPLY,
    choose,
    constraint,
    reference,
)
from reasonlib.state_tracking.data.world import DAYS, SIGHTS, SIZES, Place, make_world

__all__ = ["SIMULATORS", "SimulatorConfig", "simulate"]

SEARCH = {
    "restaurant": ("food", "area", "pricerange"),
    "hotel": ("area", "pricerange", "type", "stars", "parking", "internet"),
    "attraction": ("type", "area"),
}
BOOKING = {
    "restaurant": ("book day", "book people", "book time"),
    "hotel": ("book day", "book people", "book stay"),
}
DAY_PAIRS = ("hotel-book day", "restaurant-book day", "train-day")
PEOPLE_PAIRS = ("hotel-book people", "restaurant-book people", "train-book people")


@dataclass(frozen=True, kw_only=True)
class SimulatorConfig:
    """Rates of the labelled phenomena, each a probability for a slot or a domain that could show it.

    Raises `ValueError` if a rate is not between 0 and 1, or the size is unknown.
    """

    size: str = "small"  # of the city, one of `world.SIZES`
    inherit: float = 0.5  # a slot that another domain could give is referred to, not said
    dontcare: float = 0.06  # a constraint is "any will do"
    change: float = 0.15  # a booking is changed in the next turn
    offer: float = 0.8  # a search ends with a place that the user takes
    two_offers: float = 0.3  # the system names two places, and the user points at one
    decline: float = 0.15  # the user declines an offer before taking the next
    chatter: float = 0.3  # small talk after a domain
    long: float = 0.01  # dialogues that go through all domains with much small talk
    noise: float = 0.0  # values whose annotation is missing from some turn on, as in MultiWOZ
    unseen: bool = False  # names come from the places that training never shows

    def __post_init__(self) -> None:
        check_choice("size", self.size, SIZES)
        for name in (
            "inherit",
            "dontcare",
            "change",
            "offer",
            "two_offers",
            "decline",
            "chatter",
            "long",
            "noise",
        ):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1, got {getattr(self, name)}")


def simulate(count: int, seed: int, config: SimulatorConfig | None = None) -> list[Dialogue]:
    """Simulate `count` dialogues; dialogue k of a seed is the same whatever the count.

    Parameters
    ----------
    count
        At least 1.
    seed
        Draws everything; the same seed gives the same dialogues on every machine.
    config
        Rates and size of the city.

    Raises
    ------
    ValueError
        If `count` is below 1.

    Examples
    --------
    >>> dialogue = simulate(1, seed=0)[0]
    >>> dialogue.turns[0].system, dialogue.turns[0].user
    ('', 'one more thing , i want to see something in town of the museum kind .')
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    config = config or SimulatorConfig()
    return [
        _Talk(random.Random(f"{seed}:{index}"), config).dialogue(f"SIM{seed}-{index}")
        for index in range(count)
    ]


class _Talk:
    """One dialogue while it is being made."""

    def __init__(self, draw: random.Random, config: SimulatorConfig) -> None:
        self.draw, self.config, self.world = draw, config, make_world(config.size)
        self.turns: list[Turn] = []
        self.state: dict[str, str] = {}
        self.origins: dict[str, Origin] = {}
        self.unfilled: list[tuple[str, str]] = []
        self.system = ""
        self.people = str(draw.randint(1, 8))

    def dialogue(self, name: str) -> Dialogue:
        long = self.draw.random() < self.config.long
        for domain in self._agenda(long):
            {"train": self._train, "taxi": self._taxi}.get(domain, self._place)(domain)
            for _ in range(self.draw.randint(5, 9) if long else self.draw.random() < self.config.chatter):
                question, answer = self.draw.choice(CHATTER)
                self._say(question)
                self.system = answer.format(self._code())
        self._say(self.draw.choice(REPLY["bye"]))
        turns = tuple(self.turns)
        return Dialogue(
            name=name, turns=_noisy(turns, self.config.noise, self.draw) if self.config.noise else turns
        )

    def _agenda(self, long: bool) -> list[str]:
        """Draw one to three domains, and a taxi where two places are visited."""
        count = 4 if long else self.draw.choices((1, 2, 3), weights=(42, 48, 10))[0]
        domains = self.draw.sample(["restaurant", "hotel", "attraction", "train"], count)
        places = [domain for domain in domains if domain in SEARCH]
        if count == 1:
            return ["taxi"] if self.draw.random() < 0.1 else domains
        if len(places) >= 2 and self.draw.random() < 0.5:
            domains = places[:2] if count == 3 and not long else domains
            return [*domains, "taxi"]
        return domains

    # -- turns

    def _say(self, user: str) -> None:
        """Close a turn: the user speaks, the state as it is now is recorded."""
        self.turns.append(
            Turn(
                system=self.system,
                user=user,
                state=dict(self.state),
                origins=dict(self.origins),
                unfilled=tuple(self.unfilled),
            )
        )
        self.unfilled = []
        self.system = self.draw.choice(REPLY["more"])

    def _ask(self, slot: str) -> None:
        self.system = self.draw.choice(LEADS["ask"]) + self.draw.choice(ASK[slot])

    def _open(self, domain: str, parts: Sequence[str]) -> None:
        self._say(
            " ".join([self.draw.choice(LEADS["user"]) + self.draw.choice(OPENING[domain]), *parts, "."])
        )

    def _fill(self, pair: str, value: str, kind: str, source: str | None = None) -> None:
        now = len(self.turns)
        distance = now - self.origins[source].turn if source else 0
        self.state[pair] = value
        self.origins[pair] = Origin(kind=kind, turn=now, source=source, distance=distance)

    def _part(self, pair: str) -> str:
        """Fill one slot and return the words for it: a reference to another slot, or a value."""
        slot = slot_of(pair)
        source = self._source(pair)
        if source is not None and self.draw.random() < self.config.inherit:
            self._fill(pair, self.state[source], "inherited", source)
            return reference(self.draw, slot, domain_of(source))
        if (
            slot in ("area", "pricerange", "food", "type", "stars")
            and self.draw.random() < self.config.dontcare
        ):
            self._fill(pair, DONTCARE, "dontcare")
            return constraint(self.draw, slot, DONTCARE)
        value = self._value(pair)
        self._fill(pair, value, "stated")
        return constraint(self.draw, slot, value)

    def _source(self, pair: str) -> str | None:
        """Return a pair of another domain that this one could refer to."""
        domain, slot = domain_of(pair), slot_of(pair)
        if slot in ("area", "pricerange"):
            options = [f"{other}-{slot}" for other in SEARCH]
        elif slot in ("book day", "day"):
            options = list(DAY_PAIRS)
        elif slot == "book people":
            options = [other for other in reversed(self.state) if other in PEOPLE_PAIRS][:1]
        else:
            options = []
        options = [o for o in options if domain_of(o) != domain and self.state.get(o, DONTCARE) != DONTCARE]
        return self.draw.choice(options) if options else None

    def _value(self, pair: str) -> str:
        domain, slot = domain_of(pair), slot_of(pair)
        draw, world = self.draw, self.world
        if slot in ("day", "book day"):
            return draw.choice(DAYS)
        if slot == "book people":
            return self.people if draw.random() < 0.5 else str(draw.randint(1, 8))
        if slot == "book stay":
            return str(draw.randint(1, 6))
        if slot in ("book time", "leaveat", "arriveby"):
            return draw.choice(world.times)
        if slot in ("departure", "destination"):
            return draw.choice([town for town in world.towns if town not in self.state.values()])
        if slot == "food":
            return draw.choice(world.foods)
        if slot == "type":
            return draw.choice(SIGHTS if domain == "attraction" else ("hotel", "guesthouse"))
        return draw.choice([venue.properties[slot] for venue in world.places[domain]])

    # -- domains

    def _place(self, domain: str) -> None:
        slots = [slot for slot in SEARCH[domain] if self.draw.random() < (0.75 if domain != "hotel" else 0.5)]
        slots = slots or [SEARCH[domain][0]]
        self.draw.shuffle(slots)
        first = max(1, len(slots) - self.draw.randint(0, 1))
        parts = [self._part(f"{domain}-{slot}") for slot in slots[:first]]
        self._open(domain, parts)
        for slot in slots[first:]:
            self._ask(slot)
            self._say(self._part(f"{domain}-{slot}") + " please .")
        books = domain in BOOKING and self.draw.random() < 0.85
        pairs = [f"{domain}-{slot}" for slot in BOOKING[domain]] if books else []
        if self._offer(domain, at_once=books and self.draw.random() < 0.5):
            if pairs:
                self._book(pairs, REPLY["take"])
        elif pairs and f"{domain}-name" in self.state:
            self._book(pairs, REPLY["book"])

    def _offer(self, domain: str, *, at_once: bool) -> bool:
        """Offer a place; return whether the user will take it in the turn that books it."""
        places = self.world.unseen[domain] if self.config.unseen else self.world.places[domain]
        first, second, third = self.draw.sample(places, 3)
        pair = f"{domain}-name"
        if self.draw.random() < self.config.decline:
            self._propose(first)
            self.unfilled.append((pair, first.name))
            self._say(self.draw.choice(REPLY["decline"]))
            first = third
        if self.draw.random() >= self.config.offer:
            self._propose(first)
            self.unfilled.append((pair, first.name))
            self._say("i will think about it , thanks .")
            return False
        if self.draw.random() < self.config.two_offers:
            self.system = choose(self.draw, REPLY["two"], first.name, second.name)
            choice = self.draw.choice(("first", "second"))
            taken, other = (first, second) if choice == "first" else (second, first)
            self.unfilled.append((pair, other.name))
            self._fill(pair, taken.name, "offered")
            self._say(self.draw.choice(REPLY[choice]))
            return False
        self._propose(first)
        self._fill(pair, first.name, "offered")
        if not at_once:
            self._say(self.draw.choice(REPLY["accept"]))
        return at_once

    def _propose(self, place: Place) -> None:
        lead = self.draw.choice(LEADS["offer"])
        self.system = lead + choose(self.draw, REPLY["offer"], place.name, place.properties["area"])

    def _book(self, pairs: Sequence[str], wordings: tuple[str, ...] = REPLY["book"]) -> None:
        """Fill the slots of a booking in one turn or two, and perhaps change one of them."""
        cut = self.draw.choice((len(pairs), len(pairs), 1))
        self._say(" ".join([self.draw.choice(wordings), *(self._part(pair) for pair in pairs[:cut]), "."]))
        for pair in pairs[cut:]:
            self._ask(slot_of(pair))
            self._say(self._part(pair) + " please .")
        self.system = choose(self.draw, REPLY["booked"], self._code())
        if self.draw.random() < self.config.change:
            pair = self.draw.choice(pairs)
            options = [value for value in (self._value(pair) for _ in range(20)) if value != self.state[pair]]
            self._fill(pair, options[0], "changed")
            phrase = constraint(self.draw, slot_of(pair), options[0])
            self._say(f"{self.draw.choice(REPLY['change'])} {phrase} .")
            self.system = choose(self.draw, REPLY["booked"], self._code())

    def _train(self, domain: str) -> None:
        when = self.draw.choice(("leaveat", "arriveby"))
        slots = ["departure", "destination", "day", when]
        self.draw.shuffle(slots)
        first = self.draw.randint(3, 4)
        parts = [self._part(f"train-{slot}") for slot in slots[:first]]
        self._open(domain, parts)
        for slot in slots[first:]:
            self._ask(slot)
            self._say(self._part(f"train-{slot}") + " please .")
        self.system = choose(self.draw, REPLY["train"], f"tr{self.draw.randint(1000, 9999)}")
        if self.draw.random() < 0.6:
            self._book(["train-book people"])

    def _taxi(self, domain: str) -> None:
        """Go between two settled places, both by reference or by name; alone, between two towns."""
        ends = [f"{settled}-name" for settled in SEARCH if f"{settled}-name" in self.state]
        self.draw.shuffle(ends)
        parts = []
        for slot, source in zip(("departure", "destination"), [*ends, None, None], strict=False):
            pair = f"taxi-{slot}"
            if source is None:
                parts.append(self._part(pair))
            elif self.draw.random() < self.config.inherit:
                self._fill(pair, self.state[source], "inherited", source)
                parts.append(reference(self.draw, slot, domain_of(source)))
            else:
                self._fill(pair, self.state[source], "stated")
                parts.append(constraint(self.draw, slot, self.state[source]))
        self.draw.shuffle(parts)
        booked = (
            "restaurant-book time"
            if self.state.get("taxi-destination") == self.state.get("restaurant-name")
            else ""
        )
        if booked in self.state and self.draw.random() < self.config.inherit:
            self._fill("taxi-arriveby", self.state[booked], "inherited", booked)
            parts.append(reference(self.draw, "arriveby", "restaurant"))
            self._open(domain, parts)
        else:
            self._open(domain, parts)
            slot = self.draw.choice(("leaveat", "arriveby"))
            self._ask(slot)
            self._say(self._part(f"taxi-{slot}") + " please .")
        car = self.draw.choice(("white audi", "red skoda", "grey tesla", "black volvo"))
        self.system = choose(self.draw, REPLY["taxi"], car, f"07{self.draw.randint(10**8, 10**9 - 1)}")

    def _code(self) -> str:
        return "".join(self.draw.choice("abcdefghjkmnpqrstuvwxyz0123456789") for _ in range(8))


def _noisy(turns: Sequence[Turn], rate: float, draw: random.Random) -> tuple[Turn, ...]:
    """Drop each newly filled value from the annotation with probability `rate`."""
    dropped: dict[str, tuple[str, Origin]] = {}
    result: list[Turn] = []
    for turn in turns:
        for pair, origin in turn.origins.items():
            if origin.turn == len(result) and draw.random() < rate:
                dropped[pair] = (turn.state[pair], origin)
        gone = {pair for pair, (value, origin) in dropped.items() if turn.origins.get(pair) == origin}
        result.append(
            replace(
                turn,
                state={pair: value for pair, value in turn.state.items() if pair not in gone},
                origins={pair: origin for pair, origin in turn.origins.items() if pair not in gone},
            )
        )
    return tuple(result)


SIMULATORS: dict[str, Callable[[int, int], list[Dialogue]]] = {"dialogues": simulate}
"""What ``reasonlib data simulate state_tracking/dialogues`` calls."""
