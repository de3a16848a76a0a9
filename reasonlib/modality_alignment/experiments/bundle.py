"""Make the bundled weights again.

    reasonlib run modality_alignment/bundle --scale paper     weights/tvqa-abc.safetensors

A run at ``paper`` replaces the file; at a smaller scale it only measures.
"""

from typing import Any

from reasonlib.modality_alignment.experiments.video_qa import fit_video_qa
from reasonlib.modality_alignment.models.pretrained import WEIGHTS, save_model
from reasonlib.modality_alignment.models.tvqa_abc import TVQA_abc
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["make_bundle"]


def make_bundle(trial: Trial) -> Measured:
    """Train TVQA_abc and write it if the scale is ``paper``; metrics as of `run_video_qa`."""
    settings = trial.settings
    model, measured, vocabulary = fit_video_qa(trial)
    if trial.scale == "paper" and measured.steps_done == measured.steps_planned:
        metadata: dict[str, Any] = {
            name: round(value, 4) for name, value in measured.metrics.items() if "accuracy" in name
        }
        metadata |= {name: settings[name] for name in ("train", "curriculum", "kinds", "lr", "batch_size")}
        metadata |= {"seed": trial.seed, "tested": measured.examples}
        assert isinstance(model, TVQA_abc)
        save_model(model, WEIGHTS / "tvqa-abc.safetensors", vocabulary=vocabulary, made=metadata)
    return measured
