"""Where a system is right: by template, by rank of an option; why the copying network copied a name."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from reasonlib.goal_dialogue.data.example import SILENCE, Dialogue, Example, Fact, Turn
from reasonlib.goal_dialogue.data.templates import Language
from reasonlib.goal_dialogue.models.copier import Copier

__all__ = [
    "Evidence",
    "GroupAccuracy",
    "Options",
    "by_rank",
    "by_template",
    "evidence",
    "options",
    "rating_scores",
]


class GroupAccuracy(NamedTuple):
    """How often a system is right where it should say one kind of response.

    Attributes
    ----------
    name
        A template, or the rank of an option.
    turns
        How many.
    right
        Fraction of them answered rightly.
    chance
        What guessing would get; None where that is not meant.
    wrong
        The most frequent wrong answer, empty where there is none.
    """

    name: str
    turns: int
    right: float
    chance: float | None
    wrong: str


def _groups(
    keyed: Mapping[str, Sequence[tuple[Example, str]]], chance: Mapping[str, float] | None = None
) -> list[GroupAccuracy]:
    groups = []
    for name, pairs in keyed.items():
        wrong = [answer for example, answer in pairs if answer != example.response]
        groups.append(
            GroupAccuracy(
                name,
                len(pairs),
                1 - len(wrong) / len(pairs),
                None if chance is None else chance[name] / len(pairs),
                max(sorted(set(wrong)), key=wrong.count, default=""),
            )
        )
    return groups


def by_template(asked: Sequence[Example], answers: Sequence[str], language: Language) -> list[GroupAccuracy]:
    """Count right answers by the template of the response, the most frequent template first.

    A response that no template of the language fits is counted under itself.
    """
    keyed: dict[str, list[tuple[Example, str]]] = defaultdict(list)
    names: dict[str, str] = {}
    for example, answer in zip(asked, answers, strict=True):
        if example.response not in names:
            ways = language.derive(example.response)
            names[example.response] = language.write(ways[0].template) if ways else example.response
        keyed[names[example.response]].append((example, answer))
    return sorted(_groups(keyed), key=lambda group: (-group.turns, group.name))


class Options(NamedTuple):
    """The restaurants a user may be offered at a turn.

    Attributes
    ----------
    ranked
        Restaurants that the facts rate, best first.
    left
        Those of them that the system has not named yet.
    """

    ranked: tuple[str, ...]
    left: tuple[str, ...]


def options(example: Example) -> Options:
    """List the restaurants at a turn by their rating."""
    rating = {
        event.subject: int(event.value)
        for event in example.history
        if isinstance(event, Fact) and event.relation == "R_rating" and event.value.isdecimal()
    }
    offered = {word for event in example.history if isinstance(event, Turn) for word in event.bot.split()}
    ranked = tuple(sorted(rating, key=lambda name: -rating[name]))
    return Options(ranked, tuple(name for name in ranked if name not in offered))


def by_rank(asked: Sequence[Example], answers: Sequence[str]) -> list[GroupAccuracy]:
    """Count right answers where an option is to be offered, by the rank of the right one among all.

    ``chance`` is what a system gets that picks among all rated restaurants without knowing them apart.
    """
    keyed: dict[str, list[tuple[Example, str]]] = defaultdict(list)
    chance: dict[str, float] = defaultdict(float)
    for example, answer in zip(asked, answers, strict=True):
        last = example.response.split()[-1]
        ranked, left = options(example)
        if last in left:
            rank = str(ranked.index(last) + 1)
            keyed[rank].append((example, answer))
            chance[rank] += 1 / len(ranked)
    return sorted(_groups(keyed, chance), key=lambda group: int(group.name))


# What the copying network knows -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """What one mention adds to the score of its name in a gap; scores of a name's mentions add up."""

    name: str
    window: str
    score: float


def evidence(copier: Copier, example: Example, gap: int = 0) -> list[Evidence]:
    """Say why a name was copied: what each mention contributed to filling a gap of the best template.

    Parameters
    ----------
    copier
        A trained copier.
    example
        One turn.
    gap
        Which gap of the template, from 0.

    Returns
    -------
    list of Evidence
        Latest mention first; windows are written with ``*`` for names.

    Raises
    ------
    ValueError
        If the best template has no such gap.
    """
    turns = copier.encode([Dialogue(task=example.task, events=(*example.history, Turn(example.user, "")))])
    turns = turns.take([len(turns) - 1])
    with torch.no_grad():
        output = copier.model(turns.batch([0], slots=copier.model.config.slots))
    template = int(output.templates[0].argmax())
    gaps = copier.language.gaps[template]
    if not 0 <= gap < gaps:
        raise ValueError(
            f"gap must be below {gaps}, the gaps of {copier.language.write(template)!r}, got {gap}"
        )
    scores = output.evidence[0, int(copier.model.first[template]) + gap].tolist()
    return [
        Evidence(name, window, score)
        for (name, window), score in zip(turns.windows_of(0), scores, strict=True)
    ]


def rating_scores(copier: Copier, asked: Sequence[Example]) -> dict[int, float]:
    """Measure what each rating adds to a restaurant's score when an option is to be offered.

    Nobody told the network that ratings are numbers; it learned the order of eight words.

    Parameters
    ----------
    copier
        Trained on a task in which options are offered.
    asked
        Turns to average over: those before an option is offered are used.

    Returns
    -------
    dict
        Rating to mean score (nats), by rising rating.

    Raises
    ------
    ValueError
        If no option is offered.
    """
    total: dict[int, list[float]] = defaultdict(list)
    for example in asked:
        left = options(example).left
        if example.user == SILENCE and left and example.response.split()[-1] == left[0]:
            rating = {
                event.subject: int(event.value)
                for event in example.history
                if isinstance(event, Fact) and event.relation == "R_rating"
            }
            for mention in evidence(copier, example):
                if "R_rating" in mention.window and mention.name in rating:
                    total[rating[mention.name]].append(mention.score)
    if not total:
        raise ValueError("asked must hold a turn at which an option is offered, got none")
    return {rating: sum(total[rating]) / len(total[rating]) for rating in sorted(total)}
