"""Training of a memory network on dialogues: losses, recipe, the loop."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least, check_choice
from reasonlib.goal_dialogue.data.encoding import Batch, EncodedTask, TurnSet
from reasonlib.goal_dialogue.experiments.metrics import response_accuracy
from reasonlib.goal_dialogue.models.memory_network import MemoryNetwork
from reasonlib.goal_dialogue.models.memory_system import predict
from reasonlib.training import RunOptions

__all__ = ["LOSSES", "Recipe", "evaluate_network", "hinge", "train_network"]


def hinge(logits: Tensor, response: Tensor) -> Tensor:
    r"""How far the best wrong candidate comes within 1 of the right one.

    .. math:: [1 - s_y + \max_{j \ne y} s_j]_+

    Turns whose response is -1 count nothing.
    """
    mask = response >= 0
    logits, response = logits[mask], response[mask].unsqueeze(1)
    right = logits.gather(1, response).squeeze(1)
    wrong = logits.scatter(1, response, -torch.inf).amax(1)
    return (1 - right + wrong).relu().mean()


def cross_entropy(logits: Tensor, response: Tensor) -> Tensor:
    """Negative log-likelihood of the right candidate among all, in nats; a response of -1 counts nothing."""
    return functional.cross_entropy(logits, response, ignore_index=-1)


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"cross-entropy": cross_entropy, "hinge": hinge}
"""From logits (B, C) and responses (B,) to the mean loss of a batch."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a network is trained; the defaults are those of section 5.3.1 of the source.

    Raises `ValueError` if a value is out of range.
    """

    epochs: int = 100
    batch_size: int = 64
    optimiser: str = "adam"
    lr: float = 0.001
    loss: str = "cross-entropy"  # a key of LOSSES
    clip: float = 40.0  # greatest norm of all gradients, from Bordes et al.
    shuffled: bool = True  # a new order of turns every epoch
    patience: int | None = 10  # epochs without a better validation accuracy, then it ends; None: never

    def __post_init__(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        check_at_least(self, 1, "batch_size")


def evaluate_network(model: MemoryNetwork, turns: TurnSet) -> dict[str, float]:
    """Evaluate a network on encoded turns; see `metrics.response_accuracy`."""
    return response_accuracy(predict(model, turns) == turns.response, turns.dialogue)


def train_network(
    model: MemoryNetwork,
    task: EncodedTask,
    recipe: Recipe,
    *,
    identity: str = "",
    **options: Unpack[RunOptions],
) -> training.History:
    """Train a network in place; it ends with the weights that did best on the validation set.

    Parameters
    ----------
    model
        Freshly made for this task, or one to train further.
    task
        Learns from its ``train``, chooses by its ``valid``.
    recipe
        Batch size, rate, loss.
    identity
        What else must be the same for a checkpoint to be resumed.
    **options
        Of the run, see `RunOptions`; the seed orders the turns.

    Returns
    -------
    History
        One row an epoch: loss, and ``accuracy`` (per response) on the validation set.
    """
    turns, batch_size, seed = task.train, recipe.batch_size, options.get("seed", 0)
    criterion = LOSSES[recipe.loss]
    device = next(model.parameters()).device

    def batches(epoch: int) -> Iterator[Batch]:
        order = np.arange(len(turns))
        if recipe.shuffled:
            order = np.random.default_rng([seed, epoch]).permutation(order)
        for start in range(0, len(order), batch_size):
            yield turns.batch(order[start : start + batch_size], slots=model.slots).to(device)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        return criterion(model(batch).logits, batch.response)

    def validate(model: MemoryNetwork) -> dict[str, float]:
        return {"accuracy": float((predict(model, task.valid) == task.valid.response).mean())}

    settings = {"restore_best": True}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        validate=validate,
        loss=loss,
        settings=settings,
        identity={"turns": len(turns), "slots": model.slots, "also": identity},
        steps_per_epoch=-(-len(turns) // batch_size),
        **options,
    )
