"""Tasks 4 and 15 to 20: small puzzles about space, kind, size and motive (Weston et al. 2015, section 3).

Every story is drawn complete, with the pieces that answer the question in it.
"""

from reasonlib.story_qa.data.simulator.vocabulary import (
    HOME,
    TOOK,
    WENT,
    Draw,
    Question,
    SimulatedStory,
    other,
    pick,
    shuffled,
)

# Directions in quarter turns, so that opposites differ by two.
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
COMPASS = ("north of", "east of", "south of", "west of")
SIDES = ("above", "to the right of", "below", "to the left of")
SHAPES = ("triangle", "pink rectangle", "blue square", "red sphere", "yellow square", "red square")

NAMES = ("Emily", "Gertrude", "Jessica", "Winona")
SPECIES = (("mouse", "mice"), ("sheep", "sheep"), ("wolf", "wolves"), ("cat", "cats"))

PETS = ("Bernhard", "Brian", "Greg", "Julius", "Lily")
KINDS = ("frog", "lion", "rhino", "swan")
COLOURS = ("gray", "green", "white", "yellow")

SWEETS = ("chocolate", "box of chocolates")  # smaller than every container, in this order
CONTAINERS = ("box", "chest", "container", "suitcase")

TEAM = ("Antoine", "Jason", "Sumit", "Yann")
MOTIVES = (
    ("bored", "garden", "football"),
    ("hungry", "kitchen", "apple"),
    ("thirsty", "kitchen", "milk"),
    ("tired", "bedroom", "pajamas"),
)


def _beside(draw: Draw, sides: tuple[str, ...], thing: str, way: int, hub: str, last: float) -> str:
    """State that `thing` lies `way` of `hub`, which is named last with that probability."""
    if draw() < last:
        return f"The {thing} is {sides[way]} the {hub}."
    return f"The {hub} is {sides[(way + 2) % 4]} the {thing}."


def task_4(draw: Draw) -> SimulatedStory:
    """Report of two rooms on opposite sides of a third; ask what lies on one side of a room."""
    hub, first_room, second_room = shuffled(draw, HOME)[:3]
    way = int(draw() * 4)
    facts = []  # the room named first, the direction, the room named last
    for room, side in ((first_room, way), (second_room, (way + 2) % 4)):
        facts.append((room, side, hub) if draw() < 2 / 3 else (hub, (side + 2) % 4, room))
    sentences = [f"The {first} is {COMPASS[side]} the {last}." for first, side, last in facts]
    chosen = int(draw() * 2)
    first, side, last = facts[chosen]
    if draw() < 0.5:
        question = f"What is {COMPASS[side]} the {last}?"
    else:
        question = f"What is the {last} {COMPASS[(side + 2) % 4]}?"
    return SimulatedStory(sentences, [Question(2, question, (first,), (chosen,))])


def task_15(draw: Draw) -> SimulatedStory:
    """Report which species fears which, and who is of which; ask four times what somebody is afraid of."""
    fears: dict[int, int] = {}
    fear_sentence: dict[int, int] = {}
    belongs: dict[int, int] = {}
    name_sentence: dict[int, int] = {}
    sentences: list[str] = []
    while len(sentences) < 8:
        species = int(draw() * 4)
        if species not in fears:
            fears[species] = other(draw, 4, species)
            fear_sentence[species] = len(sentences)
            sentences.append(
                f"{SPECIES[species][1].capitalize()} are afraid of {SPECIES[fears[species]][1]}."
            )
            continue
        name = int(draw() * 4)
        if name not in belongs:
            belongs[name] = species
            name_sentence[name] = len(sentences)
            sentences.append(f"{NAMES[name]} is a {SPECIES[species][0]}.")
    questions = []
    for _ in range(4):
        name = int(draw() * 4)
        species = belongs[name]
        question = f"What is {NAMES[name].lower()} afraid of?"
        questions.append(
            Question(
                8, question, (SPECIES[fears[species]][0],), (name_sentence[name], fear_sentence[species])
            )
        )
    return SimulatedStory(sentences, questions)


def task_16(draw: Draw) -> SimulatedStory:
    """Report kind and colour of pets, but for one colour; ask for it: that of the last pet of its kind.

    Notes
    -----
    As in the released set, each pet introduced gives its kind a new colour, which those of the kind whose
    colour is reported later have; and no question has exactly two other pets of the kind.
    """
    while True:
        kind: dict[int, int] = {}  # pets in the order they are introduced
        shade: dict[int, int] = {}  # of a kind, for now
        colour: dict[int, int] = {}  # of a pet, as reported
        introduced: dict[int, int] = {}
        coloured: dict[int, int] = {}
        sentences: list[str] = []
        while len(sentences) < 9:
            pet = int(draw() * 5)
            if pet not in kind:
                kind[pet] = int(draw() * 4)
                shade[kind[pet]] = int(draw() * 4)
                introduced[pet] = len(sentences)
                sentences.append(f"{PETS[pet]} is a {KINDS[kind[pet]]}.")
            elif pet not in colour:
                colour[pet] = shade[kind[pet]]
                coloured[pet] = len(sentences)
                sentences.append(f"{PETS[pet]} is {COLOURS[colour[pet]]}.")
        (target,) = (pet for pet in kind if pet not in colour)
        peers = [pet for pet in kind if kind[pet] == kind[target] and pet != target]
        if len(peers) in (0, 2):
            continue
        support = (introduced[target], introduced[peers[-1]], coloured[peers[-1]])
        answer = (COLOURS[colour[peers[-1]]],)
        return SimulatedStory(sentences, [Question(9, f"What color is {PETS[target]}?", answer, support)])


def task_17(draw: Draw) -> SimulatedStory:
    """Report how two shapes lie beside a third; ask eight times, yes or no, how the two lie to each other."""
    hub, *pair = shuffled(draw, SHAPES)[:3]
    first = int(draw() * 4)
    ways = (first, other(draw, 4, first))
    sentences = [_beside(draw, SIDES, pair[i], ways[i], hub, last=1 / 3) for i in (0, 1)]
    questions = []
    for _ in range(8):
        subject = int(draw() * 2)
        own_step, other_step = STEPS[ways[subject]], STEPS[ways[1 - subject]]
        dx, dy = own_step[0] - other_step[0], own_step[1] - other_step[1]
        true = [way for way in range(4) if dx * STEPS[way][0] + dy * STEPS[way][1] > 0]
        yes = draw() < 0.5
        way = pick(draw, true if yes else [way for way in range(4) if way not in true])
        question = f"Is the {pair[subject]} {SIDES[way]} the {pair[1 - subject]}?"
        questions.append(Question(2, question, ("yes" if yes else "no",), (subject, 1 - subject)))
    return SimulatedStory(sentences, questions)


def task_18(draw: Draw) -> SimulatedStory:
    """Report which of two things is bigger, until two facts chain; ask five yes/no questions on chains."""
    things = (*SWEETS, *shuffled(draw, CONTAINERS))  # by size
    facts: list[tuple[int, int]] = []  # smaller, bigger
    sentences: list[str] = []
    while True:
        for _ in range(5):
            first = int(draw() * 6)
            second = other(draw, 6, first)
            facts.append((min(first, second), max(first, second)))
            small, big = things[min(first, second)], things[max(first, second)]
            if draw() < 0.5:
                sentences.append(f"The {small} fits inside the {big}.")
            else:
                sentences.append(f"The {big} is bigger than the {small}.")
        below: dict[int, int] = {}  # a thing -> the first fact that tells what is smaller
        above: dict[int, int] = {}
        for i, (smaller, bigger) in enumerate(facts):
            below.setdefault(bigger, i)
            above.setdefault(smaller, i)
        # One of the last five facts and the first that continues it: downwards for "yes", upwards for "no".
        recent = range(len(facts) - 5, len(facts))
        down = [(i, below[facts[i][0]]) for i in recent if facts[i][0] in below]
        up = [(i, above[facts[i][1]]) for i in recent if facts[i][1] in above]
        if down or up:
            break
    questions = []
    for _ in range(5):
        yes = bool(down) and (not up or draw() < 0.5)
        support = pick(draw, down if yes else up)
        upper, lower = support if yes else support[::-1]
        small, big = things[facts[lower][0]], things[facts[upper][1]]
        if not yes:
            small, big = big, small
        question = (
            f"Does the {small} fit in the {big}?"
            if draw() < 0.5
            else f"Is the {big} bigger than the {small}?"
        )
        questions.append(Question(len(facts), question, ("yes" if yes else "no",), support))
    return SimulatedStory(sentences, questions)


def task_19(draw: Draw) -> SimulatedStory:
    """Report how six rooms lie side by side; ask for the two steps from one to another.

    Notes
    -----
    The start, the room between and the goal have their three further neighbours at random free sides, as in
    the released set; two rooms can come to lie on one spot, since only the reported sides count.
    """
    rooms = shuffled(draw, HOME)
    start, middle, goal = rooms[:3]
    first = int(draw() * 4)
    second = (first + 3 + int(draw() * 3)) % 4  # not back
    taken = {(start, first), (middle, (first + 2) % 4), (middle, second), (goal, (second + 2) % 4)}
    sentences = [
        _beside(draw, COMPASS, start, (first + 2) % 4, middle, last=0.56),
        _beside(draw, COMPASS, goal, second, middle, last=0.56),
    ]
    for room in rooms[3:]:
        while True:
            side = (rooms[int(draw() * 3)], int(draw() * 4))
            if side not in taken:
                break
        taken.add(side)
        sentences.append(_beside(draw, COMPASS, room, side[1], side[0], last=0.72))
    order = shuffled(draw, range(5))
    question = f"How do you go from the {start} to the {goal}?"
    answer = (COMPASS[first][0], COMPASS[second][0])
    shuffled_sentences = [sentences[i] for i in order]
    return SimulatedStory(
        shuffled_sentences, [Question(5, question, answer, (order.index(0), order.index(1)))]
    )


def task_20(draw: Draw) -> SimulatedStory:
    """Report how people feel, where they go and what they take; after each sentence ask where to, or why."""
    motive = [pick(draw, MOTIVES) for _ in TEAM]
    done = [0] * len(TEAM)  # of: feel, go, take
    felt = [0] * len(TEAM)
    free = {thing for _, _, thing in MOTIVES}
    sentences: list[str] = []
    questions: list[Question] = []
    while True:
        able = [i for i in range(4) if done[i] < 2 or (done[i] == 2 and motive[i][2] in free)]
        if not able:
            return SimulatedStory(sentences, questions)
        person = pick(draw, able)
        name, (feeling, room, thing) = TEAM[person], motive[person]
        if done[person] == 0:
            felt[person] = len(sentences)
            sentences.append(f"{name} is {feeling}.")
            question, answer = f"Where will {name.lower()} go?", room
        elif done[person] == 1:
            sentences.append(f"{name} {pick(draw, WENT)} to the {room}.")
            question, answer = f"Why did {name.lower()} go to the {room}?", feeling
        else:
            free.remove(thing)
            sentences.append(f"{name} {pick(draw, TOOK)} the {thing} there.")
            question, answer = f"Why did {name.lower()} get the {thing}?", feeling
        done[person] += 1
        questions.append(Question(len(sentences), question, (answer,), (felt[person],)))
