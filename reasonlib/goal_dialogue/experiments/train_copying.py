"""Training and evaluation of the copying network."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import torch
from torch import Tensor, nn

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.goal_dialogue.data.mentions import Batch, MentionSet
from reasonlib.goal_dialogue.experiments.metrics import response_accuracy
from reasonlib.goal_dialogue.models.copier import Copier
from reasonlib.goal_dialogue.models.copying import CopyNetwork
from reasonlib.training import RunOptions
from reasonlib.training.batching import LengthBuckets

__all__ = ["CopyRecipe", "evaluate_copier", "response_loss", "train_copier"]


@dataclass(frozen=True, kw_only=True)
class CopyRecipe:
    """How the network is trained.

    Raises `ValueError` if a value is out of range.
    """

    epochs: int = 6
    batch_size: int = 32
    lr: float = 0.005
    clip: float = 10.0  # greatest norm of all gradients

    def __post_init__(self) -> None:
        check_at_least(self, 1, "batch_size")


def response_loss(model: CopyNetwork, batch: Batch) -> Tensor:
    """Mean negative log-probability of the responses (nats) over those that can be said."""
    likelihood = model.likelihood(
        model(batch), batch.template.unsqueeze(1), batch.fillers.unsqueeze(1)
    ).squeeze(1)
    derivable = likelihood > torch.finfo(likelihood.dtype).min
    return -torch.where(derivable, likelihood, 0.0).sum() / derivable.sum().clamp(min=1)


def train_copier(
    copier: Copier,
    sets: Mapping[str, MentionSet],
    recipe: CopyRecipe | None = None,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train the network in place on ``sets["train"]``, end to end, from dialogues and responses alone.

    Parameters
    ----------
    copier, sets
        From `copier.build_copier`.
    recipe
        Epochs, batch size, rate.
    **options
        Of the run, see `RunOptions`; the seed orders the turns.

    Returns
    -------
    History
        One row an epoch: the loss, in nats a response.
    """
    recipe = recipe or CopyRecipe()
    turns, model = sets["train"], copier.model
    seed = options.get("seed", 0)
    buckets = LengthBuckets(turns.lengths.tolist(), batch_size=recipe.batch_size, seed=seed)
    device = model.word.device

    def batches(epoch: int) -> Iterator[Batch]:
        for items in buckets.plan(epoch):
            yield turns.batch(items, slots=model.config.slots).to(device)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        assert isinstance(model, CopyNetwork)
        return response_loss(model, batch)

    settings = {"schedule": "linear"}  # of Adam, whose rate falls to zero
    identity = {"model": repr(model.config), "turns": len(turns)}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        loss=loss,
        settings=settings,
        identity=identity,
        steps_per_epoch=len(buckets),
        **options,
    )


def evaluate_copier(copier: Copier, turns: MentionSet, *, free: bool = False) -> dict[str, float]:
    """Evaluate a copying network on encoded turns; see `metrics.response_accuracy`.

    Parameters
    ----------
    copier
        A trained copier.
    turns
        From `copier.build_copier` or `Copier.encode`.
    free
        Let it generate its responses, without candidates.
    """
    if free:
        answers = [response.text for response in copier.generate(turns)]
    else:
        answers = copier.choose(turns)
    correct = [answer == response for answer, response in zip(answers, turns.responses, strict=True)]
    return response_accuracy(np.array(correct, dtype=bool), turns.dialogues)
