"""Fine-tuning an encoder on stories: pairs of question and story, batches of like length, accuracy."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.story_qa.data.encoding import answer_token
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.experiments.metrics import scores
from reasonlib.story_qa.models.bert import AnswerReader, Pair, PairBatch, StoryTokens, stack
from reasonlib.training.batching import LengthBuckets
from reasonlib.training.vocabulary import Vocabulary

__all__ = ["FineTuning", "Labelled", "PairSet", "accuracy", "answer_classes", "fine_tune", "read_answers"]


def answer_classes(examples: Sequence[Example]) -> Vocabulary:
    """List the answer classes of a training set, in alphabetical order, behind ``<unk>``."""
    return Vocabulary(["<unk>", *sorted({answer_token(example.answer) for example in examples})])


class Labelled(NamedTuple):
    """A batch of pairs with the class of each answer, shape (B,)."""

    pairs: PairBatch
    answer: Tensor

    def __len__(self) -> int:
        return len(self.answer)

    def to(self, device: torch.device | str) -> "Labelled":
        """Move every tensor to a device."""
        return Labelled(self.pairs.to(device), self.answer.to(device))


@dataclass(frozen=True)
class PairSet:
    """Questions and stories as pairs of token sequences.

    Attributes
    ----------
    pairs
        N pairs; `Pair.dropped` counts the sentences that did not fit.
    answer, task : (N,)
        Class of the answer and task number.
    padding
        The tokenizer's ``pad_token_id``.
    """

    pairs: tuple[Pair, ...]
    answer: np.ndarray
    task: np.ndarray
    padding: int

    @classmethod
    def encode(cls, examples: Sequence[Example], tokens: StoryTokens, answers: Vocabulary) -> "PairSet":
        """Tokenise every question with its story.

        Raises
        ------
        UserError
            If there are no examples.
        """
        if not examples:
            raise UserError("examples must hold at least one question, got none")
        return cls(
            tuple(tokens.pair(example.question, example.story) for example in examples),
            np.asarray(answers.encode([answer_token(example.answer) for example in examples])),
            np.asarray([example.task for example in examples]),
            tokens.tokenizer.pad_token_id or 0,
        )

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> list[int]:
        """Tokens in each pair."""
        return [len(pair.tokens) for pair in self.pairs]

    def batch(self, items: Sequence[int]) -> Labelled:
        """Pad some pairs to one length."""
        return Labelled(
            stack([self.pairs[item] for item in items], self.padding), torch.from_numpy(self.answer[items])
        )


@dataclass(frozen=True, kw_only=True)
class FineTuning:
    """How an encoder is fine-tuned; Devlin et al. (2019), appendix A.3, with a rate for a small encoder."""

    epochs: int = 3
    tokens: int = 4096  # in a batch, padding included
    lr: float = 1e-3  # 2e-5 to 5e-5 for a full-size BERT
    weight_decay: float = 0.01
    warmup: float = 0.05  # share of all steps
    clip: float = 1.0

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError(f"tokens must be at least 1, got {self.tokens}")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup must be between 0 and 1, got {self.warmup}")


@torch.no_grad()
def read_answers(model: AnswerReader, pairs: PairSet, *, tokens: int = 16384) -> np.ndarray:
    """Answer every question; returns the classes, shape (N,)."""
    model.eval()
    device = next(model.parameters()).device
    answers = np.zeros(len(pairs), dtype=np.int64)
    for items in LengthBuckets(pairs.lengths, max_tokens=max(tokens, max(pairs.lengths))).plan(0):
        answers[items] = model(pairs.batch(items).pairs.to(device)).logits.argmax(1).cpu().numpy()
    return answers


def accuracy(model: AnswerReader, pairs: PairSet) -> dict[str, float]:
    """Measure the share of right answers (see `evaluation.scores`)."""
    return scores(pairs.task, read_answers(model, pairs) == pairs.answer)


def fine_tune(
    model: AnswerReader,
    train: PairSet,
    how: FineTuning,
    *,
    valid: PairSet | None = None,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> training.History:
    """Train encoder and answer head together, in place.

    Parameters
    ----------
    model
        A reader with a pre-trained or a fresh encoder.
    train, valid
        Pairs to learn from, and pairs to measure on after every epoch.
    how
        Batch size in tokens, rate, warm-up.
    seed
        Orders the batches and draws the dropout.
    minutes, checkpoint, progress, on_epoch
        As in `reasonlib.training.fit`.
    """
    buckets = LengthBuckets(train.lengths, max_tokens=max(how.tokens, max(train.lengths)), seed=seed)
    steps = len(buckets)
    device = next(model.parameters()).device

    def batches(epoch: int) -> Iterator[Labelled]:
        for items in buckets.plan(epoch):
            yield train.batch(items).to(device)

    def loss(model: nn.Module, batch: Labelled) -> Tensor:
        return functional.cross_entropy(model(batch.pairs).logits, batch.answer)

    def validate(model: AnswerReader) -> dict[str, float]:
        return {"accuracy": accuracy(model, valid)["accuracy"]} if valid is not None else {}

    return training.fit(
        model,
        batches,
        loss=loss,
        config=training.TrainingConfig(
            epochs=how.epochs,
            lr=how.lr,
            optimiser="adamw",
            weight_decay=how.weight_decay,
            schedule="linear",
            warmup=round(how.warmup * steps * how.epochs),
            clip=how.clip,
            seed=seed,
            minutes=minutes,
        ),
        validate=None if valid is None else validate,
        monitor="loss" if valid is None else "accuracy",
        mode="min" if valid is None else "max",
        checkpoint=checkpoint,
        identity={"how": repr(how), "pairs": len(train)},
        steps_per_epoch=steps,
        on_epoch=on_epoch,
        progress=progress,
    )
