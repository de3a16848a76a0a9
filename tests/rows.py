"""Rows of experiments as parameters of a test (all only with the slow tests), and the trial of a row."""

from collections.abc import Mapping
from typing import Any

import pytest

from reasonlib.tracking.experiment import Experiment, Trial


def one_row_each(experiments: Mapping[str, Experiment], data: str | None = None) -> list[Any]:
    """Return the name and each row of the experiments that take `data`; slow if its run function is known."""
    rows, seen = [], set()
    for name, experiment in experiments.items():
        if data is None or data in experiment.data:
            for row in experiment.rows:
                marks = [pytest.mark.slow] if experiment.run in seen else []
                rows.append(pytest.param(name, row, marks=marks))
                seen.add(experiment.run)
    return rows


def trial(name: str, settings: Mapping[str, Any], **given: Any) -> Trial:
    """Return the trial of a row, ``topic/experiment:row``, at smoke, of seed 0 and on simulated data."""
    experiment, row = name.split(":")
    usual = {"scale": "smoke", "seed": 0, "data": "simulated", "kind": "stand-in"}
    return Trial(experiment=experiment, row=row, settings=settings, **{**usual, **given})
