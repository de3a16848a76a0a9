"""Training the small detector that answers in the page (`reasonlib.visual_iq.page.live.detect`)."""

from dataclasses import replace
from pathlib import Path

from reasonlib.tracking.experiment import Experiment, Measured, Trial, subset
from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.experiments.detection import measure_trained, train_detector
from reasonlib.visual_iq.models.pretrained import save_pretrained

__all__ = ["EXPERIMENTS", "SMALL", "run_page_detector"]

SMALL = Path(__file__).parents[1] / "weights" / "detector-small.safetensors"


def run_page_detector(trial: Trial) -> Measured:
    """Train as `detection.run_detector` does, and at ``paper`` scale replace the detector of the page."""
    model, history = train_detector(trial)
    measured = measure_trained(model, history, trial)
    if history is not None:  # one without a full epoch has steps too
        measured = replace(
            measured,
            steps_done=history.steps_done,
            steps_planned=history.steps_planned,
            stopped=history.stopped,
        )
    if trial.scale == "paper" and history is not None and history.stopped == "finished":
        provenance = {
            "command": f"reasonlib run {trial.experiment} --scale paper --seed {trial.seed}",
            "seed": trial.seed,
            "data": trial.data,
            "steps": history.steps_done,
        }
        save_pretrained(SMALL, model.cpu(), provenance)
    return measured


# Experiments ------------------------------------------------------------------------------------------------

PAGE_DETECTOR = Experiment(
    name="visual_iq/page-detector",
    title="The small detector that answers in the page",
    rows={
        "small": {
            "widths": (8, 12, 16, 24, 32),
            "width": 16,
            "hidden": 48,
            "looked_at": 80,
            "kept": 16,
            "half": False,
        }
    },
    scales={
        "smoke": {"steps": 2, "batch_size": 4, "every": 2, "warmup": 1, "panels": 28},
        "quick": {"steps": 30, "every": 10, "warmup": 5, "panels": 560},
        "paper": {"steps": 5000, "panels": 2800},
    },
    data=subset(datasets.KINDS, "raven"),
    run=run_page_detector,
)

EXPERIMENTS = (PAGE_DETECTOR,)
