"""Train one system and measure it: from documents to a record's metrics.

::

    Splits -> Tokens, EncodedSentence -> batches -> training.fit -> translations, scores -> metrics
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import torch

from reasonlib import training
from reasonlib.context_translation.data.datasets import Splits, load, texts
from reasonlib.context_translation.data.encoding import (
    END,
    Batch,
    EncodedSentence,
    Tokens,
    Words,
    batches,
    encode,
)
from reasonlib.context_translation.data.metrics import bleu, chrf, sentence_accuracy
from reasonlib.context_translation.models.decoding import score, translate
from reasonlib.context_translation.models.parts import SystemConfig
from reasonlib.context_translation.models.translator import Translator, translation_loss
from reasonlib.parallel.example import Document, SentencePair
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["Recipe", "Trained", "measure", "recipe_of", "run_simulated", "train"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a system is made and trained; by default as the source's (section 3.3.2).

    Raises
    ------
    ValueError
        If a count is below 1.
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
    lr: float = 1e-3
    warmup: int = 0  # optimiser steps; the source prints none
    schedule: str = "constant"
    clip: float | None = None
    smoothing: float = 0.0
    patience: int | None = None  # epochs without a lower loss on valid; the source stops early by it
    beam: int = 1
    alpha: float = 0.6

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "beam"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.context < 0:
            raise ValueError(f"context must be at least 0, got {self.context}")

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


def recipe_of(settings: Mapping[str, Any]) -> Recipe:
    """Return the recipe that a trial's settings describe."""
    names = {field.name for field in fields(Recipe)}
    return Recipe(**{name: value for name, value in settings.items() if name in names})


class Trained(NamedTuple):
    """A trained system and what is needed to use it."""

    model: Translator
    tokens: Tokens
    recipe: Recipe
    history: Any

    def encode(self, documents: Sequence[Document]) -> list[EncodedSentence]:
        """Encode documents as this system reads them."""
        return encode(documents, self.tokens, context=self.recipe.context, whole=self.recipe.document)

    def translate(self, documents: Sequence[Document]) -> list[str]:
        """Translate every sentence of documents."""
        recipe = self.recipe
        return translate(
            self.model, self.encode(documents), self.tokens, beam=recipe.beam, alpha=recipe.alpha
        )


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


def train(
    recipe: Recipe,
    splits: Splits,
    tokens: Tokens,
    *,
    seed: int = 0,
    device: str = "cpu",
    minutes: float | None = None,
    folder: Any = None,
    progress: bool | None = False,
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
    seed
        Draws the first weights and the order of the batches.
    device, minutes, folder, progress
        As of a `Trial`.
    """
    model = recipe.model(len(tokens), seed=seed).to(device)
    encoded = {
        part: encode(documents, tokens, context=recipe.context, whole=recipe.document)
        for part, documents in (("train", splits.train), ("valid", splits.valid))
    }

    def epoch_batches(epoch: int) -> Iterator[Batch]:
        for _, batch in batches(encoded["train"], size=recipe.batch, seed=seed, epoch=epoch):
            yield batch

    history = training.fit(
        model,
        epoch_batches,
        loss=lambda model, batch: translation_loss(model, batch, smoothing=recipe.smoothing),
        config=training.TrainingConfig(
            epochs=recipe.epochs,
            lr=recipe.lr,
            schedule=recipe.schedule,
            warmup=recipe.warmup,
            clip=recipe.clip,
            patience=recipe.patience,
            restore_best=True,
            seed=seed,
            minutes=minutes,
        ),
        validate=lambda model: {"valid_loss": valid_loss(model, encoded["valid"])},
        monitor="valid_loss",
        mode="min",
        checkpoint=folder,
        steps_per_epoch=-(-len(encoded["train"]) // recipe.batch),
        weight=lambda batch: float(batch.target.ne(0).sum()),
        progress=progress,
    )
    return Trained(model, tokens, recipe, history)


def measure(trained: Trained, documents: Sequence[Document]) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the metrics of labelled test documents, and further details for a record.

    The metrics are the accuracy of whole sentences, BLEU and chrF, of all, of helpful and of unhelpful
    sentences; how far BLEU on helpful sentences falls behind; the accuracy of helpful ones by kind and by
    distance; and contrastive accuracy, the share of
    helpful sentences whose right translation is likelier than the same with the wrong word.
    """
    pairs = [pair for document in documents for pair in document.pairs]
    translations = trained.translate(documents)
    groups: dict[str, list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        groups[""].append(number)
        groups["_helpful" if pair.helpful else "_unhelpful"].append(number)
        if pair.decides is not None:
            groups[f"_helpful.{pair.decides.kind}"].append(number)
            groups[f"_helpful.distance-{pair.decides.distance}"].append(number)
    metrics: dict[str, float] = {}
    signature = ""
    for name, numbers in groups.items():
        written = [translations[number] for number in numbers]
        references = [pairs[number].target for number in numbers]
        metrics[f"sentence_accuracy{name}"] = sentence_accuracy(written, references)
        if "." not in name:
            metrics[f"bleu{name}"], signature = bleu(written, references, tokenize="none")
            metrics[f"chrf{name}"] = chrf(written, references).score
    if {"_helpful", "_unhelpful"} <= set(groups):
        metrics["bleu_gap"] = (
            metrics["bleu_unhelpful"] - metrics["bleu_helpful"]
        )  # the last column of table 3.5
    metrics |= contrastive(trained, trained.encode(documents), pairs)
    return metrics, {
        "signature": signature,
        "sentences": {name or "all": len(n) for name, n in groups.items()},
    }


def contrastive(
    trained: Trained, sentences: Sequence[EncodedSentence], pairs: Sequence[SentencePair]
) -> dict[str, float]:
    """Return how often the right translation of a helpful sentence is likelier than the contrast, by kind."""
    chosen = [number for number, pair in enumerate(pairs) if pair.decides is not None]
    if not chosen:
        return {}
    right = score(trained.model, [sentences[number] for number in chosen])
    contrasts = [
        replace(sentences[number], target=(*trained.tokens.encode(_contrast(pairs[number])), END))
        for number in chosen
    ]
    wrong = score(trained.model, contrasts)
    wins: dict[str, list[bool]] = defaultdict(list)
    for number, a, b in zip(chosen, right, wrong, strict=True):
        wins["contrastive_accuracy"].append(a > b)
        wins[f"contrastive_accuracy.{_kind(pairs[number])}"].append(a > b)
    return {name: sum(values) / len(values) for name, values in wins.items()}


def _contrast(pair: SentencePair) -> str:
    assert pair.decides is not None
    return pair.decides.contrast


def _kind(pair: SentencePair) -> str:
    assert pair.decides is not None
    return pair.decides.kind


def simulated_splits(settings: Mapping[str, Any]) -> Splits:
    """Return the simulated documents that settings describe."""
    return load(
        "simulated",
        train=settings["documents"],
        valid=settings["checked"],
        test=settings["asked"],
        distance=tuple(settings.get("distance", (1, 2))),
        sentences=settings.get("sentences", 10),
        helpful=settings.get("helpful", 0.3),
    )


def run_simulated(trial: Trial) -> Measured:
    """Train one system on simulated documents and measure it on others."""
    splits = simulated_splits(trial.settings)
    trained = train(
        recipe_of(trial.settings),
        splits,
        Words.of(texts(splits.train)),
        seed=trial.seed,
        device=trial.device,
        minutes=trial.minutes,
        folder=trial.folder,
        progress=trial.progress,
    )
    metrics, details = measure(trained, splits.test)
    history = trained.history
    curve = [{key: row[key] for key in ("epoch", "loss", "valid_loss")} for row in history]
    return Measured(
        metrics=metrics,
        examples={
            name: details["sentences"].get(name.removeprefix("sentence_accuracy") or "all", 0)
            for name in metrics
            if name.startswith("sentence_accuracy")
        },
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        details={**details, "curve": curve, "parameters": training.parameter_count(trained.model)},
    )
