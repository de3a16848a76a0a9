"""The heads alone: each task by itself, with the source's head or a plain one (table 3).

::

    linear, san                  the pair tasks: plain softmax, or the stochastic answer network
    san-one-step                 K = 1: no reasoning
    san-keeps-all                K = 5, no prediction is dropped in training
    classification, relevance    the ranking: each candidate right or not, or a softmax over the candidates
"""

from reasonlib.multi_task.experiments.joint import joined, load_family, measure_all, train_singles
from reasonlib.multi_task.experiments.train import recipe_of
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["run_heads"]


def run_heads(trial: Trial) -> Measured:
    """Train and measure each task of a row by itself."""
    recipe = recipe_of(trial.settings)
    splits = load_family(trial.settings, seed=trial.seed, tasks=trial.settings["tasks"])
    systems = train_singles(trial, recipe, splits)
    return joined(systems, measure_all(systems, splits, recipe))
