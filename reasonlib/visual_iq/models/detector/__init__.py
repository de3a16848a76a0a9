"""Perception: a two-stage detector of entities and vacant slots, in plain PyTorch."""

from reasonlib.visual_iq.models.detector.detector import Detections, Detector, DetectorConfig, Look, Targets
from reasonlib.visual_iq.models.detector.perceive import Perceived, load_detector, perceive

__all__ = [
    "Detections",
    "Detector",
    "DetectorConfig",
    "Look",
    "Perceived",
    "Targets",
    "load_detector",
    "perceive",
]
