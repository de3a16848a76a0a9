"""Train a language model or a translator with regularisers and Drophead, and measure how its heads differ.

::

    Text      --> windows --> LanguageModel --.
                                               >-- penalised_loss, Drophead --> fit --> similarity of heads
    Documents --> pairs   --> Translator   ---'
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.head_diversity.data.pairs import EncodedPair, PairBatch, pair_batches
from reasonlib.head_diversity.data.text import shuffled
from reasonlib.head_diversity.models.diversity import collect_heads
from reasonlib.head_diversity.models.drophead import Drophead, scheduled_rate
from reasonlib.head_diversity.models.language_model import LanguageModel, prediction_loss
from reasonlib.head_diversity.models.regularisers import Penalties, TokenMask, penalised_loss
from reasonlib.head_diversity.models.translator import Translator, side_of, translation_loss
from reasonlib.training import RunOptions

__all__ = [
    "Recipe",
    "text_heads",
    "text_loss",
    "train_language_model",
    "train_translator",
    "translation_heads",
    "valid_loss",
]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model is trained, and what controls its heads; the source prints the three controls alone.

    Raises `ValueError` if a count is below 1.
    """

    epochs: int = 10
    batch: int = 20  # windows, or sentence pairs
    lr: float = 1e-3  # of Adam
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.0
    schedule: str = "linear"
    warmup: int = 100  # optimiser steps
    clip: float | None = 1.0
    smoothing: float = 0.0
    hsic: float = 0.0  # weight; 1e-7 in the source
    orthogonality: float = 0.0  # weight; 1.0 in the source
    drophead: float = 0.0  # rate; 0.1 in the source
    drophead_start: float = 0.0  # rate of Zhou et al.'s schedule at its start; 0: a constant rate
    half: bool = False  # matrix products of training in bfloat16: twice as fast where the processor has it

    def __post_init__(self) -> None:
        object.__setattr__(self, "betas", tuple(self.betas))
        check_at_least(self, 1, "epochs", "batch")

    @property
    def penalties(self) -> Penalties:
        """Weights of the regularisers."""
        return Penalties(hsic=self.hsic, orthogonality=self.orthogonality)


def _fit(
    model: nn.Module,
    batches: Callable[[int], Iterator[Any]],
    recipe: Recipe,
    *,
    loss: Callable[[Any, Any], Tensor],
    mask: Callable[[Any], TokenMask],
    validate: Callable[[Any], float],
    steps: int,
    options: RunOptions,
) -> training.History:
    """Train with the recipe's regularisers, and keep the weights with the lowest loss on valid."""
    drophead = Drophead(model, recipe.drophead)

    def task_loss(model: Any, batch: Any) -> Tensor:
        device = next(model.parameters()).device
        with torch.autocast(device.type, torch.bfloat16, enabled=recipe.half):
            return loss(model, batch)

    def schedule(epoch: int, _: list[dict[str, float]]) -> None:
        if recipe.drophead_start:
            drophead.rate = scheduled_rate(
                epoch,
                recipe.epochs,
                warmup=recipe.epochs // 4,
                start=recipe.drophead_start,
                end=recipe.drophead,
            )

    try:
        return training.fit_recipe(
            model,
            batches,
            recipe,
            settings={"restore_best": True},
            loss=lambda model, batch: penalised_loss(
                model, lambda: task_loss(model, batch), recipe.penalties, mask(batch)
            ),
            validate=lambda model: {"valid_loss": validate(model)},
            monitor="valid_loss",
            steps_per_epoch=steps,
            on_epoch_start=schedule,
            **options,
        )
    finally:
        drophead.remove()


# Language model


@torch.no_grad()
def text_loss(model: LanguageModel, windows: Tensor, *, size: int = 64) -> float:
    """Return the mean cross-entropy of the words of windows (nats); its exponential is the perplexity."""
    device = model.embedding.table.weight.device
    total = sum(float(prediction_loss(model, rows.to(device))) * len(rows) for rows in windows.split(size))
    return total / len(windows)


def train_language_model(
    model: LanguageModel, train: Tensor, valid: Tensor, recipe: Recipe, **options: Unpack[RunOptions]
) -> training.History:
    """Train a language model in place.

    Parameters
    ----------
    model
        Untrained.
    train, valid : (N, T + 1)
        Windows.
    recipe
        Settings of the training.
    **options
        Of the run, see `RunOptions`; the seed orders the batches.
    """
    seed = options.get("seed", 0)
    return _fit(
        model,
        lambda epoch: shuffled(train, size=recipe.batch, seed=seed, epoch=epoch),
        recipe,
        loss=prediction_loss,
        mask=lambda _: lambda name, part: None,
        validate=lambda model: text_loss(model, valid),
        steps=-(-len(train) // recipe.batch),
        options=options,
    )


def text_heads(model: LanguageModel, windows: Tensor, *, tokens: int) -> dict[str, Tensor]:
    """Return what every head gives for words of windows: name of the attention to (H, N, C)."""
    device = model.embedding.table.weight.device
    return collect_heads(model, (rows.to(device)[:, :-1] for rows in windows.split(32)), tokens=tokens)


# Translator


@torch.no_grad()
def valid_loss(model: Translator, pairs: Sequence[EncodedPair], *, size: int = 256) -> float:
    """Return the mean cross-entropy of the targets of pairs (nats a token)."""
    device = model.embedding.table.weight.device
    total, count = 0.0, 0
    for _, batch in pair_batches(pairs, size=size):
        number = int(batch.target.ne(0).sum())
        total += float(translation_loss(model, batch.to(device))) * number
        count += number
    return total / count


def train_translator(
    model: Translator,
    train: Sequence[EncodedPair],
    valid: Sequence[EncodedPair],
    recipe: Recipe,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train a translator in place; see `train_language_model`."""
    seed = options.get("seed", 0)
    return _fit(
        model,
        lambda epoch: (batch for _, batch in pair_batches(train, size=recipe.batch, seed=seed, epoch=epoch)),
        recipe,
        loss=lambda model, batch: translation_loss(model, batch, smoothing=recipe.smoothing),
        mask=lambda batch: lambda name, part: _present(batch, name, part),
        validate=lambda model: valid_loss(model, valid),
        steps=-(-len(train) // recipe.batch),
        options=options,
    )


def translation_heads(model: Translator, pairs: Sequence[EncodedPair], *, tokens: int) -> dict[str, Tensor]:
    """Return what every head gives for tokens of pairs: name of the attention to (H, N, C)."""
    device = model.embedding.table.weight.device
    return collect_heads(
        model,
        (batch.to(device) for _, batch in pair_batches(pairs, size=64)),
        mask=lambda batch, name: _present(batch, name, "query"),
        tokens=tokens,
    )


def _present(batch: PairBatch, name: str, part: str) -> Tensor:
    return getattr(batch, side_of(name, part)) != 0
