"""What experiments share: names of rows, rates to try, and measures of a network that reads digits."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import torch

from reasonlib.optimisation.models.losses import cross_entropy
from reasonlib.optimisation.models.network import Examples

__all__ = ["LEARNT", "epochs_to_learn", "mean_loss", "row_name", "try_rates"]

Run = TypeVar("Run")

LEARNT = 0.1
"""Nats an image: a training loss below this counts as learned."""

NEVER = 1.0
"""Epochs added to all there were, where it was not learned."""


def epochs_to_learn(history: Sequence[dict[str, float]], epochs: int) -> float:
    """Return the first epoch with a training loss below `LEARNT`."""
    return next((epoch["epoch"] for epoch in history if epoch["loss"] < LEARNT), epochs + NEVER)


@torch.no_grad()
def mean_loss(model: torch.nn.Module, examples: Examples) -> float:
    """Return the cross-entropy of a network, in nats an example."""
    return float(cross_entropy(model(examples.inputs), examples.truths))


def row_name(method: str) -> str:
    """Return what a row is called that tries a loss, an activation or an optimiser of this name."""
    return method.replace(" ", "-")


def try_rates(
    choices: Iterable[float], run: Callable[[float], Run], *scores: Callable[[Run], float]
) -> tuple[list[float], dict[float, Run]]:
    """Try several rates, and further ones as long as a best one is the lowest or the highest of them.

    A further rate is as far from the end, on a logarithmic scale, as the end is from its neighbour. A single
    choice is a fixed rate: no other is tried.

    Parameters
    ----------
    choices
        The rates to begin with.
    run
        What is done at a rate.
    *scores
        What runs are compared by: the lowest is best, nan is worst, and of equals the one that was tried
        first.

    Returns
    -------
    best, runs
        The best rate by each score, and what each rate gave, in ascending order of the rates.
    """
    runs = {rate: run(rate) for rate in sorted(set(choices))}
    while True:
        best = [_best(runs, score) for score in scores]
        ordered = sorted(runs)
        if len(ordered) > 1 and ordered[0] in best:
            further = ordered[0] ** 2 / ordered[1]
        elif len(ordered) > 1 and ordered[-1] in best:
            further = ordered[-1] ** 2 / ordered[-2]
        else:
            return best, {rate: runs[rate] for rate in ordered}
        runs[further] = run(further)


def _best(tried: Mapping[float, Run], score: Callable[[Run], float]) -> float:
    """Return the rate with the lowest score, the first of equals; nan counts as infinite."""
    scores = {rate: score(run) for rate, run in tried.items()}
    return min(scores, key=lambda rate: math.inf if math.isnan(scores[rate]) else scores[rate])
