"""Figures: each is drawn, says in words what it shows, and its numbers are the library's."""

import re

import pytest
import torch

from reasonlib.display.plotting import Picture
from reasonlib.optimisation.experiments.activations import gradient_norms
from reasonlib.optimisation.experiments.losses import Fit
from reasonlib.optimisation.models import losses
from reasonlib.optimisation.models.network import Network, digits
from reasonlib.optimisation.models.optimisers import Adam, GradientDescent
from reasonlib.optimisation.page import figures, runs

LINE = Fit(torch.tensor([1.0]).double(), torch.tensor(0.5).double())
DRAWN = {
    "log_loss": figures.log_loss,
    "focal": figures.focal,
    "focal_shares": lambda: figures.focal_shares(epochs=1),
    "mse": figures.mse,
    "mae": figures.mae,
    "overstep": figures.overstep,
    "huber": figures.huber,
    "log_cosh": figures.log_cosh,
    "quantile": figures.quantile,
    "regression": figures.regression,
    "activation": lambda: figures.activation("tanh", "hard tanh"),
    "elish": figures.elish,
    "saddle": figures.saddle,
    "nesterov": figures.nesterov,
    "race": lambda: figures.race("saddle", {"Adam": Adam()}, steps=5),
    "ravine": lambda: figures.ravine_paths({"slow": GradientDescent(rate=0.01)}, steps=5),
    "flow": lambda: figures.gradient_flow({"tanh": gradient_norms(Network("tanh"), digits().train)}),
    "fading": lambda: figures.fading({"Adagrad": [1.0, 0.5, 0.25]}),
    "lines": lambda: figures.line_fits(torch.zeros(2, 1).double(), torch.zeros(2).double(), {"one": LINE}),
    "interval": lambda: figures.interval(LINE, Fit(LINE.slope, LINE.offset + 9), number=20),
    "printed": lambda: figures.printed(torch.relu, torch.tanh, "ReLU"),
    "printed quantile": runs.printed_quantile,
    "fitted interval": lambda: runs.interval(20),
    "directions": runs.kl_directions,
    "one step": runs.one_step,
    "two rates": runs.two_rates,
    "with momentum": runs.with_momentum,
    "races": runs.races,
    "searches": lambda: runs.searches(digits(), evaluations=10),
    "distance left": runs.distance_left,
    "steepness": runs.steepness,
    "rate drop": runs.rate_drop,
    "own rates": lambda: runs.own_rates(digits(), epochs=1),
    "rare batches": lambda: runs.rare_batches(100),
    "ridge": runs.ridge,
    "decays": lambda: runs.decays(20),
}


@pytest.mark.parametrize("name", DRAWN)
def test_each_figure_is_drawn_and_described(name):
    picture = DRAWN[name]()
    assert isinstance(picture, Picture)
    assert len(picture.alt) > 30
    assert "<svg" in picture.html and "aria-label" in picture.html
    assert len(picture.html) < 400_000


def test_words_hold_numbers():
    assert "derivative from 0.00 to 0.25" in figures.activation("sigmoid").alt
    assert "0.25 of the first rate is left" in figures.fading({"Adagrad": [1.0, 0.5, 0.25]}).alt
    walked = figures.ravine_paths({"slow": GradientDescent(rate=0.01)}, steps=5)
    assert "slow ends at (-3.80, 0.24) after 5 steps" in walked.alt


def test_the_square_error_lets_the_corrupt_points_pull_hardest():
    inputs = torch.arange(10.0, dtype=torch.float64)[:, None]
    targets, corrupt = 0.3 * inputs[:, 0] - 1, torch.arange(10) >= 8
    targets[corrupt] -= 50
    drawn = runs.pulls(inputs, targets + 0.1, corrupt, Fit(torch.tensor([0.3]).double(), torch.tensor(-1.0)))
    assert "2 corrupt points of 10" in drawn.html
    square, absolute = (
        float(re.search(rf"{name}\D*([\d.]+)", drawn.alt)[1]) for name in ("squared error", "absolute error")
    )
    assert square > 0.9 and absolute == pytest.approx(0.2)


def test_adamw_decays_all_weights_alike_and_adam_does_not():
    shares = [float(number) for number in re.findall(r"gradients (-?\d(?:\.\d+)?)", runs.decays(400).alt)]
    small, large, same, alike = shares
    assert small < 0.1 and large > 0.9
    assert same == pytest.approx(alike, abs=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.activation("gelu"), "name must be one of sigmoid"),
        (
            lambda: figures.curves({}, (0, 1), x="x", y="y", alt="none"),
            "functions must be 1 to 6 to stay apart, got 0",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_quantile_as_drawn_is_the_librarys():
    zero = torch.zeros(1).double()
    assert losses.quantile(zero + 2, zero, gamma=0.25) == 1.5  # the steeper arm of the low quantile
