"""Make the bundled weights again.

    reasonlib run modality_alignment/bundle --scale paper     weights/tvqa-abc.safetensors

A run at ``paper`` replaces the file; at a smaller scale it only measures.
"""

from reasonlib.modality_alignment.experiments.train import Recipe, build, load_trial, train_answerer
from reasonlib.modality_alignment.experiments.video_qa import measured_on
from reasonlib.modality_alignment.models.pretrained import WEIGHTS, save_model
from reasonlib.modality_alignment.models.tvqa_abc import TVQA_abc
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.settings import construct

__all__ = ["make_bundle"]


def make_bundle(trial: Trial) -> Measured:
    """Train TVQA_abc and write it if the scale is ``paper``; metrics as of `run_video_qa`."""
    recipe = construct(Recipe, trial.settings)
    vocabulary, parts = load_trial(trial)
    features = parts["train"].batch.regions.shape[-1]
    model = build(trial.settings, vocabulary=len(vocabulary), features=features, seed=trial.seed)
    history = train_answerer(model, parts["train"], recipe, valid_set=parts["valid"], **trial.options)
    measured = measured_on(model, parts["test"], history)
    if trial.scale == "paper" and history.steps_done == history.steps_planned:
        made = {name: round(value, 4) for name, value in measured.metrics.items() if "accuracy" in name}
        made |= {"seed": trial.seed, "train": len(parts["train"]), "kinds": list(trial.settings["kinds"])}
        assert isinstance(model, TVQA_abc)
        save_model(model, WEIGHTS / "tvqa-abc.safetensors", vocabulary=vocabulary, made=made)
    return measured
