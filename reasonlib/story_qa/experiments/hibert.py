"""Training and evaluation of the reader of sentences (`models.hibert`)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.story_qa.data.datasets import DATA, Splits, load, version
from reasonlib.story_qa.data.encoding import Batch, StorySet
from reasonlib.story_qa.data.example import TASKS
from reasonlib.story_qa.data.tokens import answer_classes, encode_sentences
from reasonlib.story_qa.experiments.metrics import by_support, scores
from reasonlib.story_qa.models.bert import load_encoder
from reasonlib.story_qa.models.hibert import SentenceReader, SentenceReaderConfig, keep_layers, reinitialise
from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale
from reasonlib.tracking.trials import measured
from reasonlib.training import RunOptions
from reasonlib.training.batching import LengthBuckets, predict_in_buckets
from reasonlib.training.settings import construct
from reasonlib.training.vocabulary import Vocabulary

__all__ = [
    "SentenceRecipe",
    "accuracy",
    "encode_splits",
    "fit_with_practice",
    "predict_answers",
    "reader_metrics",
    "sample_questions",
    "task_shares",
    "train_reader",
]


@dataclass(frozen=True, kw_only=True)
class SentenceRecipe:
    """How a reader of sentences is trained.

    Raises `ValueError` if a number is out of range.
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
        check_at_least(self, 1, "batch_size")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup must be between 0 and 1, got {self.warmup}")
        check_at_least(self, 0, "noise")
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
        Source of the random draws.

    Returns
    -------
    (N,)
        Numbers of questions, in no useful order.
    """
    chosen: list[np.ndarray] = []
    ends = np.round(np.cumsum([shares[task] for task in sorted(shares)]) * len(tasks)).astype(int)
    ends[-1] = len(tasks)
    for task, count in zip(sorted(shares), np.diff(ends, prepend=0), strict=True):
        own = np.flatnonzero(tasks == task)
        rounds = [rng.permutation(own) for _ in range(-(-int(count) // len(own)))]
        chosen += [np.concatenate(rounds)[:count]] if rounds else []
    return np.concatenate(chosen)


def predict_answers(model: SentenceReader, stories: StorySet, *, size: int = 256) -> np.ndarray:
    """Answer every question; returns the classes, shape (N,)."""
    model.eval()
    slots = model.config.slots

    def answer(items: list[int]) -> Tensor:
        return model(stories.batch(items, slots=slots).to(model.ages.device)).logits.argmax(1)

    return predict_in_buckets(answer, stories.lengths, batch_size=size)


def accuracy(model: SentenceReader, stories: StorySet) -> dict[str, float]:
    """Measure the share of right answers (see `metrics.scores`)."""
    return scores(stories.task, predict_answers(model, stories) == stories.answer)


def train_reader(
    model: SentenceReader,
    train: StorySet,
    recipe: SentenceRecipe,
    *,
    valid: StorySet | None = None,
    **options: Unpack[RunOptions],
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
    **options
        Of the run, see `RunOptions`; the seed orders the batches and draws the empty slots.
    """
    slots, device = model.config.slots, model.ages.device

    def batch(items: np.ndarray, rng: np.random.Generator) -> Batch:
        return train.batch(items, slots=slots, noise=recipe.noise, rng=rng).to(device)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        return functional.cross_entropy(model(batch).logits, batch.answer)

    return fit_with_practice(model, train, recipe, batch, loss=loss, valid=valid, **options)


def fit_with_practice(
    model: Any,
    train: StorySet,
    recipe: SentenceRecipe,
    batch: Callable[[np.ndarray, np.random.Generator], Any],
    *,
    loss: Callable[[Any, Any], Tensor],
    valid: StorySet | None = None,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train a reader on batches of like length, more often on the tasks it answers worst.

    Parameters
    ----------
    model, train, recipe, valid, **options
        As in `train_reader`.
    batch
        ``batch(items, rng)``, what the model reads of questions by their numbers.
    loss
        ``loss(model, batch)``.
    """
    seed = options.get("seed", 0)
    lengths = np.minimum(train.lengths, model.config.slots)
    everything = np.arange(len(train))
    steps = len(LengthBuckets(lengths, batch_size=recipe.batch_size, seed=seed))
    latest: dict[str, float] = {}

    def start(epoch: int, rows: list[dict[str, float]]) -> None:
        latest.clear()
        latest.update(rows[-1] if rows else {})

    def batches(epoch: int) -> Iterator[Any]:
        rng = np.random.default_rng([seed, epoch])
        items = everything
        if latest and valid is not None and recipe.practice is not None:
            errors = {int(task): 1 - latest[f"accuracy.qa{task}"] for task in np.unique(valid.task)}
            items = sample_questions(train.task, task_shares(errors, recipe.practice), rng)
        for rows in LengthBuckets(lengths[items], batch_size=recipe.batch_size, seed=seed).plan(epoch):
            yield batch(items[rows], rng)

    settings = {
        "optimiser": "adamw",
        "betas": (0.9, 0.98),  # as in Vaswani et al. (2017), section 5.3
        "schedule": "linear",
        "warmup": round(recipe.warmup * steps * recipe.epochs),
    }
    identity = {"model": repr(model.config), "questions": len(train)}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        validate=None if valid is None else lambda model: accuracy(model, valid),
        loss=loss,
        settings=settings,
        identity=identity,
        steps_per_epoch=steps,
        on_epoch_start=start,
        **options,
    )


def encode_splits(splits: Splits, tokenizer: Any) -> tuple[list[StorySet], Vocabulary]:
    """Encode the sentences of train, valid and test; return them, and the answers to choose from."""
    answers = answer_classes(splits.train)
    return [
        encode_sentences(part, tokenizer, answers) for part in (splits.train, splits.valid, splits.test)
    ], answers


def reader_metrics(
    model: SentenceReader, train: StorySet, test: StorySet, history: training.History
) -> dict[str, float]:
    """Measure a reader on test questions, how many sentences it forgets, its size and its speed."""
    right = predict_answers(model, test) == test.answer
    return {
        **scores(test.task, right),
        **by_support(test.examples, right),
        "forgotten": float(np.mean(test.lengths > model.config.slots)),
        "weights": float(training.parameter_count(model)),
        "questions_per_second": len(train) * len(history) / max(history.seconds, 1e-9),
    }


def run_hibert(trial: Trial) -> Measured:
    """Train a reader of sentences on all tasks together and test it on each."""
    settings = trial.settings
    splits = load(
        trial.data, settings["questions"], settings["test_size"], tuple(settings.get("tasks", TASKS))
    )
    encoder, tokenizer = load_encoder(settings["encoder"])
    if settings["sentence_layers"]:
        encoder = keep_layers(encoder, settings["sentence_layers"])
    if settings["scratch"]:
        encoder = reinitialise(encoder, seed=trial.seed)
    (train, valid, test), answers = encode_splits(splits, tokenizer)
    config = construct(SentenceReaderConfig, settings, answers=len(answers))
    model = SentenceReader(encoder, config, seed=trial.seed).to(trial.device)
    recipe = construct(SentenceRecipe, settings)
    history = train_reader(model, train, recipe, valid=valid, **trial.options)
    return measured(history, reader_metrics(model, train, test, history), curve=("epoch", "loss", "accuracy"))


SENTENCES = {"encoder": None, "sentence_layers": 1, "scratch": False, "lr": 0.002}


HIBERT = Experiment(
    name="story_qa/hibert",
    title="A BERT that reads sentences, then stories: all twenty tasks at once",
    rows={
        "pre-trained": SENTENCES,
        "from-scratch": {**SENTENCES, "scratch": True},
        "practice": {**SENTENCES, "scratch": True, "practice": 0.1},
    },
    scales=by_scale(questions=(40, 1000, 10000), test_size=(20, 200, 1000), epochs=(1, 12, 15)),
    data=DATA,
    run=run_hibert,
    version=version,
)
