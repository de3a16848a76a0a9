"""Models without a memory, trained on all twenty tasks at once."""

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from reasonlib import training
from reasonlib.story_qa.data.datasets import DATA, Splits, load, version
from reasonlib.story_qa.data.encoding import answer_token, build_vocabulary, encode
from reasonlib.story_qa.data.example import TASKS, Example, words
from reasonlib.story_qa.experiments.metrics import scores
from reasonlib.story_qa.models.baselines import BagOfWords, MostFrequent, StoryLSTM
from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale
from reasonlib.tracking.trials import measured
from reasonlib.training.batching import LengthBuckets, pad


def run_baseline(trial: Trial) -> Measured:
    """Measure one of the models without a memory."""
    settings = trial.settings
    splits = load(
        trial.data, settings["questions"], settings["test_size"], tuple(settings.get("tasks", TASKS))
    )
    tasks = [example.task for example in splits.test]
    if settings["model"] == "most-frequent":
        counted = MostFrequent.fit(splits.train)
        right = [counted.answer(example) == answer_token(example.answer) for example in splits.test]
        return Measured(metrics=scores(tasks, right), steps_done=1, steps_planned=1)
    model, batches, answer, steps = (_bag if settings["model"] == "bag-of-words" else _lstm)(trial, splits)
    history = training.fit(
        model.to(trial.device),
        batches,
        loss=lambda model, batch: functional.cross_entropy(model(*batch[0]), batch[1]),
        config=training.TrainingConfig(
            epochs=settings["epochs"],
            lr=settings["lr"],
            schedule="linear",
            clip=1.0,
            seed=trial.seed,
            minutes=trial.minutes,
        ),
        monitor="loss",
        mode="min",
        checkpoint=trial.folder,
        steps_per_epoch=steps,
        weight=lambda batch: len(batch[1]),
        progress=trial.progress,
    )
    with torch.no_grad():
        right = answer()
    return measured(history, scores(tasks, right))


def _bag(trial: Trial, splits: Splits) -> tuple[nn.Module, Any, Any, int]:
    vocabulary = build_vocabulary((*splits.train, *splits.valid, *splits.test))
    train, test = (encode(part, vocabulary, "bag") for part in (splits.train, splits.test))
    longest = int(max(train.lengths.max(), test.lengths.max()))
    with training.seeded(trial.seed):
        model = BagOfWords(len(vocabulary), trial.settings["width"])
    buckets = LengthBuckets(train.lengths.tolist(), batch_size=128, seed=trial.seed)

    def batches(epoch: int) -> Any:
        for items in buckets.plan(epoch):
            batch = train.batch(items, slots=longest).to(trial.device)
            yield (batch,), batch.answer

    def answer() -> np.ndarray:
        right = np.zeros(len(test), dtype=bool)
        for items in LengthBuckets(test.lengths.tolist(), batch_size=256).plan(0):
            batch = test.batch(items, slots=longest).to(trial.device)
            right[items] = (model(batch).argmax(1) == batch.answer).cpu().numpy()
        return right

    return model, batches, answer, len(buckets)


def _lstm(trial: Trial, splits: Splits) -> tuple[nn.Module, Any, Any, int]:
    vocabulary = build_vocabulary((*splits.train, *splits.valid, *splits.test))
    token_ids: dict[str, list[int]] = {}

    def tokens(example: Example) -> list[int]:
        ids: list[int] = []
        for sentence in (*example.story, example.question):
            if sentence not in token_ids:
                token_ids[sentence] = vocabulary.encode(words(sentence))
            ids += token_ids[sentence]
        return ids

    def answers(examples: tuple[Example, ...]) -> np.ndarray:
        return np.asarray(vocabulary.encode([answer_token(example.answer) for example in examples]))

    train, test = [tokens(example) for example in splits.train], [tokens(example) for example in splits.test]
    train_labels, test_labels = answers(splits.train), answers(splits.test)
    with training.seeded(trial.seed):
        model = StoryLSTM(len(vocabulary), trial.settings["width"])
    buckets = LengthBuckets([len(row) for row in train], batch_size=128, seed=trial.seed)

    def batch(rows: list[list[int]], items: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = [rows[item] for item in items]
        return pad(chosen).to(trial.device), torch.tensor([len(row) for row in chosen])

    def batches(epoch: int) -> Any:
        for items in buckets.plan(epoch):
            yield batch(train, items), torch.from_numpy(train_labels[items]).to(trial.device)

    def answer() -> np.ndarray:
        right = np.zeros(len(test), dtype=bool)
        for items in LengthBuckets([len(row) for row in test], batch_size=256).plan(0):
            right[items] = model(*batch(test, items)).argmax(1).cpu().numpy() == test_labels[items]
        return right

    return model, batches, answer, len(buckets)


BASELINES = Experiment(
    name="story_qa/baselines",
    title="Models without a memory",
    rows={
        "most-frequent": {"model": "most-frequent"},
        "bag-of-words": {"model": "bag-of-words", "width": 128, "lr": 0.002},
        "lstm": {"model": "lstm", "width": 64, "lr": 0.003},
    },
    scales=by_scale(questions=(40, 1000, 10000), test_size=(20, 200, 1000), epochs=(1, 4, 20)),
    data=DATA,
    run=run_baseline,
    version=version,
    deterministic=("most-frequent",),
)
