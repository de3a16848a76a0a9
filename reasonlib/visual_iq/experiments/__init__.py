"""Experiments of this topic, by name; each module holds one family of rows, its recipe and run function."""

from reasonlib.tracking.experiment import named
from reasonlib.visual_iq.data.datasets import KINDS as DATA
from reasonlib.visual_iq.experiments import (
    bundle,
    candidates_only,
    detection,
    page_detector,
    pipeline,
    pixels,
    reasoners,
)

__all__ = ["DATA", "EXPERIMENTS"]

EXPERIMENTS = named(
    *detection.EXPERIMENTS,
    *reasoners.EXPERIMENTS,
    *pipeline.EXPERIMENTS,
    *candidates_only.EXPERIMENTS,
    *pixels.EXPERIMENTS,
    *bundle.EXPERIMENTS,
    *page_detector.EXPERIMENTS,
)
