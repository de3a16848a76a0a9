"""Exercises of the chapter "Descent"."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.optimisation.models.surfaces import SURFACES, Surface, minimise
from reasonlib.optimisation.page.exercises.cases import DOUBLE, between, drawn

__all__ = [
    "check_adam_step",
    "check_best_rate",
    "check_look_ahead",
    "check_momentum_step",
    "check_own_descent",
]


def expect_step(
    result: Any,
    point: Tensor,
    velocity: Tensor,
    *,
    wrong_velocity: Mapping[str, Tensor],
    wrong_point: Mapping[str, Tensor],
) -> None:
    """Expect the point less the new velocity, and this velocity; wrong ones come with what they give away."""
    expect(
        isinstance(result, (tuple, list)) and len(result) == 2,
        "return two things, the point and the velocity",
    )
    for part, right, name, wrong in (
        (result[1], velocity, "the velocity", wrong_velocity),
        (result[0], point - velocity, "the point", wrong_point),
    ):
        expect_close(torch.as_tensor(part), right, f"{name} is not right", wrong=wrong, what=name)


@exercise(title="One step of momentum", minutes=5, points=1)
@hint("First the velocity: a share of the old one and the rate times the slope. Then subtract it.")
def check_momentum_step(answer: Answer, seed: int) -> None:
    """Check ``momentum_step(point, velocity, slope, rate, momentum)``: eq. 2.32 and 2.33.

    Returns the next point and the next velocity.
    """
    point, velocity, slope = (drawn(5, case, seed) for case in (21, 22, 23))
    rate, keep = between(0.1, 0.4, 24, seed), between(0.6, 0.95, 25, seed)
    right = keep * velocity + rate * slope
    expect_step(
        answer(point.clone(), velocity.clone(), slope.clone(), rate, keep),
        point,
        right,
        wrong_velocity={
            "that is torch's way: the source has the rate inside the velocity": keep * velocity + slope,
            "that is an average: the source takes the rate times the slope, not a share": (
                keep * velocity + (1 - keep) * slope
            ),
            "the velocity points uphill and is subtracted at the end: add the slope": (
                keep * velocity - rate * slope
            ),
        },
        wrong_point={
            "subtract the velocity, do not add it": point + right,
            "the rate is in the velocity already": point - rate * right,
            "use the new velocity, not the old": point - velocity,
        },
    )


@exercise(title="Look ahead", minutes=10, points=2)
@hint("Ask for the slope at the point less momentum times the velocity; all else is momentum.")
def check_look_ahead(answer: Answer, seed: int) -> None:
    """Check ``look_ahead(point, velocity, slope_at, rate, momentum)``: eq. 2.34 and 2.35.

    ``slope_at`` is a function from a point to the slope there. Returns the next point and velocity.
    """
    ground = SURFACES["beale"]
    point = torch.tensor([1.2, 0.3], dtype=DOUBLE) + 0.1 * drawn(2, 26, seed)
    velocity = torch.tensor([-0.3, 0.2], dtype=DOUBLE) + 0.05 * drawn(2, 27, seed)
    rate, keep = between(0.01, 0.03, 28, seed), between(0.7, 0.9, 29, seed)

    def moved(position: Tensor) -> Tensor:
        return keep * velocity + rate * ground.gradient(position)

    right = moved(point - keep * velocity)
    expect_step(
        answer(point.clone(), velocity.clone(), ground.gradient, rate, keep),
        point,
        right,
        wrong_velocity={
            "that is plain momentum: the slope is asked for at the point itself": moved(point),
            "you looked behind: the step is subtracted, so ahead is the point less the kept step": moved(
                point + keep * velocity
            ),
            "you looked a whole step ahead: only the share that is kept leads there": moved(point - velocity),
        },
        wrong_point={
            "the step starts from the point, not from the place that was looked at": (
                point - keep * velocity - right
            ),
            "subtract the velocity, do not add it": point + right,
        },
    )


@exercise(title="Complete Adam", minutes=20, points=3)
@hint("Update both averages, divide each by one less its beta to the power of time, then take the step.")
def check_adam_step(answer: Answer, seed: int) -> None:
    """Check ``adam_step(point, mean, squares, time, slope, rate)``: eq. 2.40 with all that it leaves out.

    Betas are 0.9 and 0.999, epsilon is 1e-8, `time` is 1 at the first step. Returns point, mean, squares.
    """
    zeros = torch.zeros(5, dtype=DOUBLE)
    later = 2 + int(between(0, 20, 30, seed))
    cases = ((1, zeros, zeros), (later, drawn(5, 32, seed), drawn(5, 33, seed) ** 2))
    for time, mean, squares in cases:
        slope, point = drawn(5, 31, seed), drawn(5, 34 + time, seed)
        slope[2] = 0.0
        slope[3] = 3e-8  # a slope near epsilon shows whether it is there, and outside the root
        if time > 1:
            mean, squares = mean.clone(), squares.clone()
            mean[3], squares[3] = 2e-8, 9e-16
        rate = between(0.02, 0.5, 35 + time, seed)
        result = answer(point.clone(), mean.clone(), squares.clone(), time, slope.clone(), rate)
        expect(
            isinstance(result, (tuple, list)) and len(result) == 3,
            "return three things: the point, the mean and the squares",
        )
        new_mean, new_squares = 0.9 * mean + 0.1 * slope, 0.999 * squares + 0.001 * slope**2
        here = f"at time {time}"
        expect_close(
            torch.as_tensor(result[1]),
            new_mean,
            f"the mean is not right {here}",
            wrong={
                "add a tenth of the slope, not all of it": 0.9 * mean + slope,
                "keep the mean as it is and correct a copy: the correction is not part of the average": (
                    new_mean / (1 - 0.9**time)
                ),
            },
            what="the mean",
        )
        expect_close(
            torch.as_tensor(result[2]),
            new_squares,
            f"the squares are not right {here}",
            wrong={
                "average the slope's square, not the slope": 0.999 * squares + 0.001 * slope,
                "keep the average as it is and correct a copy": new_squares / (1 - 0.999**time),
            },
            what="the squares",
        )
        new = torch.as_tensor(result[0])
        expect(
            bool(new.isfinite().all()),
            "not a number where the slope is zero: epsilon is added to the denominator",
        )
        _check_step_of_adam(new - point, new_mean, new_squares, time=time, rate=rate)


def _check_step_of_adam(step: Tensor, mean: Tensor, squares: Tensor, *, time: int, rate: float) -> None:
    """Check a step of Adam against the one that follows from both averages."""
    top, root = mean / (1 - 0.9**time), torch.sqrt(squares / (1 - 0.999**time))
    expect_close(
        step,
        -rate * top / (root + 1e-8),
        f"the step is not right at time {time}, from the point to the next one",
        wrong={
            "epsilon stands outside the root: add it to the root of the squares": (
                -rate * top / torch.sqrt(root**2 + 1e-8)
            ),
            "epsilon is left out: it is added to the root of the squares": (
                -rate * top / root.clamp(min=1e-300)
            ),
            "take the rate that is given, not 0.1": -0.1 * top / (root + 1e-8),
            "take the rate that is given, not 0.001": -0.001 * top / (root + 1e-8),
            "the averages start at zero: divide each by one less its beta to the power of time": (
                -rate * mean / (torch.sqrt(squares) + 1e-8)
            ),
            "the mean needs its correction too": -rate * mean / (root + 1e-8),
            "the squares need their correction too": -rate * top / (torch.sqrt(squares) + 1e-8),
            "divide by the root of the squares": -rate * top / (root**2 + 1e-8),
            "go down, not up": rate * top / (root + 1e-8),
        },
        what="the step",
    )


@exercise(title="The best fixed rate", minutes=20, points=2)
@hint("One step multiplies each direction by 1 - rate times curvature. Which rate makes both as small?")
def check_best_rate(answer: Answer, seed: int) -> None:
    """Check ``best_rate(flattest, steepest)``: the rate with which gradient descent leaves a ravine soonest.

    The surface is ``(flattest * x**2 + steepest * y**2) / 2``. The best rate makes the slower of the two
    directions as fast as can be.
    """
    middle = between(1.0, 4.0, 36, seed)
    cases = [(between(0.2, 1.0, 37, seed), between(5.0, 30.0, 38, seed))]
    cases += [(between(0.5, 1.0, 39, seed), between(1.5, 3.0, 40, seed)), (middle, middle)]
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


@exercise(title="Your own descent", minutes=90, points=5)
@hint("Start from the class Momentum; find a rate that suits the steepest of the three surfaces.")
def check_own_descent(answer: Answer, seed: int) -> None:
    """Check ``own_descent()``: a fresh optimiser with ``look(point)`` and ``step(point, slope)``.

    One setting must do for three surfaces. From its usual start each must be within 0.05 of its lowest height
    after 200 steps: the ravine, the bent ravine and Beale's function. The formulas of the three are no
    secret, but the optimiser sees slopes alone, and the check moves each surface to another place.
    """
    for case, name in enumerate(("ravine", "beale", "rosenbrock")):
        surface = _moved(SURFACES[name], drawn(2, 41 + case, seed))
        optimiser = answer()
        for method in ("look", "step"):
            expect(callable(getattr(optimiser, method, None)), f"the optimiser needs a method {method!r}")
        path = minimise(surface, optimiser, steps=STEPS)
        end = float(path.values[-1])
        expect(
            math.isfinite(end) and end < 10 * float(path.values[0]),
            f"on the {name} surface it flies off: the rate is too high for the steepest place",
        )
        repeated = minimise(surface, answer(), steps=STEPS)
        expect(
            bool(torch.equal(path.points, repeated.points)),
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
