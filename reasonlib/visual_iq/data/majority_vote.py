"""A majority vote among the candidates, which never reads the question.

Source: Hu et al. (2021), "Stratified Rule-Aware Network for Abstract Visual Reasoning", section 3.
https://arxiv.org/abs/2002.06838

Axes: N problems, E candidates, S slots of a component, A 4 attributes.
"""

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from reasonlib.visual_iq.data.example import ATTRIBUTES, CONFIGURATIONS, CONTEXT, PANELS, Problems

__all__ = ["count_votes", "majority_vote"]

# Without the question ---------------------------------------------------------------------------------------


def majority_vote(problems: Problems, *, seed: int = 0) -> Int[ndarray, "N"]:
    """Choose the candidate whose attributes most other candidates share, and never look at the question.

    Parameters
    ----------
    problems
        Only candidates are read.
    seed
        Of the draw between candidates with as many votes.
    """
    # excerpt: majority vote
    count = count_votes(problems)
    tie = np.random.default_rng(seed).random(count.shape)
    return (count + tie).argmax(axis=1)
    # end excerpt


def count_votes(problems: Problems) -> Int[ndarray, "N E"]:
    """Count for each candidate the candidates that agree with it, over all attributes of all components.

    The attributes are number, position, type, size and colour of each component.
    """
    # excerpt: votes
    votes = np.zeros((len(problems), PANELS - CONTEXT), np.int64)  # of each
    for index, configuration in enumerate(CONFIGURATIONS):
        members = np.flatnonzero(problems.configuration == index)
        candidates = problems.entities[members, CONTEXT:]
        for slots in configuration.component_slices:
            for value in _attribute_codes(candidates[:, :, slots]):  # attributes
                # how many of the eight candidates show the same value as this one
                votes[members] += (value[:, :, None] == value[:, None]).sum(axis=-1)
    return votes
    # end excerpt


def _attribute_codes(entities: Int[ndarray, "N E S A"]) -> list[Int[ndarray, "N E"]]:
    """Write each attribute of a component as one integer; of differing entities, their levels in order."""
    filled = entities[..., 0] > 0
    sets = (filled << np.arange(filled.shape[-1])).sum(axis=-1)
    values = [filled.sum(axis=-1), sets]
    for attribute in range(len(ATTRIBUTES) - 1):
        levels = np.where(filled, entities[..., attribute].astype(np.int64) + 1, 0)
        ordered = np.sort(levels, axis=-1)
        values.append((ordered * 11 ** np.arange(ordered.shape[-1])).sum(axis=-1))
    return values
