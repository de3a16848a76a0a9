r"""Optimisers: from a gradient to a step (source: section 2.2.1, eq. 2.29-2.40), written as their equations.

An optimiser is a small object that remembers what its equations remember, and is asked for step by step::

    point -> look(point) -> the gradient there -> step(point, gradient) -> the next point

``look`` gives the place at which the gradient is taken: the point itself for all but `Nesterov`. A point is
one tensor: two coordinates on a surface, or all weights of a network in one vector. `rate` may be changed
between steps. The three classes whose names begin with ``Torch`` are the same methods as `torch.optim` writes
them; all others that torch has equal torch's step for step.

Symbols: :math:`\theta` the point, `g` the gradient, :math:`\eta` the rate.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

__all__ = [
    "OPTIMISERS",
    "AMSGrad",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "GradientDescent",
    "Momentum",
    "Nesterov",
    "Optimiser",
    "RootlessAdagrad",
    "TorchAdagrad",
    "TorchMomentum",
    "TorchNesterov",
]


class Optimiser(Protocol):
    """What every optimiser can do."""

    rate: float

    def look(self, point: Tensor) -> Tensor:
        """Where the gradient should be taken."""

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be above 0 and finite, got {value}")


def _share(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name} must be at least 0 and below 1, got {value}")


class _Method:
    """A method that takes the gradient at the point itself."""

    def look(self, point: Tensor) -> Tensor:
        """The point itself."""
        return point


class _WithVelocity(_Method):
    """A method that remembers a velocity."""

    def __init__(self, *, rate: float = 0.01, momentum: float = 0.9) -> None:
        _positive(rate=rate)
        _share(momentum=momentum)
        self.rate, self.momentum = rate, momentum
        self.velocity: Tensor | float = 0.0


class _WithSquares(_Method):
    """A method that remembers a sum of squared gradients."""

    def __init__(self, *, rate: float = 0.01, epsilon: float = 1e-8) -> None:
        _positive(rate=rate, epsilon=epsilon)
        self.rate, self.epsilon = rate, epsilon
        self.squares: Tensor | float = 0.0


class _WithMoments(_Method):
    """A method that remembers averages of the gradients and of their squares."""

    def __init__(
        self, *, rate: float = 0.001, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8
    ) -> None:
        _positive(rate=rate, epsilon=epsilon)
        _share(beta1=betas[0], beta2=betas[1])
        self.rate, self.betas, self.epsilon = rate, betas, epsilon
        self.mean: Tensor | float = 0.0
        self.squares: Tensor | float = 0.0
        self.time = 0


class GradientDescent(_Method):
    r"""Walk down the slope (eq. 2.29): :math:`\theta \leftarrow \theta - \eta g`.

    With the gradient of all examples it is batch gradient descent, with that of one example stochastic
    gradient descent (eq. 2.30), with that of a few mini-batch gradient descent (eq. 2.31): the rule is one.
    """

    def __init__(self, *, rate: float = 0.01) -> None:
        _positive(rate=rate)
        self.rate = rate

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        # excerpt: gradient descent
        return point - self.rate * gradient  # theta - eta g
        # end excerpt


class Momentum(_WithVelocity):
    r"""Keep a share of the last step (eq. 2.32 and 2.33).

    .. math:: v \leftarrow \gamma v + \eta g, \qquad \theta \leftarrow \theta - v

    The rate is inside the velocity: what was gathered at an old rate keeps it.
    """

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        # excerpt: momentum
        self.velocity = self.momentum * self.velocity + self.rate * gradient
        return point - self.velocity
        # end excerpt


class TorchMomentum(_WithVelocity):
    r"""`Momentum` as ``torch.optim.SGD`` writes it.

    .. math:: v \leftarrow \gamma v + g, \qquad \theta \leftarrow \theta - \eta v

    The rate is outside: a new rate applies to everything gathered. At a constant rate both walk one path.
    """

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        self.velocity = self.momentum * self.velocity + gradient
        return point - self.rate * self.velocity


class Nesterov(_WithVelocity):
    r"""Take the gradient where momentum is about to lead (eq. 2.34 and 2.35).

    .. math:: v \leftarrow \gamma v + \eta \nabla J(\theta - \gamma v), \qquad \theta \leftarrow \theta - v
    """

    def look(self, point: Tensor) -> Tensor:
        """The point ahead, where the last step alone would lead."""
        # excerpt: nesterov look
        return point - self.momentum * self.velocity  # the gradient is taken here
        # end excerpt

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        # excerpt: nesterov
        self.velocity = self.momentum * self.velocity + self.rate * gradient
        return point - self.velocity
        # end excerpt


class TorchNesterov(_WithVelocity):
    r"""`Nesterov` as ``torch.optim.SGD(nesterov=True)`` writes it, without a look ahead.

    .. math:: v \leftarrow \gamma v + g, \qquad \theta \leftarrow \theta - \eta\,(g + \gamma v)

    The points it visits are the ones that `Nesterov` looks at: :math:`\theta - \gamma v` of eq. 2.34. So the
    gradient is taken where the weights are, and no framework has to move them for it.
    """

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        # excerpt: torch nesterov
        self.velocity = self.momentum * self.velocity + gradient
        return point - self.rate * (gradient + self.momentum * self.velocity)
        # end excerpt


class Adagrad(_WithSquares):
    r"""Give each parameter a rate of its own, which falls as its gradients add up (eq. 2.36 and 2.37).

    .. math:: G \leftarrow G + g^2, \qquad \theta \leftarrow \theta - \frac{\eta}{\sqrt{G + \epsilon}}\,g

    Only the diagonal of the source's matrix is ever used, so that `G` has the shape of the point.
    """

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        # excerpt: adagrad
        self.squares = self.squares + gradient**2  # G, one number for each weight
        return point - self.rate / torch.sqrt(self.squares + self.epsilon) * gradient
        # end excerpt


class TorchAdagrad(_Method):
    r"""`Adagrad` as ``torch.optim.Adagrad`` writes it: :math:`\epsilon` is added after the root.

    .. math:: \theta \leftarrow \theta - \frac{\eta}{\sqrt G + \epsilon}\,g
    """

    def __init__(self, *, rate: float = 0.01, epsilon: float = 1e-10) -> None:
        _positive(rate=rate, epsilon=epsilon)
        self.rate, self.epsilon = rate, epsilon
        self.squares: Tensor | None = None

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        self.squares = gradient**2 if self.squares is None else self.squares + gradient**2
        return point - self.rate * gradient / (torch.sqrt(self.squares) + self.epsilon)


class RootlessAdagrad(_WithSquares):
    r"""`Adagrad` without its square root, which the source says performs much worse.

    .. math:: \theta \leftarrow \theta - \frac{\eta}{G + \epsilon}\,g
    """

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        self.squares = self.squares + gradient**2
        return point - self.rate / (self.squares + self.epsilon) * gradient


class Adadelta(_Method):
    r"""Divide by the recent gradients, multiply by the recent steps (eq. 2.38 and 2.39; Zeiler 2012).

    .. math::
        E \leftarrow \rho E + (1 - \rho) g^2, \qquad
        d = \frac{\sqrt{D + \epsilon}}{\sqrt{E + \epsilon}}\,g, \qquad
        D \leftarrow \rho D + (1 - \rho) d^2, \qquad
        \theta \leftarrow \theta - \eta d

    The paper and the source have no rate, which is :math:`\eta = 1`. All it starts from is
    :math:`\epsilon`: the first step is about :math:`\sqrt{\epsilon / (1 - \rho)}` long.
    """

    def __init__(self, *, rate: float = 1.0, decay: float = 0.9, epsilon: float = 1e-6) -> None:
        _positive(rate=rate, epsilon=epsilon)
        _share(decay=decay)
        self.rate, self.decay, self.epsilon = rate, decay, epsilon
        self.squares: Tensor | None = None
        self.steps: Tensor | None = None

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        # excerpt: adadelta
        if self.squares is None or self.steps is None:
            self.squares, self.steps = torch.zeros_like(point), torch.zeros_like(point)
        self.squares = (  # E, the average of squared gradients
            self.decay * self.squares + (1 - self.decay) * gradient**2
        )
        move = (  # RMS of the earlier steps over RMS of the gradients, times g
            torch.sqrt(self.steps + self.epsilon)
            / torch.sqrt(self.squares + self.epsilon)  # epsilon inside both roots
            * gradient
        )
        self.steps = (  # D, the average of squared steps
            self.decay * self.steps + (1 - self.decay) * move**2
        )
        return point - self.rate * move  # rate is 1 in the paper
        # end excerpt


class Adam(_WithMoments):
    r"""Average the gradients, average their squares, divide (eq. 2.40, completed; Kingma & Ba 2015).

    .. math::
        m \leftarrow \beta_1 m + (1 - \beta_1) g, \qquad
        v \leftarrow \beta_2 v + (1 - \beta_2) g^2, \qquad
        \theta \leftarrow \theta - \eta\,\frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    Both averages start at zero and are too small at first; the powers of the step `t` correct that. The
    source leaves out :math:`\epsilon`, without which a gradient of zero gives zero by zero.
    """

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        # excerpt: adam
        beta1, beta2 = self.betas
        self.time += 1
        self.mean = beta1 * self.mean + (1 - beta1) * gradient  # m
        self.squares = beta2 * self.squares + (1 - beta2) * gradient**2  # v
        # both averages start at zero: make up for it
        mean = self.mean / (1 - beta1**self.time)
        deviation = torch.sqrt(self.squares / (1 - beta2**self.time))
        return point - self.rate * mean / (deviation + self.epsilon)
        # end excerpt


class AdamW(_Method):
    r"""`Adam`, and apart from it a pull of every weight to zero (Loshchilov & Hutter 2019).

    .. math:: \theta \leftarrow (1 - \eta \lambda)\,\theta, \qquad \text{then Adam's step}

    A decay that is added to the gradient instead is divided by Adam's denominator along with it, and so
    hardly reaches the weights with large gradients.
    """

    def __init__(
        self,
        *,
        rate: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        decay: float = 0.01,
    ) -> None:
        if not decay >= 0:
            raise ValueError(f"decay must be at least 0, got {decay}")
        self.decay = decay
        self.adam = Adam(rate=rate, betas=betas, epsilon=epsilon)
        self.rate = rate

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        # excerpt: adamw
        self.adam.rate = self.rate
        return self.adam.step(  # shrink the weights, then Adam's step
            (1 - self.rate * self.decay) * point, gradient
        )
        # end excerpt


class AMSGrad(_WithMoments):
    r"""`Adam` that never forgets its largest average of squares (Reddi et al. 2018).

    .. math:: \hat v \leftarrow \max(\hat v, v), \qquad \text{and } \hat v \text{ instead of } v

    As in ``torch.optim.Adam(amsgrad=True)``, both are corrected for the start.
    """

    largest: Tensor | None = None

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        beta1, beta2 = self.betas
        self.time += 1
        self.mean = beta1 * self.mean + (1 - beta1) * gradient
        squares = beta2 * self.squares + (1 - beta2) * gradient**2
        self.squares = squares
        self.largest = squares if self.largest is None else torch.maximum(self.largest, squares)
        mean = self.mean / (1 - beta1**self.time)
        deviation = torch.sqrt(self.largest / (1 - beta2**self.time))
        return point - self.rate * mean / (deviation + self.epsilon)


OPTIMISERS: dict[str, Callable[..., Any]] = {
    "gradient descent": GradientDescent,
    "momentum": Momentum,
    "Nesterov": Nesterov,
    "Adagrad": Adagrad,
    "Adadelta": Adadelta,
    "Adam": Adam,
}
"""The source's optimisers, by name."""
