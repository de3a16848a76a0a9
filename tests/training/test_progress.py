"""Devices, counts of parameters, and the line of progress."""

import contextlib
import io
import sys
import types

import pytest
import torch
from training.small import Rates, make, scripted, train

from reasonlib.errors import UserError
from reasonlib.training import best_precision, device, parameter_count, seeded


def test_devices():
    assert device("cpu") == torch.device("cpu")
    assert device() == device("auto")
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match=r"there is no device 'cuda' here \(CUDA devices: 0\); use 'cpu'"):
            device("cuda")
    with pytest.raises(UserError, match="there is no device 'cuda:99' here"):
        device("cuda:99")
    for name in ("gpu", "meta", "vulkan"):
        with pytest.raises(
            UserError, match=f"device must be auto, cpu, cuda, cuda:0, ... or mps, got '{name}'"
        ):
            device(name)


def test_accelerate_can_force_the_cpu(monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_CPU", "True")
    assert device() == torch.device("cpu")


@pytest.mark.parametrize("supported", [True, False])
def test_only_a_gpu_that_computes_in_bf16_trains_in_it(monkeypatch, supported):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: supported)
    assert best_precision("cuda:0") == ("bf16" if supported else "no")
    assert best_precision(torch.device("cpu")) == best_precision("mps") == "no"


def test_bf16_needs_a_gpu():
    with pytest.raises(
        UserError, match="precision 'bf16' needs a CUDA GPU, and the model is on cpu; use precision 'no'"
    ):
        train(precision="bf16")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_bf16_on_a_gpu_trains_and_resumes(tmp_path):
    kinds = set()

    def loss(model, batch):
        out = model(batch[0])
        kinds.add((out.dtype, batch[0].device.type))
        return (out.float() - batch[1]).square().mean()

    options = {"loss": loss, "precision": "bf16", "lr": 0.05}
    with seeded(0):
        start = make(dropout=0.1).cuda()
    whole, _ = train(start, epochs=30, **options)
    assert kinds == {(torch.bfloat16, "cuda")} and whole[-1]["loss"] < whole[0]["loss"] / 2
    resumed = make(dropout=0.1).cuda()
    train(resumed, epochs=30, minutes=0, checkpoint=tmp_path, **options)
    history, _ = train(resumed, epochs=30, checkpoint=tmp_path, **options)
    assert history.resumed_from == 1
    assert history[-1]["loss"] == pytest.approx(whole[-1]["loss"], rel=0.05)


def test_shared_parameters_count_once():
    model = make()
    model[3].bias = model[0].bias
    assert parameter_count(model) == 12 + 4 + 4
    model[0].weight.requires_grad_(False)
    assert parameter_count(model, trainable=True) == 8


def test_the_seed_ends_with_its_block():
    state = torch.get_rng_state()
    with pytest.raises(KeyError), seeded(3):
        torch.rand(3)
        raise KeyError
    assert torch.equal(torch.get_rng_state(), state)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "progress", "shown"),
    [
        (io.StringIO, None, False),
        (io.StringIO, True, True),
        (Terminal, None, True),
        (Terminal, False, False),
    ],
)
def test_a_terminal_shows_a_bar_and_a_file_none(monkeypatch, stream, progress, shown):
    err = stream()
    monkeypatch.setattr(sys, "stderr", err)
    train(progress=progress, epochs=2, validate=scripted([0.25, 0.75]))
    assert bool(err.getvalue()) == shown
    if shown:
        assert "2/2" in err.getvalue() and "accuracy 0.75" in err.getvalue()


def test_a_notebook_shows_one_line_that_is_updated(monkeypatch):
    lines = []

    class Handle:
        def update(self, data, raw):
            lines[-1].append(data["text/plain"])

    def display(data, raw, display_id):
        lines.append([data["text/plain"]])
        return Handle()

    shell = types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    with contextlib.redirect_stderr(Terminal()) as err:
        train(epochs=3, validate=scripted([0.1, 0.2, 0.5]))
        train(epochs=3, progress=False)
    assert len(lines) == 1 and not err.getvalue()
    assert lines[0][0].startswith("░" * 24 + " 0 of 3 steps")
    assert lines[0][-1].startswith("█" * 24 + " 3 of 3 steps") and lines[0][-1].endswith("accuracy 0.5")


def test_the_loss_shown_is_the_mean_so_far():
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        train(
            Rates(), lambda epoch: [torch.zeros(1)], loss=lambda m, b: m.x * 0 + 0.5, epochs=1, progress=True
        )
    assert "loss 0.5" in err.getvalue()
