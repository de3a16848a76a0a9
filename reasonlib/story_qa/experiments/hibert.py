"""Training and evaluation of the reader of sentences (`models.hibert`)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.story_qa.data.datasets import DATA, load, version
from reasonlib.story_qa.data.encoding import Batch, StorySet
from reasonlib.story_qa.data.example import TASKS
from reasonlib.story_qa.data.tokens import answer_classes, encode_sentences
from reasonlib.story_qa.experiments.metrics import by_support, scores
from reasonlib.story_qa.models.bert import load_encoder
from reasonlib.story_qa.models.hibert import SentenceReader, SentenceReaderConfig, keep_layers, reinitialise
from reasonlib.tracking.experiment import Experiment, Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training.batching import LengthBuckets
from reasonlib.training.settings import select_fields

__all__ = ["SentenceRecipe", "accuracy", "predict_answers", "sample_questions", "task_shares", "train_reader"]


@dataclass(frozen=True, kw_only=True)
class SentenceRecipe:
    """How a reader of sentences is trained.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    epochs: int = 10
    batch_size: int = 128
    lr: float = 2e-3
    weight_decay: float = 0.01
    warmup: float = 0.05  # share of all steps
    clip: float = 1.0
    noise: float = 0.1  # share of empty slots put among the sentences (see `StorySet.batch`)
    practice: float | None = None  # the floor of `practice_shares`; None: every question once an epoch

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup must be between 0 and 1, got {self.warmup}")
        if self.noise < 0:
            raise ValueError(f"noise must be at least 0, got {self.noise}")
        if self.practice is not None and not self.practice > 0:
            raise ValueError(f"practice must be above 0 or None, got {self.practice}")


def task_shares(errors: Mapping[int, float], floor: float) -> dict[int, float]:
    """Share an epoch's questions among the tasks: each gets its error on held-out questions plus `floor`.

    The tasks that are mastered cost most, since their stories are the longest; the tasks that are not need
    more looks than there are questions.

    >>> {task: round(share, 2) for task, share in task_shares({1: 0.0, 17: 0.4}, 0.1).items()}
    {1: 0.17, 17: 0.83}
    """
    total = sum(errors.values()) + floor * len(errors)
    return {task: (error + floor) / total for task, error in errors.items()}


def sample_questions(tasks: np.ndarray, shares: Mapping[int, float], rng: np.random.Generator) -> np.ndarray:
    """Draw as many questions as there are, each task by its share; none again before all of its task came up.

    Parameters
    ----------
    tasks : (N,)
        Task of every question.
    shares
        Of every task; they sum to 1.
    rng
        Draws.

    Returns
    -------
    (N,)
        Numbers of questions, in no useful order.
    """
    chosen: list[np.ndarray] = []
    ends = np.round(np.cumsum([shares[task] for task in sorted(shares)]) * len(tasks)).astype(int)
    ends[-1] = len(tasks)
    for task, wanted in zip(sorted(shares), np.diff(ends, prepend=0), strict=True):
        own = np.flatnonzero(tasks == task)
        rounds = [rng.permutation(own) for _ in range(-(-int(wanted) // len(own)))]
        chosen += [np.concatenate(rounds)[:wanted]] if rounds else []
    return np.concatenate(chosen)


@torch.no_grad()
def predict_answers(model: SentenceReader, stories: StorySet, *, size: int = 256) -> np.ndarray:
    """Answer every question; returns the classes, shape (N,)."""
    model.eval()
    slots = model.config.slots
    answers = np.zeros(len(stories), dtype=np.int64)
    for items in LengthBuckets(stories.lengths.tolist(), batch_size=size).plan(0):
        batch = stories.batch(items, slots=slots).to(model.ages.device)
        answers[items] = model(batch).logits.argmax(1).cpu().numpy()
    return answers


def accuracy(model: SentenceReader, stories: StorySet) -> dict[str, float]:
    """Measure the share of right answers (see `metrics.scores`)."""
    return scores(stories.task, predict_answers(model, stories) == stories.answer)


def train_reader(
    model: SentenceReader,
    train: StorySet,
    recipe: SentenceRecipe,
    *,
    valid: StorySet | None = None,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> training.History:
    """Train both levels together, in place.

    Parameters
    ----------
    model
        With a pre-trained or a fresh sentence encoder.
    train, valid
        From `encode_sentences`, with the same answers and the same tasks. With `recipe.practice`, what is
        held out also says what to practise.
    recipe
        Batch size, rate, noise.
    seed
        Orders the batches and draws the empty slots.
    minutes, checkpoint, progress, on_epoch
        As in `reasonlib.training.fit`.
    """
    slots = model.config.slots
    lengths = np.minimum(train.lengths, slots)
    everything = np.arange(len(train))
    steps = len(LengthBuckets(lengths, batch_size=recipe.batch_size, seed=seed))
    device = model.ages.device
    latest: dict[str, float] = {}

    def start(epoch: int, rows: list[dict[str, float]]) -> None:
        latest.clear()
        latest.update(rows[-1] if rows else {})

    def batches(epoch: int) -> Iterator[Batch]:
        rng = np.random.default_rng([seed, epoch])
        items = everything
        if latest and valid is not None and recipe.practice is not None:
            errors = {int(task): 1 - latest[f"accuracy.qa{task}"] for task in np.unique(valid.task)}
            items = sample_questions(train.task, task_shares(errors, recipe.practice), rng)
        for rows in LengthBuckets(lengths[items], batch_size=recipe.batch_size, seed=seed).plan(epoch):
            yield train.batch(items[rows], slots=slots, noise=recipe.noise, rng=rng).to(device)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        return functional.cross_entropy(model(batch).logits, batch.answer)

    def validate(model: SentenceReader) -> dict[str, float]:
        return accuracy(model, valid) if valid is not None else {}

    return training.fit(
        model,
        batches,
        loss=loss,
        config=training.TrainingConfig(
            epochs=recipe.epochs,
            lr=recipe.lr,
            optimiser="adamw",
            betas=(0.9, 0.98),  # as in Vaswani et al. (2017), section 5.3
            weight_decay=recipe.weight_decay,
            schedule="linear",
            warmup=round(recipe.warmup * steps * recipe.epochs),
            clip=recipe.clip,
            seed=seed,
            minutes=minutes,
        ),
        validate=None if valid is None else validate,
        monitor="loss" if valid is None else "accuracy",
        mode="min" if valid is None else "max",
        checkpoint=checkpoint,
        identity={"recipe": repr(recipe), "model": repr(model.config), "questions": len(train)},
        steps_per_epoch=steps,
        on_epoch_start=start,
        on_epoch=on_epoch,
        progress=progress,
    )


def run_hibert(trial: Trial) -> Measured:
    """Train a reader of sentences on all tasks together and test it on each."""
    settings = trial.settings
    splits = load(trial.data, settings["questions"], settings["asked"], tuple(settings.get("tasks", TASKS)))
    encoder, tokenizer = load_encoder(settings["encoder"])
    if settings["sentence_layers"]:
        encoder = keep_layers(encoder, settings["sentence_layers"])
    if settings["scratch"]:
        encoder = reinitialise(encoder, seed=trial.seed)
    answers = answer_classes(splits.train)
    train, valid, test = (
        encode_sentences(part, tokenizer, answers) for part in (splits.train, splits.valid, splits.test)
    )
    config = SentenceReaderConfig(answers=len(answers), **select_fields(SentenceReaderConfig, settings))
    model = SentenceReader(encoder, config, seed=trial.seed)
    history = train_reader(
        model.to(trial.device),
        train,
        SentenceRecipe(**select_fields(SentenceRecipe, settings)),
        valid=valid,
        seed=trial.seed,
        minutes=trial.minutes,
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    right = predict_answers(model, test) == test.answer
    metrics = {
        **scores(test.task, right),
        **by_support(test.examples, right),
        "forgotten": float(np.mean(test.lengths > config.slots)),
        "weights": float(training.parameter_count(model)),
        "questions_per_second": len(train) * len(history) / max(history.seconds, 1e-9),
    }
    return measured(history, metrics, curve=("epoch", "loss", "accuracy"))


SENTENCES = {"encoder": None, "sentence_layers": 1, "scratch": False, "lr": 0.002}


HIBERT = Experiment(
    name="story_qa/hibert",
    title="A BERT that reads sentences, then stories: all twenty tasks at once",
    rows={
        "pre-trained": SENTENCES,
        "from-scratch": {**SENTENCES, "scratch": True},
        "practice": {**SENTENCES, "scratch": True, "practice": 0.1},
    },
    scales={
        "smoke": {"questions": 40, "asked": 20, "epochs": 1},
        "quick": {"questions": 1000, "asked": 200, "epochs": 12},
        "paper": {"questions": 10000, "asked": 1000, "epochs": 15},
    },
    data=DATA,
    run=run_hibert,
    version=version,
)
