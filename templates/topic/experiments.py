"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

import torch
from reasonlib.TOPIC.model import Vote, VoteConfig
from reasonlib.TOPIC.simulate import Example, simulate
from torch import Tensor
from torch.nn import functional

from reasonlib import training
from reasonlib.tracking.experiment import Experiment, Measured, Trial, subset

__all__ = ["DATA", "EXPERIMENTS", "tensors"]

DATA = {"simulated": "stand-in"}
"""The data sets of this topic, each with its kind: released, regenerated, mixed or stand-in."""


def tensors(examples: list[Example]) -> tuple[Tensor, Tensor]:
    """Turn examples into rows (N, L) of -1 and 1, and answers (N,)."""
    rows = torch.tensor([one.row for one in examples], dtype=torch.float32)
    return 2 * rows - 1, torch.tensor([one.answer for one in examples], dtype=torch.float32)


def run_vote(trial: Trial) -> Measured:
    """Train one vote and test it."""
    settings = trial.settings
    rows, answers = tensors(simulate(settings["questions"], seed=1))
    test_rows, test_answers = tensors(simulate(settings["asked"], seed=2))
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
    title="A vote over a row of digits, and the same vote blindfolded",
    rows={"full": {}, "blind": {"blind": True}},
    scales={
        "smoke": {"questions": 64, "asked": 50, "epochs": 2},
        "quick": {"questions": 2000, "asked": 1000, "epochs": 5},
        "paper": {"questions": 20000, "asked": 10000, "epochs": 20},
    },
    data=subset(DATA, "simulated"),
    run=run_vote,
)

EXPERIMENTS = {VOTE.name: VOTE}
