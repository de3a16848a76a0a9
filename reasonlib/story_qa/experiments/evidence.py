"""Training and evaluation of the reader that marks the sentences it needs (`models.evidence`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.story_qa.data.datasets import DATA, load, version
from reasonlib.story_qa.data.encoding import EvidenceBatch, StorySet, evidence_batch
from reasonlib.story_qa.data.example import TASKS
from reasonlib.story_qa.experiments.hibert import (
    SentenceRecipe,
    encode_splits,
    fit_with_practice,
    reader_metrics,
)
from reasonlib.story_qa.models.bert import load_encoder
from reasonlib.story_qa.models.evidence import EvidenceReader, EvidenceReaderOutput
from reasonlib.story_qa.models.hibert import SentenceReaderConfig, keep_layers, reinitialise
from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale
from reasonlib.tracking.trials import measured
from reasonlib.training import RunOptions
from reasonlib.training.batching import LengthBuckets
from reasonlib.training.settings import construct

__all__ = ["EvidenceRecipe", "evidence_loss", "evidence_scores", "predict_evidence", "train_evidence"]


@dataclass(frozen=True, kw_only=True)
class EvidenceRecipe(SentenceRecipe):
    """How the reader is trained: as a `SentenceRecipe` says, and with a weight for the marks.

    Raises `ValueError` if a number is out of range.
    """

    evidence_loss_weight: float = 1.0  # 0: only the answers are trained

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, 0, "evidence_loss_weight")


def evidence_loss(output: EvidenceReaderOutput, batch: EvidenceBatch, weight: float) -> Float[Tensor, ""]:
    """Cross-entropy of the answers, and of the marks: needed sentences together weigh as much as the others.

    A long story has two or three needed sentences among a hundred; without the balance their part of the loss
    would be too small to be felt.
    """
    loss = functional.cross_entropy(output.logits, batch.answer)
    if not weight:
        return loss
    # excerpt: evidence loss
    losses = functional.binary_cross_entropy_with_logits(  # (B, S)
        output.needed, batch.needed, reduction="none"
    )
    needed, others = batch.needed, batch.filled * (1 - batch.needed)
    marks = sum(
        (losses * part).sum(1) / part.sum(1).clamp(min=1)  # a mean of its own
        for part in (needed, others)
    )
    return loss + weight * torch.as_tensor(marks).mean()
    # end excerpt


def train_evidence(
    model: EvidenceReader,
    train: StorySet,
    recipe: EvidenceRecipe,
    *,
    valid: StorySet | None = None,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train in place; the arguments are those of `hibert.train_reader`."""
    slots = model.config.slots

    def batch(items: np.ndarray, rng: np.random.Generator) -> EvidenceBatch:
        chosen = evidence_batch(train, items, slots=slots, noise=recipe.noise, rng=rng)
        return chosen.to(model.ages.device)

    def loss(model: EvidenceReader, batch: EvidenceBatch) -> Tensor:
        return evidence_loss(model(batch), batch, recipe.evidence_loss_weight)

    return fit_with_practice(model, train, recipe, batch, loss=loss, valid=valid, **options)


@torch.no_grad()
def predict_evidence(model: EvidenceReader, stories: StorySet, *, size: int = 256) -> list[np.ndarray]:
    """Estimate how likely each sentence of every question is needed, oldest first; 0 if forgotten."""
    model.eval()
    slots = model.config.slots
    result: list[np.ndarray] = [np.zeros(0)] * len(stories)
    for items in LengthBuckets(stories.lengths.tolist(), batch_size=size).plan(0):
        needed = model(stories.batch(items, slots=slots).to(model.ages.device)).needed.sigmoid().cpu().numpy()
        for row, item in enumerate(items):
            length = int(stories.lengths[item])
            kept = min(length, slots)
            result[item] = np.concatenate([np.zeros(length - kept), needed[row, :kept][::-1]])
    return result


def evidence_scores(stories: StorySet, chances: Sequence[np.ndarray]) -> dict[str, float]:
    """Compare the marks with the labels: of all marked sentences how many are needed, and the reverse."""
    marked = np.concatenate([chance > 0.5 for chance in chances])
    needed = np.zeros(len(marked), dtype=bool)
    for start, example in zip(stories.starts, stories.examples, strict=False):
        needed[[int(start) + sentence for sentence in example.support]] = True
    both = float((marked & needed).sum())
    return {
        "marks.precision": both / max(1.0, float(marked.sum())),
        "marks.recall": both / max(1.0, float(needed.sum())),
    }


def run_evidence(trial: Trial) -> Measured:
    """Train a reader that marks the sentences it needs, on all tasks together, and test it on each."""
    settings = trial.settings
    splits = load(
        trial.data, settings["questions"], settings["test_size"], tuple(settings.get("tasks", TASKS))
    )
    encoder, tokenizer = load_encoder(settings["encoder"])
    encoder = keep_layers(encoder, settings["sentence_layers"])
    encoder = reinitialise(encoder, seed=trial.seed, init_std=settings["init_std"])
    (train, valid, test), answers = encode_splits(splits, tokenizer)
    config = construct(SentenceReaderConfig, settings, answers=len(answers))
    model = EvidenceReader(encoder, config, seed=trial.seed).to(trial.device)
    recipe = construct(EvidenceRecipe, settings)
    history = train_evidence(model, train, recipe, valid=valid, **trial.options)
    metrics = {
        **reader_metrics(model, train, test, history),  # type: ignore[arg-type]  # it reads alike
        **evidence_scores(test, predict_evidence(model, test)),
    }
    return measured(history, metrics, curve=("epoch", "loss", "accuracy"))


MARKED = {
    "encoder": None,
    "sentence_layers": 1,
    "init_std": 0.05,
    "batch_size": 64,
    "lr": 0.002,
    "practice": 0.05,
    "evidence_loss_weight": 1.0,
}


EVIDENCE = Experiment(
    name="story_qa/evidence",
    title="A BERT that reads sentences, trained with and without labels of supporting sentences",
    rows={"evidence-loss": MARKED, "answer-loss": {**MARKED, "evidence_loss_weight": 0.0}},
    scales=by_scale(questions=(40, 1000, 10000), test_size=(20, 200, 1000), epochs=(1, 8, 12)),
    data=DATA,
    run=run_evidence,
    version=version,
)
