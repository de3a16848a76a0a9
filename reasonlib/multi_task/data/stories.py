"""What each simulated task makes of events: texts, a label, and the phenomenon that decides it."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from reasonlib.multi_task.data.events import (
    Event,
    Speaker,
    allowed_verbs,
    change,
    draw_adjective,
    draw_event,
    generalise,
    opposite,
    pick,
    sentence,
    sibling,
    specialise,
)
from reasonlib.multi_task.data.world import OPPOSITES, PLACES, VERBS, is_above

__all__ = [
    "CANDIDATES",
    "Made",
    "acceptability",
    "answers",
    "continued",
    "entailment",
    "inference",
    "paraphrase",
    "sentiment",
    "similarity",
]

CANDIDATES = 4
RESTATED = 0.9
"""Share of the texts for pre-training that tell an event twice, before one in seven second sentences is
replaced. With fewer of them a small encoder predicts a
hidden word from its own sentence alone, and does not learn to compare two."""

CONTRADICTION, NEUTRAL, ENTAILMENT = 0, 1, 2
_PHENOMENA = {
    CONTRADICTION: ("sibling", "opposite", "negation"),
    NEUTRAL: ("special", "added", "action"),
    ENTAILMENT: ("synonym", "general", "dropped"),
}


class Made(NamedTuple):
    """Texts with a label, before label noise."""

    texts: tuple[str, ...]
    label: int | float
    phenomenon: str


# One sentence -----------------------------------------------------------------------------------------------


def acceptability(draw: np.random.Generator, speaker: Speaker, domain: str) -> Made:
    """Tell an event rightly, or with one fault of grammar or of what can be done to what."""
    event = draw_event(draw, domain=domain, negated=0.15)
    if draw.random() < 0.5:
        return Made((sentence(speaker.tell(event)),), 1, "acceptable")
    fault = pick(draw, ("agreement", "order", "missing", "selection", "reversal"))
    if fault == "selection":
        wrong = [verb for verb in VERBS if verb not in allowed_verbs(event.thing)]
        words = speaker.tell(replace(event, verb=pick(draw, wrong)))
    elif fault == "reversal":
        words = speaker.tell(
            replace(event, agent=event.thing, thing=event.agent, agent_adjective=None, thing_adjective=None)
        )
    elif fault == "agreement":
        verb = speaker.verb(event.verb, "participle" if event.negated else "base")
        auxiliary = ["does", "not"] if event.negated else []
        words = [*speaker.phrase(event.agent, event.agent_adjective), *auxiliary, verb]
        words += speaker.phrase(event.thing, event.thing_adjective)
    else:
        words = speaker.tell(event)
        position = int(draw.integers(len(words) - 1))
        if fault == "order":
            words[position], words[position + 1] = words[position + 1], words[position]
        else:
            articles = [number for number, word in enumerate(words) if word in ("a", "the")]
            del words[articles[int(draw.integers(len(articles)))]]
    return Made((sentence(words),), 0, fault)


def sentiment(draw: np.random.Generator, speaker: Speaker, domain: str) -> Made:
    """Say something good or bad: by an adjective, a verb, its negation, or after ``but``."""
    polarity = 1 if draw.random() < 0.5 else -1
    event = draw_event(draw, domain=domain, adjectives=0.0)
    way = pick(draw, ("thing", "person", "verb", "negation", "contrast"))
    if way == "verb":
        event = replace(event, verb="love" if polarity > 0 else "hate")
        words = speaker.tell(event)
    elif way == "negation":
        words = [
            *speaker.phrase(event.thing, article="the"), "is", "not",
            speaker.adjective(draw_adjective(draw, "thing", -polarity)),
        ]  # fmt: skip
    elif way == "contrast":
        words = [
            *speaker.phrase(event.agent, article="the"), "is",
            speaker.adjective(draw_adjective(draw, "person", -polarity)), "but",
            *speaker.phrase(event.thing, article="the"), "is",
            speaker.adjective(draw_adjective(draw, "thing", polarity)),
        ]  # fmt: skip
    else:
        neutral = [verb for verb in allowed_verbs(event.thing) if verb not in ("love", "hate")]
        event = replace(event, verb=pick(draw, neutral))
        part = "thing_adjective" if way == "thing" else "agent_adjective"
        words = speaker.tell(change(event, part, draw_adjective(draw, way, polarity)))
    return Made((sentence(words),), int(polarity > 0), way)


# Two sentences ----------------------------------------------------------------------------------------------


def _alike(first: str | None, second: str | None) -> float:
    """Rate two concepts from 0 to 1."""
    if first == second:
        return 1.0
    if first is None or second is None:
        return 0.5
    if OPPOSITES.get(first) == second:
        return 0.2
    if is_above(first, second) or is_above(second, first):
        return 0.75
    return 0.4 if "/" in first and first.split("/")[0] == second.split("/")[0] else 0.0


_PARTS = {
    "agent": 1.0,
    "verb": 1.0,
    "thing": 1.5,
    "agent_adjective": 0.5,
    "thing_adjective": 0.5,
    "place": 0.5,
}


def similarity(draw: np.random.Generator, speaker: Speaker, domain: str) -> Made:
    """Tell two events that share some parts; rate how alike they are."""
    first, other = draw_event(draw, domain=domain), draw_event(draw, domain=domain)
    keep, second, changes = float(draw.random()), first, 0
    for part in _PARTS:
        if draw.random() < keep:
            continue
        value: str | None = getattr(other, part)
        if part in ("agent", "thing"):
            near = pick_change(draw, getattr(first, part))
            value = near if draw.random() < 0.6 and near else value
        elif part != "place" and getattr(first, part) in OPPOSITES and draw.random() < 0.5:
            value = OPPOSITES[getattr(first, part)]
        changes += value != getattr(first, part)
        second = change(second, part, value)
    if second.verb not in allowed_verbs(second.thing):
        second = replace(second, verb=pick(draw, allowed_verbs(second.thing)))
    total = sum(weight * _alike(getattr(first, p), getattr(second, p)) for p, weight in _PARTS.items())
    texts = sentence(speaker.tell(first)), sentence(speaker.tell(second))
    return Made(texts, round(5 * total / sum(_PARTS.values()), 3), f"{changes} changes")


def pick_change(draw: np.random.Generator, concept: str) -> str | None:
    """Draw a concept near another: above, below or beside it."""
    way = (generalise, specialise, sibling)[int(draw.integers(3))]
    return way(draw, concept)


def _hypothesis(draw: np.random.Generator, event: Event, phenomenon: str) -> Event | None:
    """Change an event so that a phenomenon decides the label; None where that cannot be done."""
    part = pick(draw, ("agent", "thing"))
    concept = getattr(event, part)
    if phenomenon in ("sibling", "special", "general"):
        way = {"sibling": sibling, "special": specialise, "general": generalise}[phenomenon]
        new = way(draw, concept)
        if (
            new is None
            or new in ("person",)
            or (part == "thing" and "/" not in new and phenomenon == "sibling")
        ):
            return None
        return change(event, part, new)
    if phenomenon == "opposite":
        options = opposite(event)
        return change(event, *options[int(draw.integers(len(options)))]) if options else None
    if phenomenon == "negation":
        return replace(event, negated=not event.negated)
    if phenomenon == "action":
        same = (event.verb, OPPOSITES.get(event.verb))
        return replace(event, verb=pick(draw, [v for v in allowed_verbs(event.thing) if v not in same]))
    parts = ("agent_adjective", "thing_adjective", "place")
    if phenomenon == "added":
        empty = [p for p in parts if getattr(event, p) is None]
        if not empty:
            return None
        part = pick(draw, empty)
        kind = {"agent_adjective": "person", "thing_adjective": "thing"}.get(part)
        return change(event, part, draw_adjective(draw, kind) if kind else pick(draw, tuple(PLACES)))
    if phenomenon == "dropped":
        full = [p for p in parts if getattr(event, p) is not None]
        return change(event, pick(draw, full), None) if full else None
    return event


def _pair(draw: np.random.Generator, speaker: Speaker, domain: str, label: int) -> Made:
    while True:
        event = draw_event(draw, domain=domain)
        phenomenon = pick(draw, _PHENOMENA[label])
        second = _hypothesis(draw, event, phenomenon)
        if second is None:
            continue
        if draw.random() < 0.5:  # a further change that follows from the premise, with every label
            further = _hypothesis(draw, second, pick(draw, ("general", "dropped")))
            second = further if further is not None and _safe(event, second, further) else second
        return Made((sentence(speaker.tell(event)), sentence(speaker.tell(second))), label, phenomenon)


def _safe(event: Event, second: Event, further: Event) -> bool:
    """Whether a further change leaves the part alone that decides the label."""
    return all(
        getattr(second, part) == getattr(event, part) or getattr(further, part) == getattr(second, part)
        for part in (*_PARTS, "negated")
    )


def inference(draw: np.random.Generator, speaker: Speaker, domain: str) -> Made:
    """Tell an event, and a second that follows, is excluded, or neither."""
    return _pair(draw, speaker, domain, int(draw.integers(3)))


def entailment(draw: np.random.Generator, speaker: Speaker, domain: str) -> Made:
    """Tell an event, and a second that follows or not."""
    label = (CONTRADICTION, NEUTRAL, ENTAILMENT, ENTAILMENT)[int(draw.integers(4))]
    pair = _pair(draw, speaker, domain, label)
    return pair._replace(label=int(label == ENTAILMENT))


def paraphrase(draw: np.random.Generator, speaker: Speaker, domain: str) -> Made:
    """Tell one event twice, or two that differ in one part."""
    while True:
        event = draw_event(draw, domain=domain)
        if draw.random() < 0.5:
            return Made((sentence(speaker.tell(event)), sentence(speaker.tell(event))), 1, "synonym")
        phenomenon = pick(draw, ("sibling", "special", "general", "opposite", "action", "added"))
        second = _hypothesis(draw, event, phenomenon)
        if second is not None:
            return Made((sentence(speaker.tell(event)), sentence(speaker.tell(second))), 0, phenomenon)


# A question and candidates ----------------------------------------------------------------------------------


def answers(draw: np.random.Generator, speaker: Speaker, domain: str) -> Made:
    """Ask who, what or where; one of four sentences about like events says it.

    One of the others tells of another person, action or thing, where the question names it; two tell of
    something else.
    """
    event = draw_event(draw, domain=domain, place=1.0)
    question_word = pick(draw, ("who", "what", "where"))
    action = speaker.verb(event.verb, "base")
    if question_word == "who":
        question = ["who", speaker.verb(event.verb, "third"), *speaker.phrase(event.thing, article="the")]
        parts: tuple[str, ...] = ("verb", "thing")
    elif question_word == "what":
        question = ["what", "does", *speaker.phrase(event.agent, article="the"), action]
        parts = ("agent", "verb")
    else:
        agent = speaker.phrase(event.agent, article="the")
        thing = speaker.phrase(event.thing, article="the")
        question = ["where", "does", *agent, action, *thing]
        parts = ("agent", "verb", "thing")
    wrong: list[Event] = []
    while not wrong:  # one differs from the answer in one part that the question names
        part = pick(draw, parts)
        other = draw_event(draw, domain=domain, place=1.0)
        if part == "verb":
            verbs = [verb for verb in allowed_verbs(event.thing) if verb != event.verb]
            second = replace(event, verb=pick(draw, verbs))
        else:
            concept = sibling(draw, getattr(event, part))
            if concept is None or (event.verb not in allowed_verbs(concept) and part == "thing"):
                continue
            second = change(event, part, concept)
        free = {"who": "agent", "what": "thing", "where": "place"}[question_word]
        if free == "thing" and event.verb not in allowed_verbs(other.thing):
            continue
        second = change(second, free, getattr(other, free))
        if second.verb in allowed_verbs(second.thing):
            wrong.append(second)
    wrong += [draw_event(draw, domain=domain, place=1.0) for _ in range(CANDIDATES - 2)]
    events = [event, *wrong]
    order = [int(number) for number in draw.permutation(CANDIDATES)]
    texts = tuple(sentence(speaker.tell(events[number])) for number in order)
    return Made((sentence(question, "?"), *texts), order.index(0), question_word)


# Text without labels ----------------------------------------------------------------------------------------


def continued(draw: np.random.Generator, speaker: Speaker, event: Event) -> tuple[str, str | None]:
    """Tell an event, and mostly tell it again in other words, or say something else about it, or nothing."""
    first = sentence(speaker.tell(event))
    if draw.random() < RESTATED:
        return first, sentence(speaker.tell(event))
    way = pick(draw, ("action", "quality", "question", "alone"))
    if way == "alone":
        return first, None
    if way == "action":
        verb = pick(draw, allowed_verbs(event.thing))
        second = replace(event, verb=verb, agent_adjective=None, place=None, negated=False)
        return first, sentence(speaker.tell(second))
    if way == "quality":
        person = draw.random() < 0.5
        adjective = (event.agent_adjective if person else event.thing_adjective) or draw_adjective(
            draw, "person" if person else "thing"
        )
        words = speaker.phrase(event.agent if person else event.thing, article="the")
        return first, sentence([*words, "is", speaker.adjective(adjective)])
    question = ["what", "does", *speaker.phrase(event.agent, article="the"), speaker.verb(event.verb, "base")]
    return sentence(question, "?"), first
