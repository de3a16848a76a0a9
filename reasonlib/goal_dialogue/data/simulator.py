"""Dialogues like the released tasks 1 to 5, of any number and from any seed (Bordes et al. 2017).

A user who wants a table and a system that books one say what the released set says, in the same order::

    goal --> request --> questions --> api_call --> updates --> api_call     what each task keeps
             =========== task 1 ==============                               1  to the first API call
             request, whole ------------------------------ task 2            2  all four slots given at once
             facts --> options, best rating first                            3  facts come first
             facts --> phone and address                                     4  restaurant known
             all of it                                                       5

The same seed gives the same dialogues on every machine. As in the released files, which never say so, the API
calls of the training set and those of the validation and test sets are disjoint halves of all calls (the
first call, in tasks 2 and 5), and so are the restaurants of task 4.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reasonlib.goal_dialogue.data.example import SILENCE, Dialogue, Event, Fact, KnowledgeBase, Split, Turn
from reasonlib.goal_dialogue.data.world import (
    SLOTS,
    WORLD,
    Goal,
    PortableRandom,
    World,
    make_candidates,
    make_knowledge,
    restaurant_facts,
    restaurants_by_goal,
)

__all__ = ["ACCEPT", "OPTIONS", "SIMULATORS", "Setting", "make_split", "simulate"]

OPTIONS = 3
"""Restaurants that the final API call of tasks 3 and 5 finds, at least."""

ACCEPT = 0.25
"""Probability that a user takes an option; the last one is always taken. As counted in the released set."""

GREETINGS = ("hi", "hello", "good morning")
REQUESTS = (
    "may i have a table",
    "can you book a table",
    "i'd like to book a table",
    "can you make a restaurant reservation",
)
WISHES: Mapping[str, Sequence[str]] = {
    "cuisine": ("with {} cuisine", "with {} food"),
    "location": ("in {}",),
    "number": ("for {}", "for {} people"),
    "price": ("in a {} price range",),
}
"""How a request or an update names a slot."""

QUESTIONS: Mapping[str, str] = {
    "cuisine": "any preference on a type of cuisine",
    "location": "where should it be",
    "number": "how many people would be in your party",
    "price": "which price range are looking for",
}
ANSWERS: Mapping[str, Sequence[str]] = {
    "cuisine": ("with {} cuisine", "with {} food", "i love {} food"),
    "location": ("in {}", "{} please"),
    "number": ("for {} please", "for {} people please", "we will be {}"),
    "price": ("in a {} price range please", "i am looking for a {} restaurant"),
}
UPDATES = ("instead could it be", "actually i would prefer")
REFUSALS = ("no this does not work for me", "no i don't like that", "do you have something else")
CONSENTS = ("i love that", "it's perfect", "let's do it", "that looks great")
DETAILS: Mapping[str, Sequence[str]] = {
    "phone": (
        "may i have the phone number of the restaurant",
        "what is the phone number of the restaurant",
        "do you have its phone number",
    ),
    "address": (
        "may i have the address of the restaurant",
        "can you provide the address",
        "do you have its address",
    ),
}
THANKS = ("thanks", "thank you", "you rock")
FAREWELLS = ("no thanks", "no thank you")

Moves = Iterator[Event]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the dialogues of one file are drawn from.

    Attributes
    ----------
    world, knowledge
        The entities, and what is known about the restaurants.
    goals
        Of the users, as they are before a change of mind.
    matches
        API calls that find at least `OPTIONS` restaurants, with the restaurants.
    restaurants
        Those asked for in task 4.
    unseen
        Whether all this is from the unseen half.
    finals
        Those of `matches` that are the goals of task 3 and the final goals of task 5.
    facts
        Restaurant to its facts, in the order of the dialogues.
    """

    world: World
    knowledge: KnowledgeBase
    goals: Sequence[Goal]
    matches: Mapping[Goal, Sequence[str]]
    restaurants: Sequence[str]
    unseen: bool
    finals: Sequence[Goal]
    facts: Mapping[str, Sequence[Fact]]


# Parts of a dialogue


def _greet(rng: PortableRandom) -> Moves:
    yield Turn(rng.choice(GREETINGS), "hello what can i help you with today")


def _wish(rng: PortableRandom, goal: Goal, slot: str) -> str:
    return rng.choice(WISHES[slot]).format(getattr(goal, slot))


def _request(rng: PortableRandom, goal: Goal, given: int) -> Moves:
    """Ask for a table with `given` slots named; the system asks for the others."""
    named = rng.shuffled(SLOTS)[:given]
    request = [rng.choice(REQUESTS), *(_wish(rng, goal, slot) for slot in named)]
    yield Turn(" ".join(request), "i'm on it")
    user = SILENCE
    for slot in SLOTS:
        if slot not in named:
            yield Turn(user, QUESTIONS[slot])
            user = rng.choice(ANSWERS[slot]).format(getattr(goal, slot))
    yield Turn(user, "ok let me look into some options for you")


def _call(goal: Goal) -> Moves:
    yield Turn(SILENCE, goal.call)


def _update(rng: PortableRandom, goal: Goal, slots: Sequence[str]) -> Moves:
    """Change slots to the values in `goal`, one a turn, and call again."""
    for slot in slots:
        yield Turn(f"{rng.choice(UPDATES)} {_wish(rng, goal, slot)}", "sure is there anything else to update")
    yield Turn("no", "ok let me look into some options for you")
    yield from _call(goal)


def _facts(rng: PortableRandom, setting: Setting, names: Sequence[str]) -> Moves:
    for name in rng.shuffled(names):
        yield from setting.facts[name]


def _options(rng: PortableRandom, setting: Setting, names: Sequence[str], chosen: list[str]) -> Moves:
    """Offer restaurants, best rating first, until one is taken; it ends up in `chosen`."""
    ratings = setting.knowledge.facts
    ranked = sorted(names, key=lambda name: -int(ratings[name]["R_rating"]))
    for index, name in enumerate(ranked):
        yield Turn(SILENCE, f"what do you think of this option: {name}")
        if index == len(ranked) - 1 or rng.bernoulli(ACCEPT):
            chosen.append(name)
            yield Turn(rng.choice(CONSENTS), "great let me do the reservation")
            return
        yield Turn(rng.choice(REFUSALS), "sure let me find an other option for you")


def _details(rng: PortableRandom, setting: Setting, name: str) -> Moves:
    """Ask for phone number, address, or both in either order."""
    for detail in rng.shuffled(tuple(DETAILS))[: 1 + rng.randrange(len(DETAILS))]:
        value = setting.knowledge.facts[name][f"R_{detail}"]
        yield Turn(rng.choice(DETAILS[detail]), f"here it is {value}")


def _changed(rng: PortableRandom, world: World, goal: Goal, slots: Sequence[str], unseen: bool) -> Goal:
    """Give these slots of a goal other values of the same half."""
    half = world.half(unseen)
    values = dict(zip(SLOTS, (half.cuisines, half.locations, world.numbers, world.prices), strict=True))
    new = {
        slot: rng.choice([value for value in values[slot] if value != getattr(goal, slot)]) for slot in slots
    }
    return goal._replace(**new)


# The tasks


def issue_calls(rng: PortableRandom, setting: Setting) -> Moves:
    """Task 1: none to four slots are given, the system asks for the others and calls."""
    goal = rng.choice(setting.goals)
    yield from _greet(rng)
    yield from _request(rng, goal, rng.randrange(5))
    yield from _call(goal)


def update_calls(rng: PortableRandom, setting: Setting) -> Moves:
    """Task 2: a whole request, then one to four slots are changed."""
    goal = rng.choice(setting.goals)
    slots = rng.shuffled(SLOTS)[: 1 + rng.randrange(4)]
    yield from _greet(rng)
    yield from _request(rng, goal, 4)
    yield from _call(goal)
    yield from _update(rng, _changed(rng, setting.world, goal, slots, setting.unseen), slots)
    yield Turn(rng.choice(THANKS), "you're welcome")


def display_options(rng: PortableRandom, setting: Setting) -> Moves:
    """Task 3: the facts are known; options are shown by falling rating until one is taken."""
    goal = rng.choice(setting.finals)
    yield from _facts(rng, setting, setting.matches[goal])
    yield from _greet(rng)
    yield from _request(rng, goal, rng.randrange(5))
    yield from _options(rng, setting, setting.matches[goal], [])


def give_details(rng: PortableRandom, setting: Setting) -> Moves:
    """Task 4: the restaurant is named and its facts are known; phone, address or both are asked for."""
    name = rng.choice(setting.restaurants)
    yield from _facts(rng, setting, (name,))
    yield from _greet(rng)
    yield Turn(f"{rng.choice(REQUESTS)} at {name}", "great let me do the reservation")
    yield from _details(rng, setting, name)


def full_dialogues(rng: PortableRandom, setting: Setting) -> Moves:
    """Task 5: one to three slots given, one to three updated, options, details."""
    while True:
        final = rng.choice(setting.finals)
        slots = rng.shuffled(SLOTS)[: 1 + rng.randrange(3)]
        first = _changed(rng, setting.world, final, slots, setting.unseen)
        if first in setting.goals:
            break
    chosen: list[str] = []
    # excerpt: full dialogue
    yield from _greet(rng)
    yield from _request(rng, first, 1 + rng.randrange(3))  # task 1
    yield from _call(first)
    yield from _update(rng, final, slots)  # task 2
    yield from _facts(rng, setting, setting.matches[final])
    yield from _options(rng, setting, setting.matches[final], chosen)  # task 3
    yield from _details(rng, setting, chosen[0])  # task 4
    yield Turn(rng.choice(THANKS), "is there anything i can help you with")
    yield Turn(rng.choice(FAREWELLS), "you're welcome")
    # end excerpt


TASKS: dict[int, Callable[[PortableRandom, Setting], Moves]] = {
    1: issue_calls,
    2: update_calls,
    3: display_options,
    4: give_details,
    5: full_dialogues,
}


# Whole sets


def make_setting(
    task: int, split: str, *, seed: int = 0, world: World = WORLD, knowledge: KnowledgeBase | None = None
) -> Setting:
    """Choose what the dialogues of one split are about.

    Half of all goals, drawn at random, belong to the training set and the other half to the validation and
    test sets; the out-of-vocabulary set takes half of its own. In task 4 this holds for restaurants.
    """
    if task not in TASKS:
        raise ValueError(f"task must be 1 to {len(TASKS)}, got {task}")
    if split not in ("train", "valid", "test", "oov"):
        raise ValueError(f"split must be one of train, valid, test, oov, got {split!r}")
    if knowledge is None:
        knowledge = make_knowledge(world, seed=seed)
    unseen = split == "oov"
    rng = PortableRandom(f"goals {task} {unseen} {seed}")

    def mine(items: Sequence) -> list:
        mixed = rng.shuffled(items)
        middle = (len(mixed) + 1) // 2
        return mixed[middle:] if split in ("valid", "test") else mixed[:middle]

    locations = world.half(unseen).locations
    restaurants_of = {
        goal: names
        for goal, names in restaurants_by_goal(knowledge).items()
        if goal.location in locations and len(names) >= OPTIONS
    }
    if task in (3, 5) and len(restaurants_of) < 2:
        raise ValueError(
            f"task {task} needs two API calls that find {OPTIONS} restaurants, got {len(restaurants_of)}; "
            "make the world larger or choose another seed"
        )
    restaurants = [name for name, values in knowledge.facts.items() if values["R_location"] in locations]
    return Setting(
        world=world,
        knowledge=knowledge,
        goals=mine(world.goals(unseen)),
        matches=restaurants_of,
        finals=mine(sorted(restaurants_of)) if task == 3 else list(restaurants_of),
        restaurants=mine(restaurants),
        facts={name: tuple(restaurant_facts(name, knowledge.facts[name])) for name in restaurants},
        unseen=unseen,
    )


def simulate(
    task: int,
    dialogues: int,
    *,
    split: str = "train",
    seed: int = 0,
    world: World = WORLD,
    knowledge: KnowledgeBase | None = None,
) -> list[Dialogue]:
    """Make up dialogues of one task.

    Parameters
    ----------
    task
        1 to 5.
    dialogues
        How many.
    split
        "train", "valid", "test" or "oov": what the dialogues are about (see `make_setting`).
    seed
        The same seed gives the same dialogues; those of two splits differ.
    world, knowledge
        The entities, and what is known about them: by default made from `world` and `seed`.

    Raises
    ------
    ValueError
        If `task`, `split` or `dialogues` breaks its rule.

    Examples
    --------
    >>> simulate(1, 1, seed=0)[0].turns[0].bot
    'hello what can i help you with today'
    """
    if dialogues < 1:
        raise ValueError(f"dialogues must be at least 1, got {dialogues}")
    setting = make_setting(task, split, seed=seed, world=world, knowledge=knowledge)
    rng = PortableRandom(f"dialogues {task} {split} {seed}")
    tell = TASKS[task]
    return [Dialogue(task=task, events=tuple(tell(rng, setting))) for _ in range(dialogues)]


def make_split(task: int, *, dialogues: int = 1000, seed: int = 0, world: World = WORLD) -> Split:
    """Make training, validation, test and out-of-vocabulary sets of one task, of the same size.

    Tasks of one seed share their knowledge base and their candidates.
    """
    knowledge = make_knowledge(world, seed=seed)

    def dialogues_of(split: str) -> list[Dialogue]:
        return simulate(task, dialogues, split=split, seed=seed, world=world, knowledge=knowledge)

    return Split(
        task=task,
        train=dialogues_of("train"),
        valid=dialogues_of("valid"),
        test=dialogues_of("test"),
        oov=dialogues_of("oov"),
        candidates=make_candidates(world, knowledge, seed=seed),
        knowledge=knowledge,
    )


def _of(task: int) -> Callable[[int, int], list[Dialogue]]:
    def simulator(dialogues: int, seed: int) -> list[Dialogue]:
        return simulate(task, dialogues, seed=seed)

    simulator.__doc__ = TASKS[task].__doc__
    return simulator


SIMULATORS: dict[str, Callable[[int, int], list[Dialogue]]] = {f"task{task}": _of(task) for task in TASKS}
