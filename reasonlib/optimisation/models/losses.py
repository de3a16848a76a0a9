"""Loss functions: how wrong a prediction is, and which way it should move (source: section 2.1).

A loss has two readers. A person reads its value; an optimiser reads its gradient. Both stand in every
docstring. Where the source prints a formula that does something else, `as_printed` has it letter by letter.

Axes: B examples, N classes. Regression losses take tensors of any one shape.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from reasonlib.arguments import check_choice

__all__ = [
    "CLASSIFICATION",
    "REDUCTIONS",
    "REGRESSION",
    "cross_entropy",
    "focal",
    "hinge",
    "huber",
    "kl_divergence",
    "log_cosh",
    "log_loss",
    "mae",
    "mbe",
    "mse",
    "quantile",
]

REDUCTIONS = ("mean", "sum", "none")


def _reduced(values: Tensor, reduction: str) -> Tensor:
    check_choice("reduction", reduction, REDUCTIONS)
    return values.mean() if reduction == "mean" else values.sum() if reduction == "sum" else values


def _alike(prediction: Tensor, target: Tensor) -> Tensor:
    """Return the error, after a look at the shapes: broadcasting two columns gives a table of errors."""
    if prediction.shape != target.shape:
        raise ValueError(
            f"prediction and target must have one shape, got {tuple(prediction.shape)} "
            f"and {tuple(target.shape)}"
        )
    return prediction - target


# Classification ---------------------------------------------------------------------------------------------


def log_loss(logits: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Score yes-or-no answers by the logarithm of the probability given to the truth (eq. 2.2, one class).

    .. math:: -\big(y \log p + (1 - y) \log(1 - p)\big), \qquad p = \mathrm{sigmoid}(z)

    Gradient: :math:`p - y` with respect to the logit `z`. It is bounded by one and never vanishes while the
    answer is wrong, since the logarithm undoes the sigmoid's saturation.

    Parameters
    ----------
    logits
        Scores `z` before the sigmoid, of any shape: :math:`\log p` of a probability rounded to zero would be
        infinite.
    target
        The truth `y`, 0 or 1 (or between), of the same shape.
    reduction
        ``mean``, ``sum`` or ``none``.

    Returns
    -------
    Tensor
        In nats.

    Examples
    --------
    >>> log_loss(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    _alike(logits, target)
    # excerpt: log loss
    # -log p = log(1 + e^z) - z y, without the exponential of a large number
    return _reduced(
        torch.logaddexp(logits, torch.zeros_like(logits)) - logits * target,  # each
        reduction,
    )
    # end excerpt


def cross_entropy(logits: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Score a choice among N classes by the logarithm of the probability given to the right one.

    .. math:: -\log p_y = \log \sum_c e^{z_c} - z_y

    Gradient: :math:`p - \mathrm{onehot}(y)` with respect to the logits. For two classes it is `log_loss` of
    the difference of the logits; for more it is not the source's eq. 2.2.

    Parameters
    ----------
    logits
        (B, N) scores before the softmax.
    target
        (B,) the index of the right class.
    reduction
        As of `log_loss`; the result is in nats.

    Examples
    --------
    >>> odds = torch.tensor([[0.99, 0.01]])
    >>> cross_entropy(odds.log(), torch.tensor([1]))
    tensor(4.6052)
    """
    if logits.ndim != 2 or target.shape != logits.shape[:1]:
        raise ValueError(
            f"logits must be (B, N) and target (B,), got {tuple(logits.shape)} and {tuple(target.shape)}"
        )
    # excerpt: cross-entropy
    right = logits.gather(1, target[:, None])[:, 0]  # score of the right class
    return _reduced(logits.logsumexp(1) - right, reduction)
    # end excerpt


def focal(
    logits: Tensor,
    target: Tensor,
    *,
    gamma: float = 2.0,
    alpha: float | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""Turn down the log loss of what is already easy (eq. 2.3 and 2.4, corrected; Lin et al. 2017).

    .. math:: -\alpha_t (1 - p_t)^\gamma \log p_t, \qquad p_t = p \text{ if } y = 1, \text{ else } 1 - p

    Gradient: that of `log_loss`, times a factor that falls to zero as :math:`p_t` rises to one. With
    ``gamma=0`` and no ``alpha`` it is `log_loss`.

    Parameters
    ----------
    logits
        Scores before the sigmoid, of any shape.
    target
        The truth, 0 or 1, of the same shape.
    gamma
        How strongly easy examples are turned down; at least 0.
    alpha
        Weight of the positive examples, between 0 and 1; the negative ones have ``1 - alpha``. None: none.
    reduction
        ``mean``, ``sum`` or ``none``.

    Examples
    --------
    >>> sure = torch.tensor([4.0])  # p = 0.98
    >>> right = torch.tensor([1.0])
    >>> focal(sure, right, gamma=2.0) / log_loss(sure, right)
    tensor(0.0003)
    """
    if gamma < 0:
        raise ValueError(f"gamma must be at least 0, got {gamma}")
    if alpha is not None and not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha}")
    # excerpt: focal
    missed = log_loss(logits, target, reduction="none")  # -log p_t
    values = (-torch.expm1(-missed)) ** gamma * missed  # expm1: exact near p_t = 1
    # end excerpt
    if alpha is not None:
        values = values * (alpha * target + (1 - alpha) * (1 - target))
    return _reduced(values, reduction)


def kl_divergence(p: Tensor, q: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Measure what is lost when `q` stands in for `p` (eq. 2.5).

    .. math:: D(p \| q) = \sum_i p_i \log \frac{p_i}{q_i}

    Gradient: with respect to `q` it is :math:`-p / q`, without bound where `q` forgets what `p` does. It is
    no distance: exchanging `p` and `q` gives another number. Training takes `p` from the data and `q` from
    the model; the source has it the other way round.

    Parameters
    ----------
    p, q
        (..., N) probabilities that sum to one over the last axis. Where `p` is zero the term is zero.
    reduction
        Over the leading axes: ``mean``, ``sum`` or ``none``.

    Returns
    -------
    Tensor
        In nats; infinite where `q` is zero and `p` is not.

    Examples
    --------
    >>> fair, bent = torch.tensor([0.5, 0.5]), torch.tensor([0.9, 0.1])
    >>> kl_divergence(fair, bent), kl_divergence(bent, fair)
    (tensor(0.5108), tensor(0.3681))
    """
    _alike(p, q)
    # excerpt: kl
    return _reduced(  # xlogy: 0 log 0 = 0
        (torch.special.xlogy(p, p) - torch.special.xlogy(p, q)).sum(-1), reduction
    )
    # end excerpt


def hinge(score: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Ask for a margin of one on the right side (eq. 2.6).

    .. math:: \max(0, 1 - y s)

    Gradient: :math:`-y` inside the margin, zero outside: what is right by more than one no longer counts.

    Parameters
    ----------
    score
        A score `s` of any size, not a probability: with one, the loss of a negative example never falls below
        one.
    target
        The truth `y`, 1 or -1, of the same shape.
    reduction
        ``mean``, ``sum`` or ``none``.
    """
    _alike(score, target)
    # excerpt: hinge
    return _reduced((1 - target * score).clamp(min=0), reduction)
    # end excerpt


# Regression -------------------------------------------------------------------------------------------------


def mse(prediction: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Mean squared error (eq. 2.7): :math:`e^2` for an error :math:`e = \hat y - y`.

    Gradient: :math:`2e`. Far errors pull hardest, and the pull fades on the way in. The best constant
    prediction is the mean.
    """
    # excerpt: square
    return _reduced(_alike(prediction, target) ** 2, reduction)  # square
    # end excerpt


def mae(prediction: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Mean absolute error (eq. 2.8): :math:`|e|`.

    Gradient: :math:`\mathrm{sign}(e)`, as strong near the target as far from it (zero at the target itself).
    The best constant prediction is the median.
    """
    # excerpt: absolute
    return _reduced(_alike(prediction, target).abs(), reduction)  # absolute
    # end excerpt


def mbe(prediction: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Mean bias error: :math:`e` with its sign, positive where the prediction is too high.

    The source names it without a formula. Gradient: 1 everywhere. It tells which way a model leans; it is
    nothing to minimise, since the lowest value is minus infinity and errors of two signs cancel.
    """
    return _reduced(_alike(prediction, target), reduction)


def huber(prediction: Tensor, target: Tensor, *, delta: float = 1.0, reduction: str = "mean") -> Tensor:
    r"""Square close to the target, straight beyond `delta` (eq. 2.9).

    .. math:: \tfrac12 e^2 \text{ for } |e| \le \delta, \qquad \delta |e| - \tfrac12 \delta^2 \text{ beyond}

    Gradient: :math:`e`, held between :math:`-\delta` and :math:`\delta`.

    Parameters
    ----------
    prediction, target
        Of one shape.
    delta
        Where the square ends, in units of the target; above 0.
    reduction
        ``mean``, ``sum`` or ``none``.
    """
    if not delta > 0:
        raise ValueError(f"delta must be above 0, got {delta}")
    # excerpt: huber
    size = _alike(prediction, target).abs()  # |e|
    near = size.clamp(max=delta)  # |e| where it is small, delta where it is not
    return _reduced(near * (size - near / 2), reduction)  # both pieces in one
    # end excerpt


def log_cosh(prediction: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Logarithm of the hyperbolic cosine of the error (eq. 2.10): :math:`\log\cosh e`.

    About :math:`e^2/2` close to the target and :math:`|e| - \log 2` far from it, with no seam between them.
    Gradient: :math:`\tanh e`; unlike `huber` it can be derived again everywhere.

    Notes
    -----
    Far from the target it is written as :math:`\log(e^e + e^{-e}) - \log 2`, since the cosine itself
    overflows at an error of 90 in single precision; close to it as :math:`\tfrac12 \log(1 + \sinh^2 e)`,
    which keeps its digits. The source sums over the examples; here the mean is the default, as for the
    others.
    """
    # excerpt: log-cosh
    error = _alike(prediction, target)
    near = torch.log1p(error.clamp(-1, 1).sinh() ** 2) / 2  # keeps its digits
    far = torch.logaddexp(error, -error) - math.log(2)  # never overflows
    return _reduced(torch.where(error.abs() < 1, near, far), reduction)
    # end excerpt


def quantile(prediction: Tensor, target: Tensor, *, gamma: float = 0.5, reduction: str = "mean") -> Tensor:
    r"""Charge a price for predictions that are too low and another for those too high (eq. 2.11, corrected).

    .. math:: \gamma\,(y - \hat y) \text{ if } y \ge \hat y, \qquad (1 - \gamma)\,(\hat y - y) \text{ if not}

    Gradient: :math:`-\gamma` below the target, :math:`1 - \gamma` above it. The best constant prediction is
    the quantile `gamma` of the targets; at one half it is half the `mae`.

    Parameters
    ----------
    prediction, target
        Of one shape.
    gamma
        Between 0 and 1; high values favour predictions that are too high.
    reduction
        ``mean``, ``sum`` or ``none``.

    Examples
    --------
    >>> low, high = torch.tensor([0.0]), torch.tensor([2.0])
    >>> truth = torch.tensor([1.0])
    >>> quantile(low, truth, gamma=0.9), quantile(high, truth, gamma=0.9)
    (tensor(0.9000), tensor(0.1000))
    """
    if not 0 < gamma < 1:
        raise ValueError(f"gamma must be between 0 and 1, got {gamma}")
    # excerpt: quantile
    error = _alike(prediction, target)  # above zero: too high
    return _reduced(torch.maximum((1 - gamma) * error, -gamma * error), reduction)
    # end excerpt


REGRESSION: dict[str, Callable[..., Tensor]] = {
    "mse": mse,
    "mae": mae,
    "mbe": mbe,
    "huber": huber,
    "log-cosh": log_cosh,
    "quantile": quantile,
}
"""The losses of a number, by name: each takes ``(prediction, target)``."""

CLASSIFICATION: dict[str, Callable[..., Tensor]] = {
    "cross-entropy": cross_entropy,
    "log loss": log_loss,
    "focal": focal,
    "hinge": hinge,
    "kl": kl_divergence,
}
"""The losses of a choice, by name; each docstring says what it takes."""
