"""Tasks 9 to 14: people walk between places, reported indirectly (Weston et al. 2015, section 3).

Everybody is always somewhere, reported or not. A step sends a random person to another place, and the story
reports it as a move, a state, a negation, a choice of two places, with a pronoun, for two people at once, or
with the time of day. Questions are about one of the last five facts; a sentence about two people is two.
"""

from reasonlib.story_qa.data.simulator.vocabulary import (
    CLASSMATES,
    FAMILY,
    HOME,
    TOWN,
    WENT,
    WINDOW,
    Draw,
    Question,
    SimulatedStory,
    other,
    pick,
)

QUESTIONS = 5  # of a story
PRONOUNS = {"Daniel": "he", "John": "he", "Mary": "she", "Sandra": "she"}
THEN = ("Then", "Afterwards", "After that", "Following that")
TIMES = ("yesterday", "this morning", "this afternoon", "this evening")


def _is_in(draw: Draw, who: str, places: tuple[str, ...], room: int) -> tuple[str, int, bool]:
    """Ask whether somebody is in a place: that one or, as likely, one of the others."""
    same = draw() < 0.5
    if not same:
        room = other(draw, len(places), room)
    return f"Is {who} in the {places[room]}?", room, same


def task_9(draw: Draw) -> SimulatedStory:
    """Report where people go, are, and are not any more; ask whether somebody is in a room."""
    location = [int(draw() * 6) for _ in FAMILY]
    sentences: list[str] = []
    facts: list[int] = []  # whom each sentence is about
    latest: dict[int, tuple[int, int, bool]] = {}  # person -> last sentence, its room, whether they are there
    questions: list[Question] = []
    while len(questions) < QUESTIONS:
        for _ in range(2):
            person = int(draw() * 4)
            name, before = FAMILY[person], location[person]
            room = location[person] = other(draw, 6, before)
            kind = int(draw() * 8)
            if kind < 4:
                sentence = f"{name} {pick(draw, WENT)} to the {HOME[room]}."
            elif kind < 6:
                sentence = f"{name} is in the {HOME[room]}."
            else:
                sentence = f"{name} is {'not' if kind < 7 else 'no longer'} in the {HOME[before]}."
            latest[person] = (len(sentences), room, True) if kind < 6 else (len(sentences), before, False)
            sentences.append(sentence)
            facts.append(person)
        person = pick(draw, facts[-WINDOW:])
        support_sentence, room, present = latest[person]
        if present:
            question, _, present = _is_in(draw, FAMILY[person], HOME, room)
        else:
            question = f"Is {FAMILY[person]} in the {HOME[room]}?"
        questions.append(
            Question(len(sentences), question, ("yes" if present else "no",), (support_sentence,))
        )
    return SimulatedStory(sentences, questions)


def task_10(draw: Draw) -> SimulatedStory:
    """Report where people are, sometimes as one of two places; ask whether somebody is in a place.

    Notes
    -----
    One in six of the released choices names one place twice ("either in the park or the park") and is still
    answered "maybe"; here the two places differ.
    """
    location = [int(draw() * 6) for _ in CLASSMATES]
    sentences: list[str] = []
    facts: list[int] = []
    latest: dict[int, tuple[int, tuple[int, ...]]] = {}  # person -> last sentence, where they can be
    questions: list[Question] = []
    while len(questions) < QUESTIONS:
        for _ in range(2):
            person = int(draw() * 4)
            name = CLASSMATES[person]
            room = location[person] = other(draw, 6, location[person])
            kind = int(draw() * 4)
            can_be: tuple[int, ...] = (room,)
            if kind < 2:
                sentence = f"{name} {pick(draw, WENT)} to the {TOWN[room]}."
            elif kind < 3:
                sentence = f"{name} is in the {TOWN[room]}."
            else:
                can_be = (room, other(draw, 6, room))
                if draw() < 0.5:
                    can_be = can_be[::-1]
                sentence = f"{name} is either in the {TOWN[can_be[0]]} or the {TOWN[can_be[1]]}."
            latest[person] = (len(sentences), can_be)
            sentences.append(sentence)
            facts.append(person)
        person = pick(draw, facts[-WINDOW:])
        support_sentence, can_be = latest[person]
        question, room, _ = _is_in(draw, CLASSMATES[person], TOWN, pick(draw, can_be))
        answer = "no" if room not in can_be else "yes" if len(can_be) == 1 else "maybe"
        questions.append(Question(len(sentences), question, (answer,), (support_sentence,)))
    return SimulatedStory(sentences, questions)


def task_11(draw: Draw) -> SimulatedStory:
    """Report two moves of one person, the second with "he" or "she"; ask where somebody is."""
    return _followed(draw, pairs=False)


def task_13(draw: Draw) -> SimulatedStory:
    """Report two moves of two people, the second with "they"; ask where somebody is."""
    return _followed(draw, pairs=True)


def _followed(draw: Draw, pairs: bool) -> SimulatedStory:
    """Tasks 11 and 13: every second sentence has a pronoun for the people of the one before."""
    location = [int(draw() * 6) for _ in FAMILY]
    sentences: list[str] = []
    facts: list[int] = []
    latest: dict[int, tuple[int, int]] = {}  # person -> sentence with the pronoun, room
    questions: list[Question] = []
    while len(questions) < QUESTIONS:
        people, room = _movers(draw, location, pairs)
        next_room = other(draw, 6, room)
        for person in people:
            location[person] = next_room
            latest[person] = (len(sentences) + 1, next_room)
        pronoun = "they" if pairs else PRONOUNS[FAMILY[people[0]]]
        sentences.append(f"{_names(people)} {pick(draw, WENT)} to the {HOME[room]}.")
        sentences.append(f"{pick(draw, THEN)} {pronoun} {pick(draw, WENT)} to the {HOME[next_room]}.")
        facts += 2 * people
        person = pick(draw, facts[-WINDOW:])
        second, room = latest[person]
        questions.append(
            Question(len(sentences), f"Where is {FAMILY[person]}?", (HOME[room],), (second - 1, second))
        )
    return SimulatedStory(sentences, questions)


def task_12(draw: Draw) -> SimulatedStory:
    """Report moves of two people at once; ask where one of them is."""
    location = [int(draw() * 6) for _ in FAMILY]
    sentences: list[str] = []
    facts: list[int] = []
    latest: dict[int, tuple[int, int]] = {}
    questions: list[Question] = []
    while len(questions) < QUESTIONS:
        for _ in range(2):
            people, room = _movers(draw, location, pairs=True)
            for person in people:
                location[person] = room
                latest[person] = (len(sentences), room)
            sentences.append(f"{_names(people)} {pick(draw, WENT)} to the {HOME[room]}.")
            facts += people
        person = pick(draw, facts[-WINDOW:])
        support_sentence, room = latest[person]
        questions.append(
            Question(len(sentences), f"Where is {FAMILY[person]}?", (HOME[room],), (support_sentence,))
        )
    return SimulatedStory(sentences, questions)


def _movers(draw: Draw, location: list[int], pairs: bool) -> tuple[list[int], int]:
    """Choose one person or two, and a room where none of them is; drawn again until it is so."""
    while True:
        people = [int(draw() * 4)]
        if pairs:
            people.append(other(draw, 4, people[0]))
        room = int(draw() * 6)
        if all(location[person] != room for person in people):
            return people, room


def _names(people: list[int]) -> str:
    return " and ".join(FAMILY[person] for person in people)


def task_14(draw: Draw) -> SimulatedStory:
    """Report out of order where people went at which time of day; ask where somebody was before a place.

    Everybody's moves fill yesterday, this morning, this afternoon and this evening in turn. The sentences
    between two questions are mixed by a cyclic permutation, so none stays where time would put it.
    """
    visits: list[list[int]] = [[] for _ in CLASSMATES]  # places of each person in order of time
    sentence_of: dict[tuple[int, int], int] = {}  # person, time -> sentence
    sentences: list[str] = []
    events: list[tuple[int, int]] = []  # person, time, in the order they happened
    block: list[tuple[int, int]] = []  # those not yet reported
    questions: list[Question] = []
    while len(questions) < QUESTIONS:
        for _ in range(2):
            person = int(draw() * 4)
            while len(visits[person]) == len(TIMES):
                person = int(draw() * 4)
            visited = visits[person]
            event = (person, len(visited))
            visited.append(other(draw, 6, visited[-1]) if visited else int(draw() * 6))
            events.append(event)
            block.append(event)
        recent = [event for event in events[-WINDOW:] if event[1]]
        if not recent:
            continue
        for person, time in _cycled(draw, block):
            move = f"{CLASSMATES[person]} {pick(draw, WENT)} to the {TOWN[visits[person][time]]}"
            sentence_of[person, time] = len(sentences)
            if draw() < 0.5:
                sentences.append(f"{TIMES[time].capitalize()} {move}.")
            else:
                sentences.append(f"{move} {TIMES[time]}.")
        block.clear()
        person, time = pick(draw, recent)
        visited = visits[person]
        room = visited[time]
        time = len(visited) - 1 - visited[::-1].index(room)  # the last time they were there
        questions.append(
            Question(
                len(sentences),
                f"Where was {CLASSMATES[person]} before the {TOWN[room]}?",
                (TOWN[visited[time - 1]],),
                (sentence_of[person, time], sentence_of[person, time - 1]),
            )
        )
    return SimulatedStory(sentences, questions)


def _cycled(draw: Draw, items: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Mix by a random cyclic permutation (Sattolo's algorithm): no item keeps its place."""
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        swap = int(draw() * last)
        order[last], order[swap] = order[swap], order[last]
    return order
