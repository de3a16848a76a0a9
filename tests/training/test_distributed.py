"""Two processes under ``accelerate launch`` train to the same result as one."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import nn
from training import training_child as child

from reasonlib.training import TrainingConfig, batch_weight, fit, load_weights, split_batch

CHILD = Path(child.__file__)


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """Train every case once, in two processes; the folder with what they wrote."""
    folder = tmp_path_factory.mktemp("together")
    launch = "accelerate.commands.launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no"
    command = [sys.executable, "-m", *launch.split(), "--dynamo_backend", "no", "--main_process_port", "0"]
    environment = os.environ | {
        "PYTHONPATH": str(CHILD.parents[1]),
        "OMP_NUM_THREADS": "1",
        "ACCELERATE_USE_CPU": "true",
    }
    done = subprocess.run(
        [*command, str(CHILD), "several", str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", child.CASES)
def test_two_processes_train_to_the_result_of_one(together, tmp_path, name):
    alone, model = child.case(name, tmp_path)
    main = json.loads((together / f"{name}-0.json").read_text())
    assert main["first"] == alone["first"] == ["minutes", 1]
    assert main["stopped"] == alone["stopped"] == ("early" if name == "early" else "finished")
    assert len(main["rows"]) == len(alone["rows"])
    for main_row, alone_row in zip(main["rows"], alone["rows"], strict=True):
        assert main_row == pytest.approx(alone_row, abs=1e-6)
    weights = load_weights(together / f"{name}-0.safetensors")
    for key, tensor in model.state_dict().items():
        torch.testing.assert_close(weights[key], tensor, atol=1e-6, rtol=0)
    unused, untouched = weights["unused.weight"], child.make().unused.weight
    assert torch.equal(unused, untouched)  # no gradient on any process: not even weight decay


@pytest.mark.parametrize("name", child.CASES)
def test_both_processes_hold_the_same_bits(together, name):
    main, other = (json.loads((together / f"{name}-{rank}.json").read_text()) for rank in (0, 1))
    assert main["digest"] == other["digest"]
    assert main["rows"] == other["rows"]


@pytest.mark.parametrize("name", child.CASES)
def test_one_process_validates_and_writes(together, name):
    main, other = (json.loads((together / f"{name}-{rank}.json").read_text()) for rank in (0, 1))
    assert main["validations"] == len(main["rows"]) and other["validations"] == 0
    names = sorted(path.name for path in (together / "checkpoints" / name).iterdir())
    assert [n for n in names if n.startswith("checkpoint")] == [
        f"checkpoint-{serial:06d}.{ending}" for serial in (1, 2) for ending in ("json", "safetensors")
    ]
    newest = load_weights(together / "checkpoints" / name / "checkpoint-000002.safetensors")
    assert newest["rng/cpu"].shape[0] == 2  # the random state of each process


def test_one_process_takes_up_the_run_of_two(together):
    _, model = child.case("sgd", together / "checkpoints")
    assert child.digest(model) == json.loads((together / "sgd-0.json").read_text())["digest"]


class Pair(NamedTuple):
    words: torch.Tensor
    name: str


@dataclass(frozen=True)
class Box:
    words: torch.Tensor
    more: list


class Own:
    """A batch that knows how to cut itself: two of its three parts have another first axis."""

    def __init__(self, table, rows):
        self.table, self.rows = table, rows

    def __len__(self):
        return len(self.rows)

    def shard(self, index, count):
        return Own(self.table, self.rows.tensor_split(count)[index])


def test_batches_are_cut_whatever_their_form():
    x = torch.arange(5)
    assert [split_batch(x, i, 3).tolist() for i in range(3)] == [[0, 1], [2, 3], [4]]
    assert [split_batch(x[:1], i, 2).tolist() for i in range(2)] == [[0], []]
    pair = split_batch(Pair(x, "a"), 1, 2)
    assert isinstance(pair, Pair) and pair.words.tolist() == [3, 4] and pair.name == "a"
    box = split_batch(Box(x, [x, {"y": x}, torch.tensor(7)]), 0, 2)
    assert isinstance(box, Box) and box.more[1]["y"].tolist() == [0, 1, 2] and box.more[2] == 7
    assert split_batch((x, ["as", "it", "is"]), 1, 2)[1] == ["as", "it", "is"]
    own = split_batch(Own(torch.zeros(9, 2), x), 1, 2)
    assert own.rows.tolist() == [3, 4] and len(own.table) == 9
    assert [batch_weight(b) for b in (x, pair, box, own)] == [5, 2, 3, 2]


@pytest.mark.parametrize("cut", [batch_weight, lambda batch: split_batch(batch, 0, 2)])
@pytest.mark.parametrize("batch", [(torch.zeros(3), torch.zeros(4, 2)), {"words": "text"}, [1, 2]])
def test_a_batch_without_one_first_axis_needs_its_own_cut(cut, batch):
    with pytest.raises(ValueError, match=r"one common first axis, got .*; give fit your own weight="):
        cut(batch)


def test_weights_of_nothing_are_refused():
    config = TrainingConfig(epochs=1, accumulate=2)
    batch = torch.ones(2, 3)
    with pytest.raises(ValueError, match="weight must be above 0"):
        fit(
            nn.Linear(3, 1),
            lambda epoch: [batch, batch],
            loss=lambda model, batch: model(batch).mean(),
            config=config,
            weight=lambda batch: 0,
        )


def test_one_process_in_the_place_of_several_says_so(monkeypatch):
    monkeypatch.setenv(
        "ACCELERATE_MIXED_PRECISION", "no"
    )  # what `accelerate launch --cpu --num_processes 2` sets
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    with pytest.warns(UserWarning, match="asked for several processes and started one"):
        child.case("sgd", None)
