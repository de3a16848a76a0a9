"""Perception: a two-stage detector of entities and vacant slots, in plain PyTorch."""

from reasonlib.visual_iq.data.detection_targets import DetectionTargets
from reasonlib.visual_iq.models.detector.detector import Detector, DetectorConfig
from reasonlib.visual_iq.models.detector.outputs import Detections, DetectionStages
from reasonlib.visual_iq.models.detector.perceive import PerceivedProblems, perceive

__all__ = [
    "DetectionStages",
    "DetectionTargets",
    "Detections",
    "Detector",
    "DetectorConfig",
    "PerceivedProblems",
    "perceive",
]
