"""Exercises of the chapter "Activations"."""

import ast
import re
from collections.abc import Callable

import torch
from torch import Tensor

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint, source
from reasonlib.optimisation.models import as_printed
from reasonlib.optimisation.models.activations import elu, leaky_relu, relu, sigmoid, softplus, swish, tanh
from reasonlib.optimisation.page.exercises.cases import DOUBLE, between, drawn

__all__ = ["check_balanced", "check_gain", "check_leaky", "check_swish_slope"]


@exercise(title="Correct the leaky ReLU", minutes=5, points=1)
@hint("Where x is positive the result is x itself, not x and a little more.")
def check_leaky(answer: Answer, seed: int) -> None:
    """Check ``leaky(x, slope)``: eq. 2.21 as it was meant, element by element."""
    x = 2 * drawn(40, 11, seed)
    for slope in (between(0.01, 0.1, 13, seed), between(0.2, 0.5, 14, seed)):
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


AUTOMATIC = re.compile(r"autograd|backward|requires_grad|\b(?:grad|jacrev|jacfwd|jacobian|jvp|vjp)\b")


def _code(answer: Answer) -> str:
    """Return the source of an answer without comments and docstrings, which may speak of gradients."""
    text = source(answer)
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a lambda inside a longer line
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


@exercise(title="The slope of swish", minutes=15, points=2)
@hint("Swish is a product: x times the sigmoid. The sigmoid's own derivative is s (1 - s).")
def check_swish_slope(answer: Answer, seed: int) -> None:
    """Check ``swish_slope(x)``: the derivative of eq. 2.26, without automatic or numerical differentiation.

    The formula must hold for any x, also where its exponentials overflow in single precision.
    """
    x = torch.cat([3 * drawn(40, 12, seed), torch.tensor([0.0, 200.0, -200.0], dtype=DOUBLE)])
    s = sigmoid(x)
    result, single = torch.as_tensor(answer(x.clone())), torch.as_tensor(answer(x.float()))
    expect(
        not result.requires_grad and not AUTOMATIC.search(_code(answer)),
        "without automatic differentiation: derive it with a pencil",
    )
    for values in (result, single):
        expect(
            bool(values.isfinite().all()),
            "not a number at x = -200 or 200: torch.exp overflows there, torch.sigmoid does not",
        )
    expect_close(
        result,
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
    far = torch.tensor([1e15], dtype=DOUBLE)
    expect_close(
        torch.as_tensor(answer(far.clone())),
        torch.ones_like(far),
        "wrong at x = 1e15, where rounding spoils a difference quotient: write down the derivative itself",
        what="the slope at x = 1e15",
    )


def _standard_normal() -> tuple[Tensor, Tensor]:
    """Return numbers z from -8 to 8, and the share of a standard normal variable near each."""
    z = torch.linspace(-8, 8, 4001, dtype=DOUBLE)
    weight = torch.exp(-(z**2) / 2)
    return z, weight / weight.sum()


def _of_scaled(shape: Callable[[Tensor], Tensor], size: float, shift: float) -> Callable[[Tensor], Tensor]:
    """Return the activation of ``size * x + shift``."""

    def f(x: Tensor) -> Tensor:
        return shape(size * x + shift)

    return f


@exercise(title="Keep the size of the signal", minutes=30, points=3)
@hint("Draw many normal numbers, or integrate: the gain is one over the root of the mean square of f.")
def check_gain(answer: Answer, seed: int) -> None:
    """Check ``gain(f)``: by how much the weights after an activation must grow to keep the signal's size.

    `f` takes a tensor. If `z` is normal with mean zero and variance one, ``gain(f) * f(z)`` has a mean square
    of one. Three digits are enough.
    """
    z, weight = _standard_normal()
    size, shift = between(0.5, 2.0, 15, seed), between(-0.5, 0.5, 16, seed)
    activations = {"the ReLU": relu, "tanh": tanh, "the sigmoid": sigmoid, "softplus": softplus}
    gains, square, mean = [], [], []
    for shape in activations.values():
        f = _of_scaled(shape, size, shift)
        gains.append(float(answer(f)))
        square.append(float((f(z) ** 2 * weight).sum()))
        mean.append(float((f(z) * weight).sum()))
    hints = {
        "that is the mean square itself: the gain is one over its root": square,
        "take the root: a gain multiplies the signal, not its square": [1 / moment for moment in square],
        "the mean counts too: use the mean square, not the variance": [
            (moment - average**2) ** -0.5 for moment, average in zip(square, mean, strict=True)
        ],
    }
    for message, values in hints.items():
        expect(max(abs(ours / value - 1) for ours, value in zip(gains, values, strict=True)) > 0.01, message)
    for name, gain, value in zip(activations, gains, square, strict=True):
        expect(
            abs(gain * value**0.5 - 1) < 0.01,
            f"the gain of f(z), {name} of {size:.2f} z {shift:+.2f}, is not {gain:.3f}: integrate over z",
        )


@exercise(title="Balance an activation", minutes=45, points=4)
@hint("Find the mean and the spread of f(z) for normal z; subtract the one, divide by the other.")
def check_balanced(answer: Answer, seed: int) -> None:
    """Check ``balanced(f)``: a new activation made of `f` whose output has mean zero and variance one.

    For inputs that are normal with mean zero and variance one. It is a scaled and shifted `f`: it must rise
    and fall where `f` does. A hundredth of error is allowed.
    """
    size, shift = between(0.5, 2.0, 17, seed), between(-0.5, 0.5, 18, seed)
    z, weight = _standard_normal()
    for name, shape in (("the ReLU", relu), ("softplus", softplus), ("ELU", elu), ("swish", swish)):
        f = _of_scaled(shape, size, shift)
        activation = answer(f)
        expect(callable(activation), "return a function of a tensor, such as lambda x: ...")
        value = torch.as_tensor(activation(z.clone()))
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
