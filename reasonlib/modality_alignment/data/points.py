"""Two clouds of points that stand for two modalities, in one-to-one pairs (section 5.3.1).

Class A is one Gaussian, class B an intricate mixture of Gaussians, both in 64 dimensions. The source pairs
them at random: a pair can only be memorised, and nothing can be learned about new pairs. With ``shared``
above 0 a hidden cause moves both points of a pair, which is what real pairs have.

Axes: N pairs, D dimensions, C components of the mixture.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reasonlib.arguments import check_at_least

__all__ = ["PairedPoints", "PointsConfig", "draw_points"]


@dataclass(frozen=True, kw_only=True)
class PointsConfig:
    """The two clouds; counts and dimensions are the source's (section 5.3.1).

    Raises
    ------
    ValueError
        If a count is below 1, or `shared` or `gap` is out of range.
    """

    pairs: int = 10_000  # of training
    held_out: int = 1_000  # pairs that no training step sees
    dimensions: int = 64  # D
    components: int = 20  # C; the source prints none
    spread: float = 3.0  # standard deviation of the components' means; the source prints none
    shared: float = 0.0  # share of both points' variance that a common cause explains; 0: random pairs
    gap: float = 0.0  # distance that separates the two clouds, in standard deviations of class A

    def __post_init__(self) -> None:
        check_at_least(self, 1, "pairs", "held_out", "dimensions", "components")
        if not 0 <= self.shared <= 1:
            raise ValueError(f"shared must be from 0 to 1, got {self.shared}")
        check_at_least(self, 0, "gap")


class PairedPoints(NamedTuple):
    """Points in pairs: row n of one belongs to row n of the other.

    Attributes
    ----------
    a, b
        Points of class A and of class B, float32, (N, D).
    """

    a: Float[Tensor, "N D"]
    b: Float[Tensor, "N D"]


@lru_cache(maxsize=8)
def draw_points(config: PointsConfig, *, seed: int) -> tuple[PairedPoints, PairedPoints]:
    """Draw the pairs of training and the held-out pairs from the same two distributions.

    Parameters
    ----------
    config
        The two clouds.
    seed
        Draws the distributions and the points.

    Returns
    -------
    tuple of PairedPoints
        Training pairs and held-out pairs.
    """
    draw = np.random.default_rng(seed)
    count, size = config.pairs + config.held_out, config.dimensions
    cause = draw.standard_normal((count, size))
    # excerpt: points
    # class A: one multivariate normal distribution
    stretch = draw.standard_normal((size, size)) / np.sqrt(size)
    gaussian = _mix(cause, draw.standard_normal((count, size)), config.shared)
    a = gaussian @ stretch + config.gap
    # class B: a mixture of normal distributions, each with a shape of its own
    means = config.spread * draw.standard_normal((config.components, size))
    shapes = draw.standard_normal((config.components, size, size)) / np.sqrt(size)
    shapes *= draw.uniform(0.3, 1.5, size=(config.components, 1, 1))
    own = _mix(cause, draw.standard_normal((count, size)), config.shared)
    # end excerpt
    component = _components(cause, draw, config)
    b = means[component]
    for number in range(config.components):
        rows = component == number
        b[rows] += own[rows] @ shapes[number]
    first, second = (torch.from_numpy(points.astype(np.float32)) for points in (a, b))
    return (
        PairedPoints(first[: config.pairs], second[: config.pairs]),
        PairedPoints(first[config.pairs :], second[config.pairs :]),
    )


def _mix(cause: np.ndarray, own: np.ndarray, shared: float) -> np.ndarray:
    """Return normal points of unit variance, of which a share is the common cause's."""
    return np.sqrt(shared) * cause + np.sqrt(1 - shared) * own


def _components(cause: np.ndarray, draw: np.random.Generator, config: PointsConfig) -> np.ndarray:
    """Draw the component of each point of class B; the common cause chooses it in a share of pairs."""
    random = draw.integers(config.components, size=len(cause))
    directions = draw.standard_normal((cause.shape[1], config.components))
    chosen = (cause @ directions).argmax(1)
    return np.where(draw.random(len(cause)) < config.shared, chosen, random)
