"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

from collections.abc import Mapping
from typing import Any

from reasonlib.context_translation.data.datasets import DATA
from reasonlib.context_translation.experiments.train import run_simulated
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
    rows={
        "no-context": {**SMALL, "system": "no-context"},
        "concatenation": {**SMALL, "system": "concatenation"},
        "hce": {**SMALL, "system": "hce"},
    },
    scales={
        "smoke": {"documents": 12, "checked": 4, "asked": 4, "epochs": 1, "warmup": 1},
        "quick": {"documents": 300, "checked": 20, "asked": 40, "epochs": 3},
        "paper": {"documents": 1500, "checked": 100, "asked": 400, "epochs": 30},
    },
    data=subset(DATA, "simulated"),
    run=run_simulated,
)

EXPERIMENTS = {one.name: one for one in (SIMULATED,)}
