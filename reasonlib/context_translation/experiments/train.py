"""Train one system and measure it: from documents to a record's metrics.

::

    Splits -> Tokens, EncodedSentence -> batches -> training.fit -> translations, scores -> metrics
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from torch import Tensor

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.context_translation.data.datasets import Splits
from reasonlib.context_translation.data.encoding import Batch, EncodedSentence, Tokens, batches, encode
from reasonlib.context_translation.models.decoding import translate
from reasonlib.context_translation.models.parts import SystemConfig
from reasonlib.context_translation.models.translator import Translator, translation_loss
from reasonlib.parallel.example import Document
from reasonlib.training import RunOptions

__all__ = ["Recipe", "Trained", "keep_helpful", "train", "valid_loss"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a system is made and trained; by default as the source's (section 3.3.2).

    Raises `ValueError` if a count is below 1.
    """

    system: str = "hce"
    context: int = 2  # sentences before each
    width: int = 512
    layers: int = 6
    heads: int = 8
    hidden: int = 2048
    dropout: float = 0.1
    document: bool = False
    epochs: int = 10
    batch: int = 64  # sentences
    unhelpful: float = 1.0  # share of the unhelpful sentences that train; all others always do
    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)  # of Adam; the source prints none
    warmup: int = 0  # optimiser steps; the source prints none
    schedule: str = "constant"
    clip: float | None = None
    smoothing: float = 0.0
    patience: int | None = None  # epochs without a lower loss on valid; the source stops early by it
    longest: int | None = None  # tokens after which training sentences are cut
    by_pair: bool = False  # see `batches`
    half: bool = False  # matrix products of training in bfloat16: twice as fast where the processor has it
    beam: int = 1
    alpha: float = 0.6

    def __post_init__(self) -> None:
        object.__setattr__(self, "betas", tuple(self.betas))
        check_at_least(self, 1, "epochs", "batch", "beam")
        if not 0 <= self.unhelpful <= 1:
            raise ValueError(f"unhelpful must be between 0 and 1, got {self.unhelpful}")
        check_at_least(self, 0, "context")

    def model(self, vocabulary: int, *, seed: int) -> Translator:
        """Build the system, untrained."""
        config = SystemConfig(
            vocabulary=vocabulary,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            hidden=self.hidden,
            dropout=self.dropout,
            document=self.document,
        )
        return Translator(self.system, config, seed=seed)


class Trained(NamedTuple):
    """A trained system and what is needed to use it."""

    model: Translator
    tokens: Tokens
    recipe: Recipe
    history: Any

    def encode(self, documents: Sequence[Document]) -> list[EncodedSentence]:
        """Encode documents as this system reads them."""
        return encode(documents, self.tokens, context=self.recipe.context, whole=self.recipe.document)

    def translate(self, sentences: Sequence[EncodedSentence], *, longest: int = 64) -> list[str]:
        """Translate encoded sentences."""
        beam, alpha = self.recipe.beam, self.recipe.alpha
        return translate(self.model, sentences, self.tokens, beam=beam, alpha=alpha, longest=longest)


@torch.no_grad()
def valid_loss(model: Translator, sentences: Sequence[EncodedSentence], *, size: int = 256) -> float:
    """Return the mean cross-entropy of the targets of sentences (nats a token)."""
    device = model.target.table.weight.device
    total, count = 0.0, 0
    for _, batch in batches(sentences, size=size, seed=0):
        number = int(batch.target.ne(0).sum())
        total += float(translation_loss(model, batch.to(device))) * number
        count += number
    return total / count


def keep_helpful(
    sentences: Sequence[EncodedSentence], documents: Sequence[Document], *, share: float
) -> list[EncodedSentence]:
    """Drop unhelpful sentences until `share` of them is left: they are learned first, and need no context.

    The sentences that are dropped stay context of others. Which they are does not depend on a seed.
    """
    draw = np.random.default_rng(0)
    return [
        sentence
        for sentence, kept in zip(sentences, draw.random(len(sentences)) < share, strict=True)
        if kept or documents[sentence.position[0]].pairs[sentence.position[1]].helpful is not False
    ]


def train(
    recipe: Recipe,
    splits: Splits,
    tokens: Tokens,
    *,
    start: Translator | None = None,
    device: str = "cpu",
    **options: Unpack[RunOptions],
) -> Trained:
    """Train a system and keep the weights with the lowest loss on valid.

    Parameters
    ----------
    recipe
        What to train, and how.
    splits
        Documents; test is not read.
    tokens
        Turns text into ids.
    start
        A trained system to go on from; by default a new one.
    device
        Where to train.
    **options
        Of the run, see `RunOptions`; the seed draws the first weights and the order of the batches.
    """
    seed = options.get("seed", 0)
    model = (recipe.model(len(tokens), seed=seed) if start is None else start).to(device)
    encoded = {
        part: encode(documents, tokens, context=recipe.context, longest=recipe.longest, whole=recipe.document)
        for part, documents in (("train", splits.train), ("valid", splits.valid))
    }

    encoded["train"] = keep_helpful(encoded["train"], splits.train, share=recipe.unhelpful)

    def epoch_batches(epoch: int) -> Iterator[Batch]:
        for _, batch in batches(
            encoded["train"], size=recipe.batch, seed=seed, epoch=epoch, by_pair=recipe.by_pair
        ):
            yield batch

    def loss(model: Translator, batch: Batch) -> Tensor:
        with torch.autocast(batch.target.device.type, torch.bfloat16, enabled=recipe.half):
            return translation_loss(model, batch, smoothing=recipe.smoothing)

    history = training.fit_recipe(
        model,
        epoch_batches,
        recipe,
        validate=lambda model: {"valid_loss": valid_loss(model, encoded["valid"])},
        loss=loss,
        settings={"restore_best": True},
        monitor="valid_loss",
        steps_per_epoch=-(-len(encoded["train"]) // recipe.batch),
        weight=lambda batch: float(batch.target.ne(0).sum()),
        **options,
    )
    return Trained(model, tokens, recipe, history)
