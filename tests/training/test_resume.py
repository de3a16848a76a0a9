"""A run that is killed, stopped or damaged goes on to the result it would have had."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from training import training_child as child

from reasonlib.errors import UserError
from reasonlib.training import TrainingConfig, fit, load_weights, seeded, weights_metadata
from reasonlib.training.checkpoints import differences

CHILD = Path(child.__file__)


@pytest.fixture(scope="module")
def uninterrupted(one_thread):
    history, model = child.resumable(None)
    assert history.steps_done == history.steps_planned == 16
    return child.rows_of(history), child.digest(model)


class Stop(Exception):
    """What interrupts a run in this process."""


def stop_at(call):
    """A loss that ends the run at its n-th call."""
    calls = 0

    def loss(model, batch):
        nonlocal calls
        calls += 1
        if calls == call:
            raise Stop
        return child.cross_entropy(model, batch)

    return loss


def interrupted(folder, call=18):
    """Leave in `folder` the checkpoints of a run that ended within its third epoch."""
    with pytest.raises(Stop):
        child.resumable(folder, loss=stop_at(call))


def test_a_run_killed_three_times_ends_as_if_it_never_was(tmp_path, uninterrupted):
    folder = tmp_path / "run"
    kills = [
        "step:12",  # batch 12: within the second epoch, after the checkpoint at step 6
        "replace:4",  # the tensors are in their place, the JSON that makes them count is not
        "step:3",
    ]
    done = subprocess.run(
        [sys.executable, CHILD, "kill", folder, *kills],
        env=os.environ | {"PYTHONPATH": str(CHILD.parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    ends, steps = zip(*(map(int, line.split()) for line in done.stdout.splitlines()), strict=True)
    assert ends == (-signal.SIGKILL,) * len(kills)
    assert list(steps) == sorted(steps) and steps[0] > 0
    history, model = child.resumable(folder)
    assert history.resumed_from == steps[-1]
    assert (child.rows_of(history), child.digest(model)) == uninterrupted


@pytest.mark.parametrize("call", range(1, 29, 3))
def test_it_resumes_from_anywhere(tmp_path, uninterrupted, call):
    interrupted(tmp_path, call)
    history, model = child.resumable(tmp_path)
    assert (child.rows_of(history), child.digest(model)) == uninterrupted


def test_no_budget_stops_after_each_step_and_says_so(tmp_path, uninterrupted):
    hurried = replace(child.RESUMED, minutes=0)
    for step in range(1, 17):
        history, model = child.resumable(tmp_path, config=hurried, save_every=None)
        assert (history.steps_done, history.steps_planned, len(history)) == (step, 16, step // 4)
        if step < 16:
            assert history.stopped == "minutes"
            assert history.summary().startswith(f"out of its minutes: {step} of 16 steps")
    assert history.stopped == "finished"
    assert (child.rows_of(history), child.digest(model)) == uninterrupted


def test_a_finished_run_is_returned_at_once(tmp_path, uninterrupted):
    child.resumable(tmp_path)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    history, model = child.resumable(tmp_path, loss=stop_at(1))
    assert (child.rows_of(history), child.digest(model)) == uninterrupted
    assert history.stopped == "finished" and history.resumed_from == 16
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}


def test_the_folder_holds_two_checkpoints_and_the_best_weights(tmp_path, uninterrupted):
    history, model = child.resumable(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name.rpartition("-")[0] for name in names if name.endswith(".json")] == ["checkpoint"] * 2
    assert {Path(name).suffix for name in names} == {".json", ".safetensors"}
    best = tmp_path / f"best-{history.best['epoch']:06d}.safetensors"
    assert weights_metadata(best)["accuracy"] == str(history.best["accuracy"])
    for name, tensor in load_weights(best).items():
        assert torch.equal(tensor, model.state_dict()[name])


def test_checkpoints_by_the_clock(tmp_path):
    child.resumable(tmp_path, save_every=None, save_seconds=0)
    assert max(tmp_path.glob("checkpoint-*.json")).stem == "checkpoint-000017"  # every step, and the end
    child.resumable(tmp_path / "slow", save_every=None, save_seconds=None)
    assert max((tmp_path / "slow").glob("checkpoint-*.json")).stem == "checkpoint-000001"


def test_files_of_others_stay(tmp_path):
    for name in ("best-model.safetensors", "notes.json", "checkpoint-mine.json"):
        (tmp_path / name).write_text("mine")
    child.resumable(tmp_path)
    for name in ("best-model.safetensors", "notes.json", "checkpoint-mine.json"):
        assert (tmp_path / name).read_text() == "mine"


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("ending", ["json", "safetensors"])
@pytest.mark.parametrize("damage", [cut, flip, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, uninterrupted, damage, ending):
    interrupted(tmp_path)
    damaged = max(tmp_path.glob(f"checkpoint-*.{ending}"))
    damage(damaged)
    if ending == "json" and damage is Path.unlink:  # never finished: nothing to say
        history, model = child.resumable(tmp_path)
    elif ending == "json" and damage is flip:
        with pytest.warns(UserWarning, match="a checkpoint is damaged"):
            history, model = child.resumable(tmp_path)
    else:
        with pytest.warns(UserWarning, match=rf"a checkpoint is damaged \({damaged.stem}.*going on from"):
            history, model = child.resumable(tmp_path)
    assert 0 < history.resumed_from < 9
    assert (child.rows_of(history), child.digest(model)) == uninterrupted


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_no_whole_checkpoint_is_one_clear_line(tmp_path, damage):
    interrupted(tmp_path)
    for path in tmp_path.glob("checkpoint-*.safetensors"):
        damage(path)
    with pytest.raises(UserError, match=r"no checkpoint in .* is whole .*; delete the folder") as raised:
        child.resumable(tmp_path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": replace(child.RESUMED, lr=0.1)}, r"another configuration \(lr is 0.05 there, 0.1 here\)"),
        ({"config": replace(child.RESUMED, seed=8)}, r"another configuration \(seed is 7 there, 8 here\)"),
        ({"identity": {"data": "en"}}, r"another configuration \(data is absent there, en here\)"),
        ({"monitor": "loss", "mode": "min"}, "monitor is accuracy there, loss here"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, options, message):
    interrupted(tmp_path)
    with pytest.raises(UserError, match=f"{message}.*use another folder, or delete this one") as raised:
        child.resumable(tmp_path, **options)
    assert "\n" not in str(raised.value)


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    config = TrainingConfig(epochs=1)
    batches, loss = (lambda epoch: [torch.ones(2, 3)]), (lambda model, batch: model(batch).square().mean())
    fit(nn.Linear(3, 2), batches, loss=loss, config=config, checkpoint=tmp_path)
    with pytest.raises(UserError, match=r"another model \(.*weight is \(2, 3\) there, \(4, 3\) here\); "):
        fit(nn.Linear(3, 4), batches, loss=loss, config=config, checkpoint=tmp_path)


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "weights"
    path.write_text("")
    with pytest.raises(UserError, match="checkpoint must be a folder"):
        child.resumable(path)


def test_differences_name_the_first_three_values(tmp_path):
    assert differences({"a": {"b": 1}}, {"a": {"b": 1}}) == []
    interrupted(tmp_path)
    other = TrainingConfig(epochs=1, lr=1, optimiser="sgd")
    with pytest.raises(UserError, match=r"epochs is 4 .*; lr is .*; optimiser is .*; and \d+ more\)"):
        child.resumable(tmp_path, config=other)


def check_resumes(make, batches, stop, folder):
    """A run that stops at a batch goes on from it to the same weights; return the batches of a whole run."""

    def run(stop, folder):
        seen = []

        def loss(model, batch):
            if len(seen) == stop:
                raise Stop
            seen.append(batch.tolist())
            return model(batch).square().mean()

        with seeded(0):
            model = make()
        fit(model, batches, loss=loss, config=TrainingConfig(epochs=2), checkpoint=folder, save_every=1)
        return seen, child.digest(model)

    whole, weights = run(-1, None)
    with pytest.raises(Stop):
        run(stop, folder)
    assert run(-1, folder) == (whole[stop:], weights)
    return whole


def test_a_shuffling_loader_resumes(tmp_path):
    loader = torch.utils.data.DataLoader(torch.arange(12.0)[:, None], batch_size=3, shuffle=True)
    whole = check_resumes(lambda: nn.Linear(1, 1), lambda epoch: loader, 6, tmp_path)
    first, second = ([item for batch in part for (item,) in batch] for part in (whole[:4], whole[4:]))
    assert sorted(first) == sorted(second) == list(range(12)) and first != second


@pytest.mark.parametrize("stop", [1, 3, 4, 5, 7])
def test_batches_that_draw_as_they_go_resume(tmp_path, stop):
    def make():
        return nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 1))

    check_resumes(make, lambda epoch: (torch.randn(2, 3) for _ in range(4)), stop, tmp_path)


def test_what_changes_with_time_is_told_again(tmp_path):
    events = []

    def start(epoch, rows):
        events.append((epoch, len(rows)))

    with pytest.raises(Stop):
        child.resumable(tmp_path, loss=stop_at(20), on_epoch_start=start)  # after the checkpoint at step 10
    child.resumable(tmp_path, on_epoch_start=start)
    assert events == [(0, 0), (1, 1), (2, 2), (2, 2), (3, 3)]


def test_plateau_and_patience_outlive_a_kill(tmp_path):
    config = TrainingConfig(epochs=20, lr=0.1, optimiser="sgd", schedule="plateau", step_every=2, patience=7)
    scores = [0.1, 0.5, 0.4, 0.3, 0.5, 0.2, 0.6, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]

    def run(folder, stop):
        def validate(model):
            if stop and len(history) == stop:
                raise Stop
            return {"accuracy": scores[len(history)]}

        history = []
        options = {"on_epoch_start": lambda epoch, rows: history.__setitem__(slice(None), rows)}
        return child.resumable(
            folder, config=config, validate=validate, save_every=1, loss=child.cross_entropy, **options
        )

    whole, model = run(None, 0)
    assert whole.stopped == "early" and len(whole) == 14 and whole.best["epoch"] == 7
    for stop in (3, 8, 12):
        with pytest.raises(Stop):
            run(tmp_path, stop)
    resumed, resumed_model = run(tmp_path, 0)
    assert child.rows_of(resumed) == child.rows_of(whole)
    assert child.digest(resumed_model) == child.digest(model)
