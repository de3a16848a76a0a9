"""Weights on disk."""

import os

import pytest
import torch
from safetensors import safe_open
from torch import nn

from reasonlib.errors import UserError
from reasonlib.training import load_weights, save_weights, weights_metadata


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5, 3)
        self.out = nn.Linear(3, 5)
        self.out.weight = self.words.weight
        self.register_buffer("ids", torch.arange(4))


def test_weights_come_back_bit_for_bit_and_tied_ones_are_stored_once(tmp_path):
    model = Tied()
    path = save_weights(tmp_path / "deep" / "model.safetensors", model, metadata={"epochs": 3, "by": "us"})
    weights = load_weights(path)
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert weights["words.weight"].data_ptr() == weights["out.weight"].data_ptr()
    assert weights_metadata(path) == {"epochs": "3", "by": "us"}
    with safe_open(path, framework="pt") as file:
        assert len(list(file.keys())) == 3
    assert os.listdir(path.parent) == ["model.safetensors"]


def test_weights_can_be_read_by_whoever_reads_other_files(tmp_path):
    (tmp_path / "other").write_text("")
    path = save_weights(tmp_path / "w", {"x": torch.ones(1)})
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_half_precision_is_half_the_size(tmp_path):
    model = nn.Linear(300, 300)
    sizes = [save_weights(tmp_path / f"{half}", model, half=half).stat().st_size for half in (False, True)]
    assert sizes[1] / sizes[0] == pytest.approx(0.5, abs=0.01)
    weights = load_weights(tmp_path / "True")
    assert weights["weight"].dtype == torch.float16
    other = nn.Linear(300, 300)
    other.load_state_dict(weights)
    torch.testing.assert_close(other.weight, model.weight, atol=1e-4, rtol=1e-3)
    assert load_weights(save_weights(tmp_path / "ids", Tied(), half=True))["ids"].dtype == torch.int64


def test_half_precision_refuses_what_it_cannot_hold(tmp_path):
    with pytest.raises(
        UserError, match="'x' has values that half precision cannot hold; save with half=False"
    ):
        save_weights(tmp_path / "x", {"x": torch.tensor([1e6])}, half=True)
    assert not (tmp_path / "x").exists()


def test_views_are_stored_alone(tmp_path):
    whole = torch.arange(12.0).view(3, 4)
    state = {
        "whole": whole,
        "row": whole[1],
        "column": whole[:, 1],
        "turned": whole.T,
        "empty": whole[:0],
        "end": whole[2:],
    }
    weights = load_weights(save_weights(tmp_path / "views", state))
    assert all(torch.equal(weights[name], tensor) for name, tensor in state.items())
    with pytest.raises(ValueError, match="weights must be tensors, got int for 'x'"):
        save_weights(tmp_path / "x", {"x": 1})


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = save_weights(tmp_path / "w", {"x": torch.ones(3)})

    def fail(source, target):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            save_weights(path, {"x": torch.zeros(3)})
    assert load_weights(path)["x"].tolist() == [1, 1, 1] and os.listdir(tmp_path) == ["w"]


@pytest.mark.parametrize("read", [load_weights, weights_metadata])
def test_weights_that_cannot_be_read_are_one_clear_line(tmp_path, read):
    with pytest.raises(UserError, match=r"there are no weights at .*none"):
        read(tmp_path / "none")
    path = save_weights(tmp_path / "w", {"x": torch.ones(30)})
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(UserError, match="is not a safetensors file or was cut short") as raised:
        read(path)
    assert "\n" not in str(raised.value)
