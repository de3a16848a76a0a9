"""The tables of this topic as experiments: what each row is, how it is trained, what is measured."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from reasonlib.multi_task.data.datasets import DATA
from reasonlib.multi_task.experiments.joint import run_joint
from reasonlib.multi_task.models.encoder import BUNDLED
from reasonlib.tracking.experiment import Experiment, subset

__all__ = ["DATA", "EXPERIMENTS"]

SMALL: Mapping[str, Any] = {"lr": 2e-3, "batch": 32, "least_steps": 150, "further_lr": 5e-4, "longest": 64}
"""Rates at which the bundled encoder learns; the source's are for BERT."""

SCALES: Mapping[str, Mapping[str, Any]] = {
    "smoke": {"share": 0.03, "checked": 8, "asked": 10, "epochs": 1, "further": 1, "least_steps": 1},
    "quick": {"share": 1.0, "checked": 100, "asked": 400, "epochs": 3, "further": 2},
    "paper": {"share": 4.0, "checked": 300, "asked": 2000, "epochs": 5, "further": 3},
}


def encoder_version(_: str) -> str | None:
    """Name the state of the bundled encoder."""
    return sha256((BUNDLED / "model.safetensors").read_bytes()).hexdigest()[:12]


JOINT = Experiment(
    name="multi_task/joint",
    title="All tasks together, with and without fine-tuning, and each by itself (tables 2 and 3)",
    rows={
        "mt-dnn": {**SMALL, "joint": True, "fine_tune": True},
        "mt-dnn-no-fine-tuning": {**SMALL, "joint": True},
        "st-dnn": {**SMALL, "joint": False},
        "bert": {**SMALL, "joint": False, "pair": "linear", "ranking": "classification"},
        "mt-dnn-from-scratch": {**SMALL, "joint": True, "scratch": True},
        "st-dnn-from-scratch": {**SMALL, "joint": False, "scratch": True},
    },
    scales=SCALES,
    data=subset(DATA, "simulated"),
    run=run_joint,
    version=encoder_version,
)

EXPERIMENTS = {experiment.name: experiment for experiment in (JOINT,)}
