"""How far runs of one network lie apart: several trainings a run, from other initial weights (chapter 6).

The source finds that plain networks vary from run to run more than those with paragraph vectors do.
"""

import time
from dataclasses import replace

import numpy as np

from reasonlib.goal_dialogue.experiments.memory_networks import networks_experiment, run_networks
from reasonlib.goal_dialogue.experiments.sentence_encoders import DBOW, WORD2VEC
from reasonlib.tracking.experiment import Measured, Trial, extend_scales

__all__ = ["RESTARTS", "run_restarts"]


_STOPS = ("finished", "early", "minutes")
"""From a whole training to one that is cut off."""


def run_restarts(trial: Trial) -> Measured:
    """Train the same network ``restarts`` times and measure the spread of its accuracy.

    Metrics are those of `run_networks`, each as the mean over the restarts, and ``spread.task5`` and so on,
    the standard deviation over them.
    """
    began = time.monotonic()
    runs: list[Measured] = []
    for restart in range(trial.settings["restarts"]):
        left = None if trial.minutes is None else trial.minutes - (time.monotonic() - began) / 60
        if left is not None and left <= 0:
            break
        runs.append(
            run_networks(
                replace(
                    trial,
                    seed=trial.seed * 1000 + restart,
                    minutes=left,
                    folder=None if trial.folder is None else trial.folder / f"restart-{restart}",
                )
            )
        )
    values = {name: [run.metrics[name] for run in runs if name in run.metrics] for name in runs[0].metrics}
    missing = trial.settings["restarts"] - len(runs)
    return Measured(
        metrics={name: float(np.mean(several)) for name, several in values.items()}
        | {
            f"spread.{name}": float(np.std(several, ddof=1))
            for name, several in values.items()
            if len(several) > 1 and name.startswith(("task", "oov"))
        },
        steps_done=sum(run.steps_done for run in runs),
        steps_planned=sum(run.steps_planned for run in runs) + missing,
        stopped="minutes" if missing else max((run.stopped for run in runs), key=_STOPS.index),
        details={"restarts": len(runs)},
    )


RESTARTS = networks_experiment(
    "restarts",
    "The same network from several initial weights, on full dialogues",
    {"n2n": {"network": "n2n"}, "dbow": DBOW},
    scales=extend_scales(
        WORD2VEC.scales, smoke={"restarts": 2}, quick={"restarts": 10}, paper={"restarts": 5}
    ),
    run=run_restarts,
    shares={"spread.*": 0, "*": 1.0},
)
