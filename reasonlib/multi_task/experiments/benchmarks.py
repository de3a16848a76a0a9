"""The source's summary of its benchmarks: how many examples each released set holds."""

from reasonlib.multi_task.data.counts import NAMES, count_examples
from reasonlib.multi_task.data.datasets import load_simulated
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["run_benchmarks"]


def run_benchmarks(trial: Trial) -> Measured:
    """Count the examples of the set that the data name says.

    Metrics
    -------
    ``set.train``, ``set.dev``, ``set.test``, as far as the parts are on this machine, and ``set.labels``.
    """
    if trial.data in NAMES:
        name, counts = NAMES[trial.data], count_examples(trial.data)
    else:
        task, *parts = load_simulated("entailment")
        name, counts = task.name, dict(zip(("train", "dev", "test"), map(len, parts), strict=True))
        counts["labels"] = len(task.labels)
    return Measured(metrics={f"{name}.{part}": float(count) for part, count in counts.items()})
