r"""Formulas of the source as it prints them, where they are wrong, incomplete or overflow.

Nothing in the library uses these. The chapters run them beside the corrected ones, so that a reader sees what
a misplaced sign does. The corrected function of each is named in its docstring.
"""

import torch
from torch import Tensor

from reasonlib.optimisation.models.optimisers import Adadelta, Adam

__all__ = [
    "AdadeltaWithoutEpsilon",
    "AdamOfSquares",
    "AdamWithoutEpsilon",
    "cross_entropy",
    "difference",
    "elu",
    "focal",
    "hard_tanh",
    "leaky_relu",
    "log_cosh",
    "pelu",
    "quantile",
    "softmax",
    "softplus",
    "tanh",
]


def difference(prediction: Tensor, target: Tensor) -> Tensor:
    r"""Eq. 2.1, :math:`p - \hat p`: a loss without a lowest value; see `losses.mae`."""
    return prediction - target


def cross_entropy(p: Tensor, y: Tensor) -> Tensor:
    r"""Eq. 2.2, from probabilities (B, N) and one-hot truths (B, N), for each example.

    It is the mean of N log losses. For two classes that is the cross-entropy; for more it is not: see
    `losses.cross_entropy`.
    """
    return -(torch.special.xlogy(y, p) + torch.special.xlog1py(1 - y, -p)).mean(-1)


def focal(p: Tensor, y: Tensor, *, gamma: float = 2.0, alpha: float = 1.0) -> Tensor:
    r"""Eq. 2.3 and 2.4, from probabilities, for each example: the case ``y > 1`` never occurs.

    Truths are 0 or 1, so that every example counts as negative. And one :math:`\alpha` for both classes
    scales the loss without balancing anything: see `losses.focal`.
    """
    right = torch.where(y > 1, p, 1 - p)
    return -alpha * (1 - right) ** gamma * torch.log(right)


def log_cosh(prediction: Tensor, target: Tensor) -> Tensor:
    r"""Eq. 2.10, for each example: the cosine overflows at large errors; see `losses.log_cosh`."""
    return torch.log(torch.cosh(prediction - target))


def quantile(prediction: Tensor, target: Tensor, *, gamma: float = 0.5) -> Tensor:
    r"""Eq. 2.11, for each example: :math:`(\gamma - 1)|e|` above the target is below zero.

    Predicting too much is rewarded, the more the better: see `losses.quantile`.
    """
    size = (target - prediction).abs()
    return torch.where(target < prediction, (gamma - 1) * size, gamma * size)


def tanh(x: Tensor) -> Tensor:
    r"""Eq. 2.17: infinity by infinity beyond 89 in single precision; see `activations.tanh`."""
    return (torch.exp(x) - torch.exp(-x)) / (torch.exp(x) + torch.exp(-x))


def hard_tanh(x: Tensor) -> Tensor:
    r"""Eq. 2.18: its middle case, :math:`-1 \ge x \ge 1`, holds for no number; see `activations.hard_tanh`.

    Not a number where no case applies.
    """
    nothing = torch.full_like(x, torch.nan)
    return torch.where(x < -1, -1.0, torch.where(x > 1, 1.0, torch.where((x <= -1) & (x >= 1), x, nothing)))


def softmax(x: Tensor) -> Tensor:
    r"""Eq. 2.19, over the last axis: overflows beyond 89; see `activations.softmax`."""
    return torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)


def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    r"""Eq. 2.21, its first half, :math:`\alpha x + x`: a straight line; see `activations.leaky_relu`."""
    return slope * x + x


def softplus(x: Tensor) -> Tensor:
    r"""Eq. 2.22: overflows beyond 89; see `activations.softplus`."""
    return torch.log(1 + torch.exp(x))


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    r"""The list before eq. 2.12, :math:`\alpha e^x - 1` below zero: jumps unless `alpha` is 1.

    Eq. 2.23 has the brackets; see `activations.elu`.
    """
    return torch.where(x > 0, x, alpha * torch.exp(x) - 1)


def pelu(x: Tensor, alpha: float, beta: float, zeta: float) -> Tensor:
    r"""Eq. 2.24, its slope :math:`\zeta` free: a corner at zero unless it is :math:`\alpha / \beta`.

    See `activations.pelu`.
    """
    return torch.where(x >= 0, zeta * x, alpha * torch.expm1(x.clamp(max=0) / beta))


class AdamWithoutEpsilon(Adam):
    r"""Eq. 2.40, without :math:`\epsilon`: a weight whose gradient is zero becomes not a number."""

    def __init__(self, *, rate: float = 0.001, betas: tuple[float, float] = (0.9, 0.999)) -> None:
        super().__init__(rate=rate, betas=betas)
        self.epsilon = 0.0


class AdamOfSquares(Adam):
    r"""Adam as the text below eq. 2.40 has it: `m` too is an average of *squared* gradients.

    A square has no sign, so that every step goes the same way, up a slope as well as down; see
    `optimisers.Adam`.
    """

    def step(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The next point."""
        beta1, beta2 = self.betas
        self.time += 1
        self.mean = beta1 * self.mean + (1 - beta1) * gradient**2
        self.squares = beta2 * self.squares + (1 - beta2) * gradient**2
        mean = self.mean / (1 - beta1**self.time)
        return point - self.rate * mean / (torch.sqrt(self.squares / (1 - beta2**self.time)) + self.epsilon)


class AdadeltaWithoutEpsilon(Adadelta):
    r"""Eq. 2.38, without :math:`\epsilon`: before the first step there is none to measure by, and so on.

    See `optimisers.Adadelta`.
    """

    def __init__(self, *, decay: float = 0.9) -> None:
        super().__init__(decay=decay)
        self.epsilon = 0.0
