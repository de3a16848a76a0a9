"""What every experiment of every topic must do; the slow test trains one row of each run function."""

import math

import pytest

from reasonlib.errors import UserError
from reasonlib.tracking import claims
from reasonlib.tracking.experiment import experiments, settings, topics
from reasonlib.tracking.runner import run

EXPERIMENTS = experiments()
RUN_FUNCTIONS = {(e.run.__module__, e.run.__name__): e for e in reversed(EXPERIMENTS.values())}
SPEED = ("seconds", "per_second", "milliseconds", "in_time", "memory", "ratio", "times", "speed")
"""Words in the names of metrics that differ from run to run."""


def numbers(record):
    """Give the metrics of a record that must be the same in every run."""
    return {name: value for name, value in record.metrics.items() if not any(word in name for word in SPEED)}


@pytest.mark.slow
@pytest.mark.parametrize("experiment", RUN_FUNCTIONS.values(), ids=lambda e: e.name)
def test_a_run_out_of_time_continues_to_the_same_result(experiment, tmp_path):
    options = {"rows": next(iter(experiment.rows)), "scale": "smoke", "seeds": 1, "device": "cpu"}
    try:
        (whole,) = run(experiment, **options)
    except UserError as error:
        pytest.skip(f"needs a corpus that is not here: {error}")
    assert whole.steps.complete and whole.metrics
    assert all(value is None or math.isfinite(value) for value in whole.metrics.values())
    (first,) = run(experiment, minutes=1e-4, checkpoints=tmp_path, **options)
    assert first.steps.done <= first.steps.planned
    (second,) = run(experiment, checkpoints=tmp_path, **options)
    assert second.steps.complete and second.steps.done == whole.steps.done
    assert numbers(second) == numbers(whole)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_every_row_has_settings_at_every_scale(experiment):
    assert "smoke" in experiment.scales and len(experiment.title.splitlines()) == 1
    for row in experiment.rows:
        for scale in experiment.scales:
            assert isinstance(settings(experiment, row, scale), dict)


@pytest.mark.parametrize("topic", topics())
def test_claims_name_experiments_and_rows_that_exist(topic):
    for claim in claims.load(topic):
        for side in claim.sides:
            assert side.experiment in EXPERIMENTS, f"{claim.id}: no experiment {side.experiment}"
            assert side.row in EXPERIMENTS[side.experiment].rows, f"{claim.id}: no row {side.row}"
        assert claim.data is None or claim.data in EXPERIMENTS[claim.experiment].data, claim.id
