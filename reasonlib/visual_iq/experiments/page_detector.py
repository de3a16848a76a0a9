"""Training the small detector that answers in the page (`reasonlib.visual_iq.page.live.detect`)."""

from pathlib import Path

from reasonlib.tracking.experiment import Experiment, Measured, Trial, subset
from reasonlib.visual_iq.data import datasets
from reasonlib.visual_iq.experiments.bundle import bundle_detector

__all__ = ["EXPERIMENTS", "SMALL", "run_page_detector"]

SMALL = Path(__file__).parents[1] / "weights" / "detector-small.safetensors"


def run_page_detector(trial: Trial) -> Measured:
    """Train as `detection.run_detector` does, and at ``paper`` scale replace the detector of the page."""
    return bundle_detector(trial, SMALL)


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
