"""Tasks 1 to 3 and 5 to 8: people walk between rooms and carry things (Weston et al. 2015, section 3).

At every step somebody does something that is possible: goes to another room, takes an object that lies there,
puts down one they hold or, in tasks 5 and 7, gives one to somebody in the same room. Person and act are drawn
again until they fit, so people who hold something are heard of more often. Only gifts do not depend on the
person drawn: as in the released set, the first object whose holder has company goes to the first person near.

After every second sentence one of the last five is chosen; if a question about its person or object has an
answer in the story, it is asked.
"""

from collections.abc import Callable

from reasonlib.story_qa.data.simulator.vocabulary import (
    FAMILY,
    FRIENDS,
    GAVE,
    HOME,
    LEFT,
    OBJECTS,
    TOOK,
    WENT,
    WINDOW,
    Asked,
    Draw,
    Story,
    other,
    pick,
)

GO, TAKE, LEAVE, GIVE = 0, 1, 2, 3
Moves = list[tuple[int, int]]  # (sentence, room)

QUESTIONS = 5  # of a story
NUMBERS = ("none", "one", "two", "three")


class World:
    """Four people, six rooms and three objects, and everything told about them so far.

    People, rooms and objects are numbers: their places in `people`, `HOME` and `OBJECTS`.

    Parameters
    ----------
    draw
        Source of chance.
    people
        The four names.
    acts
        What people do.
    there
        Probability that a sentence about taking ends in "there".

    Attributes
    ----------
    sentences
        What was told.
    facts
        For each sentence ``(act, person, object or room, receiver)``, -1 where there is none.
    moves
        For each person the moves told so far, as ``(sentence, room)``.
    handled
        For each person the sentences about taking, leaving, giving and receiving, as ``(sentence, object)``.
    last
        For each object its last event ``(sentence, person, first, end)`` or None: who has or left it, and
        which slice of that person's moves it took part in; `end` is None while it is held.
    given, gifts
        The last sentence that gave each object, and the last that gave anything from one person to another.
    """

    def __init__(self, draw: Draw, people: tuple[str, ...], acts: tuple[int, ...], there: float):
        self.draw, self.people, self.acts, self.there = draw, people, acts, there
        self.place = [int(draw() * 6) for _ in people]
        self.lies: list[int] = [int(draw() * 6) for _ in OBJECTS]  # room of an object, -1 if it is held
        self.holder = [-1] * len(OBJECTS)
        self.sentences: list[str] = []
        self.facts: list[tuple[int, int, int, int]] = []
        self.moves: list[Moves] = [[] for _ in people]
        self.handled: list[list[tuple[int, int]]] = [[] for _ in people]
        self.last: list[tuple[int, int, int, int | None] | None] = [None] * len(OBJECTS)
        self.given: dict[int, int] = {}
        self.gifts: dict[tuple[int, int], int] = {}

    def step(self) -> None:
        """Let somebody do something, and tell it."""
        draw, place, holder = self.draw, self.place, self.holder
        told, receiver = len(self.sentences), -1
        while True:
            person = int(draw() * 4)
            act = pick(draw, self.acts)
            who = self.people[person]
            if act == GO:
                thing = int(draw() * 6)
                if thing == place[person]:
                    continue
                place[person] = thing
                self.moves[person].append((told, thing))
                self.sentences.append(f"{who} {pick(draw, WENT)} to the {HOME[thing]}.")
                break
            if act == TAKE:
                here = [thing for thing in (0, 1, 2) if self.lies[thing] == place[person]]
                if not here:
                    continue
                thing = pick(draw, here)
                holder[thing], self.lies[thing] = person, -1
                self.last[thing] = (told, person, len(self.moves[person]), None)
                self.handled[person].append((told, thing))
                where = " there" if draw() < self.there else ""
                self.sentences.append(f"{who} {pick(draw, TOOK)} the {OBJECTS[thing]}{where}.")
                break
            if act == LEAVE:
                held = [thing for thing in (0, 1, 2) if holder[thing] == person]
                if not held:
                    continue
                thing = pick(draw, held)
                taken = self.last[thing]
                assert taken is not None
                holder[thing], self.lies[thing] = -1, place[person]
                self.last[thing] = (told, person, taken[2], len(self.moves[person]))
                self.handled[person].append((told, thing))
                where = " there" if draw() < 0.2 else ""
                self.sentences.append(f"{who} {pick(draw, LEFT)} the {OBJECTS[thing]}{where}.")
                break
            gift = self._gift()
            if gift is None:
                continue
            person, thing, receiver = gift
            holder[thing] = receiver
            self.last[thing] = (told, receiver, len(self.moves[receiver]), None)
            self.given[thing] = self.gifts[person, receiver] = told
            self.handled[person].append((told, thing))
            self.handled[receiver].append((told, thing))
            who, whom = self.people[person], self.people[receiver]
            self.sentences.append(f"{who} {pick(draw, GAVE)} the {OBJECTS[thing]} to {whom}.")
            break
        self.facts.append((act, person, thing, receiver))

    def _gift(self) -> tuple[int, int, int] | None:
        """Give the first person, object and receiver that make a gift possible, in the order of the lists."""
        for thing, person in enumerate(self.holder):
            if person >= 0:
                for receiver, place in enumerate(self.place):
                    if receiver != person and place == self.place[person]:
                        return person, thing, receiver
        return None

    def whereabouts(self, thing: int) -> tuple[int, Moves, Moves] | None:
        """Give what is known of where an object is: its last event, and the moves that carried it.

        Returns
        -------
        tuple or None
            The sentence of the event, the moves of its last holder that count for "where is it" and those
            made with the object in hand. None if the object was never touched.
        """
        event = self.last[thing]
        if event is None:
            return None
        sentence, person, first, end = event
        moves = self.moves[person]
        return sentence, moves[first:] if end is None else moves[:end], moves[first:end]


Ask = Callable[[World], Asked | None]


def _story(
    draw: Draw, ask: Ask, acts: tuple[int, ...], people: tuple[str, ...] = FAMILY, there: float = 1.0
) -> Story:
    """Tell two sentences and try to ask, until five questions are asked."""
    world = World(draw, people, acts, there)
    asked: list[Asked] = []
    while len(asked) < QUESTIONS:
        world.step()
        world.step()
        question = ask(world)
        if question is not None:
            asked.append(question)
    return Story(world.sentences, asked)


def _recent(world: World) -> list[tuple[int, int, int, int]]:
    return world.facts[-WINDOW:]


def _where_is_person(world: World) -> Asked:
    """Task 1: ask where somebody is who moved in the last five sentences."""
    _, person, _, _ = pick(world.draw, _recent(world))
    sentence, room = world.moves[person][-1]
    return Asked(len(world.facts), f"Where is {world.people[person]}?", (HOME[room],), (sentence,))


def _where_is_object(world: World) -> Asked | None:
    """Task 2: ask where an object is; the answer needs its last event and a move of its holder."""
    known = []
    for act, _, thing, _ in _recent(world):
        if act != GO:
            where = world.whereabouts(thing)
            if where is not None and where[1]:
                known.append((thing, where))
    if not known:
        return None
    thing, (event, moves, _) = pick(world.draw, known)
    sentence, room = moves[-1]
    return Asked(len(world.facts), f"Where is the {OBJECTS[thing]}?", (HOME[room],), (event, sentence))


def _where_was_object(world: World) -> Asked | None:
    """Task 3: ask where an object was before a room; the answer needs two moves that carried it."""
    known = []
    for act, _, thing, _ in _recent(world):
        if act != GO:
            where = world.whereabouts(thing)
            if where is not None and len(where[2]) > 1:
                known.append((thing, where))
    if not known:
        return None
    thing, (event, _, carried) = pick(world.draw, known)
    rooms = [room for _, room in carried]
    while True:
        room = pick(world.draw, rooms)
        visit = len(rooms) - 1 - rooms[::-1].index(room)  # the last one, if there are several
        if visit:
            break
    return Asked(
        len(world.facts),
        f"Where was the {OBJECTS[thing]} before the {HOME[room]}?",
        (HOME[rooms[visit - 1]],),
        (event, carried[visit][0], carried[visit - 1][0]),
    )


def _who_gave(world: World) -> Asked | None:
    """Task 5: ask about the last time an object was given, in one of six ways."""
    known = [thing for act, _, thing, _ in _recent(world) if act == GIVE]
    if not known:
        return None
    thing = pick(world.draw, known)
    sentence = world.given[thing]
    _, giver, _, receiver = world.facts[sentence]
    who, what, whom = world.people[giver], OBJECTS[thing], world.people[receiver]
    forms = [
        (f"Who gave the {what} to {whom}?", who),
        (f"Who gave the {what}?", who),
        (f"Who received the {what}?", whom),
        (f"Who did {who} give the {what} to?", whom),
    ]
    if world.gifts[giver, receiver] == sentence:  # else the answer would be what was given after it
        forms += 2 * [(f"What did {who} give to {whom}?", what)]
    question, answer = pick(world.draw, forms)
    return Asked(len(world.facts), question, (answer,), (sentence,))


def _is_person_there(world: World) -> Asked | None:
    """Task 6: ask whether somebody is in a room; yes and no are equally likely."""
    known = [person for act, person, _, _ in _recent(world) if act == GO]
    if not known:
        return None
    person = pick(world.draw, known)
    sentence, room = world.moves[person][-1]
    yes = world.draw() < 0.5
    if not yes:
        room = other(world.draw, len(HOME), room)
    question = f"Is {world.people[person]} in the {HOME[room]}?"
    return Asked(len(world.facts), question, ("yes" if yes else "no",), (sentence,))


def _how_many(world: World) -> Asked | None:
    """Task 7: ask how many objects somebody carries who just took, left or gave one."""
    known = [person for act, person, _, _ in _recent(world) if act != GO]
    if not known:
        return None
    person = pick(world.draw, known)
    question = f"How many objects is {world.people[person]} carrying?"
    support = tuple(sentence for sentence, _ in world.handled[person])
    return Asked(len(world.facts), question, (NUMBERS[world.holder.count(person)],), support)


def _what_carried(world: World) -> Asked | None:
    """Task 8: ask what somebody carries; objects come in the order they were first taken."""
    known = [person for act, person, _, _ in _recent(world) if act != GO]
    if not known:
        return None
    person = pick(world.draw, known)
    by_object: dict[int, list[int]] = {}
    for sentence, thing in world.handled[person]:
        by_object.setdefault(thing, []).append(sentence)
    held = tuple(OBJECTS[thing] for thing in by_object if world.holder[thing] == person)
    return Asked(
        len(world.facts),
        f"What is {world.people[person]} carrying?",
        held or ("nothing",),
        tuple(sentence for sentences in by_object.values() for sentence in sentences),
    )


_CARRY = (GO, TAKE, LEAVE)
_EXCHANGE = (GO, TAKE, LEAVE, GIVE)


def task_1(draw: Draw) -> Story:
    """Tell who went where; ask where somebody is."""
    return _story(draw, _where_is_person, (GO,))


def task_2(draw: Draw) -> Story:
    """Tell who carries what; ask where an object is."""
    return _story(draw, _where_is_object, _CARRY)


def task_3(draw: Draw) -> Story:
    """Tell who carries what; ask where an object was before it came to a room."""
    return _story(draw, _where_was_object, _CARRY, there=0.2)


def task_5(draw: Draw) -> Story:
    """Tell who gives what to whom; ask for the giver, the receiver or the object."""
    return _story(draw, _who_gave, _EXCHANGE, people=FRIENDS)


def task_6(draw: Draw) -> Story:
    """Tell who carries what; ask whether somebody is in a room."""
    return _story(draw, _is_person_there, _CARRY)


def task_7(draw: Draw) -> Story:
    """Tell who takes, leaves and gives; ask how many objects somebody carries."""
    return _story(draw, _how_many, _EXCHANGE)


def task_8(draw: Draw) -> Story:
    """Tell who takes and leaves; ask what somebody carries."""
    return _story(draw, _what_carried, _CARRY)
