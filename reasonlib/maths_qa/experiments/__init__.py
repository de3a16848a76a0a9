"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

from collections.abc import Mapping
from typing import Any

from reasonlib.maths_qa.data.datasets import DATA
from reasonlib.maths_qa.data.modules import CURVES
from reasonlib.maths_qa.experiments.pretraining import run_pretraining
from reasonlib.tracking.experiment import Experiment, subset

__all__ = ["DATA", "EXPERIMENTS"]

EASY = ("numbers__place_value", "comparison__pair")
"""Modules that a small model learns in minutes on one core."""

SMALL: Mapping[str, Any] = {"norm": "pre", "clip": 1.0}
"""Differs from the source's recipe so that a small model learns in few steps."""

SCALES: Mapping[str, Mapping[str, Any]] = {
    "smoke": {
        "modules": EASY, "train": 60, "valid": 4, "test": 8, "extrapolation": 4, "width": 16, "layers": 1,
        "heads": 2, "hidden": 32, "pre_steps": 4, "steps": 4, "every": 2, "batch": 8, "lr": 2e-3,
    },
    "quick": {
        "modules": EASY, "train": 6000, "valid": 100, "test": 200, "width": 64, "layers": 2, "heads": 4,
        "hidden": 128, "pre_steps": 300, "steps": 300, "every": 50, "batch": 64, "lr": 2e-3, "warmup": 50,
    },
    "paper": {
        "modules": CURVES, "train": 60000, "valid": 100, "test": 200, "extrapolation": 100, "width": 128,
        "layers": 2, "heads": 8, "hidden": 512, "pre_steps": 5000, "steps": 5000, "every": 500, "batch": 64,
        "lr": 1e-3, "warmup": 200,
    },
}  # fmt: skip

PRETRAINING = Experiment(
    name="maths_qa/pretraining",
    title="QA-MLM and fine-tuning, beside fine-tuning alone (tables 5.1 and 5.2, figure 5.6)",
    rows={
        "scratch": {**SMALL, "start": "scratch"},
        "encoder": {**SMALL, "start": "encoder"},
        "both": {**SMALL, "start": "both"},
        "both-non-numeric": {**SMALL, "start": "both", "which": "non-numeric"},
        "both-numeric": {**SMALL, "start": "both", "which": "numeric"},
        "both-answers": {**SMALL, "start": "both", "which": "answers"},
        "scratch-sinusoidal": {**SMALL, "start": "scratch", "positions": "sinusoidal"},
        "both-sinusoidal": {**SMALL, "start": "both", "positions": "sinusoidal"},
    },
    scales=SCALES,
    data=subset(DATA, "mathematics"),
    run=run_pretraining,
)

EXPERIMENTS = {experiment.name: experiment for experiment in (PRETRAINING,)}
