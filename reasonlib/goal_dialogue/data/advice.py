"""A small advice line for children of divorced parents, made up.

The source measures its models on fifty dialogues between children of divorced parents and the counsellors of
a youth information service (section 5.3.5), which are private. Here is a stand-in of the same size and
the same tasks (1, 2, 3 and 5; there is no task 4): a child says what it is about, the line asks for what is
missing, looks for someone to talk to and offers what it finds, best first.

Nothing in it is from a real conversation, and a number measured on it says how systems compare on fifty
dialogues, not how they would do on the private ones.

So that every reader, tagger and model of this topic takes it, facts keep the names of the released relations:
``R_cuisine`` is the subject of the question, ``R_location`` the town, ``R_number`` the age and ``R_price``
with whom the child lives.
"""

from collections.abc import Iterator, Mapping, Sequence

from reasonlib.goal_dialogue.data.example import SILENCE, Dialogue, Event, KnowledgeBase, Split, Turn
from reasonlib.goal_dialogue.data.world import SLOTS, Goal, PortableRandom, restaurant_facts

__all__ = ["DIALOGUES", "TASKS", "make_advice", "make_split"]

DIALOGUES = 50
"""As many as the source had."""

TASKS = (1, 2, 3, 5)
"""Those of the source's table 5.7."""

SUBJECTS = ("custody", "visits", "moving", "money", "holidays", "school", "court")
TOWNS = ("oslo", "bergen", "arendal", "grimstad", "kristiansand")
AGES = ("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen")
HOMES = ("mother", "father", "grandparents", "both")
VALUES = dict(zip(SLOTS, (SUBJECTS, TOWNS, AGES, HOMES), strict=True))

GREETINGS = ("hi", "hello", "hey", "is anyone there", "hi can i ask something", "hello i need some help")
HELLO = "hello this is the advice line what is on your mind"
OPENINGS = (
    "my parents are divorced and i need advice",
    "my mum and dad split up last year and i have a question",
    "i do not know what to do since my parents got divorced",
    "can someone help me my parents are fighting",
    "i would like to know what my rights are",
)
WISHES = {
    "cuisine": ("about {}", "it has to do with {}", "and now there is trouble about {}"),
    "location": ("i live in {}", "we are in {}"),
    "number": ("i am {} years old", "i am {}"),
    "price": ("i live with {}", "i stay with {} most of the time"),
}
I_SEE = "i see thank you for telling me"
ASK = {
    "cuisine": "can you tell me what it is about",
    "location": "which town do you live in",
    "number": "how old are you",
    "price": "who do you live with",
}
ANSWERS = {
    "cuisine": ("it is about {}", "mostly {}", "well {} i think", "they argue about {} all the time"),
    "location": ("{}", "in {}", "i live in {}", "a bit outside {}"),
    "number": ("{}", "i am {}", "i just turned {}", "{} years old"),
    "price": ("{}", "with {}", "i live with {} right now", "{} at the moment"),
}
LOOK = "let me see who can help you"
UPDATES = {
    "cuisine": ("actually it is more about {}", "i think the real problem is {}"),
    "location": ("but we will go to {} soon", "i am in {} this week could it be there"),
    "number": ("sorry i meant i am {}", "i will be {} next month"),
    "price": ("or maybe i should say i live with {}", "from now on i live with {}"),
}
CHANGED = "i have changed that is there anything else you want to add"
NO_MORE = ("no", "no that is all", "nothing else")
OFFER = "you could talk to: "
REFUSALS = (
    "i do not dare to talk to them",
    "is there someone else",
    "i have tried that it did not help",
    "no",
)
OTHER = "i understand i will look for someone else"
CONSENTS = ("yes please", "okay i will try that", "that sounds good", "could you tell them that i call")
GOOD = "good i will let them know"
DETAILS = {
    "phone": ("what is the number", "how do i call them", "can i have the phone number"),
    "address": ("where is that", "can i just go there", "what is the address"),
}
HERE = "here it is "
THANKS = ("thank you", "thanks a lot", "okay thanks for listening", "thank you so much")
ANYTHING = "is there anything else you want to talk about"
FAREWELLS = ("no thank you", "not now", "no bye")
CARE = "take care and come back any time"
FIXED = (HELLO, I_SEE, *ASK.values(), LOOK, CHANGED, OTHER, GOOD, ANYTHING, CARE)

_FOUND = 40  # API calls that find someone
_OFFERS = 3  # people each of them finds


def make_advice(*, seed: int = 0) -> KnowledgeBase:
    """Make the knowledge base: three people to talk to for each of forty API calls."""
    rng = PortableRandom(f"advice knowledge {seed}")
    every = [Goal(*each) for each in _product()]
    facts = {}
    for goal in rng.shuffled(every)[:_FOUND]:
        for rating in rng.shuffled(range(1, 9))[:_OFFERS]:
            name = f"advice_{goal.location}_{goal.price}_{goal.cuisine}_{goal.number}_{rating}stars"
            facts[name] = {
                "R_phone": f"{name}_phone",
                "R_cuisine": goal.cuisine,
                "R_address": f"{name}_address",
                "R_location": goal.location,
                "R_number": goal.number,
                "R_price": goal.price,
                "R_rating": str(rating),
            }
    return KnowledgeBase(facts=facts)


def _product() -> Iterator[tuple[str, str, str, str]]:
    for subject in SUBJECTS:
        for town in TOWNS:
            for age in AGES:
                for home in HOMES:
                    yield subject, town, age, home


def _say(rng: PortableRandom, phrases: Mapping[str, Sequence[str]], goal: Goal, slot: str) -> str:
    return rng.choice(phrases[slot]).format(getattr(goal, slot))


def _tell(
    rng: PortableRandom, task: int, knowledge: KnowledgeBase, restaurants: dict[Goal, list[str]]
) -> Iterator[Event]:
    final = rng.choice(list(restaurants))
    changed = rng.shuffled(SLOTS)[: 1 + rng.randrange(2)] if task in (2, 5) else []
    first = final._replace(
        **{
            slot: rng.choice([value for value in VALUES[slot] if value != getattr(final, slot)])
            for slot in changed
        }
    )
    names = rng.shuffled(restaurants[final])
    facts = [fact for name in names for fact in restaurant_facts(name, knowledge.facts[name])]
    if task == 3:
        yield from facts
    yield Turn(rng.choice(GREETINGS), HELLO)
    named = rng.shuffled(SLOTS)[: 4 if task == 2 else rng.randrange(4)]
    yield Turn(" ".join([rng.choice(OPENINGS), *(_say(rng, WISHES, first, slot) for slot in named)]), I_SEE)
    user = SILENCE
    for slot in SLOTS:
        if slot not in named:
            yield Turn(user, ASK[slot])
            user = _say(rng, ANSWERS, first, slot)
    yield Turn(user, LOOK)
    if task != 3:
        yield Turn(SILENCE, first.call)
    if changed:
        for slot in changed:
            yield Turn(_say(rng, UPDATES, final, slot), CHANGED)
        yield Turn(rng.choice(NO_MORE), LOOK)
        yield Turn(SILENCE, final.call)
    if task == 2:
        yield Turn(rng.choice(THANKS), CARE)
    if task == 5:
        yield from facts
    if task in (3, 5):
        ranked = sorted(names, key=lambda name: -int(knowledge.facts[name]["R_rating"]))
        taken = rng.randrange(len(ranked))
        for index, name in enumerate(ranked[: taken + 1]):
            yield Turn(SILENCE, OFFER + name)
            last = index == taken
            yield Turn(rng.choice(CONSENTS if last else REFUSALS), GOOD if last else OTHER)
        if task == 5:
            for detail in rng.shuffled(tuple(DETAILS))[: 1 + rng.randrange(2)]:
                value = knowledge.facts[ranked[taken]][f"R_{detail}"]
                yield Turn(rng.choice(DETAILS[detail]), HERE + value)
            yield Turn(rng.choice(THANKS), ANYTHING)
            yield Turn(rng.choice(FAREWELLS), CARE)


def make_split(task: int, *, dialogues: int = DIALOGUES, seed: int = 0) -> Split:
    """Make one task: three fifths to train on, a fifth each to validate and to test; no unseen set.

    Parameters
    ----------
    task
        1, 2, 3 or 5.
    dialogues
        How many in all.
    seed
        The same seed makes the same dialogues.

    Raises
    ------
    ValueError
        If `task` is none of these, or `dialogues` below 5.
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(map(str, TASKS))}, got {task}")
    if dialogues < 5:
        raise ValueError(f"dialogues must be at least 5, got {dialogues}")
    knowledge = make_advice(seed=seed)
    restaurants: dict[Goal, list[str]] = {}
    for name, values in knowledge.facts.items():
        goal = Goal(values["R_cuisine"], values["R_location"], values["R_number"], values["R_price"])
        restaurants.setdefault(goal, []).append(name)
    rng = PortableRandom(f"advice {task} {seed}")
    written = [
        Dialogue(task=task, events=tuple(_tell(rng, task, knowledge, restaurants))) for _ in range(dialogues)
    ]
    fifth = dialogues // 5
    details = [
        values[relation] for values in knowledge.facts.values() for relation in ("R_phone", "R_address")
    ]
    every = [
        *FIXED,
        *(Goal(*values).call for values in _product()),
        *(OFFER + name for name in knowledge.facts),
        *(HERE + value for value in details),
    ]
    return Split(
        task=task,
        train=written[: dialogues - 2 * fifth],
        valid=written[dialogues - 2 * fifth : dialogues - fifth],
        test=written[dialogues - fifth :],
        oov=(),
        candidates=tuple(PortableRandom(f"advice candidates {seed}").shuffled(every)),
        knowledge=knowledge,
    )
