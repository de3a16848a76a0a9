"""Activation functions: what a unit makes of its sum (source: section 2.1.3, eq. 2.12-2.28).

Every function works element by element on a tensor of any shape, and is written so that neither its value nor
its gradient overflows. What decides how a deep network learns is the derivative, so each docstring gives it.
`reasonlib.optimisation.models.as_printed` holds the formulas that the source prints differently.

Axes: B examples, D inputs of a layer, U its units, P pieces of a maxout unit.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

__all__ = [
    "ACTIVATIONS",
    "PELU",
    "Maxout",
    "dsilu",
    "elish",
    "elu",
    "hard_elish",
    "hard_sigmoid",
    "hard_tanh",
    "leaky_relu",
    "log_softmax",
    "pelu",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softsign",
    "swish",
    "tanh",
]


# Between two bounds -----------------------------------------------------------------------------------------


def sigmoid(x: Tensor) -> Tensor:
    r"""Squash to between 0 and 1 (eq. 2.12): :math:`1 / (1 + e^{-x})`.

    Derivative: :math:`s (1 - s)`, at most 1/4, and below 0.01 beyond :math:`|x| = 4.6`: it saturates.

    Notes
    -----
    Computed as :math:`e^{-\mathrm{softplus}(-x)}`, whose parts cannot overflow.
    """
    # excerpt: sigmoid
    return torch.exp(-softplus(-x))  # sigmoid, without overflow
    # end excerpt


def hard_sigmoid(x: Tensor) -> Tensor:
    r"""Three straight pieces instead of a curve (eq. 2.13): :math:`(x + 1) / 2`, cut at 0 and 1.

    Derivative: 1/2 between -1 and 1, zero outside. That is twice the sigmoid's slope at zero.

    Notes
    -----
    ``torch.nn.functional.hardsigmoid(x)`` is another one, :math:`x/6 + 1/2`; it equals this one of ``x / 3``.
    """
    return ((x + 1) / 2).clamp(0, 1)


def dsilu(x: Tensor) -> Tensor:
    r"""Derivative of `silu`, used as an activation (eq. 2.16): :math:`s\,(1 + x (1 - s))`, `s` the sigmoid.

    Runs from 0 to 1 as the sigmoid does, but twice as steeply, and overshoots on both sides: between -0.1 and
    1.1. Derivative: :math:`s (1 - s)\,(2 + x (1 - 2 s))`, at most 1/2.
    """
    s = sigmoid(x)
    return s * (1 + x * (1 - s))


def tanh(x: Tensor) -> Tensor:
    r"""Squash to between -1 and 1 (eq. 2.17): :math:`(e^x - e^{-x}) / (e^x + e^{-x})`.

    Derivative: :math:`1 - f^2`, one at zero, below 0.01 beyond :math:`|x| = 3`: it saturates too. It is
    :math:`2\,\mathrm{sigmoid}(2x) - 1`.

    Notes
    -----
    Beyond 20 the value is one to every digit of double precision; :math:`e^x` itself would overflow.
    """
    bounded = x.clamp(-20, 20)
    return bounded.sinh() / bounded.cosh()


def hard_tanh(x: Tensor) -> Tensor:
    r"""Cut at -1 and 1 (eq. 2.18): `x` between them.

    Derivative: 1 between -1 and 1, zero outside.
    """
    return x.clamp(-1, 1)


def softsign(x: Tensor) -> Tensor:
    r"""Squash to between -1 and 1 without an exponential: :math:`x / (1 + |x|)`.

    Derivative: :math:`1 / (1 + |x|)^2`. It fades like a power, not like an exponential.
    """
    return x / (1 + x.abs())


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    r"""Turn scores into probabilities (eq. 2.19): :math:`e^{x_i} / \sum_j e^{x_j}`.

    Derivative: :math:`p_i (\delta_{ij} - p_j)`. A number added to every score changes nothing, and so the
    largest score is subtracted first: no exponential exceeds one.
    """
    # excerpt: softmax
    raised = torch.exp(x - x.amax(dim, keepdim=True).detach())  # at most 1
    return raised / raised.sum(dim, keepdim=True)
    # end excerpt


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    r"""Logarithm of `softmax`, finite where a probability rounds to zero."""
    return x - x.logsumexp(dim, keepdim=True)


# A ramp -----------------------------------------------------------------------------------------------------


def relu(x: Tensor) -> Tensor:
    r"""Let through what is positive (eq. 2.20): :math:`\max(0, x)`.

    Derivative: 1 above zero, 0 below. A unit whose sum is negative for every example has no gradient left: it
    is dead.
    """
    # excerpt: relu
    return torch.where(x > 0, x, 0.0)  # ReLU
    # end excerpt


def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    r"""Let a little of the negative through (eq. 2.21, corrected): `x` above zero, `slope` times `x` below.

    Derivative: 1 above zero, `slope` below: never zero.
    """
    # excerpt: leaky relu
    return torch.where(x > 0, x, slope * x)  # leaky ReLU
    # end excerpt


def softplus(x: Tensor) -> Tensor:
    r"""Ramp without a corner (eq. 2.22): :math:`\log(1 + e^x)`.

    Derivative: the sigmoid. Above the ramp by :math:`\log 2` at zero, and never zero.

    Notes
    -----
    :math:`\max(x, 0) + \log(1 + e^{-|x|})`, which is what ``logaddexp`` computes.
    """
    # excerpt: softplus
    return torch.logaddexp(x, torch.zeros_like(x))  # softplus: log(e^x + e^0)
    # end excerpt


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    r"""Ramp that bends to a negative floor (eq. 2.23): `x` above zero, :math:`\alpha (e^x - 1)` below.

    Derivative: 1 above zero, :math:`f + \alpha` below. The two meet at zero only if `alpha` is 1.
    """
    # excerpt: elu
    return torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0)))  # ELU
    # end excerpt


def pelu(x: Tensor, a: Tensor | float = 1.0, b: Tensor | float = 1.0) -> Tensor:
    r"""`elu` of learned shape whose two halves always meet (eq. 2.24, corrected; Trottier et al. 2016).

    .. math:: \frac{a}{b}\,x \text{ if } x \ge 0, \qquad a\,(e^{x/b} - 1) \text{ if } x < 0

    Derivative: :math:`a/b` above zero, :math:`(f + a)/b` below; both are :math:`a/b` at zero. With
    ``a = b = 1`` it is `elu`.
    """
    # excerpt: pelu
    return torch.where(  # PELU
        x >= 0, x * (a / b), a * torch.expm1(x.clamp(max=0) / b)
    )
    # end excerpt


class PELU(nn.Module):
    r"""`pelu` with its `a` and `b` as parameters, one pair for a layer, kept positive.

    Attributes
    ----------
    a, b
        Scalars, at first 1: an `elu`. A step of training that brings one below `least` has no effect beyond.
    """

    def __init__(self, *, least: float = 0.1) -> None:
        super().__init__()
        if not least > 0:
            raise ValueError(f"least must be above 0, got {least}")
        self.least = least
        self.a = nn.Parameter(torch.ones(()))
        self.b = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        """Apply it to a tensor of any shape."""
        return pelu(x, self.a.clamp(min=self.least), self.b.clamp(min=self.least))


class Maxout(nn.Module):
    r"""Layer that takes the largest of several linear functions (eq. 2.25): :math:`\max_p(w_p^\top x + b_p)`.

    Derivative: that of the piece that won; no piece ever stops all gradient. With two pieces it has twice the
    weights of a plain layer. A ramp is the special case in which one piece is zero.

    Parameters
    ----------
    inputs, units
        D and U.
    pieces
        P, at least 2.
    """

    def __init__(self, inputs: int, units: int, *, pieces: int = 2) -> None:
        super().__init__()
        if pieces < 2:
            raise ValueError(f"pieces must be at least 2, got {pieces}")
        self.units, self.pieces = units, pieces
        self.linear = nn.Linear(inputs, units * pieces)

    def forward(self, x: Tensor) -> Tensor:
        """From (..., D) to (..., U)."""
        # excerpt: maxout
        # one linear map makes all pieces; keep the largest of each unit
        return self.linear(x).unflatten(-1, (self.units, self.pieces)).amax(-1)
        # end excerpt


# A ramp times a gate ----------------------------------------------------------------------------------------


def swish(x: Tensor, beta: Tensor | float = 1.0) -> Tensor:
    r"""Input times a gate of itself (eq. 2.26): :math:`x\,\mathrm{sigmoid}(\beta x)`.

    Derivative: :math:`\beta f + s (1 - \beta f)` with :math:`s = \mathrm{sigmoid}(\beta x)`. Bounded below,
    by about -0.28 at -1.28, unbounded above. `beta` of 0 gives half the input, a large one the ramp.
    """
    # excerpt: swish
    return x * sigmoid(beta * x)  # swish
    # end excerpt


def silu(x: Tensor) -> Tensor:
    r"""Sigmoid-weighted linear unit (eq. 2.14): :math:`x\,\mathrm{sigmoid}(x)`.

    The same function as `swish` with beta 1; the source treats the two as different. Hendrycks and Gimpel
    (2016) name it SiLU beside their GELU, Elfwing et al. (February 2017) use it in reinforcement learning,
    Ramachandran et al. (October 2017) find it again as swish.
    """
    return swish(x)


def elish(x: Tensor) -> Tensor:
    r"""`swish` above zero, `elu` times the sigmoid below (eq. 2.27).

    Derivative: 1/2 at zero from both sides; it falls to zero far below.
    """
    # excerpt: elish
    return torch.where(x >= 0, x, torch.expm1(x.clamp(max=0))) * sigmoid(x)  # ELiSH
    # end excerpt


def hard_elish(x: Tensor) -> Tensor:
    r"""`elish` with the hard sigmoid as its gate (eq. 2.28).

    Derivative: 1/2 at zero from both sides; exactly zero below -1, where a unit can die as a ramp's does.
    """
    return torch.where(x >= 0, x, torch.expm1(x.clamp(max=0))) * hard_sigmoid(x)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": sigmoid,
    "hard sigmoid": hard_sigmoid,
    "dSiLU": dsilu,
    "tanh": tanh,
    "hard tanh": hard_tanh,
    "softsign": softsign,
    "ReLU": relu,
    "leaky ReLU": leaky_relu,
    "softplus": softplus,
    "ELU": elu,
    "PELU": pelu,
    "swish": swish,
    "ELiSH": elish,
    "HardELiSH": hard_elish,
}
"""The functions of one number, by the source's name; SiLU is swish. Softmax and maxout see several."""
