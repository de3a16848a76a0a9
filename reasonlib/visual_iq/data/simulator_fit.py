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

from reasonlib.arguments import check_choice
from reasonlib.data.distributions import total_variation
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
    "PUBLIC",
    "Distance",
    "Table",
    "answer_table",
    "compare",
    "distances_to_public",
    "modified_attributes",
    "public_marginals",
    "question_table",
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


def _chance(left: Histogram, right: Histogram) -> float:
    """Give the distance of two histograms that is expected if both are drawn from one distribution."""
    total_left, total_right = math.fsum(left.values()), math.fsum(right.values())
    chance = 0.0
    for label in sorted({*left, *right}):
        share = (left.get(label, 0) + right.get(label, 0)) / (total_left + total_right)
        variance = max(share * (1 - share), 0) * (1 / total_left + 1 / total_right)
        chance += math.sqrt(2 / math.pi * variance) / 2
    return chance


def compare(ours: Table, theirs: Table) -> list[Distance]:
    """Measure the distance of two tables in everything that both hold, the farthest first."""
    distances = [
        Distance(key, measure, total_variation(left, right), _chance(left, right))
        for key in theirs
        if key in ours
        for measure, right in theirs[key].items()
        if (left := ours[key].get(measure)) is not None
    ]
    return sorted(distances, key=lambda item: -item.distance)


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
        key: dict(_question_histograms(problems[problems.configuration == index]))
        for index, key in _present_configurations(problems)
    }


def _present_configurations(problems: Problems) -> list[tuple[int, str]]:
    return [(index, key) for index, key in enumerate(KEYS) if (problems.configuration == index).any()]


def _question_histograms(problems: Problems) -> Iterator[tuple[str, Histogram]]:
    configuration = CONFIGURATIONS[problems.configuration[0]]
    steps = rule_solver.infer(problems, named=True).rules
    panels = np.concatenate([problems.entities[:, :CONTEXT], problems.answer[:, None]], axis=1)
    for component_index, (component, slots) in enumerate(
        zip(configuration.components, configuration.component_slices, strict=True)
    ):
        name = component.name
        yield f"{name} uniformity", _count_integers(problems.uniformity[:, component_index])
        filled = panels[:, :, slots, 0] > 0
        numbers = filled.sum(axis=2)
        yield f"{name} number", _count_integers(numbers)
        for column, attribute in enumerate(ATTRIBUTES):
            yield f"{name} {attribute}", _count_integers(panels[:, :, slots, column], filled)
        for group, title in enumerate(GROUPS):
            kinds, governed, _ = problems.rules[:, component_index, group].T
            labels = [
                f"{GOVERNED[attribute]} {RULES[kind]}"
                for kind, attribute in zip(kinds, governed, strict=True)
            ]
            yield f"{name} rule {title}", _count_words(labels)
            kinds, governed, values = steps[:, component_index, group].T
            labels = [
                f"{GOVERNED[attribute]} {RULES[kind]}" + (f" {value:+d}" if value else "")
                for kind, attribute, value in zip(kinds, governed, values, strict=True)
            ]
            yield f"{name} step {title}", _count_words(labels)


def _count_integers(values: ndarray, mask: ndarray | None = None) -> Histogram:
    """Count integers, each problem (first axis) once in all."""
    flat = values.reshape(len(values), -1).astype(np.int64)
    weights = np.ones(flat.shape) if mask is None else mask.reshape(flat.shape).astype(float)
    weights /= weights.sum(axis=1, keepdims=True)
    counts = np.bincount(flat.ravel(), weights.ravel())
    return {str(value): float(count) for value, count in enumerate(counts) if count > 0}


def _count_words(labels: list[str]) -> Histogram:
    counts: dict[str, float] = {}
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
    return dict(sorted(counts.items()))


# Answers ----------------------------------------------------------------------------------------------------


def modified_attributes(problems: Problems) -> dict[str, ndarray]:
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
    modified = {}
    for component, slots in zip(configuration.components, configuration.component_slices, strict=True):
        answers = problems.answer[:, None, slots]
        candidates = problems.entities[:, CONTEXT:, slots]
        right_filled, wrong_filled = answers[..., 0] > 0, candidates[..., 0] > 0
        renumbered = right_filled.sum(axis=-1) != wrong_filled.sum(axis=-1)
        moved = (right_filled != wrong_filled).any(axis=-1) & ~renumbered
        if len(component.slots) > 1:
            modified[f"{component.name} number"] = renumbered
            modified[f"{component.name} position"] = moved
        for column, attribute in enumerate(ATTRIBUTES[:-1]):
            old = np.where(right_filled, answers[..., column], -1)
            new = np.where(wrong_filled, candidates[..., column], -1)
            in_place = (old != new).any(axis=-1)
            in_order = (np.sort(old, axis=-1) != np.sort(new, axis=-1)).any(axis=-1)
            is_old_level = (new[..., None] == old[..., None, :]).any(axis=-1) | ~wrong_filled
            modified[f"{component.name} {attribute}"] = np.select(
                [renumbered, moved], [~is_old_level.all(axis=-1), in_order], in_place
            )
    return modified


def answer_table(problems: Problems) -> Table:
    """Count what the wrong answers of a set change, by configuration.

    Returns
    -------
    Table
        ``changed``: all attributes in which a wrong candidate differs from the right one, joined by ``+``;
        ``how many`` they are; and ``target``, the place of the right one.
    """
    return {
        key: _answer_histograms(problems[problems.configuration == index])
        for index, key in _present_configurations(problems)
    }


def _answer_histograms(problems: Problems) -> dict[str, Histogram]:
    changes = modified_attributes(problems)
    names = list(changes)
    wrong = np.arange(8) != problems.target[:, None]
    code = sum(mask.astype(np.int64) << bit for bit, mask in enumerate(changes.values()))
    counts = _count_integers(np.asarray(code), wrong)
    changed: dict[str, float] = {}
    how_many: dict[str, float] = {}
    for key, count in counts.items():
        attributes = [name for bit, name in enumerate(names) if int(key) >> bit & 1]
        changed[" + ".join(attributes) or "nothing"] = count
        how_many[str(len(attributes))] = how_many.get(str(len(attributes)), 0) + count
    return {
        "changed": changed,
        "how many": dict(sorted(how_many.items())),
        "target": _count_integers(problems.target[:, None]),
    }


@cache
def public_marginals() -> dict[str, Any]:
    """Read the counts of what the public generators make.

    Returns
    -------
    dict
        ``source``: what was run; ``problems``: how many; ``questions``: a `Table`; ``answers``: a `Table` for
        each way to make answers.
    """
    counts: dict[str, Any] = json.loads(PUBLIC.read_text(encoding="utf-8"))
    return counts


def distances_to_public(problems: Problems, answers: str = "raven") -> list[Distance]:
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
    >>> far = distances_to_public(simulate("Center", 1000, seed=1))[0]
    >>> far.distance < 4 * far.chance
    True
    """
    published = public_marginals()["answers"]
    check_choice("answers", answers, published)
    distances = compare(question_table(problems), public_marginals()["questions"])
    distances += compare(answer_table(problems), published[answers])
    return sorted(distances, key=lambda item: -item.distance)
