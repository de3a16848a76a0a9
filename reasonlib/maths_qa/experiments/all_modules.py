"""One model on all modules, beside the most frequent answer of each: accuracy by module as one picture."""

from reasonlib.maths_qa.experiments.baselines import run_baseline
from reasonlib.maths_qa.experiments.pretraining import run_pretraining
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["run_all_modules"]


def run_all_modules(trial: Trial) -> Measured:
    """Measure a Transformer, see `run_pretraining`, or a `system` of `run_baseline`."""
    return (run_baseline if "system" in trial.settings else run_pretraining)(trial)
