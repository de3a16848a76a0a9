"""A first stage that rows share is trained once, kept, and counted for each of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from reasonlib.tracking.experiment import Experiment, Measured, Trial
from reasonlib.tracking.runner import run
from reasonlib.tracking.stages import Stages
from reasonlib.training import History

TRAINED: list[tuple] = []
"""The stages that were really trained, not restored: name, settings, seed."""


class First(NamedTuple):
    """A number that took three steps, and what happened."""

    number: int
    history: History


def train_first(stage: Trial) -> First:
    """Count to three in a file, as many steps as the settings allow at a time."""
    file = None if stage.folder is None else stage.folder / "count"
    done = int(file.read_text()) if file is not None and file.is_file() else 0
    if done < 3:
        TRAINED.append((stage.row, dict(stage.settings), stage.seed))
        done = 3 if stage.minutes is None else done + 1
    if file is not None:
        file.write_text(str(done))
    stopped = "finished" if done == 3 else "minutes"
    return First(stage.settings["width"] * 100 + stage.seed, History([], done, 3, stopped=stopped))


def train_second(stage: Trial) -> First:
    """Begin with the first stage, too."""
    first = stage.shared_stage("first", train_first, {"width": stage.settings["width"]})
    return replace_number(train_first(stage), first.number + 1)


def replace_number(first: First, number: int) -> First:
    return First(number, first.history)


def begin(trial: Trial) -> Measured:
    first = trial.shared_stage("first", train_first, {"width": trial.settings["width"]})
    metrics = {"number": first.number, "rate": trial.settings["rate"]}
    if trial.settings.get("second"):
        metrics["second"] = trial.shared_stage("second", train_second, dict(trial.settings)).number
    return Measured(metrics=metrics, steps_done=first.history.steps_done, steps_planned=3)


ROWS = {"slow": {"width": 1, "rate": 1}, "fast": {"width": 1, "rate": 2}, "wide": {"width": 2, "rate": 1}}

EXPERIMENT = Experiment(
    name="toy/stages",
    title="Rows that begin alike",
    rows=ROWS,
    scales={"smoke": {}},
    data={"made": "stand-in", "other": "stand-in"},
    run=begin,
)


@pytest.fixture(autouse=True)
def nothing_trained():
    TRAINED.clear()


def go(experiment=EXPERIMENT, **options):
    return run(experiment, **{"scale": "smoke", "device": "cpu", **options})


def names():
    return [(settings["width"], seed) for _, settings, seed in TRAINED]


def clocks(root: Path) -> list[Path]:
    return sorted((root / "toy" / "_shared").rglob("clock.json"))


def test_rows_of_one_call_share_a_stage_with_or_without_checkpoints(tmp_path):
    without = go()
    assert names() == [(1, 0), (2, 0)]
    kept = go(checkpoints=tmp_path)
    assert names() == [(1, 0), (2, 0)] * 2
    assert [r.metrics for r in without] == [r.metrics for r in kept]
    assert [r.steps for r in without] == [r.steps for r in kept]


def test_a_process_that_comes_later_takes_what_was_trained(tmp_path):
    go(rows="slow", checkpoints=tmp_path)
    go(rows="fast", checkpoints=tmp_path)
    assert names() == [(1, 0)]


@pytest.mark.parametrize(
    "changes",
    [
        {"seeds": 1},
        {"data": "other"},
        {"experiment": replace(EXPERIMENT, version=lambda data: "2")},
        {"experiment": replace(EXPERIMENT, rows={"slow": {"width": 3, "rate": 1}})},
    ],
)
def test_another_seed_data_or_setting_trains_its_own(changes, tmp_path):
    go(rows="slow", checkpoints=tmp_path)
    go(rows="slow", checkpoints=tmp_path, **changes)
    assert len(TRAINED) == 2


def test_other_code_trains_its_own(tmp_path):
    stages = Stages(tmp_path)
    trial = Trial(
        experiment="toy/stages", row="slow", scale="smoke", seed=0, data="made", kind="stand-in",
        settings={}, device="cpu",
    )  # fmt: skip
    assert stages._name(trial, train_first) != stages._name(trial, train_second)


def test_the_seconds_of_a_stage_count_for_each_row(tmp_path):
    go(rows="slow", checkpoints=tmp_path)
    (clock,) = clocks(tmp_path)
    clock.write_text(json.dumps({"seconds": 100.0, "finished": True}))
    (fast,) = go(rows="fast", checkpoints=tmp_path)
    assert 100 <= fast.seconds < 130
    assert fast.details["shared_seconds"] == {"first": 100.0}
    assert json.loads(clock.read_text())["seconds"] == 100.0  # it was not trained again


def test_a_stage_out_of_its_minutes_goes_on_in_the_next_row(tmp_path):
    (cut,) = go(rows="slow", checkpoints=tmp_path, minutes=1)
    assert not cut.steps.complete and cut.steps.done == 1
    (clock,) = clocks(tmp_path)
    clock.write_text(json.dumps({"seconds": 50.0, "finished": False}))
    (fast,) = go(rows="fast", checkpoints=tmp_path)
    assert fast.steps.complete and fast.seconds >= 50
    assert names() == [(1, 0), (1, 0)]
    (slow,) = go(rows="slow", checkpoints=tmp_path)
    assert slow.seconds >= 50 and slow.metrics["number"] == fast.metrics["number"]
    assert len(TRAINED) == 2


def test_a_stage_may_begin_with_another(tmp_path):
    nested = replace(EXPERIMENT, rows={name: {**row, "second": True} for name, row in ROWS.items()})
    (record,) = go(nested, rows="slow", checkpoints=tmp_path)
    assert record.metrics["second"] == 101
    assert [name for name, *_ in TRAINED] == [
        "first",
        "second",
    ]  # the first one once
    for clock, seconds in zip(clocks(tmp_path), (40.0, 2.0), strict=True):
        clock.write_text(json.dumps({"seconds": seconds, "finished": True}))
    (again,) = go(replace(nested, run=lambda trial: begin(trial)), rows="slow", checkpoints=tmp_path)
    assert again.details["shared_seconds"] == {"first": 40.0, "second": 2.0}
    assert 42 <= again.seconds < 72


def test_fresh_forgets_shared_stages(tmp_path):
    go(rows="slow", checkpoints=tmp_path)
    go(checkpoints=tmp_path, fresh=True)
    assert names() == [(1, 0), (1, 0), (2, 0)]


def test_a_trial_made_by_hand_trains_beside_its_own_checkpoints(tmp_path):
    made = {"experiment": "toy/stages", "row": "slow", "scale": "smoke", "data": "made", "kind": "stand-in"}
    trial = Trial(**made, seed=4, settings=ROWS["slow"], device="cpu")
    assert begin(trial).metrics["number"] == 104 and trial.stages.seconds["first"] >= 0
    (tmp_path / "first").mkdir()
    begin(Trial(**made, seed=4, settings=ROWS["slow"], device="cpu", folder=tmp_path))
    assert (tmp_path / "first" / "count").read_text() == "3"


def test_rows_on_two_cores_share_a_stage(tmp_path):
    records = go(rows=("slow", "fast"), checkpoints=tmp_path, jobs=2, backend="threading")
    assert names() == [(1, 0)] and [r.metrics["number"] for r in records] == [100, 100]
