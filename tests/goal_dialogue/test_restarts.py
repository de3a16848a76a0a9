"""The spread of a network over several trainings."""

from dataclasses import replace

import pytest
import rows

from reasonlib.goal_dialogue.experiments import EXPERIMENTS, restarts
from reasonlib.tracking.experiment import Measured


@pytest.fixture
def trial():
    experiment = EXPERIMENTS["goal_dialogue/restarts"]
    settings = {**experiment.rows["n2n"], **experiment.scales["smoke"], "restarts": 3}
    return rows.trial("goal_dialogue/restarts:n2n", settings, seed=2)


def test_means_and_spreads_are_over_restarts_with_seeds_of_their_own(trial, monkeypatch, tmp_path):
    seen = []

    def network(run):
        seen.append((run.seed, run.folder and run.folder.name))
        task5 = {2000: 0.8, 2001: 0.9, 2002: 1.0}[run.seed]
        metrics = {"task5": task5, "dialogue.task5": 0.5}
        return Measured(metrics=metrics, steps_done=4, steps_planned=5, stopped="early")

    monkeypatch.setattr(restarts, "run_networks", network)
    measured = restarts.run_restarts(replace(trial, folder=tmp_path))
    assert seen == [(2000, "restart-0"), (2001, "restart-1"), (2002, "restart-2")]
    assert measured.metrics == pytest.approx({"task5": 0.9, "dialogue.task5": 0.5, "spread.task5": 0.1})
    assert (measured.steps_done, measured.steps_planned, measured.stopped) == (12, 15, "early")


def test_a_budget_that_ends_between_restarts_is_an_unfinished_run(trial, monkeypatch):
    def network(run):
        return Measured(metrics={"task5": 1.0}, steps_done=2, steps_planned=2, stopped="finished")

    monkeypatch.setattr(restarts, "run_networks", network)
    monkeypatch.setattr(restarts.time, "monotonic", iter((0.0, 0.0, 90.0)).__next__)
    measured = restarts.run_restarts(replace(trial, minutes=1.0))
    assert measured.metrics == {"task5": 1.0}  # one run has no spread
    assert (measured.steps_planned, measured.stopped) == (4, "minutes")
