"""Experiments of this topic, by name; each module holds one family of rows, its recipe and run function."""

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

EXPERIMENTS = {
    experiment.name: experiment
    for family in (detection, reasoners, pipeline, candidates_only, pixels, bundle, page_detector)
    for experiment in family.EXPERIMENTS
}
