"""Naive Bayes on single candidates: how often each visible feature belongs to a right answer.

It reads no context and compares no candidates; what it solves, the distribution of the right answers gives
away.

Axes: N problems, M some of them, E 8 candidates, S slots.
"""

import numpy as np
from numpy import ndarray

from reasonlib.visual_iq.data.example import CONFIGURATIONS, CONTEXT, Problems

__all__ = ["MIXED", "candidate_features", "choose"]

# What others make -------------------------------------------------------------------------------------------


MIXED = 10
"""Stands for a level where entities of one panel differ; no ladder has as many."""


def candidate_features(problems: Problems) -> list[tuple[ndarray, ndarray]]:
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
    features = []
    for index, configuration in enumerate(CONFIGURATIONS):
        members = np.flatnonzero(problems.configuration == index)
        for slots in configuration.component_slices if len(members) else ():
            entities = problems.entities[members, CONTEXT:, slots].astype(int)  # (M, E, S, A)
            filled = entities[..., :1] > 0
            low = np.where(filled, entities, MIXED).min(-2)
            high = np.where(filled, entities, -1).max(-2)
            shared = np.where(low == high, low, MIXED)[..., :-1]
            features.append((members, np.concatenate([filled.sum(-2), shared], -1)))
    return features


def choose(problems: Problems, train_set: Problems) -> ndarray:
    """Choose the candidate with the greatest log-odds of being right, a sum over `candidate_features`.

    Parameters
    ----------
    problems
        To be answered; their targets are not looked at.
    train_set
        Other problems, of the same layouts, whose features are counted.

    Returns
    -------
    ndarray
        (N,) chosen candidates.
    """
    score = np.zeros((len(problems), problems.entities.shape[1] - CONTEXT))
    for (members, features), (train_members, train_features) in zip(
        candidate_features(problems), candidate_features(train_set), strict=True
    ):
        right = np.arange(train_features.shape[1]) == train_set.target[train_members, None]
        for attribute in range(features.shape[-1]):
            right_counts, wrong_counts = (
                np.bincount(train_features[..., attribute][mask], minlength=MIXED + 1) + 1.0
                for mask in (right, ~right)
            )
            log_odds = np.log(right_counts / right_counts.sum()) - np.log(wrong_counts / wrong_counts.sum())
            score[members] += log_odds[features[..., attribute]]
    tie = np.random.default_rng(0).random(score.shape)
    return (score + 1e-9 * tie).argmax(1)
