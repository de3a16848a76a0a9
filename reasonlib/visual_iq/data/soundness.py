"""Soundness of problems: eight different candidates, and exactly one of them follows the rules.

Axes: N problems.
"""

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from reasonlib.errors import UserError
from reasonlib.visual_iq.data.example import CONTEXT, PANELS, Problems
from reasonlib.visual_iq.data.rule_solver import consistent_candidates

__all__ = ["candidates_differ", "check_problems"]

# Soundness --------------------------------------------------------------------------------------------------


def candidates_differ(problems: Problems) -> Bool[ndarray, "N"]:
    """Tell where all eight candidates differ in type, size or colour of some slot; angles do not count."""
    shown = problems.entities[:, CONTEXT:].copy()
    shown[..., -1] = 0
    flat = shown.reshape(len(shown), PANELS - CONTEXT, -1)
    keys = (flat[..., None, :] == flat[:, None]).all(axis=-1).sum(axis=(1, 2))
    return keys == PANELS - CONTEXT


def check_problems(problems: Problems) -> None:
    """Make sure that every problem has eight different candidates, and that only the right one follows.

    Raises
    ------
    UserError
        At the first problem that is not sound: which one, and why.
    """
    follows = consistent_candidates(problems)
    different = candidates_differ(problems)
    right = follows[np.arange(len(problems)), problems.target.astype(int)]
    for index in np.flatnonzero(~different | ~right | (follows.sum(axis=1) != 1)):
        allowed = ", ".join(str(candidate + 1) for candidate in np.flatnonzero(follows[index]))
        if not different[index]:
            raise UserError(f"problem {index}: two of its candidates look the same")
        if not allowed:
            raise UserError(f"problem {index}: no candidate follows the rules of its first two rows")
        target = problems.target[index] + 1
        raise UserError(f"problem {index}: candidate {target} is right, but the rules allow {allowed}")
