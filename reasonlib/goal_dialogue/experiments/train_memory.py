"""Training a memory network on dialogues; how many responses and whole dialogues it gets right."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.goal_dialogue.data.encoding import Batch, Encoded, TurnSet, encode
from reasonlib.goal_dialogue.data.example import Dialogue, Example, Turn
from reasonlib.goal_dialogue.models.memory_network import Answered, MemoryNetwork

__all__ = ["LOSSES", "Learned", "Recipe", "accuracy", "answers", "hinge", "learn"]


def hinge(logits: Tensor, response: Tensor) -> Tensor:
    r"""How far the best wrong candidate comes within 1 of the right one.

    .. math:: [1 - s_y + \max_{j \ne y} s_j]_+

    Turns whose response is -1 count nothing.
    """
    asked = response >= 0
    logits, response = logits[asked], response[asked].unsqueeze(1)
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

    Raises
    ------
    ValueError
        If a value is out of range.
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
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {self.loss!r}")
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")

    def config(self, *, seed: int = 0, minutes: float | None = None) -> training.TrainingConfig:
        """Translate into the settings of the common training loop."""
        return training.TrainingConfig(
            epochs=self.epochs,
            lr=self.lr,
            optimiser=self.optimiser,
            clip=self.clip,
            patience=self.patience,
            restore_best=True,
            seed=seed,
            minutes=minutes,
        )


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


@torch.no_grad()
def answers(model: MemoryNetwork, turns: TurnSet, *, size: int = 256) -> np.ndarray:
    """Number of the candidate a network gives at every turn, shape (N,)."""
    training_before = model.training
    model.eval()
    where = _device(model)
    given = [
        model(turns.batch(range(start, min(start + size, len(turns))), slots=model.slots).to(where))
        .logits.argmax(1)
        .cpu()
        for start in range(0, len(turns), size)
    ]
    model.train(training_before)
    return torch.cat(given).numpy()


def accuracy(model: MemoryNetwork, turns: TurnSet) -> dict[str, float]:
    """Measure a network (Bordes et al. 2017, section 5).

    Returns
    -------
    dict
        ``per_response``: fraction of turns answered rightly; ``per_dialogue``: fraction of dialogues of which
        every turn is. The same as `evaluation.accuracy`.
    """
    right = answers(model, turns) == turns.response
    whole = np.ones(int(turns.dialogue.max()) + 1, dtype=bool)
    np.logical_and.at(whole, turns.dialogue, right)
    asked = np.bincount(turns.dialogue, minlength=len(whole)) > 0
    return {"per_response": float(right.mean()), "per_dialogue": float(whole[asked].mean())}


def learn(
    model: MemoryNetwork,
    task: Encoded,
    recipe: Recipe,
    *,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
    identity: str = "",
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
    seed
        Orders the turns.
    minutes
        Budget; training stops cleanly when it is used up.
    checkpoint
        Folder to resume from and to write to.
    progress, on_epoch
        As in `reasonlib.training.fit`.
    identity
        What else must be the same for a checkpoint to be resumed.

    Returns
    -------
    History
        One row an epoch: loss, and ``accuracy`` (per response) on the validation set.
    """
    turns, size = task.train, recipe.batch_size
    criterion = LOSSES[recipe.loss]
    where = _device(model)

    def batches(epoch: int) -> Iterator[Batch]:
        order = np.arange(len(turns))
        if recipe.shuffled:
            order = np.random.default_rng([seed, epoch]).permutation(order)
        for start in range(0, len(order), size):
            yield turns.batch(order[start : start + size], slots=model.slots).to(where)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        return criterion(model(batch).logits, batch.response)

    def validate(model: MemoryNetwork) -> dict[str, float]:
        return {"accuracy": float((answers(model, task.valid) == task.valid.response).mean())}

    return training.fit(
        model,
        batches,
        loss=loss,
        config=recipe.config(seed=seed, minutes=minutes),
        validate=validate,
        monitor="accuracy",
        mode="max",
        checkpoint=checkpoint,
        identity={"recipe": repr(recipe), "turns": len(turns), "slots": model.slots, "also": identity},
        steps_per_epoch=-(-len(turns) // size),
        on_epoch=on_epoch,
        progress=progress,
    )


@dataclass(frozen=True)
class Learned:
    """A trained network with what it needs to talk: a `evaluation.System`.

    Attributes
    ----------
    model
        Trained.
    task
        What it was trained on: its vocabulary, candidates and types are used, its sets are not.
    facts
        Whether it remembers what API calls brought back.
    """

    model: MemoryNetwork
    task: Encoded
    facts: bool = True

    def batch(self, examples: Sequence[Example]) -> Batch:
        """Gather some turns as the network reads them; the latest sentence is the last filled slot."""
        dialogues = [
            Dialogue(task=one.task, events=(*one.history, Turn(one.user, one.response))) for one in examples
        ]
        turns = encode(
            dialogues,
            self.task.vocabulary,
            self.task.candidates,
            facts=self.facts,
            entities={entity: place for place, entity in enumerate(self.task.types)} or None,
        )
        last = np.flatnonzero(np.diff(turns.dialogue, append=len(dialogues)))
        return turns.batch(last, slots=self.model.slots).to(_device(self.model))

    @torch.no_grad()
    def ask(self, examples: Sequence[Example]) -> Answered:
        """Give logits (B, C), attention and gates at some turns."""
        return self.model(self.batch(examples))

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the response to each example: one of the candidates."""
        given: list[str] = []
        for start in range(0, len(examples), 256):
            logits = self.ask(examples[start : start + 256]).logits
            given += [self.task.candidates[place] for place in logits.argmax(1).tolist()]
        return given
