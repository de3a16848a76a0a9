"""Every exercise: the right answer passes, an empty one gets its hint, a plausible wrong one another."""

import pytest
import torch

from reasonlib.grading.checks import exercises as listed
from reasonlib.grading.checks import stub
from reasonlib.optimisation.models import as_printed, losses, optimisers
from reasonlib.optimisation.models.activations import leaky_relu, softplus
from reasonlib.optimisation.page import exercises


def robust_line(inputs, targets):
    keep = torch.ones(len(inputs), dtype=torch.bool)
    line = torch.zeros(2, dtype=inputs.dtype)
    table = torch.stack([inputs, torch.ones_like(inputs)], 1)
    for _ in range(300):  # the absolute error first, by weighing
        weight = 1 / (targets - table @ line).abs().clamp(min=1e-3)
        line = torch.linalg.lstsq(table * weight[:, None] ** 0.5, (targets * weight**0.5)[:, None]).solution[
            :, 0
        ]
    for _ in range(5):  # then what is near alone
        keep = (targets - table @ line).abs() < 1.0
        line = torch.linalg.lstsq(table[keep], targets[keep][:, None]).solution[:, 0]
    return line[0], line[1]


def least_squares(inputs, targets):
    table = torch.stack([inputs, torch.ones_like(inputs)], 1)
    return torch.linalg.lstsq(table, targets[:, None]).solution[:, 0]


def normal():
    z = torch.linspace(-8, 8, 8001, dtype=torch.float64)
    weight = torch.exp(-(z**2) / 2)
    return z, weight / weight.sum()


def gain(f):
    z, weight = normal()
    return (weight * f(z) ** 2).sum() ** -0.5


def balanced(f):
    z, weight = normal()
    mean = (weight * f(z)).sum()
    spread = (weight * (f(z) - mean) ** 2).sum() ** 0.5
    return lambda x: (f(x) - mean) / spread


def momentum_step(point, velocity, slope, rate, momentum):
    velocity = momentum * velocity + rate * slope
    return point - velocity, velocity


def look_ahead(point, velocity, slope_at, rate, momentum):
    velocity = momentum * velocity + rate * slope_at(point - momentum * velocity)
    return point - velocity, velocity


def adam_step(point, mean, squares, time, slope, rate, epsilon=1e-8, correct=True):
    mean = 0.9 * mean + 0.1 * slope
    squares = 0.999 * squares + 0.001 * slope**2
    up, down = (1 - 0.9**time, 1 - 0.999**time) if correct else (1, 1)
    return point - rate * (mean / up) / ((squares / down) ** 0.5 + epsilon), mean, squares


ANSWERS = {
    "huber_slope": (
        lambda error, delta: error.clamp(-delta, delta),
        lambda error, delta: error,
        "beyond delta it no longer grows",
    ),
    "quantile_loss": (
        lambda p, t, gamma: torch.maximum(gamma * (t - p), (gamma - 1) * (t - p)).mean(),
        lambda p, t, gamma: as_printed.quantile(p, t, gamma=gamma).mean(),
        "as printed: predicting too much is rewarded",
    ),
    "stable_log_loss": (
        lambda z, y: torch.logaddexp(z, 0 * z) - y * z,
        lambda z, y: -(y * torch.sigmoid(z).log() + (1 - y) * (1 - torch.sigmoid(z)).log()),
        "rounds to zero or one",
    ),
    "best_constants": (
        lambda t: {
            "mse": t.mean(),
            "mae": t.median(),
            "quantile-0.9": t.quantile(0.9, interpolation="higher"),
        },
        lambda t: {"mse": t.mean(), "mae": t.mean(), "quantile-0.9": t.quantile(0.9)},
        "that is the minimiser for mse",
    ),
    "robust_line": (robust_line, least_squares, "choose a loss with a bounded slope"),
    "leaky": (
        lambda x, slope: torch.where(x > 0, x, slope * x),
        as_printed.leaky_relu,
        "as printed: a straight line",
    ),
    "swish_slope": (
        lambda x: torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x))),
        torch.sigmoid,
        "you have the first",
    ),
    "gain": (gain, lambda f: gain(f) ** 2, "take the root"),
    "balanced": (balanced, lambda f: lambda x: gain(f) * f(x), "its mean is"),
    "momentum_step": (
        momentum_step,
        lambda p, v, s, rate, keep: (p - rate * (keep * v + s), keep * v + s),
        "torch's way",
    ),
    "look_ahead": (
        look_ahead,
        lambda p, v, at, rate, keep: momentum_step(p, v, at(p), rate, keep),
        "plain momentum",
    ),
    "adam_step": (
        adam_step,
        lambda *a: adam_step(*a, correct=False),
        "one less its beta to the power of time",
    ),
    "best_rate": (lambda low, high: 2 / (low + high), lambda low, high: 1 / high, "could be faster"),
    "own_descent": (
        lambda: optimisers.Momentum(rate=0.003, momentum=0.9),
        lambda: optimisers.GradientDescent(rate=0.003),
        "it needs more speed along the valley",
    ),
}
MORE = [
    ("adam_step", lambda *a: adam_step(*a, epsilon=0.0), "epsilon is added to the denominator"),
    ("own_descent", lambda: optimisers.Momentum(rate=0.2), "it flies off"),
    ("stable_log_loss", lambda z, y: losses.log_loss(z, 1 - y, reduction="none"), "of one sign works"),
    ("leaky", lambda x, slope: leaky_relu(x, -slope), "their slope is positive"),
    ("balanced", lambda f: lambda x: softplus(x), "its mean is"),
    ("balanced", lambda f: f(torch.zeros(1)), "return a function"),
    ("best_constants", lambda t: [1, 2, 3], "return a dictionary"),
    (
        "best_constants",
        lambda t: {"mse": t.mean(), "mae": t.median(), "quantile-0.9": t.quantile(0.9)},
        "`quantile` interpolates",
    ),
    ("momentum_step", lambda *a: a[0], "return two things"),
]


def test_every_exercise_is_answered_here():
    assert {one.name for one in listed("optimisation")} == set(ANSWERS)
    assert sorted(exercises.__all__) == sorted(f"check_{name}" for name in ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_right_empty_and_wrong(name):
    check = getattr(exercises, f"check_{name}")
    right, wrong, hint = ANSWERS[name]
    assert check(right).passed, check(right).message
    untouched = check(stub())
    assert untouched.untouched and check.hint in untouched.message
    result = check(wrong)
    assert not result.passed
    assert hint in result.message


@pytest.mark.parametrize(("name", "wrong", "hint"), MORE)
def test_other_mistakes_get_hints_of_their_own(name, wrong, hint):
    result = getattr(exercises, f"check_{name}")(wrong)
    assert not result.passed
    assert hint in result.message
