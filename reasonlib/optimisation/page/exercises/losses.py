"""Exercises of the chapter "Losses"."""

import math

import numpy as np
import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.optimisation.models import as_printed, losses
from reasonlib.optimisation.page.exercises.cases import DOUBLE, between, drawn

__all__ = [
    "check_best_constants",
    "check_huber_slope",
    "check_quantile_loss",
    "check_robust_line",
    "check_stable_log_loss",
]


@exercise(title="The slope of the Huber loss", minutes=5, points=1)
@hint("Inside delta the loss is half a square. What is its derivative, and where does it stop growing?")
def check_huber_slope(answer: Answer, seed: int) -> None:
    """Check ``huber_slope(error, delta)``: the derivative of eq. 2.9 in the error, element by element."""
    error = 3 * drawn(40, 1, seed)
    for delta in (between(0.3, 0.8, 2, seed), between(1.5, 2.5, 3, seed)):
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


@exercise(title="Correct the quantile loss", minutes=10, points=2)
@hint("Both prices must be positive: gamma for each unit too low, what is left of one for each too high.")
def check_quantile_loss(answer: Answer, seed: int) -> None:
    """Check ``quantile_loss(prediction, target, gamma)``: eq. 2.11 with its sign put right, as a mean."""
    prediction, target = 2 * drawn(50, 2, seed), 2 * drawn(50, 3, seed)
    for gamma in (between(0.05, 0.3, 4, seed), between(0.6, 0.95, 5, seed)):
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


@exercise(title="A log loss that never overflows", minutes=15, points=2)
@hint("Write -log sigmoid(z) as log(1 + exp(-z)), and see torch.logaddexp for a sum of exponentials.")
def check_stable_log_loss(answer: Answer, seed: int) -> None:
    """Check ``stable_log_loss(logit, target)``: the log loss (eq. 2.2) of logits, element by element.

    Logits run from -10,000 to 10,000; the answer must be finite, and right, for all of them.
    """
    logit = torch.cat([4 * drawn(40, 4, seed), torch.tensor([0.0, 1e4, -1e4, 1e4, -1e4], dtype=DOUBLE)])
    target = torch.cat(
        [(drawn(40, 5, seed) > 0).to(DOUBLE), torch.tensor([1.0, 1.0, 1.0, 0, 0], dtype=DOUBLE)]
    )
    result = torch.as_tensor(answer(logit.clone(), target.clone())).to(DOUBLE)
    right = losses.log_loss(logit, target, reduction="none")
    expect(result.shape == right.shape, f"return a loss for each of the {len(right)} logits")
    expect(
        bool(result.isfinite().all()),
        "a loss is infinite or not a number: for a large logit the probability rounds to zero or one, and "
        "its logarithm cannot be taken any more",
    )
    large = logit.abs() == 1e4
    expect(
        not torch.allclose(result[~large], right[~large], rtol=1e-5, atol=1e-5)
        or torch.allclose(result[large], right[large], rtol=1e-5, atol=1e-5),
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
    expect_close(result, right, "the losses are not right", wrong=wrong, what="the losses")


@exercise(title="What does each loss ask for?", minutes=10, points=2)
@hint("Set the derivative of the mean loss to zero: for the squared error it gives the mean.")
def check_best_constants(answer: Answer, seed: int) -> None:
    """Check ``best_constants(targets)``: the best single prediction under three losses.

    Returns a dictionary with ``mse``, ``mae`` and ``quantile-0.9``; the number of targets is odd.
    """
    for count in (101, 29):  # of 29 the minimiser is the 27th, where the nearest to nine tenths is the 26th
        targets = torch.exp(drawn(count, 6, seed))
        result = answer(targets.clone())
        expect(isinstance(result, dict), "return a dictionary such as {'mse': 1.5, ...}")
        right = {
            "mse": targets.mean(),
            "mae": targets.median(),
            "quantile-0.9": targets.quantile(0.9, interpolation="higher"),
        }
        for name, value in right.items():
            expect(name in result, f"the dictionary lacks {name!r}")
            expect_close(
                torch.as_tensor(result[name], dtype=DOUBLE),
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
                    "that target is too low: nine in ten must be at or below it": targets.quantile(
                        0.9, interpolation="lower"
                    ),
                    "a number between two targets is not the minimiser: `quantile` interpolates unless you "
                    'ask for `interpolation="higher"`': targets.quantile(0.9),
                },
                what=name,
            )


@exercise(title="A line that three outliers in ten do not move", minutes=90, points=5)
@hint("Fit, look at the errors, and fit again with less weight on what is far off. Or choose a loss.")
def check_robust_line(answer: Answer, seed: int) -> None:
    """Check ``robust_line(inputs, targets)``: slope and offset of a line through points (N,) and (N,).

    Three targets in ten, anywhere in the list, are corrupt, all on one side. The slope and the offset must
    come within 0.1.
    """
    for case in (7, 8, 9):
        inputs = drawn(200, case, seed)
        slope, offset = (float(number) for number in drawn(2, case + 10, seed))
        targets = slope * inputs + offset + 0.2 * drawn(200, case + 30, seed)
        corrupt = drawn(200, case + 50, seed).argsort()[:60]
        side = 1 if case != 8 else -1
        targets[corrupt] += side * (8 + 2 * drawn(60, case + 40, seed).abs())
        result = answer(inputs.clone(), targets.clone())
        expect(
            result.shape == (2,)
            if isinstance(result, (Tensor, np.ndarray))
            else isinstance(result, (tuple, list)) and len(result) == 2,
            "return two numbers, the slope and the offset",
        )
        wrong = max(abs(float(result[0]) - slope), abs(float(result[1]) - offset))
        expect(math.isfinite(wrong), "the slope and the offset must be numbers")
        swapped = max(abs(float(result[1]) - slope), abs(float(result[0]) - offset))
        expect(wrong < 0.1 or swapped >= 0.1, "the slope comes first, then the offset")
        expect(
            wrong < 2.0,
            "the outliers pull the line as they pull the squared error's; choose a loss with a bounded slope",
        )
        expect(
            wrong < 0.1,
            f"close, but {wrong:.2f} off: even a bounded slope is pulled a little by each outlier. "
            "Give what is far off no weight at all",
        )
