"""A training history and metrics to what a run function returns."""

import torch
from torch import nn

from reasonlib import training
from reasonlib.tracking.trials import measured


def history():
    def batches(epoch):
        yield torch.ones(2, 1)

    config = training.TrainingConfig(epochs=2, lr=0.1)
    return training.fit(
        nn.Linear(1, 1),
        batches,
        loss=lambda model, batch: model(batch).square().mean(),
        config=config,
        monitor="loss",
        mode="min",
        progress=False,
    )


def test_steps_and_curve_of_a_history_are_kept():
    rows = history()
    result = measured(rows, {"accuracy": 0.5}, curve=("epoch", "loss"), details={"kept": 1})
    assert (result.steps_done, result.steps_planned, result.stopped) == (2, 2, "finished")
    assert result.metrics == {"accuracy": 0.5}
    assert result.details == {"kept": 1, "curve": [{k: row[k] for k in ("epoch", "loss")} for row in rows]}
    assert measured(rows, {}).details == {}
