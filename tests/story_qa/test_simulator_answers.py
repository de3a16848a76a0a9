"""Every answer follows from the text: solvers that know nothing of the simulator, one a kind of reasoning.

Each solver reads sentences and a question and gives the answer, or None if the sentences do not tell.
"""

import re

import pytest

from reasonlib.story_qa.data.example import TASKS
from reasonlib.story_qa.data.simulator import simulate

MOVE = re.compile(r"^(.+?) (?:moved|went|went back|travelled|journeyed) to the (\w+)$")
TAKE = re.compile(r"^(\w+) (?:picked up|got|grabbed|took) the (\w+)(?: there)?$")
LEAVE = re.compile(r"^(\w+) (?:put down|left|dropped|discarded) the (\w+)(?: there)?$")
GIVE = re.compile(r"^(\w+) (?:gave|handed|passed) the (\w+) to (\w+)$")
THEN = re.compile(r"^(?:Then|Afterwards|After that|Following that) ")
TIMES = ("yesterday", "this morning", "this afternoon", "this evening")


def moves(story):
    """Yield (people, room) of each move, pronouns resolved to the people of the sentence before."""
    people = []
    for sentence in story:
        match = MOVE.match(THEN.sub("", sentence[:-1]))
        if match:
            if match[1] not in ("he", "she", "they"):
                people = match[1].split(" and ")
            yield people, match[2]


def where_is_person(story, question):
    person = re.match(r"Where is (\w+)\?", question)[1]
    rooms = [room for people, room in moves(story) if person in people]
    return (rooms[-1],) if rooms else None


def trail(story, thing):
    """Places where an object is known to have been; its holder is heard of by take or leave."""
    if not any(f"the {thing}" in sentence for sentence in story):
        return []
    location, holder, seen, own = {}, None, [], {}
    for sentence in story:
        text = sentence[:-1]
        if match := MOVE.match(text):
            person, location[match[1]] = match[1], match[2]
            own.setdefault(person, []).append(match[2])
            if person == holder:
                seen.append(match[2])
        elif (match := TAKE.match(text)) and match[2] == thing:
            holder = match[1]
            seen += [location[holder]] if holder in location else []
        elif (match := LEAVE.match(text)) and match[2] == thing:
            if holder is None:  # only part of the story is here: it was carried all along
                seen += own.get(match[1], [])
            holder = None
            seen += [] if seen or match[1] not in location else [location[match[1]]]
    return seen


def where_is_object(story, question):
    thing = re.match(r"Where is the (\w+)\?", question)[1]
    seen = trail(story, thing)
    return (seen[-1],) if seen else None


def where_was_object(story, question):
    thing, room = re.match(r"Where was the (\w+) before the (\w+)\?", question).groups()
    seen = trail(story, thing)
    visits = [i for i, visited in enumerate(seen) if visited == room and i and seen[i - 1] != room]
    return (seen[visits[-1] - 1],) if visits else None


def two_argument_relation(story, question):
    opposite = {"north": "south", "south": "north", "east": "west", "west": "east"}
    facts = set()
    for sentence in story:
        first, side, second = re.match(r"The (\w+) is (\w+) of the (\w+)\.", sentence).groups()
        facts |= {(first, side, second), (second, opposite[side], first)}
    if match := re.match(r"What is (\w+) of the (\w+)\?", question):
        answers = {first for first, side, second in facts if (side, second) == match.groups()}
    else:
        match = re.match(r"What is the (\w+) (\w+) of\?", question)
        answers = {second for first, side, second in facts if (first, side) == match.groups()}
    return tuple(answers) if len(answers) == 1 else None


def three_argument_relation(story, question):
    gifts = [match.groups() for sentence in story if (match := GIVE.match(sentence[:-1]))][::-1]
    forms = {
        r"Who gave the (\w+) to (\w+)\?": ((1, 2), 0),
        r"Who gave the (\w+)\?": ((1,), 0),
        r"Who received the (\w+)\?": ((1,), 2),
        r"Who did (\w+) give the (\w+) to\?": ((0, 1), 2),
        r"What did (\w+) give to (\w+)\?": ((0, 2), 1),
    }
    for form, (question_indices, answer_index) in forms.items():
        if match := re.fullmatch(form, question):
            for gift in gifts:
                if tuple(gift[i] for i in question_indices) == match.groups():
                    return (gift[answer_index],)
    return None


def is_person_there(story, question):
    person, room = re.match(r"Is (\w+) in the (\w+)\?", question).groups()
    answer = None
    for sentence in story:
        text = sentence[:-1]
        if not text.startswith(f"{person} "):
            continue
        if match := re.match(r"\w+ is (?:not|no longer) in the (\w+)$", text):
            answer = "no" if match[1] == room else None
        elif match := re.match(r"\w+ is either in the (\w+) or the (\w+)$", text):
            answer = "maybe" if room in match.groups() else "no"
        elif match := re.match(r".* (?:is in|to) the (\w+)$", text):
            answer = "yes" if match[1] == room else "no"
    return (answer,) if answer else None


def carried(story, person):
    """Objects of a person in the order they were first had, and whether anything was heard of them."""
    order, inventory, mentioned = [], set(), False
    for sentence in story:
        text = sentence[:-1]
        gained = lost = None
        if (match := TAKE.match(text)) and match[1] == person:
            gained = match[2]
        elif (match := LEAVE.match(text)) and match[1] == person:
            lost = match[2]
        elif match := GIVE.match(text):
            gained = match[2] if match[3] == person else None
            lost = match[2] if match[1] == person else None
        mentioned |= bool(gained or lost)
        if gained:
            inventory.add(gained)
            order += [gained] if gained not in order else []
        inventory.discard(lost)
    return [thing for thing in order if thing in inventory], mentioned


def how_many(story, question):
    inventory, mentioned = carried(story, re.match(r"How many objects is (\w+) carrying\?", question)[1])
    return (("none", "one", "two", "three")[len(inventory)],) if mentioned else None


def what_carried(story, question):
    inventory, mentioned = carried(story, re.match(r"What is (\w+) carrying\?", question)[1])
    return (tuple(inventory) or ("nothing",)) if mentioned else None


def where_before(story, question):
    person, room = re.match(r"Where was (\w+) before the (\w+)\?", question).groups()
    by_time = {}
    for sentence in story:
        text = sentence[:-1]
        time = next(time for time in TIMES if time in text.lower())
        name, location = MOVE.match(re.sub(f" ?{time} ?", "", text, flags=re.IGNORECASE)).groups()
        if name == person:
            by_time[TIMES.index(time)] = location
    visits = [time for time, location in by_time.items() if location == room and time - 1 in by_time]
    return (by_time[max(visits) - 1],) if visits else None


def deduction(story, question):
    name = re.match(r"What is (\w+) afraid of\?", question)[1].capitalize()
    singular = {"mice": "mouse", "sheep": "sheep", "wolves": "wolf", "cats": "cat"}
    fears, kind = {}, {}
    for sentence in story:
        if match := re.match(r"(\w+) are afraid of (\w+)\.", sentence):
            fears[singular[match[1].lower()]] = singular[match[2]]
        else:
            animal, species = re.match(r"(\w+) is a (\w+)\.", sentence).groups()
            kind[animal] = species
    return (fears[kind[name]],) if kind.get(name) in fears else None


def induction(story, question):
    name = re.match(r"What color is (\w+)\?", question)[1]
    kind, colour = {}, {}
    for sentence in story:
        if match := re.match(r"(\w+) is a (\w+)\.", sentence):
            kind[match[1]] = match[2]
        else:
            animal, value = re.match(r"(\w+) is (\w+)\.", sentence).groups()
            colour[animal] = value
    peers = [
        animal for animal in kind if animal != name and kind[animal] == kind.get(name) and animal in colour
    ]
    return (colour[peers[-1]],) if peers else None


SIDES = {"above": (0, 1), "below": (0, -1), "to the left of": (-1, 0), "to the right of": (1, 0)}


def position(story, question):
    relation = f"({'|'.join(SIDES)})"
    first, side, second = re.match(rf"Is the (.+) {relation} the (.+)\?", question).groups()
    coordinates = {first: (0, 0)}
    for _ in story:  # as many rounds as sentences reach everything that can be reached
        for sentence in story:
            upper, way, lower = re.match(rf"The (.+) is {relation} the (.+)\.", sentence).groups()
            dx, dy = SIDES[way]
            if upper in coordinates:
                coordinates.setdefault(lower, (coordinates[upper][0] - dx, coordinates[upper][1] - dy))
            elif lower in coordinates:
                coordinates.setdefault(upper, (coordinates[lower][0] + dx, coordinates[lower][1] + dy))
    if second not in coordinates:
        return None
    dx, dy = SIDES[side]
    return ("yes" if -coordinates[second][0] * dx - coordinates[second][1] * dy > 0 else "no",)


def size(story, question):
    if match := re.match(r"Does the (.+) fit in the (.+)\?", question):
        small, big = match.groups()
    else:
        big, small = re.match(r"Is the (.+) bigger than the (.+)\?", question).groups()
    smaller = set()
    for sentence in story:
        if match := re.match(r"The (.+) fits inside the (.+)\.", sentence):
            smaller.add(match.groups())
        else:
            smaller.add(re.match(r"The (.+) is bigger than the (.+)\.", sentence).groups()[::-1])
    while more := {(a, d) for a, b in smaller for c, d in smaller if b == c} - smaller:
        smaller |= more
    assert not any((b, a) in smaller for a, b in smaller), "sizes contradict each other"
    return ("yes",) if (small, big) in smaller else ("no",) if (big, small) in smaller else None


def path(story, question):
    start, goal = re.match(r"How do you go from the (\w+) to the (\w+)\?", question).groups()
    opposite = {"north": "south", "south": "north", "east": "west", "west": "east"}
    doors = {}
    for sentence in story:
        first, side, second = re.match(r"The (\w+) is (\w+) of the (\w+)\.", sentence).groups()
        doors.setdefault(second, {})[first] = side[0]
        doors.setdefault(first, {})[second] = opposite[side][0]
    ways = {start: ()}
    while True:
        new = {
            room: (*way, side)
            for origin, way in ways.items()
            for room, side in doors.get(origin, {}).items()
            if room not in ways
        }
        if not new:
            return ways.get(goal)
        ways |= new


def motive(story, question):
    wants = {"hungry": "kitchen", "thirsty": "kitchen", "tired": "bedroom", "bored": "garden"}
    name = re.match(r"(?:Where will|Why did) (\w+) ", question)[1].capitalize()
    feelings = [match[1] for sentence in story if (match := re.match(rf"{name} is (\w+)\.", sentence))]
    if not feelings:
        return None
    return (wants[feelings[-1]] if question.startswith("Where") else feelings[-1],)


SOLVERS = {
    1: where_is_person,
    2: where_is_object,
    3: where_was_object,
    4: two_argument_relation,
    5: three_argument_relation,
    6: is_person_there,
    7: how_many,
    8: what_carried,
    9: is_person_there,
    10: is_person_there,
    11: where_is_person,
    12: where_is_person,
    13: where_is_person,
    14: where_before,
    15: deduction,
    16: induction,
    17: position,
    18: size,
    19: path,
    20: motive,
}
EVERY_SUPPORT_COUNTS = tuple(task for task in TASKS if task not in (7, 8))


@pytest.fixture(scope="module", params=TASKS)
def simulated(request):
    return request.param, simulate(request.param, 400, seed=11)


def test_the_story_gives_the_answer(simulated):
    task, examples = simulated
    for example in examples:
        assert SOLVERS[task](example.story, example.question) == example.answer, example


def test_the_supporting_sentences_alone_give_the_answer(simulated):
    task, examples = simulated
    for example in examples:
        alone = [example.story[index] for index in sorted(example.support)]
        assert SOLVERS[task](alone, example.question) == example.answer, example


@pytest.mark.parametrize("task", EVERY_SUPPORT_COUNTS)
def test_no_supporting_sentence_can_be_left_out(task):
    for example in simulate(task, 200, seed=12):
        for left_out in example.support:
            rest = [example.story[index] for index in sorted(example.support) if index != left_out]
            assert SOLVERS[task](rest, example.question) != example.answer, example


@pytest.mark.parametrize("task", (7, 8))
def test_the_supports_of_what_is_carried_are_all_that_was_heard_of_it(task):
    for example in simulate(task, 200, seed=12):
        name = re.search(r" is (\w+) carrying", example.question)[1]
        mentions = {
            index
            for index, sentence in enumerate(example.story)
            if name in sentence.replace(".", "").split() and not MOVE.match(sentence[:-1])
        }
        assert set(example.support) == mentions
