"""Video question answering with and without alignment (tables 5.1 and 5.2), and by streams."""

from dataclasses import fields, replace

import torch

from reasonlib import training
from reasonlib.modality_alignment.data.datasets import QuestionSet
from reasonlib.modality_alignment.data.encoding import select
from reasonlib.modality_alignment.data.metrics import accuracy_by_need, temporal_overlap
from reasonlib.modality_alignment.experiments.captions import (
    CaptionRecipe,
    fit_captioner,
    measure_captions,
    with_captions,
)
from reasonlib.modality_alignment.experiments.train import (
    QUESTIONS,
    Recipe,
    System,
    answer_all,
    build,
    load_trial,
    measure_alignment,
    steps_of,
    train_answerer,
    train_in_phases,
)
from reasonlib.modality_alignment.models.stage import STAGE, best_span
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.settings import construct
from reasonlib.training.vocabulary import Vocabulary

__all__ = ["fit_video_qa", "measure_moments", "measured_on", "run_video_qa"]


@torch.no_grad()
def measure_moments(model: STAGE, asked: QuestionSet, *, size: int = 100) -> dict[str, float]:
    """Return ``overlap``, the mean intersection over union of the chosen answer's moment, and ``joint``.

    ``joint`` is the share of questions with the right answer and an overlap of at least one half (ASA).
    Questions without a moment do not count.
    """
    model.eval()
    overlaps, joint = [], []
    for start in range(0, len(asked), size):
        batch = select(asked.batch, range(start, min(start + size, len(asked))))
        located = model(batch)
        chosen = located.logits.argmax(1)
        spans = best_span(located.moments)[torch.arange(len(batch)), chosen]
        for row, question in enumerate(asked.questions[start : start + len(batch)]):
            if question.span is None:
                continue
            rate = question.seconds / len(question.frames)
            first, last = spans[row].tolist()
            overlaps.append(temporal_overlap((first * rate, (last + 1) * rate), question.span))
            joint.append(overlaps[-1] >= 0.5 and int(chosen[row]) == question.right)
    return {"overlap": sum(overlaps) / len(overlaps), "joint": sum(joint) / len(joint)}


def run_video_qa(trial: Trial) -> Measured:
    """Train one row and measure it on test questions.

    Metrics
    -------
    `accuracy_by_need`, `measure_alignment`, and for STAGE `measure_moments`.
    """
    return fit_video_qa(trial)[1]


def fit_video_qa(trial: Trial) -> tuple[System | None, Measured, Vocabulary]:
    """Train one row; give its system (None if the minutes were over before), measures and vocabulary.

    A row with a ``curriculum`` trains through the phases of it, any other on all questions at once.
    """
    recipe = construct(Recipe, trial.settings)
    vocabulary, parts = load_trial(trial)
    done = planned = 0
    if "captions" in trial.settings["streams"]:
        names = (*QUESTIONS, *(field.name for field in fields(CaptionRecipe)))
        settings = {name: trial.settings[name] for name in names if name in trial.settings}
        captioner, before = trial.shared_stage("captions", fit_captioner, settings)
        done, planned = before.steps_done, before.steps_planned
        if done < planned:  # out of its minutes: systems read the captions of a trained captioner alone
            planned += steps_of(parts, recipe)
            metrics = measure_captions(captioner, parts["valid"], vocabulary)
            return None, Measured(metrics=metrics, steps_done=done, steps_planned=planned), vocabulary
        parts = with_captions(parts, vocabulary, captioner)
    features = parts["train"].batch.regions.shape[-1]

    def fresh(start: int) -> System:
        seed = trial.seed + 1_000 * start
        model = build(trial.settings, vocabulary=len(vocabulary), features=features, seed=seed)
        return model.to(trial.device)

    if trial.settings.get("curriculum"):
        model, history = train_in_phases(fresh, parts, recipe, trial)
    else:
        model = fresh(0)
        history = train_answerer(model, parts["train"], recipe, valid_set=parts["valid"], **trial.options)
    model.to("cpu")
    measured = measured_on(model, parts["test"], history)
    measured = replace(
        measured, steps_done=done + measured.steps_done, steps_planned=planned + measured.steps_planned
    )
    return model, measured, vocabulary


def measured_on(model: System, asked: QuestionSet, history: training.History) -> Measured:
    """Measure a trained system on test questions."""
    metrics = accuracy_by_need(asked.questions, answer_all(model, asked))
    metrics |= measure_alignment(model, asked)
    if isinstance(model, STAGE):
        metrics |= measure_moments(model, asked)
    curve = [
        {
            name: round(value, 4)
            for name, value in row.items()
            if name.startswith(("accuracy", "loss", "step"))
        }
        for row in history
    ]
    return Measured(
        metrics=metrics,
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        examples=len(asked),
        details={"curve": curve},
    )
