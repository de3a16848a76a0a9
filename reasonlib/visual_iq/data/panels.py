"""Single panels: drawn at random to train a detector, or taken from problems to test it.

Axes: M panels, S 9 slots, A 4 attributes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.data.example import CONFIGURATIONS, LEVELS, SLOTS, Problems

__all__ = ["Panels", "panels_of", "random_panels"]

# Panels and what is on them ---------------------------------------------------------------------------------


class Panels(NamedTuple):
    """Panels without problems: a configuration each, and the table of slots."""

    configuration: Int[ndarray, "M"]
    entities: Int[ndarray, "M S A"]


def random_panels(
    number: int, generator: np.random.Generator, weights: Sequence[float] | None = None
) -> Panels:
    """Draw panels: a layout, how many entities, in which slots, and every attribute on its own.

    Parameters
    ----------
    number
        M.
    generator
        Draws them.
    weights
        Share of each configuration; by default all alike.
    """
    share = np.ones(len(CONFIGURATIONS)) if weights is None else np.asarray(weights, dtype=float)
    configuration = generator.choice(len(CONFIGURATIONS), number, p=share / share.sum())
    entities = np.zeros((number, SLOTS, len(LEVELS)), dtype=np.int8)
    for index, layout in enumerate(CONFIGURATIONS):
        members = np.flatnonzero(configuration == index)
        for component, slots in zip(layout.components, layout.component_slices, strict=True):
            shape = len(members), len(component.slots)
            fewest, most = component.number
            count = generator.integers(fewest, most + 1, shape[0])
            filled = generator.random(shape).argsort(1).argsort(1) < count[:, None]
            attributes = [
                generator.integers(low, high + 1, shape)
                for low, high in ((1, LEVELS[0] - 1), component.size, component.colour, (0, LEVELS[3] - 1))
            ]
            entities[members, slots] = np.stack(attributes, -1) * filled[..., None]
    return Panels(configuration, entities)


def panels_of(problems: Problems, number: int | None = None, seed: int = 0) -> Panels:
    """Take panels of problems, context and candidates: all of them, or some at random."""
    count = problems.entities.shape[1]
    entities = problems.entities.reshape(-1, *problems.entities.shape[2:])
    configuration = np.repeat(problems.configuration, count)
    if number is not None and number < len(entities):
        chosen = np.sort(np.random.default_rng(seed).choice(len(entities), number, replace=False))
        configuration, entities = configuration[chosen], entities[chosen]
    return Panels(configuration, entities)


def held_out_panels(number: int) -> Panels:
    """Take panels of the test split of the simulated set, as many of each layout."""
    per_configuration = max(10, 5 * -(-number // (len(CONFIGURATIONS) * 16)))
    return panels_of(datasets.load(per_configuration=min(per_configuration, 10_000)).test, number)
