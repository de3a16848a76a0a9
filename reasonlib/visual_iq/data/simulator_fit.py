"""What a set of problems is like, in numbers, and how far two sets are from each other.

The same measures are taken of our problems and of those of the public generators, whose figures lie beside
this file. A histogram counts problems: one with many entities gives each of them a small share of its one
count, so that two histograms of as many problems can be told from chance.

Axes: N problems, E 8 candidates, P panels, S slots.
"""

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from reasonlib.visual_iq.data import rule_solver
from reasonlib.visual_iq.data.example import (
    ATTRIBUTES,
    CONFIGURATIONS,
    CONTEXT,
    GOVERNED,
    GROUPS,
    KEYS,
    RULES,
    Problems,
)

__all__ = [
    "MIXED",
    "PUBLIC",
    "Distance",
    "Table",
    "against_public",
    "answer_table",
    "by_counting",
    "compare",
    "looks",
    "modified",
    "public",
    "question_table",
    "total_variation",
]

PUBLIC = Path(__file__).with_name("public_marginals.json")
"""Counts of what the public generators make."""

Histogram = Mapping[str, float]
Table = Mapping[str, Mapping[str, Histogram]]
"""For each configuration and each measure, a histogram."""


class Distance(NamedTuple):
    """How far two sets of problems are apart in one measure.

    Parameters
    ----------
    configuration, measure
        What is compared.
    distance
        Total variation, 0 to 1.
    chance
        What two samples of this size from one distribution are apart on average, at most.
    """

    configuration: str
    measure: str
    distance: float
    chance: float


def total_variation(one: Histogram, two: Histogram) -> float:
    """Half the summed difference of two histograms, each scaled to sum to one.

    >>> total_variation({"circle": 1, "square": 1}, {"circle": 3, "square": 1})
    0.25
    """
    return _both(one, two)[0]


def _both(one: Histogram, two: Histogram) -> tuple[float, float]:
    """Give the distance of two histograms, and what it would be by chance."""
    total_one, total_two = math.fsum(one.values()), math.fsum(two.values())
    distance = chance = 0.0
    for label in sorted({*one, *two}):
        first, second = one.get(label, 0), two.get(label, 0)
        distance += abs(first / total_one - second / total_two) / 2
        share = (first + second) / (total_one + total_two)
        variance = max(share * (1 - share), 0) * (1 / total_one + 1 / total_two)
        chance += math.sqrt(2 / math.pi * variance) / 2
    return distance, chance


def compare(ours: Table, theirs: Table) -> list[Distance]:
    """Measure the distance of two tables in everything that both hold, the farthest first."""
    found = [
        Distance(key, measure, *_both(ours[key][measure], theirs[key][measure]))
        for key in theirs
        if key in ours
        for measure in theirs[key]
        if measure in ours[key]
    ]
    return sorted(found, key=lambda one: -one.distance)


# Questions --------------------------------------------------------------------------------------------------


def question_table(problems: Problems) -> Table:
    """Count what the questions of a set hold, the right answers included.

    Parameters
    ----------
    problems
        With the kinds of their rules; steps and signs are read from the panels.

    Returns
    -------
    Table
        For each component ``uniformity``, ``number`` of entities, and ``type``, ``size``, ``colour`` and
        ``angle`` of entities by level, ``rule`` by group, and ``step`` by group: the rule with its step or
        sign. Measures are named as ``"Grid rule size"``.
    """
    return {
        key: dict(_question(problems[problems.configuration == index])) for index, key in _present(problems)
    }


def _present(problems: Problems) -> list[tuple[int, str]]:
    return [(index, key) for index, key in enumerate(KEYS) if (problems.configuration == index).any()]


def _question(problems: Problems) -> Iterator[tuple[str, Histogram]]:
    configuration = CONFIGURATIONS[problems.configuration[0]]
    steps = rule_solver.read(problems, named=True).rules
    panels = np.concatenate([problems.entities[:, :CONTEXT], problems.answer[:, None]], axis=1)
    for part, (component, place) in enumerate(
        zip(configuration.components, configuration.parts, strict=True)
    ):
        name = component.name
        yield f"{name} uniformity", _counted(problems.uniformity[:, part])
        filled = panels[:, :, place, 0] > 0
        numbers = filled.sum(axis=2)
        yield f"{name} number", _counted(numbers)
        for column, attribute in enumerate(ATTRIBUTES):
            yield f"{name} {attribute}", _counted(panels[:, :, place, column], filled)
        for group, title in enumerate(GROUPS):
            kinds, governed, _ = problems.rules[:, part, group].T
            words = [f"{GOVERNED[one]} {RULES[kind]}" for kind, one in zip(kinds, governed, strict=True)]
            yield f"{name} rule {title}", _tallied(words)
            kinds, governed, values = steps[:, part, group].T
            words = [
                f"{GOVERNED[one]} {RULES[kind]}" + (f" {value:+d}" if value else "")
                for kind, one, value in zip(kinds, governed, values, strict=True)
            ]
            yield f"{name} step {title}", _tallied(words)


def _counted(values: ndarray, mask: ndarray | None = None) -> Histogram:
    """Count integers, each problem (first axis) once in all."""
    flat = values.reshape(len(values), -1).astype(np.int64)
    weights = np.ones(flat.shape) if mask is None else mask.reshape(flat.shape).astype(float)
    weights /= weights.sum(axis=1, keepdims=True)
    counts = np.bincount(flat.ravel(), weights.ravel())
    return {str(value): float(count) for value, count in enumerate(counts) if count > 0}


def _tallied(words: list[str]) -> Histogram:
    found: dict[str, float] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return dict(sorted(found.items()))


# Answers ----------------------------------------------------------------------------------------------------


def modified(problems: Problems) -> dict[str, ndarray]:
    """Tell what every candidate has different from the right one.

    Returns
    -------
    dict of str to ndarray
        For each attribute of each component, such as ``"Grid size"``, a mask of shape (N, 8). Where numbers
        differ, positions do too and are not told; looks then differ if a level is new. Where positions
        differ, looks are compared in order of their levels.

    Raises
    ------
    ValueError
        If problems are of more than one configuration.
    """
    if len({*problems.configuration.tolist()}) != 1:
        raise ValueError("problems must be of one configuration; choose some of them")
    configuration = CONFIGURATIONS[problems.configuration[0]]
    found = {}
    for component, place in zip(configuration.components, configuration.parts, strict=True):
        right = problems.answer[:, None, place]
        wrong = problems.entities[:, CONTEXT:, place]
        here, there = right[..., 0] > 0, wrong[..., 0] > 0
        renumbered = here.sum(axis=-1) != there.sum(axis=-1)
        moved = (here != there).any(axis=-1) & ~renumbered
        if len(component.slots) > 1:
            found[f"{component.name} number"] = renumbered
            found[f"{component.name} position"] = moved
        for column, attribute in enumerate(ATTRIBUTES[:-1]):
            old = np.where(here, right[..., column], -1)
            new = np.where(there, wrong[..., column], -1)
            in_place = (old != new).any(axis=-1)
            in_order = (np.sort(old, axis=-1) != np.sort(new, axis=-1)).any(axis=-1)
            known = (new[..., None] == old[..., None, :]).any(axis=-1) | ~there
            found[f"{component.name} {attribute}"] = np.select(
                [renumbered, moved], [~known.all(axis=-1), in_order], in_place
            )
    return found


def answer_table(problems: Problems) -> Table:
    """Count what the wrong answers of a set change, by configuration.

    Returns
    -------
    Table
        ``changed``: all attributes in which a wrong candidate differs from the right one, joined by ``+``;
        ``how many`` they are; and ``target``, the place of the right one.
    """
    return {key: _answers(problems[problems.configuration == index]) for index, key in _present(problems)}


def _answers(problems: Problems) -> dict[str, Histogram]:
    changes = modified(problems)
    names = list(changes)
    wrong = np.arange(8) != problems.target[:, None]
    code = sum(mask.astype(np.int64) << bit for bit, mask in enumerate(changes.values()))
    counts = _counted(np.asarray(code), wrong)
    changed: dict[str, float] = {}
    many: dict[str, float] = {}
    for key, count in counts.items():
        parts = [name for bit, name in enumerate(names) if int(key) >> bit & 1]
        changed[" + ".join(parts) or "nothing"] = count
        many[str(len(parts))] = many.get(str(len(parts)), 0) + count
    return {
        "changed": changed,
        "how many": dict(sorted(many.items())),
        "target": _counted(problems.target[:, None]),
    }


# What others make -------------------------------------------------------------------------------------------


MIXED = 10
"""Stands for a level where entities of one panel differ; no ladder has as many."""


def looks(problems: Problems) -> list[tuple[ndarray, ndarray]]:
    """Say what each candidate shows at a glance: how many entities, and which levels they all share.

    Parameters
    ----------
    problems
        With all their candidates.

    Returns
    -------
    list
        For each component of each layout that occurs: the indices of its problems (M,), and of their
        candidates (M, E, 4) the number of entities, and the level of type, size and colour: `MIXED` where the
        entities differ.
    """
    found = []
    for index, configuration in enumerate(CONFIGURATIONS):
        here = np.flatnonzero(problems.configuration == index)
        for place in configuration.parts if len(here) else ():
            shown = problems.entities[here, CONTEXT:, place].astype(int)  # (M, E, S, A)
            filled = shown[..., :1] > 0
            low = np.where(filled, shown, MIXED).min(-2)
            high = np.where(filled, shown, -1).max(-2)
            shared = np.where(low == high, low, MIXED)[..., :-1]
            found.append((here, np.concatenate([filled.sum(-2), shared], -1)))
    return found


def by_counting(problems: Problems, known: Problems) -> ndarray:
    """Choose among candidates by nothing but how often each look was a right one: naive Bayes over `looks`.

    Parameters
    ----------
    problems
        To be answered; their targets are not looked at.
    known
        Others, of the same layouts, to count on.

    Returns
    -------
    ndarray
        (N,) chosen candidates.
    """
    score = np.zeros((len(problems), problems.entities.shape[1] - CONTEXT))
    for (here, shown), (there, seen) in zip(looks(problems), looks(known), strict=True):
        right = np.arange(seen.shape[1]) == known.target[there, None]
        for attribute in range(shown.shape[-1]):
            of_right, of_wrong = (
                np.bincount(seen[..., attribute][which], minlength=MIXED + 1) + 1.0
                for which in (right, ~right)
            )
            told = np.log(of_right / of_right.sum()) - np.log(of_wrong / of_wrong.sum())
            score[here] += told[shown[..., attribute]]
    tie = np.random.default_rng(0).random(score.shape)
    return (score + 1e-9 * tie).argmax(1)


@cache
def public() -> dict[str, Any]:
    """Read the counts of what the public generators make.

    Returns
    -------
    dict
        ``source``: what was run; ``problems``: how many; ``questions``: a `Table`; ``answers``: a `Table` for
        each way to make answers.
    """
    found: dict[str, Any] = json.loads(PUBLIC.read_text(encoding="utf-8"))
    return found


def against_public(problems: Problems, answers: str = "raven") -> list[Distance]:
    """Measure how far problems are from what the public generators make, the farthest first.

    Parameters
    ----------
    problems
        Of any configurations.
    answers
        Which public generator's candidates to compare with. Questions are compared with those of all three.

    Raises
    ------
    ValueError
        If no public generator makes such answers.

    Examples
    --------
    >>> from reasonlib.visual_iq.data.simulator import simulate
    >>> far = against_public(simulate("Center", 1000, seed=1))[0]
    >>> far.distance < 4 * far.chance
    True
    """
    known = public()["answers"]
    if answers not in known:
        raise ValueError(f"answers must be one of {', '.join(known)}, got {answers!r}")
    found = compare(question_table(problems), public()["questions"])
    found += compare(answer_table(problems), known[answers])
    return sorted(found, key=lambda one: -one.distance)
