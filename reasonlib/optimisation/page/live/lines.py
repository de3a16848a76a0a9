"""The line through points that makes a loss least; ``losses.js`` computes the same."""

from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

from reasonlib.optimisation.models.losses import REGRESSION

__all__ = ["fit_line", "mean_loss"]


def mean_loss(name: str, line: Sequence[float], points: Tensor, **settings: float) -> float:
    """Mean loss of a line (height at 0, slope) over points (B, 2)."""
    prediction = line[0] + line[1] * points[:, 0]
    return float(REGRESSION[name](prediction, points[:, 1], **settings))


def fit_line(name: str, points: Tensor, **settings: float) -> tuple[float, float]:
    """Find the line with the least mean loss.

    Parameters
    ----------
    name
        Of a loss in `losses.REGRESSION`, but ``"mbe"``, which has no least value.
    points
        (B, 2), not all above each other.
    **settings
        `delta` or `gamma`.

    Returns
    -------
    tuple of float
        Its height at 0 and its slope.

    Notes
    -----
    Where the loss has a corner (``"mae"``, ``"quantile"``) one of the best lines goes through two of the
    points, so all pairs are tried. Where it is smooth, squares are weighted with slope over error until
    nothing moves.
    """
    if name not in REGRESSION or name == "mbe":
        choices = ", ".join(key for key in REGRESSION if key != "mbe")
        raise ValueError(f"name must be one of {choices}, got {name!r}")
    points = points.double()
    if len(points) < 2 or bool((points[:, 0] == points[0, 0]).all()):
        raise ValueError("points must hold at least two with different x")
    if name in ("mae", "quantile"):
        lines = []
        for (x1, y1), (x2, y2) in combinations(points.tolist(), 2):
            if x1 != x2:
                slope = (y1 - y2) / (x1 - x2)
                lines.append((y1 - slope * x1, slope))
        return min(lines, key=lambda line: mean_loss(name, line, points, **settings))
    line = fit_line("mae", points) if name != "mse" else (0.0, 0.0)
    for _ in range(400):
        error = (line[0] + line[1] * points[:, 0] - points[:, 1]).requires_grad_(True)
        loss = REGRESSION[name](error, torch.zeros_like(error), reduction="sum", **settings)
        (slope_of_loss,) = torch.autograd.grad(loss, error)
        small = error.abs() < 1e-9
        weights = torch.where(small, 1.0, slope_of_loss / torch.where(small, 1.0, error)).detach()
        moved = _squares(points, weights)
        change = abs(moved[0] - line[0]) + abs(moved[1] - line[1])
        line = moved
        if change < 1e-12:
            break
    return line


def _squares(points: Tensor, weights: Tensor) -> tuple[float, float]:
    x, y = points.unbind(1)
    middle = (weights * x).sum() / weights.sum()
    level = (weights * y).sum() / weights.sum()
    slope = (weights * (x - middle) * (y - level)).sum() / (weights * (x - middle) ** 2).sum()
    return float(level - slope * middle), float(slope)
