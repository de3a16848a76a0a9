"""Graded exercises of the three chapters on losses, activations and descents.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from reasonlib.grading.checks import exercise, expect, expect_close, source
from reasonlib.optimisation.models import as_printed, losses
from reasonlib.optimisation.models.activations import elu, leaky_relu, relu, sigmoid, softplus, swish, tanh
from reasonlib.optimisation.models.surfaces import SURFACES, Surface, minimise

__all__ = [
    "check_adam_step",
    "check_balanced",
    "check_best_constants",
    "check_best_rate",
    "check_gain",
    "check_huber_slope",
    "check_leaky",
    "check_look_ahead",
    "check_momentum_step",
    "check_own_descent",
    "check_quantile_loss",
    "check_robust_line",
    "check_stable_log_loss",
    "check_swish_slope",
]

DOUBLE = torch.float64


def _drawn(number: int, case: int, seed: int) -> Tensor:
    """Draw normal numbers for a case, others for each seed."""
    return torch.randn(number, generator=torch.Generator().manual_seed(case + 1000 * seed), dtype=DOUBLE)


def _between(low: float, high: float, case: int, seed: int) -> float:
    """Draw one number between two."""
    return low + (high - low) * float(torch.sigmoid(2 * _drawn(1, case, seed)))


# Chapter "Losses" -------------------------------------------------------------------------------------------


@exercise(
    title="The slope of the Huber loss",
    minutes=5,
    points=1,
    hint="Inside delta the loss is half a square. What is its derivative, and where does it stop growing?",
)
def check_huber_slope(answer: Callable[..., Any], seed: int) -> None:
    """Check ``huber_slope(error, delta)``: the derivative of eq. 2.9 in the error, element by element."""
    error = 3 * _drawn(40, 1, seed)
    for delta in (_between(0.3, 0.8, 2, seed), _between(1.5, 2.5, 3, seed)):
        expect_close(
            answer(error.clone(), delta),
            error.clamp(-delta, delta),
            f"the slopes for delta = {delta:.2f} are not right",
            wrong={
                "that is the square's slope all the way: beyond delta it no longer grows": error,
                "the straight part has the slope delta, not one": torch.where(
                    error.abs() <= delta, error, error.sign()
                ),
                "a slope has a sign: it is negative where the error is": error.abs().clamp(max=delta),
                "that is the loss itself, not its slope": losses.huber(
                    error, 0 * error, delta=delta, reduction="none"
                ),
            },
            what="the slopes",
        )


@exercise(
    title="Correct the quantile loss",
    minutes=10,
    points=2,
    hint="Both prices must be positive: gamma for each unit too low, what is left of one for each too high.",
)
def check_quantile_loss(answer: Callable[..., Any], seed: int) -> None:
    """Check ``quantile_loss(prediction, target, gamma)``: eq. 2.11 with its sign put right, as a mean."""
    prediction, target = 2 * _drawn(50, 2, seed), 2 * _drawn(50, 3, seed)
    for gamma in (_between(0.05, 0.3, 4, seed), _between(0.6, 0.95, 5, seed)):
        expect_close(
            torch.as_tensor(answer(prediction.clone(), target.clone(), gamma)),
            losses.quantile(prediction, target, gamma=gamma),
            f"the loss at gamma = {gamma:.2f} is not right",
            wrong={
                "that is the formula as printed: predicting too much is rewarded": as_printed.quantile(
                    prediction, target, gamma=gamma
                ).mean(),
                "the two prices are exchanged: gamma is the price of predicting too little": losses.quantile(
                    prediction, target, gamma=1 - gamma
                ),
                "take the mean over the examples, not the sum": losses.quantile(
                    prediction, target, gamma=gamma, reduction="sum"
                ),
                "return one number, the mean": losses.quantile(
                    prediction, target, gamma=gamma, reduction="none"
                ),
            },
            what="the loss",
        )


@exercise(
    title="A log loss that never overflows",
    minutes=15,
    points=2,
    hint="Write -log sigmoid(z) as log(1 + exp(-z)), and see torch.logaddexp for a sum of exponentials.",
)
def check_stable_log_loss(answer: Callable[..., Any], seed: int) -> None:
    """Check ``stable_log_loss(logit, target)``: the log loss (eq. 2.2) of logits, element by element.

    Logits run from -10,000 to 10,000; the answer must be finite, and right, for all of them.
    """
    logit = torch.cat([4 * _drawn(40, 4, seed), torch.tensor([0.0, 1e4, -1e4, 1e4, -1e4], dtype=DOUBLE)])
    target = torch.cat(
        [(_drawn(40, 5, seed) > 0).to(DOUBLE), torch.tensor([1.0, 1.0, 1.0, 0, 0], dtype=DOUBLE)]
    )
    got = torch.as_tensor(answer(logit.clone(), target.clone()))
    right = losses.log_loss(logit, target, reduction="none")
    expect(got.shape == right.shape, f"return a loss for each of the {len(right)} logits")
    expect(
        bool(got.isfinite().all()),
        "a loss is infinite or not a number: for a large logit the probability rounds to zero or one, and "
        "its logarithm cannot be taken any more",
    )
    large = logit.abs() == 1e4
    expect(
        not torch.allclose(got[~large], right[~large], rtol=1e-5, atol=1e-5)
        or torch.allclose(got[large], right[large], rtol=1e-5, atol=1e-5),
        "small logits are right, large ones are not: a large logit of the wrong sign costs as much as its "
        "size, 10,000; did you clip a logit, or put a small number inside a logarithm?",
    )
    wrong = {
        "targets are exchanged: with a target of 1 a large positive logit costs nothing": losses.log_loss(
            logit, 1 - target, reduction="none"
        ),
        "that is the loss for a target of 1, whatever the target is: use the target, too": losses.log_loss(
            logit, torch.ones_like(target), reduction="none"
        ),
        "a loss is positive: turn the sign round": -right,
    }
    expect_close(got, right, "the losses are not right", wrong=wrong, what="the losses")


@exercise(
    title="What does each loss ask for?",
    minutes=10,
    points=2,
    hint="Set the derivative of the mean loss to zero: for the squared error it gives the mean.",
)
def check_best_constants(answer: Callable[..., Any], seed: int) -> None:
    """Check ``best_constants(targets)``: the best single prediction under three losses.

    Returns a dictionary with ``mse``, ``mae`` and ``quantile-0.9``; the number of targets is odd.
    """
    for count in (101, 33):  # of 33 targets no share of exactly nine tenths can be below a number
        targets = torch.exp(_drawn(count, 6, seed))
        got = answer(targets.clone())
        expect(isinstance(got, dict), "return a dictionary such as {'mse': 1.5, ...}")
        right = {
            "mse": targets.mean(),
            "mae": targets.median(),
            "quantile-0.9": targets.quantile(0.9, interpolation="higher"),
        }
        for name, value in right.items():
            expect(name in got, f"the dictionary lacks {name!r}")
            expect_close(
                torch.as_tensor(got[name], dtype=DOUBLE),
                value,
                f"another number has a lower mean loss for {name}",
                wrong={
                    **{
                        f"that is the minimiser for {key}": other
                        for key, other in right.items()
                        if key != name
                    },
                    "nine targets in ten should be below it, not above": targets.quantile(0.1),
                    "that lies in the middle of the smallest and the largest target": (
                        (targets.min() + targets.max()) / 2
                    ),
                    "a number between two targets is not the minimiser: `quantile` interpolates unless you "
                    'ask for `interpolation="higher"`': targets.quantile(0.9),
                },
                what=name,
            )


@exercise(
    title="A line that three outliers in ten do not move",
    minutes=90,
    points=5,
    hint="Fit, look at the errors, and fit again with less weight on what is far off. Or choose a loss.",
)
def check_robust_line(answer: Callable[..., Any], seed: int) -> None:
    """Check ``robust_line(inputs, targets)``: slope and offset of a line through points (N,) and (N,).

    Three targets in ten, anywhere in the list, are corrupt, all on one side. The slope and the offset must
    come within 0.1.
    """
    for case in (7, 8, 9):
        inputs = _drawn(200, case, seed)
        slope, offset = (float(number) for number in _drawn(2, case + 10, seed))
        targets = slope * inputs + offset + 0.2 * _drawn(200, case + 30, seed)
        corrupt = _drawn(200, case + 50, seed).argsort()[:60]
        side = 1 if case != 8 else -1
        targets[corrupt] += side * (8 + 2 * _drawn(60, case + 40, seed).abs())
        got = answer(inputs.clone(), targets.clone())
        expect(
            got.shape == (2,)
            if isinstance(got, Tensor)
            else isinstance(got, (tuple, list)) and len(got) == 2,
            "return two numbers, the slope and the offset",
        )
        wrong = max(abs(float(got[0]) - slope), abs(float(got[1]) - offset))
        expect(math.isfinite(wrong), "the slope and the offset must be numbers")
        expect(
            wrong < 2.0,
            "the outliers pull the line as they pull the squared error's; choose a loss with a bounded slope",
        )
        expect(
            wrong < 0.1,
            f"close, but {wrong:.2f} off: even a bounded slope is pulled a little by each outlier. "
            "Give what is far off no weight at all",
        )


# Chapter "Activations" --------------------------------------------------------------------------------------


@exercise(
    title="Correct the leaky ReLU",
    minutes=5,
    points=1,
    hint="Where x is positive the result is x itself, not x and a little more.",
)
def check_leaky(answer: Callable[..., Any], seed: int) -> None:
    """Check ``leaky(x, slope)``: eq. 2.21 as it was meant, element by element."""
    x = 2 * _drawn(40, 11, seed)
    for slope in (_between(0.01, 0.1, 13, seed), _between(0.2, 0.5, 14, seed)):
        expect_close(
            torch.as_tensor(answer(x.clone(), slope)),
            leaky_relu(x, slope),
            f"the values for a slope of {slope:.2f} are not right",
            wrong={
                "that is the formula as printed: a straight line": as_printed.leaky_relu(x, slope),
                "that is the plain ReLU: let a little of the negative through": relu(x),
                "the sides are exchanged: it is the negative side that is weakened": -leaky_relu(-x, slope),
                "negative inputs stay negative: their slope is positive": leaky_relu(x, -slope),
            },
            what="the values",
        )


@exercise(
    title="The slope of swish",
    minutes=15,
    points=2,
    hint="Swish is a product: x times the sigmoid. The sigmoid's own derivative is s (1 - s).",
)
def check_swish_slope(answer: Callable[..., Any], seed: int) -> None:
    """Check ``swish_slope(x)``: the derivative of eq. 2.26, without automatic differentiation.

    The formula must hold for any x, also where its exponentials overflow in single precision.
    """
    x = torch.cat([3 * _drawn(40, 12, seed), torch.tensor([0.0, 200.0, -200.0], dtype=DOUBLE)])
    s = sigmoid(x)
    got, single = torch.as_tensor(answer(x.clone())), torch.as_tensor(answer(x.float()))
    expect(
        not got.requires_grad and not re.search(r"autograd|backward|\bgrad\b|requires_grad", source(answer)),
        "without automatic differentiation: derive it with a pencil",
    )
    for values in (got, single):
        expect(
            bool(values.isfinite().all()),
            "not a number at x = -200 or 200: torch.exp overflows there, torch.sigmoid does not",
        )
    expect_close(
        got,
        s + x * s * (1 - s),
        "the slopes are not right",
        wrong={
            "the product rule has two parts: you have the first": s,
            "the product rule has two parts: you have the second": x * s * (1 - s),
            "that is the sigmoid's slope: swish is x times the sigmoid": s * (1 - s),
            "that is swish itself, not its slope": swish(x),
        },
        what="the slopes",
    )


@exercise(
    title="Keep the size of the signal",
    minutes=30,
    points=3,
    hint="Draw many normal numbers, or integrate: the gain is one over the root of the mean square of f.",
)
def check_gain(answer: Callable[..., Any], seed: int) -> None:
    """Check ``gain(f)``: by how much the weights after an activation must grow to keep the signal's size.

    `f` takes a tensor. If `z` is normal with mean zero and variance one, ``gain(f) * f(z)`` has a mean square
    of one. Three digits are enough.
    """
    z = torch.linspace(-8, 8, 4001, dtype=DOUBLE)
    weight = torch.exp(-(z**2) / 2)
    weight = weight / weight.sum()
    size, shift = _between(0.5, 2.0, 15, seed), _between(-0.5, 0.5, 16, seed)
    activations = {"the ReLU": relu, "tanh": tanh, "the sigmoid": sigmoid, "softplus": softplus}
    got, square, mean = [], [], []
    for shape in activations.values():

        def f(x: Tensor, shape: Callable[[Tensor], Tensor] = shape) -> Tensor:
            return shape(size * x + shift)

        got.append(float(answer(f)))
        square.append(float((f(z) ** 2 * weight).sum()))
        mean.append(float((f(z) * weight).sum()))
    hints = {
        "that is the mean square itself: the gain is one over its root": square,
        "take the root: a gain multiplies the signal, not its square": [1 / one for one in square],
        "the mean counts too: use the mean square, not the variance": [
            (one - other**2) ** -0.5 for one, other in zip(square, mean, strict=True)
        ],
    }
    for hint, values in hints.items():
        expect(max(abs(one / value - 1) for one, value in zip(got, values, strict=True)) > 0.01, hint)
    for name, one, value in zip(activations, got, square, strict=True):
        expect(
            abs(one * value**0.5 - 1) < 0.01,
            f"the gain of f(z), {name} of {size:.2f} z {shift:+.2f}, is not {one:.3f}: integrate over z",
        )


@exercise(
    title="Balance an activation",
    minutes=45,
    points=4,
    hint="Find the mean and the spread of f(z) for normal z; subtract the one, divide by the other.",
)
def check_balanced(answer: Callable[..., Any], seed: int) -> None:
    """Check ``balanced(f)``: a new activation made of `f` whose output has mean zero and variance one.

    For inputs that are normal with mean zero and variance one. It is a scaled and shifted `f`: it must rise
    and fall where `f` does. A hundredth of error is allowed.
    """
    size, shift = _between(0.5, 2.0, 17, seed), _between(-0.5, 0.5, 18, seed)
    z = torch.linspace(-8, 8, 4001, dtype=DOUBLE)
    weight = torch.exp(-(z**2) / 2)
    weight = weight / weight.sum()
    for name, shape in (("the ReLU", relu), ("softplus", softplus), ("ELU", elu), ("swish", swish)):

        def f(x: Tensor, shape: Callable[[Tensor], Tensor] = shape) -> Tensor:
            return shape(size * x + shift)

        made = answer(f)
        expect(callable(made), "return a function of a tensor, such as lambda x: ...")
        value = torch.as_tensor(made(z.clone()))
        expect(value.shape == z.shape, "the new activation works element by element, as f does")
        mean = float((value * weight).sum())
        spread = float(((value - mean) ** 2 * weight).sum())
        expect(abs(mean) < 0.01, f"made of {name}, its mean is {mean:.3f}, not zero")
        expect(abs(spread - 1) < 0.02, f"made of {name}, its variance is {spread:.3f}, not one")
        bend = torch.stack([f(z), torch.ones_like(z)], 1)
        line = torch.linalg.lstsq(bend, value[:, None]).solution[:, 0]
        expect(
            float((value - bend @ line).abs().max()) < 1e-6,
            f"made of {name}, it is no longer f: scale it and shift it, no more",
        )
        expect(
            float(line[0]) > 0,
            f"made of {name}, it falls where f rises: divide by the spread, not by its negative",
        )


# Chapter "Descent" ------------------------------------------------------------------------------------------


@exercise(
    title="One step of momentum",
    minutes=5,
    points=1,
    hint="First the velocity: a share of the old one and the rate times the slope. Then subtract it.",
)
def check_momentum_step(answer: Callable[..., Any], seed: int) -> None:
    """Check ``momentum_step(point, velocity, slope, rate, momentum)``: eq. 2.32 and 2.33.

    Returns the next point and the next velocity.
    """
    point, velocity, slope = (_drawn(5, case, seed) for case in (21, 22, 23))
    rate, keep = _between(0.1, 0.4, 24, seed), _between(0.6, 0.95, 25, seed)
    got = answer(point.clone(), velocity.clone(), slope.clone(), rate, keep)
    expect(isinstance(got, (tuple, list)) and len(got) == 2, "return two things, the point and the velocity")
    right = keep * velocity + rate * slope
    expect_close(
        torch.as_tensor(got[1]),
        right,
        "the velocity is not right",
        wrong={
            "that is torch's way: the source has the rate inside the velocity": keep * velocity + slope,
            "that is an average: the source takes the rate times the slope, not a share": (
                keep * velocity + (1 - keep) * slope
            ),
            "the velocity points uphill and is subtracted at the end: add the slope": (
                keep * velocity - rate * slope
            ),
        },
        what="the velocity",
    )
    expect_close(
        torch.as_tensor(got[0]),
        point - right,
        "the point is not right",
        wrong={
            "subtract the velocity, do not add it": point + right,
            "the rate is in the velocity already": point - rate * right,
            "use the new velocity, not the old": point - velocity,
        },
        what="the point",
    )


@exercise(
    title="Look ahead",
    minutes=10,
    points=2,
    hint="Ask for the slope at the point less momentum times the velocity; all else is momentum.",
)
def check_look_ahead(answer: Callable[..., Any], seed: int) -> None:
    """Check ``look_ahead(point, velocity, slope_at, rate, momentum)``: eq. 2.34 and 2.35.

    ``slope_at`` is a function from a point to the slope there. Returns the next point and velocity.
    """
    ground = SURFACES["beale"]
    point = torch.tensor([1.2, 0.3], dtype=DOUBLE) + 0.1 * _drawn(2, 26, seed)
    velocity = torch.tensor([-0.3, 0.2], dtype=DOUBLE) + 0.05 * _drawn(2, 27, seed)
    rate, keep = _between(0.01, 0.03, 28, seed), _between(0.7, 0.9, 29, seed)
    got = answer(point.clone(), velocity.clone(), ground.gradient, rate, keep)
    expect(isinstance(got, (tuple, list)) and len(got) == 2, "return two things, the point and the velocity")

    def moved(place: Tensor) -> Tensor:
        return keep * velocity + rate * ground.gradient(place)

    right = moved(point - keep * velocity)
    expect_close(
        torch.as_tensor(got[1]),
        right,
        "the velocity is not right",
        wrong={
            "that is plain momentum: the slope is asked for at the point itself": moved(point),
            "you looked behind: the step is subtracted, so ahead is the point less the kept step": moved(
                point + keep * velocity
            ),
            "you looked a whole step ahead: only the share that is kept leads there": moved(point - velocity),
        },
        what="the velocity",
    )
    expect_close(
        torch.as_tensor(got[0]),
        point - right,
        "the point is not right",
        wrong={
            "the step starts from the point, not from the place that was looked at": (
                point - keep * velocity - right
            ),
            "subtract the velocity, do not add it": point + right,
        },
        what="the point",
    )


@exercise(
    title="Complete Adam",
    minutes=20,
    points=3,
    hint="Update both averages, divide each by one less its beta to the power of time, then take the step.",
)
def check_adam_step(answer: Callable[..., Any], seed: int) -> None:
    """Check ``adam_step(point, mean, squares, time, slope, rate)``: eq. 2.40 with all that it leaves out.

    Betas are 0.9 and 0.999, epsilon is 1e-8, `time` is 1 at the first step. Returns point, mean, squares.
    """
    zeros = torch.zeros(5, dtype=DOUBLE)
    later = 2 + int(_between(0, 20, 30, seed))
    cases = ((1, zeros, zeros), (later, _drawn(5, 32, seed), _drawn(5, 33, seed) ** 2))
    for time, mean, squares in cases:
        slope, point = _drawn(5, 31, seed), _drawn(5, 34 + time, seed)
        slope[2] = 0.0
        slope[3] = 3e-8  # a slope near epsilon shows whether it is there, and outside the root
        if time > 1:
            mean, squares = mean.clone(), squares.clone()
            mean[3], squares[3] = 2e-8, 9e-16
        rate = _between(0.02, 0.5, 35 + time, seed)
        got = answer(point.clone(), mean.clone(), squares.clone(), time, slope.clone(), rate)
        expect(
            isinstance(got, (tuple, list)) and len(got) == 3,
            "return three things: the point, the mean and the squares",
        )
        one, two = 0.9 * mean + 0.1 * slope, 0.999 * squares + 0.001 * slope**2
        here = f"at time {time}"
        expect_close(
            torch.as_tensor(got[1]),
            one,
            f"the mean is not right {here}",
            wrong={
                "add a tenth of the slope, not all of it": 0.9 * mean + slope,
                "keep the mean as it is and correct a copy: the correction is not part of the average": (
                    one / (1 - 0.9**time)
                ),
            },
            what="the mean",
        )
        expect_close(
            torch.as_tensor(got[2]),
            two,
            f"the squares are not right {here}",
            wrong={
                "average the slope's square, not the slope": 0.999 * squares + 0.001 * slope,
                "keep the average as it is and correct a copy": two / (1 - 0.999**time),
            },
            what="the squares",
        )
        new = torch.as_tensor(got[0])
        expect(
            bool(new.isfinite().all()),
            "not a number where the slope is zero: epsilon is added to the denominator",
        )
        top, root = one / (1 - 0.9**time), torch.sqrt(two / (1 - 0.999**time))
        right = point - rate * top / (root + 1e-8)
        expect_close(
            new - point,
            right - point,
            f"the step is not right {here}, from the point to the next one",
            wrong={
                "epsilon stands outside the root: add it to the root of the squares": (
                    -rate * top / torch.sqrt(root**2 + 1e-8)
                ),
                "epsilon is left out: it is added to the root of the squares": -rate
                * top
                / root.clamp(min=1e-300),
                "take the rate that is given, not 0.1": -0.1 * top / (root + 1e-8),
                "take the rate that is given, not 0.001": -0.001 * top / (root + 1e-8),
                "the averages start at zero: divide each by one less its beta to the power of time": (
                    -rate * one / (torch.sqrt(two) + 1e-8)
                ),
                "the mean needs its correction too": -rate * one / (root + 1e-8),
                "the squares need their correction too": -rate * top / (torch.sqrt(two) + 1e-8),
                "divide by the root of the squares": -rate * top / (root**2 + 1e-8),
                "go down, not up": rate * top / (root + 1e-8),
            },
            what="the step",
        )


@exercise(
    title="The best fixed rate",
    minutes=20,
    points=2,
    hint="One step multiplies each direction by 1 - rate times curvature. Which rate makes both as small?",
)
def check_best_rate(answer: Callable[..., Any], seed: int) -> None:
    """Check ``best_rate(flattest, steepest)``: the rate with which gradient descent leaves a ravine soonest.

    The surface is ``(flattest * x**2 + steepest * y**2) / 2``. The best rate makes the slower of the two
    directions as fast as can be.
    """
    middle = _between(1.0, 4.0, 36, seed)
    cases = [(_between(0.2, 1.0, 37, seed), _between(5.0, 30.0, 38, seed))]
    cases += [(_between(0.5, 1.0, 39, seed), _between(1.5, 3.0, 40, seed)), (middle, middle)]
    for low, high in cases:
        expect_close(
            torch.as_tensor(float(answer(low, high))),
            torch.as_tensor(2 / (low + high)),
            f"for curvatures {low:.3g} and {high:.3g} another rate is faster",
            wrong={
                "at that rate the steep direction jumps from side to side for ever": (
                    torch.as_tensor(2 / high)
                ),
                "that is safe, but the flat direction could be faster": torch.as_tensor(1 / high),
                "at that rate the steep direction flies off": torch.as_tensor(1 / low),
                "twice that: a step may well overshoot, as long as it comes nearer": torch.as_tensor(
                    1 / (low + high)
                ),
            },
            what="the rate",
        )


STEPS = 200
NEAR = 0.05


@exercise(
    title="Your own descent",
    minutes=90,
    points=5,
    hint="Start from the class Momentum; find a rate that suits the steepest of the three surfaces.",
)
def check_own_descent(answer: Callable[..., Any], seed: int) -> None:
    """Check ``own_descent()``: a fresh optimiser with ``look(point)`` and ``step(point, slope)``.

    One setting must do for three surfaces. From its usual start each must be within 0.05 of its lowest height
    after 200 steps: the ravine, the bent ravine and Beale's function. The formulas of the three are no
    secret, but the optimiser sees slopes alone, and the check moves each surface to another place.
    """
    for case, name in enumerate(("ravine", "beale", "rosenbrock")):
        surface = _moved(SURFACES[name], _drawn(2, 41 + case, seed))
        made = answer()
        for method in ("look", "step"):
            expect(callable(getattr(made, method, None)), f"the optimiser needs a method {method!r}")
        path = minimise(surface, made, steps=STEPS)
        end = float(path.values[-1])
        expect(
            math.isfinite(end) and end < 10 * float(path.values[0]),
            f"on the {name} surface it flies off: the rate is too high for the steepest place",
        )
        again = minimise(surface, answer(), steps=STEPS)
        expect(
            bool(torch.equal(path.points, again.points)),
            "a second fresh optimiser walks another way: own_descent() must return a new one each time",
        )
        expect(
            end < NEAR,
            f"on the {name} surface it is still {end:.2g} above the lowest point after {STEPS} steps: "
            "it needs more speed along the valley",
        )


def _moved(surface: Surface, shift: Tensor) -> Surface:
    """Move a surface and its start: the same walk in another place."""
    return replace(
        surface,
        value=lambda point: surface.value(point - shift),
        gradient=lambda point: surface.gradient(point - shift),
        start=(surface.start[0] + float(shift[0]), surface.start[1] + float(shift[1])),
        minimum=None,
    )
