"""Tasks 1 to 3 and 5 to 8: people walk between rooms and carry things (Weston et al. 2015, section 3).

At every step somebody does something possible: goes to another room, takes an object that lies there, puts
down an object or, in tasks 5 and 7, gives one to somebody in the same room. Person and act are drawn again
until they fit, so people who carry something appear more often. Only gifts do not depend on the person drawn:
as in the released set, the first object whose holder is not alone goes to the first other person in the room.

After every second sentence one of the last five facts is chosen; if the story answers a question about its
person or object, the question is added.
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
    Draw,
    Question,
    SimulatedStory,
    other,
    pick,
)

GO, TAKE, LEAVE, GIVE = 0, 1, 2, 3
Moves = list[tuple[int, int]]  # (sentence, room)
Fact = tuple[int, int, int, int]  # act, person, object or room, receiver; -1 where there is none

QUESTIONS = 5  # of a story
NUMBERS = ("none", "one", "two", "three")


class World:
    """Four people, six rooms and three objects, and the sentences about them so far.

    People, rooms and objects are indices into `people`, `HOME` and `OBJECTS`.

    Parameters
    ----------
    draw
        Random numbers in [0, 1).
    people
        The four names.
    acts
        What people do.
    there
        Probability that a sentence about taking ends in "there".

    Attributes
    ----------
    sentences
        The story so far.
    facts
        For each sentence ``(act, person, object or room, receiver)``, -1 where there is none.
    moves
        For each person the moves so far, as ``(sentence, room)``.
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
        self.location = [int(draw() * 6) for _ in people]
        self.lies: list[int] = [int(draw() * 6) for _ in OBJECTS]  # room of an object, -1 if it is held
        self.holder = [-1] * len(OBJECTS)
        self.sentences: list[str] = []
        self.facts: list[Fact] = []
        self.moves: list[Moves] = [[] for _ in people]
        self.handled: list[list[tuple[int, int]]] = [[] for _ in people]
        self.last: list[tuple[int, int, int, int | None] | None] = [None] * len(OBJECTS)
        self.given: dict[int, int] = {}
        self.gifts: dict[tuple[int, int], int] = {}

    def step(self) -> None:
        """Let somebody act, and add the sentence that reports it; draws again until the act is possible."""
        fact = None
        while fact is None:
            person = int(self.draw() * 4)
            act = pick(self.draw, self.acts)
            fact = (self._go, self._take, self._leave, self._give)[act](person)
        self.facts.append(fact)

    def _go(self, person: int) -> Fact | None:
        room = int(self.draw() * 6)
        if room == self.location[person]:
            return None
        self.location[person] = room
        self.moves[person].append((len(self.sentences), room))
        self.sentences.append(f"{self.people[person]} {pick(self.draw, WENT)} to the {HOME[room]}.")
        return GO, person, room, -1

    def _take(self, person: int) -> Fact | None:
        here = [item for item in (0, 1, 2) if self.lies[item] == self.location[person]]
        if not here:
            return None
        item, number = pick(self.draw, here), len(self.sentences)
        self.holder[item], self.lies[item] = person, -1
        self.last[item] = (number, person, len(self.moves[person]), None)
        self.handled[person].append((number, item))
        self._report(person, TOOK, item, self.there)
        return TAKE, person, item, -1

    def _leave(self, person: int) -> Fact | None:
        carried = [item for item in (0, 1, 2) if self.holder[item] == person]
        if not carried:
            return None
        item, number = pick(self.draw, carried), len(self.sentences)
        taken = self.last[item]
        assert taken is not None
        self.holder[item], self.lies[item] = -1, self.location[person]
        self.last[item] = (number, person, taken[2], len(self.moves[person]))
        self.handled[person].append((number, item))
        self._report(person, LEFT, item, 0.2)
        return LEAVE, person, item, -1

    def _report(self, person: int, verbs: tuple[str, ...], item: int, there: float) -> None:
        """Add a sentence about taking or leaving; `there` is the probability that it ends in "there"."""
        suffix = " there" if self.draw() < there else ""
        self.sentences.append(f"{self.people[person]} {pick(self.draw, verbs)} the {OBJECTS[item]}{suffix}.")

    def _give(self, _: int) -> Fact | None:
        gift = self._gift()
        if gift is None:
            return None
        person, item, receiver = gift
        number = len(self.sentences)
        self.holder[item] = receiver
        self.last[item] = (number, receiver, len(self.moves[receiver]), None)
        self.given[item] = self.gifts[person, receiver] = number
        self.handled[person].append((number, item))
        self.handled[receiver].append((number, item))
        name, receiver_name = self.people[person], self.people[receiver]
        self.sentences.append(f"{name} {pick(self.draw, GAVE)} the {OBJECTS[item]} to {receiver_name}.")
        return GIVE, person, item, receiver

    def _gift(self) -> tuple[int, int, int] | None:
        """Return the first possible gift, in the order of the lists: person, object and receiver."""
        for item, person in enumerate(self.holder):
            if person >= 0:
                for receiver, location in enumerate(self.location):
                    if receiver != person and location == self.location[person]:
                        return person, item, receiver
        return None

    def whereabouts(self, item: int) -> tuple[int, Moves, Moves] | None:
        """Return the last event of an object and the moves that carried it.

        Returns
        -------
        tuple or None
            The sentence of the event; the moves of its last holder that answer "where is it"; the moves made
            with the object in hand. None if nobody has touched the object.
        """
        event = self.last[item]
        if event is None:
            return None
        sentence, person, first, end = event
        moves = self.moves[person]
        return sentence, moves[first:] if end is None else moves[:end], moves[first:end]


Ask = Callable[[World], Question | None]


def _story(
    draw: Draw, ask: Ask, acts: tuple[int, ...], people: tuple[str, ...] = FAMILY, there: float = 1.0
) -> SimulatedStory:
    """Alternate two sentences and an attempt at a question, until there are five questions."""
    world = World(draw, people, acts, there)
    questions: list[Question] = []
    while len(questions) < QUESTIONS:
        world.step()
        world.step()
        question = ask(world)
        if question is not None:
            questions.append(question)
    return SimulatedStory(world.sentences, questions)


def _recent(world: World) -> list[Fact]:
    return world.facts[-WINDOW:]


def _where_is_person(world: World) -> Question:
    """Task 1: ask where somebody is who moved in the last five sentences."""
    _, person, _, _ = pick(world.draw, _recent(world))
    sentence, room = world.moves[person][-1]
    return Question(len(world.facts), f"Where is {world.people[person]}?", (HOME[room],), (sentence,))


def _where_is_object(world: World) -> Question | None:
    """Task 2: ask where an object is; the answer needs its last event and a move of its holder."""
    candidates = []
    for act, _, item, _ in _recent(world):
        if act != GO:
            history = world.whereabouts(item)
            if history is not None and history[1]:
                candidates.append((item, history))
    if not candidates:
        return None
    item, (event, moves, _) = pick(world.draw, candidates)
    sentence, room = moves[-1]
    return Question(len(world.facts), f"Where is the {OBJECTS[item]}?", (HOME[room],), (event, sentence))


def _where_was_object(world: World) -> Question | None:
    """Task 3: ask where an object was before a room; the answer needs two moves that carried it."""
    candidates = []
    for act, _, item, _ in _recent(world):
        if act != GO:
            history = world.whereabouts(item)
            if history is not None and len(history[2]) > 1:
                candidates.append((item, history))
    if not candidates:
        return None
    item, (event, _, carried) = pick(world.draw, candidates)
    rooms = [room for _, room in carried]
    while True:
        room = pick(world.draw, rooms)
        visit = len(rooms) - 1 - rooms[::-1].index(room)  # the last one, if there are several
        if visit:
            break
    return Question(
        len(world.facts),
        f"Where was the {OBJECTS[item]} before the {HOME[room]}?",
        (HOME[rooms[visit - 1]],),
        (event, carried[visit][0], carried[visit - 1][0]),
    )


def _who_gave(world: World) -> Question | None:
    """Task 5: ask about the last time an object was given, in one of six ways."""
    candidates = [item for act, _, item, _ in _recent(world) if act == GIVE]
    if not candidates:
        return None
    item = pick(world.draw, candidates)
    sentence = world.given[item]
    _, giver, _, receiver = world.facts[sentence]
    giver_name, object_name, receiver_name = world.people[giver], OBJECTS[item], world.people[receiver]
    forms = [
        (f"Who gave the {object_name} to {receiver_name}?", giver_name),
        (f"Who gave the {object_name}?", giver_name),
        (f"Who received the {object_name}?", receiver_name),
        (f"Who did {giver_name} give the {object_name} to?", receiver_name),
    ]
    if world.gifts[giver, receiver] == sentence:  # else the answer would be what was given after it
        forms += 2 * [(f"What did {giver_name} give to {receiver_name}?", object_name)]
    question, answer = pick(world.draw, forms)
    return Question(len(world.facts), question, (answer,), (sentence,))


def _is_person_there(world: World) -> Question | None:
    """Task 6: ask whether somebody is in a room; yes and no are equally likely."""
    candidates = [person for act, person, _, _ in _recent(world) if act == GO]
    if not candidates:
        return None
    person = pick(world.draw, candidates)
    sentence, room = world.moves[person][-1]
    yes = world.draw() < 0.5
    if not yes:
        room = other(world.draw, len(HOME), room)
    question = f"Is {world.people[person]} in the {HOME[room]}?"
    return Question(len(world.facts), question, ("yes" if yes else "no",), (sentence,))


def _how_many(world: World) -> Question | None:
    """Task 7: ask how many objects somebody carries who just took, left or gave one."""
    candidates = [person for act, person, _, _ in _recent(world) if act != GO]
    if not candidates:
        return None
    person = pick(world.draw, candidates)
    question = f"How many objects is {world.people[person]} carrying?"
    support = tuple(sentence for sentence, _ in world.handled[person])
    return Question(len(world.facts), question, (NUMBERS[world.holder.count(person)],), support)


def _what_carried(world: World) -> Question | None:
    """Task 8: ask what somebody carries; objects come in the order they were first taken."""
    candidates = [person for act, person, _, _ in _recent(world) if act != GO]
    if not candidates:
        return None
    person = pick(world.draw, candidates)
    by_object: dict[int, list[int]] = {}
    for sentence, item in world.handled[person]:
        by_object.setdefault(item, []).append(sentence)
    carried = tuple(OBJECTS[item] for item in by_object if world.holder[item] == person)
    return Question(
        len(world.facts),
        f"What is {world.people[person]} carrying?",
        carried or ("nothing",),
        tuple(sentence for sentences in by_object.values() for sentence in sentences),
    )


_CARRY = (GO, TAKE, LEAVE)
_EXCHANGE = (GO, TAKE, LEAVE, GIVE)


def task_1(draw: Draw) -> SimulatedStory:
    """Report who went where; ask where somebody is."""
    return _story(draw, _where_is_person, (GO,))


def task_2(draw: Draw) -> SimulatedStory:
    """Report who carries what; ask where an object is."""
    return _story(draw, _where_is_object, _CARRY)


def task_3(draw: Draw) -> SimulatedStory:
    """Report who carries what; ask where an object was before it came to a room."""
    return _story(draw, _where_was_object, _CARRY, there=0.2)


def task_5(draw: Draw) -> SimulatedStory:
    """Report who gives what to whom; ask for the giver, the receiver or the object."""
    return _story(draw, _who_gave, _EXCHANGE, people=FRIENDS)


def task_6(draw: Draw) -> SimulatedStory:
    """Report who carries what; ask whether somebody is in a room."""
    return _story(draw, _is_person_there, _CARRY)


def task_7(draw: Draw) -> SimulatedStory:
    """Report who takes, leaves and gives; ask how many objects somebody carries."""
    return _story(draw, _how_many, _EXCHANGE)


def task_8(draw: Draw) -> SimulatedStory:
    """Report who takes and leaves; ask what somebody carries."""
    return _story(draw, _what_carried, _CARRY)
