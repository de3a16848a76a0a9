"""The grammar of the two languages: each function builds one kind of sentence in both.

::

    source  mary found the old lamp .      tom washed it .     then slept .      and paul the box .
    target  marja lo kandel veko trovia .  tom ro lavio .      pos elo dormio .  e pavel lo skat trovio .
            subject object verb            the lamp's class    Tom's class       the verb before

What a sentence mentions, a later one can leave out: the last thing is *it*, the last person is the subject
of a sentence without one, the last transitive verb is the verb of a sentence without one, and the last form
of address decides how *you* is translated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from reasonlib.parallel.lexicon import (
    ADJECTIVES,
    ARTICLES,
    GREETINGS,
    INTRANSITIVE,
    NAMES,
    OBJECT_PRONOUNS,
    PERSON_PRONOUNS,
    PLACES,
    POLITENESS,
    SCENES,
    THINGS,
    TITLES,
    TRANSITIVE,
)

__all__ = ["DEPENDENT", "FREE", "Mention", "Sentence"]


@dataclass(frozen=True, slots=True)
class Mention:
    """What a later sentence can refer to: a source word, and its class, stem or form of address."""

    word: str
    value: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence in both languages.

    Attributes
    ----------
    source, target
        Its text.
    mentions
        Kind (see `reasonlib.parallel.example.KINDS`) to what a later sentence of that kind would refer to.
    deciding
        The target word that the context decides; empty if none.
    """

    source: str
    target: str
    mentions: Mapping[str, Mention] = field(default_factory=dict)
    deciding: str = ""


def _pick(words: Mapping[str, object], draw: np.random.Generator) -> str:
    return list(words)[int(draw.integers(len(words)))]


def _thing(draw: np.random.Generator) -> tuple[str, str, Mention]:
    """Draw a noun phrase: source text, target text, mention."""
    noun = _pick(THINGS, draw)
    stem, kind = THINGS[noun]
    source, target = f"the {noun}", f"{ARTICLES[kind]} {stem}"
    if draw.random() < 0.4:
        adjective = _pick(ADJECTIVES, draw)
        source, target = f"the {adjective} {noun}", f"{target} {ADJECTIVES[adjective]}{kind}"
    return source, target, Mention(noun, kind)


def _person(draw: np.random.Generator) -> tuple[str, str, Mention]:
    name = _pick(NAMES, draw)
    word, kind = NAMES[name]
    return name, word, Mention(name, kind)


def _place(draw: np.random.Generator) -> tuple[str, str]:
    if draw.random() < 0.7:
        return "", ""
    phrase = _pick(PLACES, draw)
    return f" {phrase}", f"{PLACES[phrase]} "


def _past(stem: str, kind: str) -> str:
    return f"{stem}i{kind}"


# Sentences that can be translated without their context


def _transitive(draw: np.random.Generator) -> Sentence:
    """``mary found the lamp .``"""  # noqa: D400
    person, subject, person_mention = _person(draw)
    thing, target, thing_mention = _thing(draw)
    verb = _pick(TRANSITIVE, draw)
    stem = TRANSITIVE[verb]
    return Sentence(
        f"{person} {verb} {thing} .",
        f"{subject} {target} {_past(stem, person_mention.value)} .",
        {"subject": person_mention, "pronoun": thing_mention, "verb": Mention(verb, stem)},
    )


def _intransitive(draw: np.random.Generator) -> Sentence:
    """``mary slept at home .``"""  # noqa: D400
    person, subject, person_mention = _person(draw)
    adverbial, locative = _place(draw)
    verb = _pick(INTRANSITIVE, draw)
    return Sentence(
        f"{person} {verb}{adverbial} .",
        f"{subject} {locative}{_past(INTRANSITIVE[verb], person_mention.value)} .",
        {"subject": person_mention},
    )


def _copula(draw: np.random.Generator) -> Sentence:
    """``the lamp was old .``"""  # noqa: D400
    thing, target, thing_mention = _thing(draw)
    adjective = _pick(ADJECTIVES, draw)
    return Sentence(
        f"{thing} was {adjective} .",
        f"{target} {ADJECTIVES[adjective]}{thing_mention.value} est{thing_mention.value} .",
        {"pronoun": thing_mention},
    )


def _scene(draw: np.random.Generator) -> Sentence:
    """``it rained again .``"""  # noqa: D400
    scene = _pick(SCENES, draw)
    return Sentence(f"{scene} .", f"{SCENES[scene]} .")


def _greeting(draw: np.random.Generator) -> Sentence:
    """``good morning , sir .``"""  # noqa: D400
    greeting, title = _pick(GREETINGS, draw), _pick(TITLES, draw)
    word, form = TITLES[title]
    return Sentence(
        f"{greeting} , {title} .", f"{GREETINGS[greeting]} , {word} .", {"formality": Mention(title, form)}
    )


def _both(draw: np.random.Generator) -> Sentence:
    """``mary found the lamp and washed it .``: the pronoun refers within the sentence."""
    person, subject, person_mention = _person(draw)
    thing, target, thing_mention = _thing(draw)
    first, second = _pick(TRANSITIVE, draw), _pick(TRANSITIVE, draw)
    return Sentence(
        f"{person} {first} {thing} and {second} it .",
        f"{subject} {target} {_past(TRANSITIVE[first], person_mention.value)} e "
        f"{OBJECT_PRONOUNS[thing_mention.value]} {_past(TRANSITIVE[second], person_mention.value)} .",
        {"subject": person_mention, "pronoun": thing_mention, "verb": Mention(second, TRANSITIVE[second])},
    )


def _addressed(draw: np.random.Generator) -> Sentence:
    """``sir , you found the lamp ?``: the form of address stands in the sentence."""
    title = _pick(TITLES, draw)
    word, form = TITLES[title]
    question = _question(Mention(title, form), draw)
    return Sentence(
        f"{title} , {question.source}",
        f"{word} , {question.target}",
        {**question.mentions, "formality": Mention(title, form)},
    )


FREE: dict[str, Callable[[np.random.Generator], Sentence]] = {
    "transitive": _transitive,
    "intransitive": _intransitive,
    "copula": _copula,
    "scene": _scene,
    "greeting": _greeting,
    "both": _both,
    "addressed": _addressed,
}
"""Name to a function that draws a sentence which can be translated alone."""


# Sentences that leave something to their context: each takes what the context gives


def _pronoun(given: Mention, draw: np.random.Generator) -> Sentence:
    """``tom washed it .`` or ``it was old .``"""  # noqa: D400
    pronoun = OBJECT_PRONOUNS[given.value]
    if draw.random() < 0.5:
        adjective = _pick(ADJECTIVES, draw)
        target = f"{pronoun} {ADJECTIVES[adjective]}{given.value} est{given.value} ."
        return Sentence(f"it was {adjective} .", target, {}, pronoun)
    person, subject, person_mention = _person(draw)
    verb = _pick(TRANSITIVE, draw)
    return Sentence(
        f"{person} {verb} it .",
        f"{subject} {pronoun} {_past(TRANSITIVE[verb], person_mention.value)} .",
        {"subject": person_mention, "verb": Mention(verb, TRANSITIVE[verb])},
        pronoun,
    )


def _subject(given: Mention, draw: np.random.Generator) -> Sentence:
    """``then slept .`` or ``then found the lamp .``"""  # noqa: D400
    pronoun = PERSON_PRONOUNS[given.value]
    if draw.random() < 0.5:
        adverbial, locative = _place(draw)
        verb = _pick(INTRANSITIVE, draw)
        target = f"pos {pronoun} {locative}{_past(INTRANSITIVE[verb], given.value)} ."
        return Sentence(f"then {verb}{adverbial} .", target, {}, pronoun)
    thing, translated, thing_mention = _thing(draw)
    verb = _pick(TRANSITIVE, draw)
    return Sentence(
        f"then {verb} {thing} .",
        f"pos {pronoun} {translated} {_past(TRANSITIVE[verb], given.value)} .",
        {"pronoun": thing_mention, "verb": Mention(verb, TRANSITIVE[verb])},
        pronoun,
    )


def _verb(given: Mention, draw: np.random.Generator) -> Sentence:
    """``and paul the box .``"""  # noqa: D400
    person, subject, person_mention = _person(draw)
    thing, target, thing_mention = _thing(draw)
    verb = _past(given.value, person_mention.value)
    return Sentence(
        f"and {person} {thing} .",
        f"e {subject} {target} {verb} .",
        {"subject": person_mention, "pronoun": thing_mention},
        verb,
    )


def _question(given: Mention, draw: np.random.Generator) -> Sentence:
    """``you found the lamp ?``"""  # noqa: D400
    pronoun, ending = POLITENESS[given.value]
    thing, target, thing_mention = _thing(draw)
    verb = _pick(TRANSITIVE, draw)
    return Sentence(
        f"you {verb} {thing} ?",
        f"{pronoun} {target} {TRANSITIVE[verb]}{ending} ?",
        {"pronoun": thing_mention, "verb": Mention(verb, TRANSITIVE[verb])},
        pronoun,
    )


DEPENDENT: dict[str, Callable[[Mention, np.random.Generator], Sentence]] = {
    "pronoun": _pronoun,
    "subject": _subject,
    "verb": _verb,
    "formality": _question,
}
"""Kind to a function that draws a sentence which the context decides, given what the context mentions."""
