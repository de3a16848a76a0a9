"""The same wishes in other words, so that a system does not memorise one way to say them.

The users of the released dialogues have a handful of sentences. Here they say what they want as somebody at a
keyboard might::

    may i have a table in rome for two people     a table for two in rome please
                                                  hello i need a table near rome for a party of two
    with thai food                                thai
    no this does not work for me                  no something else

The words around a wish identify it; no list of names is used. What the user wants stays the same. Unlike in
`asr_noise`, there are no hesitations and no recognition errors.

In the released full dialogues, everybody changes the request at least once. `without_updates` makes a
dialogue of somebody who does not: the user asks at once for what they end up with, and the system says what
it would.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence

from reasonlib.goal_dialogue.data.example import SILENCE, Dialogue, Event, Turn
from reasonlib.goal_dialogue.data.world import PortableRandom

__all__ = ["paraphrase_dialogues", "paraphrase_sentence", "without_updates"]

WISHES: Mapping[str, Sequence[str]] = {
    "price": (r"in an? (\S+) price range", r"looking for an? (\S+) restaurant"),
    "cuisine": (r"(?:with|love) (\S+) (?:food|cuisine)",),
    "number": (r"for (\S+)(?: people)?(?: please)?$", r"for (\S+) people", r"we will be (\S+)", r"for (\S+)"),
    "location": (r"in (\S+)", r"^(\S+) please$"),
}
"""How the released users say what they want; the first that fits is taken out of the sentence."""

WAYS: Mapping[str, Sequence[str]] = {
    "price": ("in a {} price range", "in the {} price range", "{} please", "something {}", "at {} prices"),
    "cuisine": ("with {} food", "with {} cuisine", "{} food", "serving {} food", "that serves {} food"),
    "number": ("for {}", "for {} people", "for a party of {}", "for {} of us", "{} people"),
    "location": ("in {}", "in {}", "somewhere in {}", "in the city of {}", "near {}"),
}
"""Other ways to say it; a wish asked for may also be its name alone."""

ANSWERS: Mapping[str, Sequence[str]] = {
    "price": ("{}", "{} please", "{} would be fine", "a {} one", "i want something {}"),
    "cuisine": ("{}", "{} please", "{} food", "i would like {}", "i want {} food", "i like {}"),
    "number": ("{}", "{} please", "{} people", "we are {}", "there will be {} of us", "a party of {}"),
    "location": ("{}", "{} please", "in {}", "somewhere in {}", "i want to eat in {}", "we live in {}"),
}
"""Answers to a question."""

OPENINGS = (
    *("a table", "i want a table", "i need a table", "i would like a table", "can i get a table"),
    *("book a table", "please book a table", "can you book a table", "could you reserve a table"),
    *("may i have a table", "i'd like to book a table", "can you make a restaurant reservation"),
    *("i need a reservation", "make a reservation", "a reservation", "we would like a table"),
    *("i want to book a table", "i want to eat", "we want to eat", "we would like dinner", "dinner", "lunch"),
)
PLACES = ("restaurant", "place")
SEEKING = (
    "i am looking for a",
    "find me a",
    "i want a",
    "is there a",
    "i would like a",
    "do you know a",
    "a",
)

CHANGES = (
    *("instead could it be {}", "actually i would prefer {}", "how about {}", "what about {} instead"),
    *("make that {}", "make it {}", "change it to {}", "i would rather have it {}", "no {}", "sorry {}"),
    *("actually {}", "{} instead", "could it be {}", "i changed my mind {}", "can we do {} instead"),
)

OTHERS: Mapping[str, Sequence[str]] = {
    "greeting": ("hi", "hello", "good morning", "hello there", "hey", "good evening", "hi there"),
    "nothing": ("no", "nope", "no thanks", "no that is all", "that is all", "no thank you", "nothing else"),
    "refusal": (
        *("no this does not work for me", "do you have something else", "no i don't like that"),
        *("no", "no something else", "not that one", "i don't want that", "something else please"),
        *("anything else", "another one please", "what else do you have", "no thanks another one"),
    ),
    "consent": (
        *("that looks great", "let's do it", "i love that", "it's perfect", "yes", "yes please", "ok"),
        *("perfect", "great", "sounds good", "fine", "i take it", "that is fine", "book it", "good"),
    ),
    "phone": (
        *("do you have its phone number", "may i have the phone number of the restaurant"),
        *("what is the phone number of the restaurant", "what is the phone number", "phone number please"),
        *("and the phone number", "can i have the phone number", "the phone number", "give me its number"),
    ),
    "address": (
        *(
            "do you have its address",
            "can you provide the address",
            "may i have the address of the restaurant",
        ),
        *("what is the address", "address please", "and the address", "where is it", "the address"),
        *("can i have the address", "give me the address"),
    ),
    "thanks": ("thanks", "thank you", "you rock", "thank you very much", "great thanks", "cool", "ok thanks"),
}
"""What else is said, by what is meant."""

MEANT: Mapping[str, str] = {
    **dict.fromkeys(("hi", "hello", "good morning"), "greeting"),
    **dict.fromkeys(("no", "no thanks", "no thank you"), "nothing"),
    **dict.fromkeys(OTHERS["refusal"][:3], "refusal"),
    **dict.fromkeys(OTHERS["consent"][:4], "consent"),
    **dict.fromkeys(OTHERS["phone"][:3], "phone"),
    **dict.fromkeys(OTHERS["address"][:3], "address"),
    **dict.fromkeys(("thanks", "thank you", "you rock"), "thanks"),
}
"""What the released sentences mean."""

BEFORE = ("hi", "hello", "well", "ok", "yes", "so", "hmm", "please", "good evening")
AFTER = ("please", "thanks", "tonight", "tomorrow", "today", "if possible", "for dinner", "thank you")

ONSETS = ("b", "ch", "d", "f", "gr", "k", "l", "m", "pr", "s", "st", "tr", "v", "z")
RHYMES = ("ab", "ang", "eel", "em", "ick", "ind", "oaf", "ope", "ud", "urm")


def _wishes(text: str) -> tuple[dict[str, str], str]:
    """Take the wishes out of a released sentence; the rest of it comes back as well."""
    wishes: dict[str, str] = {}
    for kind, patterns in WISHES.items():
        for pattern in patterns:
            if (match := re.search(pattern, text)) is not None:
                wishes[kind] = match[1]
                text = f"{text[: match.start()]} {text[match.end() :]}".strip()
                break
    return wishes, text


def _strange(rng: PortableRandom) -> str:
    """Make up a word, so that a system learns to ignore unknown words."""
    return "".join(rng.choice(ONSETS) + rng.choice(RHYMES) for _ in range(1 + rng.randrange(2)))


def _request(wishes: Mapping[str, str], rng: PortableRandom) -> list[str]:
    """Say all wishes at once: *a cheap thai place in rome*, or *a table for two in rome*."""
    left = dict(wishes)
    if ({"price", "cuisine"} & left.keys()) and rng.bernoulli(0.3):
        described = [left.pop(kind) for kind in ("price", "cuisine") if kind in left]
        parts = [" ".join((rng.choice(SEEKING), *described, rng.choice(PLACES)))]
    else:
        parts = [rng.choice(OPENINGS)]
    return parts + [rng.choice(WAYS[kind]).format(left[kind]) for kind in rng.shuffled(sorted(left))]


def paraphrase_sentence(text: str, rng: PortableRandom) -> str:
    """Say a released sentence in other words.

    Parameters
    ----------
    text
        What a user of the released dialogues says.
    rng
        Draws the words.

    Returns
    -------
    str
        The same wishes, or the same consent, refusal, question, thanks; a sentence of none of these kinds
        stays as it is.
    """
    if text in MEANT:
        return rng.choice(OTHERS[MEANT[text]])
    wishes, rest = _wishes(text)
    if not wishes:
        return text
    kind, name = next(iter(wishes.items()))
    if rest.startswith(("instead", "actually")):
        parts = [rng.choice(CHANGES).format(rng.choice(WAYS[kind]).format(name))]
    elif "table" in rest or "reservation" in rest:
        parts = _request(wishes, rng)
    else:
        parts = [rng.choice(ANSWERS[kind]).format(name)]
    if rng.bernoulli(0.1):
        parts.insert(rng.randrange(len(parts) + 1), _strange(rng))
    if rng.bernoulli(0.15):
        parts.insert(0, rng.choice(BEFORE))
    if rng.bernoulli(0.25):
        parts.append(rng.choice(AFTER))
    return " ".join(parts)


def without_updates(dialogue: Dialogue) -> Dialogue:
    """Let the user ask at once for what they end up with, instead of changing the request.

    Parameters
    ----------
    dialogue
        It stays as it is.

    Returns
    -------
    Dialogue
        The first API call is the last one, and what comes between them is left out. A dialogue with fewer
        than two calls comes back as it is.
    """
    calls = [
        index
        for index, event in enumerate(dialogue.events)
        if isinstance(event, Turn) and event.bot.startswith("api_call")
    ]
    if len(calls) < 2:
        return dialogue
    first, last = dialogue.events[calls[0]], dialogue.events[calls[-1]]
    assert isinstance(first, Turn) and isinstance(last, Turn)
    replacements = dict(zip(first.bot.split(), last.bot.split(), strict=True))

    def at_once(event: Event) -> Event:
        if not isinstance(event, Turn):
            return event
        return Turn(" ".join(replacements.get(word, word) for word in event.user.split()), event.bot)

    before = map(at_once, dialogue.events[: calls[0]])
    after = dialogue.events[calls[-1] + 1 :]
    return dataclasses.replace(dialogue, events=(*before, Turn(first.user, last.bot), *after))


def paraphrase_dialogues(
    dialogues: Iterable[Dialogue], *, seed: int = 0, rate: float = 0.8, sure: float = 0.5
) -> list[Dialogue]:
    """Let the users of released dialogues say the same in other words.

    Parameters
    ----------
    dialogues
        They stay as they are.
    seed
        The same seed draws the same words.
    rate
        Probability that a sentence is said anew.
    sure
        Probability that a user does not change the request, see `without_updates`.

    Raises
    ------
    ValueError
        If a rate is no probability.
    """
    for name, share in (("rate", rate), ("sure", sure)):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} must be from 0 to 1, got {share}")
    rng = PortableRandom(f"rewording {seed}")

    def anew(event: Event) -> Event:
        if isinstance(event, Turn) and event.user != SILENCE and rng.bernoulli(rate):
            return Turn(paraphrase_sentence(event.user, rng), event.bot)
        return event

    chosen = [without_updates(dialogue) if rng.bernoulli(sure) else dialogue for dialogue in dialogues]
    return [
        dataclasses.replace(dialogue, events=tuple(anew(event) for event in dialogue.events))
        for dialogue in chosen
    ]
