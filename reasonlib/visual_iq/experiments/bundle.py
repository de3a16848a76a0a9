"""Training the bundled detector again: first the whole, then the head that reads types and boxes.

The bundled reasoners are written by the rows of `reasoners` whose settings say ``bundle``.
"""

from pathlib import Path

from reasonlib.tracking.experiment import Experiment, Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.visual_iq.data import datasets, panels
from reasonlib.visual_iq.experiments import detection_metrics
from reasonlib.visual_iq.experiments.detection import measure_trained, train_detector
from reasonlib.visual_iq.experiments.finetune_boxes import Recipe, box_error, extract_patches, finetune
from reasonlib.visual_iq.models.pretrained import BUNDLED, DETECTOR, from_pretrained, save_pretrained

__all__ = ["EXPERIMENTS", "bundle_detector", "bundle_finetuned", "run_bundle"]

GUARDED = ("recall", "precision", "type", "size_fair", "colour", "angle_fair", "position")
"""Metrics that fine-tuning the boxes may not lower."""
TOLERANCE = 0.001
"""Largest loss of a guarded metric."""


def bundle_detector(trial: Trial, path: Path = BUNDLED[DETECTOR]) -> Measured:
    """Do as `detection.run_detector` does, and at ``paper`` scale replace a bundled detector."""
    model, history = train_detector(trial)
    result = measure_trained(model, history, trial)
    if trial.scale == "paper" and history is not None and history.stopped == "finished":
        provenance = {
            "command": f"reasonlib run {trial.experiment} --row {trial.row} --scale paper",
            "seed": trial.seed,
            "data": trial.data,
            "steps": history.steps_done,
        }
        save_pretrained(path, model.cpu(), provenance)
    return result


def bundle_finetuned(trial: Trial) -> Measured:
    """Fine-tune the boxes of the bundled detector, measure it, and at ``paper`` scale replace it.

    It is replaced only if no metric of `GUARDED` has fallen by more than `TOLERANCE`.

    Settings: those of `Recipe`, and ``test_panels`` to measure on. ``before`` and ``after`` are errors of
    boxes on held-out panels, after one look.
    """
    settings = trial.settings
    model = from_pretrained(DETECTOR)
    recipe = Recipe(panels=settings["panels"], steps=settings["steps"])
    valid_set = extract_patches(model, max(1, recipe.panels // 8), seed=trial.seed + 1_000_003)
    before = box_error(model, valid_set)
    history = finetune(model, recipe, seed=trial.seed, minutes=trial.minutes, progress=trial.progress)
    test_panels = panels.held_out_panels(settings["test_panels"])
    metrics, bundled = (
        detection_metrics.measure(detector, test_panels) for detector in (model, from_pretrained(DETECTOR))
    )
    sound = all(metrics[name] >= bundled[name] - TOLERANCE for name in GUARDED)
    written = trial.scale == "paper" and history.stopped == "finished" and sound
    if written:
        provenance = {
            "command": "reasonlib run visual_iq/bundle --row detector --scale paper --seed 0; then"
            f" reasonlib run {trial.experiment} --row {trial.row} --scale paper --seed {trial.seed}",
            "data": trial.data,
            "steps": f"6000, then {history.steps_done} of the head of types and boxes",
        }
        save_pretrained(BUNDLED[DETECTOR], model, provenance)
    return measured(
        history,
        {
            **metrics,
            "before": before,
            "after": box_error(model, valid_set),
            "box_l1_before": bundled["box_l1"],
            "written": float(written),
        },
        curve=("epoch", "loss", "box_l1"),
    )


def run_bundle(trial: Trial) -> Measured:
    """Train one of the bundled models again, and replace it at ``paper``."""
    if trial.settings["model"] == "detector":
        return bundle_detector(trial)
    if trial.settings["model"] == "detector-boxes":
        return bundle_finetuned(trial)
    raise ValueError(f"model must be detector or detector-boxes, got {trial.settings['model']!r}")


# Experiments ------------------------------------------------------------------------------------------------

BUNDLE = Experiment(
    name="visual_iq/bundle",
    title="The bundled detector",
    rows={
        "detector": {"model": "detector", "backbone": "small"},
        "detector-boxes": {"model": "detector-boxes"},  # continues from the weights of the row before
    },
    scales={
        "smoke": {"warmup": 1, "steps": 2, "panels": 28, "test_panels": 28},
        "quick": {"steps": 30, "panels": 560, "test_panels": 560},
        "paper": {"steps": 6000, "panels": 3000, "test_panels": 2800},
    },
    data=datasets.KINDS,
    run=run_bundle,
)

EXPERIMENTS = (BUNDLE,)
