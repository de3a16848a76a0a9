"""The forms in a notebook: what their sliders and buttons do, without a kernel behind them."""

import sys

import pytest
import torch

from reasonlib.errors import UserError
from reasonlib.optimisation.models.losses import focal, huber
from reasonlib.optimisation.page import widget
from reasonlib.optimisation.page.live.stack import Stack, StackConfig
from reasonlib.optimisation.page.live.tracks import LAND, TRACKS, drawn, run, surface_of


@pytest.fixture(autouse=True)
def _widgets():
    pytest.importorskip("ipywidgets", reason="the optional package ipywidgets is not installed")


def test_every_loss_with_its_slope():
    form = widget.Losses()
    assert form.values["mse"] == pytest.approx((6.25, 5.0)) and form.values["mbe"] == pytest.approx(
        (2.5, 1.0)
    )
    form.delta.value = 0.5
    assert form.values["huber"][0] == pytest.approx(
        float(huber(torch.tensor([2.5]), torch.zeros(1), delta=0.5))
    )
    form.target.value = 4.0
    assert form.values["mae"] == pytest.approx((1.5, -1.0))
    form.focus.value = 0.0
    assert form.values["focal"] == pytest.approx(form.values["log loss"])
    form.focus.value, form.probability.value = 3.0, 0.7
    assert form.values["focal"][0] == pytest.approx(
        float(focal(torch.tensor([0.7]).logit(), torch.ones(1), gamma=3.0)), rel=1e-5
    )
    assert "<svg" in form.result.value and f"{form.values['focal'][0]:.3f}" in form.result.value


def test_an_outlier_moves_the_squares_most():
    form = widget.Losses()
    before = dict(form.lines)
    form.spoilt.value = 1.0
    moved = {name: abs(form.lines[name][1] - before[name][1]) for name in before}
    assert moved["mse"] > 3 * max(moved["mae"], moved["huber"])


def test_race_and_raise_a_hill():
    form = widget.Race("saddle")
    assert form.track == TRACKS["saddle"]
    points, losses = run(TRACKS["saddle"], surface_of("saddle"), "Adadelta")
    assert torch.equal(form.paths["Adadelta"][0], points) and torch.equal(form.paths["Adadelta"][1], losses)
    arrived = int(torch.nonzero(losses <= -0.5)[0])
    assert "Leaves at" in form.result.value and f"step {arrived}</td>" in form.result.value
    assert form.raised.layout.display == "none"
    form.surface.value = "draw"
    assert form.raised.layout.display is None and form.x.value == TRACKS["draw"].start[0]
    before = form.paths["gradient descent"][0]
    form.raised.click()
    assert form.bumps == [*LAND, (*TRACKS["draw"].start, 1.0, 0.5)]
    assert not torch.equal(form.paths["gradient descent"][0], before)
    assert float(form.ground.value(torch.tensor([0.3, 0.4]))) == pytest.approx(
        float(drawn(form.bumps).value(torch.tensor([0.3, 0.4])))
    )
    with pytest.raises(ValueError, match=r"surface must be one of ravine, .*, got 'hill'"):
        widget.Race("hill")


def test_train_a_stack():
    form = widget.DeepStack(StackConfig(depth=3, rate=0.5))
    form.ahead.value = 3
    form.train.click()
    theirs = Stack(StackConfig(depth=3, rate=0.5)).train(3)[-1]
    assert form.stack.steps == 3 and form.last.loss == theirs.loss
    assert f"Step 3: loss {theirs.loss:.3f}" in form.result.value and "step 0" in form.result.value
    form.activation.value = "ReLU"
    assert form.stack.steps == 0 and form.stack.config.activation == "ReLU"
    assert "of 32</td>" in form.result.value


def test_without_ipywidgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    for form in (widget.Losses, widget.Race, widget.DeepStack):
        with pytest.raises(
            UserError, match=r"the widget needs ipywidgets; .*reasonlib\.optimisation\.page\.live"
        ):
            form()
