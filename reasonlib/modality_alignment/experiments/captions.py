"""Train the captioner on simulated frames, measure it, and caption the clips of questions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Unpack

import torch

from reasonlib import training
from reasonlib.modality_alignment.data.datasets import QuestionSet
from reasonlib.modality_alignment.data.encoding import END, START, encode
from reasonlib.modality_alignment.experiments.train import load_trial
from reasonlib.modality_alignment.models.captioner import (
    Captioner,
    CaptionerConfig,
    FrameBatch,
    caption_loss,
    describe,
)
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.settings import construct
from reasonlib.training.vocabulary import Vocabulary

__all__ = [
    "CaptionRecipe",
    "fit_captioner",
    "measure_captions",
    "run_captions",
    "train_captioner",
    "with_captions",
]


@dataclass(frozen=True, kw_only=True)
class CaptionRecipe:
    """How the captioner is trained."""

    caption_steps: int = 400
    caption_batch: int = 64  # frames
    caption_lr: float = 3e-3


def _frames(part: QuestionSet) -> FrameBatch:
    """Return all frames with their captions as one batch."""
    batch = part.batch
    words = batch.caption_frames.flatten(0, 1)
    ends = (words != 0).sum(1, keepdim=True)
    padded = torch.cat((words, torch.zeros_like(words[:, :1])), 1)
    starts = torch.full_like(words[:, :1], START)
    return FrameBatch(
        batch.regions.flatten(0, 1),
        batch.region_mask.flatten(0, 1),
        torch.cat((starts, words), 1),
        padded.scatter(1, ends, END),
    )


class Captioned(NamedTuple):
    """A trained captioner, and what happened."""

    model: Captioner
    history: training.History


def train_captioner(
    train_set: QuestionSet,
    vocabulary: Vocabulary,
    recipe: CaptionRecipe,
    **options: Unpack[training.RunOptions],
) -> Captioned:
    """Train a captioner on the frames of training questions."""
    seed = options.get("seed", 0)
    frames = _frames(train_set)
    features = frames.regions.shape[-1]
    model = Captioner(CaptionerConfig(vocabulary=len(vocabulary), features=features), seed=seed)
    epochs, steps = training.divide_steps(recipe.caption_steps)

    def batches(epoch: int) -> Iterator[FrameBatch]:
        generator = torch.Generator().manual_seed(seed * 1_000 + epoch)
        for _ in range(steps):
            rows = torch.randint(len(frames.words), (recipe.caption_batch,), generator=generator)
            yield FrameBatch(*(part[rows] for part in frames))

    history = training.fit_recipe(
        model,
        batches,
        recipe,
        settings={"epochs": epochs, "lr": recipe.caption_lr, "clip": 1.0},
        loss=caption_loss,
        steps_per_epoch=steps,
        **options,
    )
    return Captioned(model, history)


def measure_captions(model: Captioner, part: QuestionSet, vocabulary: Vocabulary) -> dict[str, float]:
    """Return ``exact``, the share of captions that are right word for word, and ``words``, of words."""
    written = describe(model, part.batch.regions, part.batch.region_mask, vocabulary)
    exact, words = [], []
    for texts, question in zip(written, part.questions, strict=True):
        for text, true in zip(texts, question.captions, strict=True):
            exact.append(text == true)
            given = text.split()
            words += [word == (given[n : n + 1] or [""])[0] for n, word in enumerate(true.split())]
    return {"exact": sum(exact) / len(exact), "words": sum(words) / len(words)}


def with_captions(
    parts: Mapping[str, QuestionSet], vocabulary: Vocabulary, model: Captioner
) -> dict[str, QuestionSet]:
    """Return the parts with the captioner's captions in place of the true ones."""
    return {
        name: QuestionSet(
            part.questions,
            encode(
                part.questions,
                vocabulary,
                describe(model, part.batch.regions, part.batch.region_mask, vocabulary),
            ),
        )
        for name, part in parts.items()
    }


def fit_captioner(stage: Trial) -> Captioned:
    """Train the captioner of a row: its first stage, which rows share if they ask the same questions."""
    vocabulary, parts = load_trial(stage)
    recipe = construct(CaptionRecipe, stage.settings)
    return train_captioner(parts["train"], vocabulary, recipe, **stage.options)


def run_captions(trial: Trial) -> Measured:
    """Train and measure the captioner; metrics of `measure_captions` on test clips."""
    vocabulary, parts = load_trial(trial)
    model, history = fit_captioner(trial)
    return Measured(
        metrics=measure_captions(model, parts["test"], vocabulary),
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        examples=len(parts["test"]),
    )
