"""Rows of experiments as parameters of a test: one of each run function, all with the slow tests."""

from collections.abc import Mapping
from typing import Any

import pytest

from reasonlib.tracking.experiment import Experiment


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
