"""Fine-tuning a small BERT on labelled pairs (Devlin et al. 2019, section 3.2)."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from hashlib import sha256
from typing import Unpack

import torch
from torch.nn import functional

from reasonlib import training
from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale, subset
from reasonlib.tracking.trials import measured
from reasonlib.training import RunOptions
from reasonlib.transformer.data.datasets import DATA, labelled_stories
from reasonlib.transformer.data.pairs import LabelledPairs, cloze_pairs, question_pairs
from reasonlib.transformer.models import pretrained
from reasonlib.transformer.models.bert import Bert, Classifier, Cloze

__all__ = ["LABELS", "fine_tune", "pair_accuracy"]


@torch.no_grad()
def pair_accuracy(model: Classifier | Cloze, tested: LabelledPairs) -> float:
    """Measure the share of pairs put in their class."""
    mode = model.training
    model.eval()
    right = model(tested.pairs).argmax(-1) == tested.classes
    model.train(mode)
    return float(right.float().mean())


def fine_tune(
    model: Classifier | Cloze,
    train: LabelledPairs,
    *,
    steps: int,
    batch: int = 64,
    lr: float = 1e-3,
    warmup: float = 0.1,
    valid: LabelledPairs | None = None,
    **options: Unpack[RunOptions],
) -> training.History:
    """Train all weights on labelled pairs, in place; a history of ten rows.

    Parameters
    ----------
    model
        An encoder with its new layer, or with the gap it fills.
    train
        Drawn from again and again.
    steps, batch, lr, warmup
        Optimiser steps, pairs in each, peak rate, share of the steps over which it rises.
    valid
        Measured on ten times on the way, as ``accuracy``.
    **options
        Of the run, see `RunOptions`; the seed draws the batches.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    epochs, each = training.divide_steps(steps)
    recipe = training.TrainingConfig(
        **training.ADAMW_LINEAR,
        epochs=epochs,
        lr=lr,
        warmup=round(warmup * each * epochs),
        restore_best=False,
    )
    seed = options.get("seed", 0)

    def batches(epoch: int) -> Iterator[LabelledPairs]:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
        for _ in range(each):
            yield train.take(torch.randint(len(train), (batch,), generator=generator))

    def validate(model: Classifier | Cloze) -> Mapping[str, float]:
        return {} if valid is None else {"accuracy": pair_accuracy(model, valid)}

    identity = {"pairs": len(train), "classes": train.choices, "model": asdict(model.bert.config)}
    return training.fit_recipe(
        model,
        batches,
        recipe,
        validate=None if valid is None else validate,
        loss=lambda model, batch: functional.cross_entropy(model(batch.pairs), batch.classes),
        identity=identity,
        steps_per_epoch=each,
        **options,
    )


LABELS = (50, 200, 1000, 5000)
"""Numbers of labelled examples to fine-tune on."""


TUNED_AT = {True: 1e-3, False: 3e-3}
"""Peak rates of fine-tuning, pre-trained or not: for each the better of the two, on stories of their own."""


def run_fine_tuning(trial: Trial) -> Measured:
    """Fine-tune the shipped encoder, or the same encoder with random weights, on a few labelled questions."""
    settings = trial.settings
    encoder = pretrained.load_encoder()
    words = encoder.vocabulary
    bert = encoder.model
    if not settings["pretrained"]:
        bert = Bert(encoder.model.config, seed=trial.seed)
    make_pairs = question_pairs if settings["at"] == "cls" else cloze_pairs
    train, tested = (
        make_pairs(labelled_stories(settings[part], seed), words)
        for part, seed in (("examples", 1), ("test_size", 2))
    )
    model: Classifier | Cloze = Cloze(bert)
    if settings["at"] == "cls":
        model = Classifier(bert, train.choices, seed=trial.seed)
    history = fine_tune(
        model,
        train,
        steps=settings["steps"],
        batch=32,
        lr=settings["lr"],
        **trial.options,
    )
    return measured(
        history,
        {
            "answers": pair_accuracy(model, tested),
            "answers.learnt": pair_accuracy(
                model, train.take(torch.arange(min(settings["examples"], settings["test_size"])))
            ),
        },
        details={"loss": [row["loss"] for row in history]},
    )


def version_of_encoder(name: str) -> str | None:
    """Name the state of the bundled encoder, which is part of what this experiment is given."""
    if not pretrained.ENCODER.is_file():
        return None
    return sha256(pretrained.ENCODER.read_bytes()).hexdigest()[:12]


FINE_TUNING = Experiment(
    name="transformer/fine-tuning",
    title="The bundled encoder and random weights, fine-tuned for as many steps on the same labels",
    rows={
        f"{name}{'' if position == 'gap' else '-cls'}-{examples}": {
            "pretrained": name == "pre-trained",
            "at": position,
            "examples": examples,
            "lr": TUNED_AT[name == "pre-trained"],
        }
        for position in ("gap", "cls")
        for examples in LABELS
        for name in ("pre-trained", "from-scratch")
    },
    scales=by_scale(steps=(2, 300, 1500), test_size=(10, 400, 1000)),
    data=subset(DATA, "simulated"),
    run=run_fine_tuning,
    version=version_of_encoder,
    shares={"answers": "test_size", "*": 0},  # one question a story
)
