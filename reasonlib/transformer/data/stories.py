"""A small world to write stories about, so that an encoder can be pre-trained on text that never ends.

::

    mary went to the garden . then she took the milk . bill ran to the office .    what happens
    mary has the milk . bill is in the office .                                    reports
    where is mary ?  garden                                                        (support: sentence 0)

People move, take, drop and give. Every name is always she or always he. A story may end in reports of what
can be known from it: whoever guesses a hidden word of a report must find the sentence that it follows from. A
story carries a question, its answer, and which sentence says it.

The same seed gives the same stories on every machine.
"""

import random
from dataclasses import dataclass

from reasonlib.errors import UserError

__all__ = [
    "KINDS",
    "NAMES",
    "OBJECTS",
    "PLACES",
    "WORDS",
    "LabelledStatement",
    "Story",
    "make_statements",
    "simulate_stories",
]

SHE = ("mary", "sandra", "julie", "emma", "lucy", "anna", "clara", "nora")
HE = ("john", "daniel", "bill", "fred", "peter", "tom", "oscar", "hugo")
NAMES = SHE + HE
PLACES = (
    "kitchen", "garden", "office", "hallway", "bedroom", "school",
    "park", "cinema", "cellar", "library", "market", "station",
)  # fmt: skip
OBJECTS = (
    "milk", "football", "apple", "book", "lamp", "key",
    "cup", "hat", "letter", "cake", "ring", "rope",
)  # fmt: skip
MOVES = ("went", "walked", "ran", "hurried")
TAKES = ("took", "grabbed", "found")
DROPS = ("dropped", "left", "lost")
OTHERS = (
    "to", "the", ".", "?", "then", "she", "he", "gave", "is", "in", "has", "where", "who", "what", "does",
    "have", "back", "quickly", "slowly", "there", "and", "a", "of", "not", "yes", "no",
)  # fmt: skip
WORDS = (*NAMES, *PLACES, *OBJECTS, *MOVES, *TAKES, *DROPS, *OTHERS)
"""Every word of the world, in a fixed order."""

KINDS = ("person", "holder", "thing")
"""What can be asked: where is mary; who has the milk; what does mary have."""

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A story and a question about it.

    Attributes
    ----------
    sentences
        Words, each sentence with its full stop.
    kind
        What is asked, one of `KINDS`.
    question
        Words with the question mark.
    answer
        One word.
    support
        Number of the sentence that says it, from 0.
    """

    sentences: tuple[Words, ...]
    kind: str
    question: Words
    answer: str
    support: int

    @property
    def words(self) -> Words:
        """All sentences in a row."""
        return tuple(word for sentence in self.sentences for word in sentence)

    def __str__(self) -> str:
        """Give story, question and answer as one line of text."""
        return " ".join((*self.words, *self.question, self.answer))


class _World:
    """Who is where and has what, and since which sentence that is known."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.people = draw.sample(NAMES, 3)
        self.things = draw.sample(OBJECTS, 3)
        self.locations: dict[str, tuple[str, int]] = {}  # person -> (place, sentence)
        self.holder: dict[str, tuple[str, int]] = {}  # object -> (person, sentence)
        self.last = ""

    def carried_by(self, person: str) -> list[str]:
        return [thing for thing, (holder, _) in self.holder.items() if holder == person]

    def happen(self, number: int) -> Words:
        """Let something happen, and tell it."""
        draw, person = self.draw, self.draw.choice(self.people)
        carried = self.carried_by(person)
        free = [thing for thing in self.things if thing not in self.holder]
        fate = draw.random()
        subject = self._called(person)
        if carried and fate < 0.15:
            thing = draw.choice(carried)
            del self.holder[thing]
            return (*subject, draw.choice(DROPS), "the", thing, ".")
        if carried and fate < 0.3:
            thing = draw.choice(carried)
            other = draw.choice([item for item in self.people if item != person])
            self.holder[thing] = (other, number)
            return (*subject, "gave", "the", thing, "to", other, ".")
        if free and not carried and fate < 0.55:
            thing = draw.choice(free)
            self.holder[thing] = (person, number)
            return (*subject, draw.choice(TAKES), "the", thing, ".")
        position = draw.choice([item for item in PLACES if item != self.locations.get(person, ("",))[0]])
        self.locations[person] = (position, number)
        return (*subject, draw.choice(MOVES), "to", "the", position, ".")

    def _called(self, person: str) -> Words:
        """By name, or where the same person acted just before, as she or he."""
        same, self.last = person == self.last, person
        if same and self.draw.random() < 0.5:
            return ("then", "she" if person in SHE else "he")
        return (person,)

    def facts(self) -> list[tuple[str, str, str, int]]:
        """List what can be asked: kind, about whom or what, answer, supporting sentence."""
        facts = [("person", person, position, since) for person, (position, since) in self.locations.items()]
        facts += [("holder", thing, person, since) for thing, (person, since) in self.holder.items()]
        for person in self.people:
            if len(carried := self.carried_by(person)) == 1:
                facts.append(("thing", person, carried[0], self.holder[carried[0]][1]))
        return facts


def report(kind: str, about: str, answer: str) -> Words:
    """State a fact as a sentence.

    >>> " ".join(report("holder", "milk", "mary"))
    'mary has the milk .'
    """
    if kind == "person":
        return (about, "is", "in", "the", answer, ".")
    person, thing = (answer, about) if kind == "holder" else (about, answer)
    return (person, "has", "the", thing, ".")


def _question(kind: str, about: str) -> Words:
    if kind == "person":
        return ("where", "is", about, "?")
    return ("who", "has", "the", about, "?") if kind == "holder" else ("what", "does", about, "have", "?")


def _tell(draw: random.Random, shortest: int, longest: int, reports: int, kinds: tuple[str, ...]) -> Story:
    while True:
        world = _World(draw)
        sentences = [world.happen(number) for number in range(draw.randint(shortest, longest))]
        all_facts = world.facts()
        if facts := [fact for fact in all_facts if fact[0] in kinds]:
            kind = draw.choice(sorted({fact[0] for fact in facts}))
            kind, about, answer, since = draw.choice([fact for fact in facts if fact[0] == kind])
            reported = [fact for fact in all_facts if fact[0] != "thing"]  # who has it says the same
            reported = draw.sample(reported, min(reports, len(reported)))
            sentences += [report(kind, about, answer) for kind, about, answer, _ in reported]
            return Story(tuple(sentences), kind, _question(kind, about), answer, since)


def simulate_stories(
    stories: int,
    *,
    shortest: int = 3,
    longest: int = 6,
    reports: int = 0,
    kinds: tuple[str, ...] = KINDS,
    seed: int = 0,
) -> list[Story]:
    """Tell stories, each with a question.

    Parameters
    ----------
    stories
        How many.
    shortest, longest
        Sentences in which something happens.
    reports
        Sentences at the end that report what is known; fewer where less is known.
    kinds
        What may be asked, of `KINDS`.
    seed
        The same seed gives the same stories.

    Examples
    --------
    >>> print(simulate_stories(1, shortest=2, longest=2, seed=4)[0])
    julie found the cake . daniel grabbed the apple . who has the apple ? daniel
    """
    if stories < 1:
        raise ValueError(f"stories must be at least 1, got {stories}")
    if not 1 <= shortest <= longest:
        raise ValueError(f"shortest must be at least 1 and at most longest={longest}, got {shortest}")
    if reports < 0:
        raise ValueError(f"reports must be at least 0, got {reports}")
    if unknown := set(kinds) - set(KINDS) or (not kinds and {"none"}):
        raise UserError(f"there is no question {sorted(unknown)[0]!r}; there are: {', '.join(KINDS)}")
    draw = random.Random(f"stories:{seed}")
    return [_tell(draw, shortest, longest, reports, tuple(kinds)) for _ in range(stories)]


@dataclass(frozen=True, slots=True)
class LabelledStatement:
    """A story, and a sentence that is true of it or not."""

    sentences: tuple[Words, ...]
    statement: Words
    true: bool

    @property
    def words(self) -> Words:
        """All sentences of the story in a row."""
        return tuple(word for sentence in self.sentences for word in sentence)


def make_statements(stories: list[Story], *, seed: int = 0) -> list[LabelledStatement]:
    """Turn each question into a statement: half of them true, half with another answer of its kind.

    The wrong answer is a word of the story where it has another one of that kind, so that a look at which
    words occur does not tell.
    """
    draw = random.Random(f"claims:{seed}")
    results = []
    for story in stories:
        pool = {"person": PLACES, "holder": NAMES, "thing": OBJECTS}[story.kind]
        about = story.question[2] if story.kind != "holder" else story.question[3]
        true = draw.random() < 0.5
        answer = story.answer
        if not true:
            mentioned = sorted({word for word in story.words if word in pool} - {answer, about})
            answer = draw.choice(mentioned or [word for word in pool if word not in (answer, about)])
        results.append(LabelledStatement(story.sentences, report(story.kind, about, answer), true))
    return results
