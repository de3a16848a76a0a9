"""The vote over a row of digits: how it is trained, and what is measured."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Unpack

import torch
from reasonlib.TOPIC.data.encoding import encode
from reasonlib.TOPIC.data.simulator import simulate
from reasonlib.TOPIC.models.vote import Vote, VoteConfig
from torch import Tensor
from torch.nn import functional

from reasonlib import training
from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale, subset
from reasonlib.tracking.trials import measured
from reasonlib.training import RunOptions
from reasonlib.training.settings import construct

__all__ = ["DATA", "VOTE", "Recipe", "run_vote", "train"]

DATA = {"simulated": "stand-in"}
"""The data sets of this topic, each with its kind: released, regenerated, mixed or stand-in."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a vote is trained; fields of `reasonlib.training.TrainingConfig` have its names.

    Raises
    ------
    ValueError
        If the batch size is below 1.
    """

    epochs: int = 5
    batch_size: int = 32
    lr: float = 0.1

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")


def train(
    model: Vote, rows: Tensor, answers: Tensor, recipe: Recipe, **options: Unpack[RunOptions]
) -> training.History:
    """Train a vote in place on rows (N, L) and answers (N,); see `reasonlib.training.fit_recipe`."""

    def batches(epoch: int) -> Iterable[tuple[Tensor, Tensor]]:
        return zip(rows.split(recipe.batch_size), answers.split(recipe.batch_size), strict=True)

    def loss(model: Vote, batch: tuple[Tensor, Tensor]) -> Tensor:
        rows, answers = batch
        return functional.binary_cross_entropy_with_logits(model(rows), answers)

    return training.fit_recipe(model, batches, recipe, loss=loss, **options)


def run_vote(trial: Trial) -> Measured:
    """Train one vote and test it."""
    settings = trial.settings
    rows, answers = encode(simulate(settings["train"], seed=1))
    test_rows, test_answers = encode(simulate(settings["test"], seed=2))
    model = Vote(construct(VoteConfig, settings), seed=trial.seed).to(trial.device)
    history = train(model, rows, answers, construct(Recipe, settings), **trial.options)
    with torch.no_grad():
        right = (model(test_rows.to(trial.device)) > 0).cpu() == (test_answers > 0)
    accuracy = right.float().mean().item()
    return measured(history, {"accuracy": accuracy}, curve=("epoch", "loss"), examples=len(right))


VOTE = Experiment(
    name="TOPIC/vote",
    title="A vote over a row of digits, and the same vote without its input",
    rows={"full": {}, "blind": {"blind": True}},
    scales=by_scale(train=(64, 2000, 20000), test=(50, 1000, 10000), epochs=(2, 5, 20)),
    data=subset(DATA, "simulated"),
    run=run_vote,
)
