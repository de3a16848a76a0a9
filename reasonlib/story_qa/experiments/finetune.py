"""Fine-tuning an encoder on stories: pairs of question and story, batches of like length, accuracy."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.story_qa.data.datasets import DATA, load, version
from reasonlib.story_qa.data.example import TASKS
from reasonlib.story_qa.data.tokens import LabelledPairs, PairSet, StoryTokens, answer_classes
from reasonlib.story_qa.experiments.metrics import by_support, scores
from reasonlib.story_qa.models.bert import AnswerReader, load_encoder
from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale
from reasonlib.tracking.trials import measured
from reasonlib.training import RunOptions
from reasonlib.training.batching import LengthBuckets, predict_in_buckets
from reasonlib.training.settings import construct

__all__ = ["FineTuningRecipe", "accuracy", "fine_tune", "predict_answers"]


@dataclass(frozen=True, kw_only=True)
class FineTuningRecipe:
    """How an encoder is fine-tuned; Devlin et al. (2019), appendix A.3, with a rate for a small encoder."""

    epochs: int = 3
    tokens: int = 4096  # in a batch, padding included
    lr: float = 1e-3  # 2e-5 to 5e-5 for a full-size BERT
    weight_decay: float = 0.01
    warmup: float = 0.05  # share of all steps
    clip: float = 1.0

    def __post_init__(self) -> None:
        check_at_least(self, 1, "tokens")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup must be between 0 and 1, got {self.warmup}")


def predict_answers(model: AnswerReader, pairs: PairSet, *, tokens: int = 16384) -> np.ndarray:
    """Answer every question; returns the classes, shape (N,)."""
    model.eval()
    device = next(model.parameters()).device

    def answer(items: list[int]) -> Tensor:
        return model(pairs.batch(items).pairs.to(device)).logits.argmax(1)

    return predict_in_buckets(answer, pairs.lengths, max_tokens=tokens)


def accuracy(model: AnswerReader, pairs: PairSet) -> dict[str, float]:
    """Measure the share of right answers (see `metrics.scores`)."""
    return scores(pairs.task, predict_answers(model, pairs) == pairs.answer)


def fine_tune(
    model: AnswerReader,
    train: PairSet,
    recipe: FineTuningRecipe,
    *,
    valid: PairSet | None = None,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train encoder and answer head together, in place.

    Parameters
    ----------
    model
        A reader with a pre-trained or a fresh encoder.
    train, valid
        Pairs to learn from, and pairs to measure on after every epoch.
    recipe
        Batch size in tokens, rate, warm-up.
    **options
        Of the run, see `RunOptions`; the seed orders the batches and draws the dropout.
    """
    tokens = max(recipe.tokens, max(train.lengths))
    buckets = LengthBuckets(train.lengths, max_tokens=tokens, seed=options.get("seed", 0))
    steps = len(buckets)
    device = next(model.parameters()).device

    def batches(epoch: int) -> Iterator[LabelledPairs]:
        for items in buckets.plan(epoch):
            yield train.batch(items).to(device)

    def loss(model: nn.Module, batch: LabelledPairs) -> Tensor:
        return functional.cross_entropy(model(batch.pairs).logits, batch.answer)

    def validate(model: AnswerReader) -> dict[str, float]:
        return {"accuracy": accuracy(model, valid)["accuracy"]} if valid is not None else {}

    settings = {
        "optimiser": "adamw",
        "schedule": "linear",
        "warmup": round(recipe.warmup * steps * recipe.epochs),
    }
    identity = {"pairs": len(train)}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        validate=None if valid is None else validate,
        loss=loss,
        settings=settings,
        identity=identity,
        steps_per_epoch=steps,
        **options,
    )


def run_bert(trial: Trial) -> Measured:
    """Fine-tune one encoder on all tasks together and test it on each."""
    settings = trial.settings
    splits = load(
        trial.data, settings["questions"], settings["test_size"], tuple(settings.get("tasks", TASKS))
    )
    encoder, tokenizer = load_encoder(settings["encoder"])
    if settings["scratch"]:
        with training.seeded(trial.seed):
            encoder = type(encoder)(encoder.config)
    tokens = StoryTokens(tokenizer)
    answers = answer_classes(splits.train)
    sets = {
        part: PairSet.encode(getattr(splits, part), tokens, answers) for part in ("train", "valid", "test")
    }
    with training.seeded(trial.seed):
        model = AnswerReader(encoder, len(answers), settings["dropout"]).to(trial.device)
    history = fine_tune(
        model,
        sets["train"],
        construct(FineTuningRecipe, settings),
        valid=sets["valid"],
        **trial.options,
    )
    right = predict_answers(model, sets["test"]) == sets["test"].answer
    metrics = {
        **scores(sets["test"].task, right),
        **by_support(splits.test, right),
        "forgotten": float(np.mean([pair.dropped > 0 for pair in sets["test"].pairs])),
    }
    return measured(history, metrics, curve=("epoch", "loss", "accuracy"))


BERT = Experiment(
    name="story_qa/bert",
    title="BERT fine-tuned on all twenty tasks at once: the source's size and a small one",
    rows={
        "bert-base": {
            "encoder": "google-bert/bert-base-uncased",
            "scratch": False,
            "dropout": 0.1,
            "lr": 5e-5,
        },
        "pre-trained": {"encoder": None, "scratch": False, "dropout": 0.0, "lr": 0.001},
        "from-scratch": {"encoder": None, "scratch": True, "dropout": 0.0, "lr": 0.001},
    },
    scales=by_scale(questions=(20, 1000, 10000), test_size=(10, 200, 1000), epochs=(1, 4, 3)),
    data=DATA,
    run=run_bert,
    version=version,
)
