"""Training a memory network on stories: batches, linear start, the way from `StorySet` to `training.fit`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.story_qa.data.encoding import Batch, StorySet
from reasonlib.story_qa.experiments.metrics import predict, scores
from reasonlib.story_qa.models.memory_network import MemoryNetwork
from reasonlib.training.batching import LengthBuckets

__all__ = ["Recipe", "accuracy", "learn"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a memory network is trained; the defaults are those of Sukhbaatar et al. (2015), section 4.2.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    epochs: int = 100
    batch_size: int = 32
    optimiser: str = "sgd"
    lr: float = 0.01
    summed: bool = True  # the rate is for the sum of a batch's losses, as in the authors' code
    schedule: str = "step"
    halve_every: int = 25  # epochs
    warmup: int = 0  # steps
    clip: float = 40.0  # largest norm of all gradients
    noise: float = 0.0  # share of empty slots put among the memories; 0.1 in the source
    linear_start: float = 0.0  # share of the epochs without softmax and ReLU, first; 1/3 in the authors' code

    def __post_init__(self) -> None:
        if not 0 <= self.linear_start <= 1:
            raise ValueError(f"linear_start must be between 0 and 1, got {self.linear_start}")
        if self.noise < 0:
            raise ValueError(f"noise must be at least 0, got {self.noise}")

    def config(self, *, seed: int = 0, minutes: float | None = None) -> training.TrainingConfig:
        """Translate into the settings of the common training loop."""
        return training.TrainingConfig(
            epochs=self.epochs,
            lr=self.lr,
            optimiser=self.optimiser,
            schedule=self.schedule,
            step_every=self.halve_every,
            warmup=self.warmup,
            clip=self.clip,
            seed=seed,
            minutes=minutes,
        )


def accuracy(model: MemoryNetwork, stories: StorySet) -> dict[str, float]:
    """Measure the share of right answers (see `evaluation.scores`)."""
    answers, _ = predict(model, stories)
    return scores(stories.task, answers == stories.answer)


def learn(
    model: MemoryNetwork,
    train: StorySet,
    recipe: Recipe,
    *,
    valid: StorySet | None = None,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> training.History:
    """Train a memory network in place.

    Parameters
    ----------
    model
        Freshly made, or one to train further.
    train, valid
        Questions to learn from, and questions to measure on after every epoch. Both must share the
        vocabulary the model was made for.
    recipe
        Batch size, rates, noise, linear start.
    seed
        Orders the batches and draws the random noise.
    minutes
        Budget; training stops cleanly when it is used up.
    checkpoint
        Folder to resume from and to write to.
    progress, on_epoch
        As in `reasonlib.training.fit`.

    Returns
    -------
    History
        One row an epoch: loss (nats a question) and, with `valid`, its accuracy.
    """
    slots = model.config.slots
    buckets = LengthBuckets(
        np.minimum(train.lengths, slots).tolist(), batch_size=recipe.batch_size, seed=seed
    )
    device = model.words.device
    phase = {"linear": False}

    def batches(epoch: int) -> Iterator[Batch]:
        rng = np.random.default_rng([seed, epoch])
        for items in buckets.plan(epoch):
            yield train.batch(items, slots=slots, noise=recipe.noise, rng=rng).to(device)

    def start(epoch: int, rows: list[dict[str, float]]) -> None:
        phase["linear"] = epoch < round(recipe.linear_start * recipe.epochs)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        logits = model(batch, linear=phase["linear"]).logits
        mean = functional.cross_entropy(logits, batch.answer)
        return mean * recipe.batch_size if recipe.summed else mean

    def validate(model: MemoryNetwork) -> dict[str, float]:
        return {"accuracy": accuracy(model, valid)["accuracy"]} if valid is not None else {}

    return training.fit(
        model,
        batches,
        loss=loss,
        config=recipe.config(seed=seed, minutes=minutes),
        validate=None if valid is None else validate,
        monitor="loss" if valid is None else "accuracy",
        mode="min" if valid is None else "max",
        checkpoint=checkpoint,
        identity={"recipe": repr(recipe), "model": repr(model.config), "questions": len(train)},
        steps_per_epoch=len(buckets),
        on_epoch_start=start,
        on_epoch=on_epoch,
        progress=progress,
    )
