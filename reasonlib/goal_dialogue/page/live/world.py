"""The world of a conversation in the page: its restaurants, and what a system may say about them."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.world import FIXED, WORLD, Half, make_knowledge, restaurant_facts
from reasonlib.goal_dialogue.page.chat import user_lines

__all__ = ["examples", "restaurants", "sayable", "world_data"]

KNOWLEDGE = make_knowledge(WORLD)


def restaurants(halves: Sequence[Half]) -> list[str]:
    """Names of the restaurants of some halves of the world, in the order of the knowledge base."""
    cities = {city for half in halves for city in half.locations}
    return [name for name, facts in KNOWLEDGE.facts.items() if facts["R_location"] in cities]


def world_data(halves: Sequence[Half]) -> dict[str, Any]:
    """Write what the constructor of ``World`` in ``world.js`` reads."""
    seats = (WORLD.numbers.index(KNOWLEDGE.facts[name]["R_number"]) for name in restaurants(halves))
    return {
        "halves": [{"cuisines": half.cuisines, "locations": half.locations} for half in halves],
        "prices": WORLD.prices,
        "ratings": WORLD.ratings,
        "numbers": WORLD.numbers,
        "seats": "".join(map(str, seats)),
    }


def sayable(halves: Sequence[Half]) -> dict[str, list[str]]:
    """List the responses without restaurants, and the API calls, that a memory network chooses from."""
    calls = [goal.call for unseen in (False, True) for goal in WORLD.goals(unseen)]
    return {"responses": list(FIXED), "calls": calls}


def texts(halves: Sequence[Half]) -> list[str]:
    """List everything that a memory network may say in the page."""
    names, fixed = restaurants(halves), sayable(halves)
    facts = (restaurant_facts(name, KNOWLEDGE.facts[name]) for name in names)
    values = [fact.value for each in facts for fact in each if fact.relation in ("R_phone", "R_address")]
    return [
        *fixed["responses"],
        *fixed["calls"],
        *(f"what do you think of this option: {name}" for name in names),
        *(f"here it is {value}" for value in values),
    ]


@lru_cache(maxsize=4)
def examples(numbers: tuple[int, ...], *, unseen: bool = False) -> tuple[Mapping[str, Any], ...]:
    """Give the user's lines of some dialogues of the test set, with a title each.

    Parameters
    ----------
    numbers
        Which dialogues.
    unseen
        Take them from the out-of-vocabulary test set.
    """
    split = datasets.load("simulated", 5, dialogues=1000)
    dialogues = split.oov if unseen else split.test
    entries = []
    for number in numbers:
        dialogue = dialogues[number]
        call = next(turn.bot for turn in reversed(dialogue.turns) if turn.bot.startswith("api_call"))
        _, cuisine, location, people, price = call.split()
        entries.append(
            {
                "title": f"{cuisine.capitalize()} food in {location.capitalize()}, {price}, for {people}",
                "lines": list(user_lines(dialogue)),
            }
        )
    return tuple(entries)
