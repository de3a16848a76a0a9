"""Speech recognition noise: written sentences as people speak them and a recogniser hears them, as in task 6.

The dialogues of task 6 were spoken to a speech recogniser (Henderson et al. 2014); its users hesitate,
begin again and leave words out, and the recogniser takes one word for another. The same is done here to
simulated users::

    may i have a table in rome for two  --spoken-->  uh i need i need a table in rome for two
                                        --heard-->   i need i need table in room for to

Only what the user says is changed: the system answers as if it had understood, so that a response may depend
on a word that was never heard, as it does in task 6.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache

from reasonlib.goal_dialogue.data.example import SILENCE, Dialogue, Event, Split, Turn
from reasonlib.goal_dialogue.data.world import PortableRandom

__all__ = ["add_asr_noise", "add_asr_noise_to_split", "add_disfluencies", "recognise", "word_error_rate"]

FILLERS = ("uh", "um", "er", "well", "okay", "so", "like", "you know", "please")
REWORDED: Sequence[tuple[str, Sequence[str]]] = (
    ("may i have a table", ("i need a table", "looking for a table", "could i get a table", "a table")),
    ("can you book a table", ("could you book a table", "book a table", "i want a table")),
    (
        "i'd like to book a table",
        ("id like to book a table", "i would like a table", "i want to book a table"),
    ),
    (
        "can you make a restaurant reservation",
        ("i need a reservation", "restaurant reservation", "im looking for a restaurant"),
    ),
    ("i am looking for", ("im looking for", "looking for", "something like")),
    ("in a", ("in the", "a", "at a")),
    ("price range", ("price", "range", "price range")),
    ("instead could it be", ("how about", "what about", "could it be", "no i mean")),
    ("actually i would prefer", ("id rather", "i would prefer", "actually", "can you change it to")),
    ("we will be", ("there are", "its", "we are")),
    ("i love", ("id like", "i want", "maybe")),
    ("may i have", ("can i have", "give me", "whats", "i need")),
    ("can you provide", ("whats", "can i get", "give me")),
    ("what is", ("whats", "tell me")),
    ("do you have its", ("whats the", "and the", "can i have the")),
    ("of the restaurant", ("", "of it", "there")),
    ("no this does not work for me", ("no thats not good", "not that one", "no something else")),
    ("no i don't like that", ("no i dont like it", "i dont want that", "no")),
    ("do you have something else", ("anything else", "is there anything else", "what else")),
    ("that looks great", ("thats great", "sounds good", "yes")),
    ("it's perfect", ("perfect", "thats perfect", "yes perfect")),
    ("let's do it", ("lets do it", "okay", "yes do it")),
    ("i love that", ("yes i love it", "great", "yes that one")),
    ("good morning", ("morning", "good morning hello", "hi good morning")),
    ("you rock", ("great thanks", "you are great", "cool")),
    ("thank you", ("thank you very much", "thanks a lot", "okay thank you")),
)
"""What people say instead of a written phrase; an empty text leaves it out."""

SOUNDS = {
    "two": ("to", "too"),
    "four": ("for", "fore"),
    "for": ("four", "or"),
    "eight": ("ate", "eat"),
    "six": ("sick", "sicks"),
    "rome": ("room", "roam"),
    "paris": ("parents", "parish"),
    "london": ("lundon", "land in"),
    "madrid": ("my drid", "mad"),
    "bombay": ("bum bay", "bombing"),
    "hanoi": ("annoy", "hannah"),
    "seoul": ("soul", "sole"),
    "tokyo": ("took you", "tokio"),
    "beijing": ("paging", "basing"),
    "bangkok": ("bank", "bang cook"),
    "thai": ("tie", "tide"),
    "indian": ("in dean", "median"),
    "italian": ("i tell you", "battalion"),
    "french": ("fresh", "ranch"),
    "british": ("brutish", "bridge"),
    "spanish": ("spinach", "spinning"),
    "korean": ("korea", "career in"),
    "japanese": ("japan", "chinese"),
    "cantonese": ("catalan", "can tennis"),
    "vietnamese": ("vietnam", "the enemies"),
    "cheap": ("jeep", "sheep"),
    "expensive": ("extensive", "expense"),
    "moderate": ("moderately", "modern"),
    "food": ("foot", "could"),
    "table": ("cable", "stable"),
    "phone": ("fun", "foam"),
    "address": ("dress", "a dress"),
    "number": ("member", "numb"),
    "price": ("prize", "rice"),
    "people": ("peoples", "pebble"),
    "no": ("know", "now"),
    "in": ("and", "an"),
    "with": ("which", "width"),
}
"""Words that sound alike, so that a recogniser takes one for the other."""


def add_disfluencies(text: str, rng: PortableRandom, *, rate: float = 0.3) -> str:
    """Say a written sentence as people speak.

    Parameters
    ----------
    text
        What was to be said.
    rng
        Draws the changes.
    rate
        Probability of each change: another wording for a phrase, a filler before the sentence, one within it,
        and a new start after its first words.
    """
    for phrase, others in REWORDED:
        padded = f" {text} "
        if f" {phrase} " in padded and rng.bernoulli(rate):
            text = " ".join(padded.replace(f" {phrase} ", f" {rng.choice(others)} ", 1).split())
    words = text.split() or [rng.choice(FILLERS)]
    if len(words) > 3 and rng.bernoulli(rate / 2):
        begun = 1 + rng.randrange(min(3, len(words) - 1))
        words = [*words[:begun], *words]
    if len(words) > 2 and rng.bernoulli(rate / 2):
        words.insert(1 + rng.randrange(len(words) - 1), rng.choice(FILLERS))
    if rng.bernoulli(rate):
        words.insert(0, rng.choice(FILLERS))
    return " ".join(words)


def recognise(text: str, rng: PortableRandom, *, rate: float = 0.1, lexicon: Sequence[str] = ()) -> str:
    """Recognise a spoken sentence, with errors.

    Parameters
    ----------
    text
        What was said.
    rng
        Draws the errors.
    rate
        Probability of an error at each word. Three of five take one word for another, one leaves the word
        out, one adds a word.
    lexicon
        Words that may be heard instead of one without an entry in `SOUNDS`: the nearest in spelling is.
    """
    words: list[str] = []
    for word in text.split():
        if not rng.bernoulli(rate):
            words.append(word)
            continue
        kind = rng.randrange(5)
        if kind < 3:
            words.append(rng.choice(SOUNDS[word]) if word in SOUNDS else _near(word, rng, lexicon))
        elif kind == 3:
            words += [word, rng.choice(("the", "a", "and", "uh"))]
    return " ".join(words) or "uh"


def _near(word: str, rng: PortableRandom, lexicon: Sequence[str]) -> str:
    close = _close(word, tuple(lexicon))
    return rng.choice(close) if close else word[: max(1, len(word) - 1)]


@lru_cache(maxsize=4096)
def _close(word: str, lexicon: tuple[str, ...]) -> tuple[str, ...]:
    """List up to four words that are spelled nearly alike."""
    return tuple(match for match in get_close_matches(word, lexicon, n=5, cutoff=0.5) if match != word)[:4]


def add_asr_noise(
    dialogues: Iterable[Dialogue],
    *,
    seed: int = 0,
    speech: float = 0.3,
    errors: float = 0.1,
    lexicon: Sequence[str] = (),
) -> list[Dialogue]:
    """Add disfluencies and recognition errors to what the users of written dialogues say.

    Parameters
    ----------
    dialogues
        They stay as they are.
    seed
        The same seed makes the same noise.
    speech
        Rate of `add_disfluencies`; 0 leaves the wording.
    errors
        Rate of `recognise`; 0 recognises every word.
    lexicon
        See `recognise`.

    Raises
    ------
    ValueError
        If a rate is no probability.
    """
    for name, rate in (("speech", speech), ("errors", errors)):
        if not 0 <= rate <= 1:
            raise ValueError(f"{name} must be from 0 to 1, got {rate}")
    rng, lexicon = PortableRandom(f"noise {seed}"), tuple(lexicon)

    def near(text: str) -> str:
        spoken = add_disfluencies(text, rng, rate=speech) if speech else text
        return recognise(spoken, rng, rate=errors, lexicon=lexicon) if errors else spoken

    def changed(event: Event) -> Event:
        if isinstance(event, Turn) and event.user not in ("", SILENCE):
            return Turn(near(event.user), event.bot)
        return event

    return [
        dataclasses.replace(dialogue, events=tuple(changed(event) for event in dialogue.events))
        for dialogue in dialogues
    ]


def add_asr_noise_to_split(split: Split, *, seed: int = 0, speech: float = 0.3, errors: float = 0.1) -> Split:
    """Make all users of a task speak; candidates and knowledge base stay.

    Words may be misheard as any other word that a user of the training set says.
    """
    lexicon = sorted(
        {word for dialogue in split.train for turn in dialogue.turns for word in turn.user.split()}
        - {SILENCE}
    )

    def add(dialogues: Sequence[Dialogue], offset: int) -> list[Dialogue]:
        return add_asr_noise(dialogues, seed=4 * seed + offset, speech=speech, errors=errors, lexicon=lexicon)

    return dataclasses.replace(
        split,
        train=add(split.train, 0),
        valid=add(split.valid, 1),
        test=add(split.test, 2),
        oov=add(split.oov, 3),
    )


def word_error_rate(said: str, recognise: str) -> float:
    """Word error rate: changes that turn what was said into what was heard, as a share of what was said.

    >>> word_error_rate("a table for two", "table for to")
    0.5
    """
    first, second = said.split(), recognise.split()
    row = list(range(len(second) + 1))
    for index, word in enumerate(first, start=1):
        diagonal, row[0] = row[0], index
        for column, other in enumerate(second, start=1):
            diagonal, row[column] = (
                row[column],
                min(row[column] + 1, row[column - 1] + 1, diagonal + (word != other)),
            )
    return row[-1] / max(1, len(first))
