"""What several experiments share: names of rows, and measures of a network that learns to read digits."""

from collections.abc import Sequence

import torch

from reasonlib.optimisation.models.losses import cross_entropy
from reasonlib.optimisation.models.network import Examples

__all__ = ["LEARNT", "epochs_to_learn", "mean_loss", "row_name"]

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
