"""The source's summary of its benchmarks: how many examples each released set holds."""

from reasonlib.multi_task.data.counts import NAMES, count_examples
from reasonlib.multi_task.data.datasets import load_simulated
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["run_benchmarks"]


def run_benchmarks(trial: Trial) -> Measured:
    """Count the examples of the set that the data name says.

    Metrics
    -------
    ``train``, ``dev``, ``test``, as far as the parts are on this machine, and ``labels``.
    """
    if trial.data in NAMES:
        counts = count_examples(trial.data)
    else:
        task, *parts = load_simulated("entailment")
        counts = dict(zip(("train", "dev", "test"), map(len, parts), strict=True))
        counts["labels"] = len(task.labels)
    return Measured(metrics={name: float(count) for name, count in counts.items()})
