"""The metric of all experiments on answers: the share of problems solved, in all and by configuration.

Axes: N problems.
"""

from jaxtyping import Bool, Int
from numpy import ndarray

from reasonlib.visual_iq.data.example import CONFIGURATIONS, Problems
from reasonlib.visual_iq.models.solvers import EncodedProblems, Solver, predict_scores

__all__ = ["CHANCE", "accuracy", "accuracy_by_configuration"]

CHANCE = 0.125
"""Accuracy of a guess among eight candidates."""


def accuracy_by_configuration(
    configuration: Int[ndarray, "N"], correct: Bool[ndarray, "N"]
) -> dict[str, float]:
    """Average over all problems, and over those of each configuration that occurs.

    Parameters
    ----------
    configuration
        Index into `CONFIGURATIONS` of each problem.
    correct
        Whether each problem was solved.

    Returns
    -------
    dict of str to float
        ``accuracy``, and ``accuracy_2x2Grid`` and so on.
    """
    shares = {"accuracy": float(correct.mean())}
    for index, layout in enumerate(CONFIGURATIONS):
        members = configuration == index
        if members.any():
            shares[f"accuracy_{layout.title}"] = float(correct[members].mean())
    return shares


def accuracy(model: Solver, problems: Problems | EncodedProblems) -> dict[str, float]:
    """Measure the share of problems that a model solves; see `accuracy_by_configuration`."""
    correct = predict_scores(model, problems).argmax(1) == problems.target
    return accuracy_by_configuration(problems.configuration, correct)
