"""The vote over a row of digits: how it is trained, and what is measured."""

import torch
from reasonlib.TOPIC.data.example import Example
from reasonlib.TOPIC.data.simulator import simulate
from reasonlib.TOPIC.models.vote import Vote, VoteConfig
from torch import Tensor
from torch.nn import functional

from reasonlib import training
from reasonlib.tracking.experiment import Experiment, Measured, Trial, subset

__all__ = ["DATA", "VOTE", "encode"]

DATA = {"simulated": "stand-in"}
"""The data sets of this topic, each with its kind: released, regenerated, mixed or stand-in."""


def encode(examples: list[Example]) -> tuple[Tensor, Tensor]:
    """Turn examples into rows (N, L) of -1 and 1, and answers (N,)."""
    rows = torch.tensor([example.digits for example in examples], dtype=torch.float32)
    return 2 * rows - 1, torch.tensor([example.answer for example in examples], dtype=torch.float32)


def run_vote(trial: Trial) -> Measured:
    """Train one vote and test it."""
    settings = trial.settings
    rows, answers = encode(simulate(settings["train"], seed=1))
    test_rows, test_answers = encode(simulate(settings["test"], seed=2))
    model = Vote(VoteConfig(blind=settings.get("blind", False)), seed=trial.seed).to(trial.device)
    history = training.fit(
        model,
        lambda epoch: zip(rows.split(32), answers.split(32), strict=True),
        loss=lambda model, batch: functional.binary_cross_entropy_with_logits(model(batch[0]), batch[1]),
        config=training.TrainingConfig(
            epochs=settings["epochs"], lr=0.1, optimiser="adam", seed=trial.seed, minutes=trial.minutes
        ),
        monitor="loss",
        mode="min",
        checkpoint=trial.folder,
        progress=trial.progress,
    )
    with torch.no_grad():
        right = (model(test_rows.to(trial.device)) > 0).cpu() == (test_answers > 0)
    return Measured(
        metrics={"accuracy": right.float().mean().item()},
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        details={"curve": [{"epoch": row["epoch"], "loss": row["loss"]} for row in history]},
    )


VOTE = Experiment(
    name="TOPIC/vote",
    title="A vote over a row of digits, and the same vote without its input",
    rows={"full": {}, "blind": {"blind": True}},
    scales={
        "smoke": {"train": 64, "test": 50, "epochs": 2},
        "quick": {"train": 2000, "test": 1000, "epochs": 5},
        "paper": {"train": 20000, "test": 10000, "epochs": 20},
    },
    data=subset(DATA, "simulated"),
    run=run_vote,
)
