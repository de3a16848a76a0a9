"""Make the bundled weights again: the small HCE that answers in the reader's browser.

    reasonlib run context_translation/bundle --scale paper     weights/hce.safetensors

A run at ``paper`` replaces the file; at a smaller scale it only measures.
"""

from reasonlib.context_translation.data.encoding import Words
from reasonlib.context_translation.experiments.measures import measure
from reasonlib.context_translation.experiments.simulated import fit_simulated
from reasonlib.context_translation.models.pretrained import WEIGHTS, save_translator
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["make_bundle"]


def make_bundle(trial: Trial) -> Measured:
    """Train the bundled translator and write it if the scale is ``paper``."""
    trained, splits = fit_simulated(trial)
    metrics, details = measure(trained, splits.test)
    history = trained.history
    if trial.scale == "paper" and history.stopped == "finished":
        assert isinstance(trained.tokens, Words)
        made = {name: round(value, 4) for name, value in metrics.items() if "." not in name}
        path = WEIGHTS / f"{trial.row}.safetensors"
        save_translator(trained.model, trained.tokens, {"seed": trial.seed, **made}, path)
    return Measured(
        metrics=metrics,
        examples=details["sentences"],
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
    )
