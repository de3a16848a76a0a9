"""Which released set helps which: a set with few examples, alone and with each other set beside it."""

from collections.abc import Mapping

from reasonlib.multi_task.data.datasets import Splits, load_simulated
from reasonlib.multi_task.data.glue import TASKS
from reasonlib.multi_task.experiments.real import CANDIDATES, FAMILY, load_real
from reasonlib.multi_task.experiments.transfer import measure_transfer
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["SIMULATED", "run_real_transfer"]

SIMULATED: Mapping[str, str] = {
    "rte": "entailment", "mrpc": "paraphrase", "cola": "acceptability", "stsb": "similarity",
    "sst2": "sentiment", "wikiqa": "answers",
}  # fmt: skip
"""A released set, and the simulated task of its kind."""


def run_real_transfer(trial: Trial) -> Measured:
    """Measure a set with few examples alone and with each other set beside it; the row is the set.

    A training question of WikiQA counts as one example here, so that sets of equal size have equally many
    mini-batches.
    """
    sizes = {name: trial.settings[name] for name in ("checked", "asked")}

    def load(name: str, count: int) -> Splits:
        most = count * CANDIDATES if TASKS[name].kind == "ranking" else count
        return load_real(name, most=most, **sizes, seed=trial.seed)

    def simulate(task: str, count: int) -> Splits:
        parts = {"train": count, "valid": sizes["checked"], "test": sizes["asked"]}
        return load_simulated(task, **parts, seed=trial.seed)

    if trial.data == "simulated":
        return measure_transfer(trial, simulate, list(SIMULATED.values()), target=SIMULATED[trial.row])
    return measure_transfer(trial, load, FAMILY)
