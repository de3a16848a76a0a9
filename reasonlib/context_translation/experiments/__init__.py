"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

from collections.abc import Mapping
from typing import Any

from reasonlib.context_translation.data.datasets import DATA
from reasonlib.context_translation.experiments.cost import run_cost
from reasonlib.context_translation.experiments.train import run_simulated
from reasonlib.context_translation.models.translator import SYSTEMS
from reasonlib.tracking.experiment import Experiment, subset

__all__ = ["DATA", "EXPERIMENTS"]

SMALL: Mapping[str, Any] = {
    "width": 64, "layers": 2, "heads": 4, "hidden": 128, "dropout": 0.0,
    "batch": 64, "lr": 2e-3, "schedule": "linear", "warmup": 100, "clip": 1.0,
}  # fmt: skip
"""Sizes at which the simulated languages are learnt in minutes on one core."""

SIMULATED = Experiment(
    name="context_translation/simulated",
    title="Seven systems on sentences that need their context, and on sentences that do not (table 3.5)",
    rows={name: {**SMALL, "system": name} for name in SYSTEMS},
    scales={
        "smoke": {"documents": 12, "checked": 4, "asked": 4, "epochs": 1, "warmup": 1},
        "quick": {"documents": 300, "checked": 20, "asked": 40, "epochs": 3},
        "paper": {"documents": 1500, "checked": 100, "asked": 400, "epochs": 30},
    },
    data=subset(DATA, "simulated"),
    run=run_simulated,
)

COST = Experiment(
    name="context_translation/cost",
    title="Parameters, speeds beside TwC's, and how cost grows with the context (table 3.4)",
    rows={name: {"system": name} for name in SYSTEMS},
    scales={
        "smoke": {
            "width": 16, "layers": 1, "vocabulary": 50, "rows": 2, "length": 4, "repeats": 1,
            "counts": [1, 2], "lengths": [4, 8], "streamed": 2,
        },
        "quick": {
            "width": 64, "layers": 2, "vocabulary": 500, "rows": 4, "length": 12, "repeats": 1,
            "counts": [4, 8, 16, 32], "lengths": [8, 16, 32, 64], "streamed": 4,
        },
        "paper": {
            "width": 256, "layers": 3, "vocabulary": 2000, "rows": 8, "length": 20, "repeats": 2,
            "counts": [4, 8, 16, 32], "lengths": [8, 16, 32, 64], "streamed": 4,
        },
    },
    data=subset(DATA, "simulated"),
    run=run_cost,
)  # fmt: skip

EXPERIMENTS = {one.name: one for one in (SIMULATED, COST)}
