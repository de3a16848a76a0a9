r"""Surfaces to walk down: two coordinates, a height, and the slope written out (source: section 2.2.1).

A surface is a function of a point (x, y) with its gradient derived by hand, so that a page can compute the
same in a few lines of JavaScript. `minimise` walks down one with any of the optimisers.

Axes: T steps, ... any leading axes; the last axis of a point has the two coordinates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reasonlib.optimisation.models.optimisers import Optimiser

__all__ = ["SURFACES", "Path", "Surface", "hills", "minimise", "ravine"]


@dataclass(frozen=True, kw_only=True)
class Surface:
    """A height over the plane.

    Attributes
    ----------
    name
        One word.
    title
        A few words, with the formula.
    value
        From points (..., 2) to heights (...).
    gradient
        From points (..., 2) to slopes (..., 2).
    box
        What is drawn: ``((left, right), (bottom, top))``.
    start
        Where a descent begins.
    minimum
        The lowest point, or None where there is none.
    """

    name: str
    title: str
    value: Callable[[Tensor], Tensor]
    gradient: Callable[[Tensor], Tensor]
    box: tuple[tuple[float, float], tuple[float, float]]
    start: tuple[float, float]
    minimum: tuple[float, float] | None = None

    def grid(self, size: int = 81) -> tuple[Tensor, Tensor, Tensor]:
        """Return ``x`` (size,), ``y`` (size,) and the heights (size, size), a row a value of ``y``."""
        (left, right), (bottom, top) = self.box
        x = torch.linspace(left, right, size, dtype=torch.float64)
        y = torch.linspace(bottom, top, size, dtype=torch.float64)
        down, across = torch.meshgrid(y, x, indexing="ij")
        return x, y, self.value(torch.stack([across, down], -1))


@dataclass(frozen=True, kw_only=True)
class Path:
    """Where a descent went.

    Attributes
    ----------
    points
        (T + 1, ...) every point, the start first.
    values
        (T + 1,) the height at each.
    gradients
        (T, ...) the gradient that each step was given.
    """

    points: Tensor
    values: Tensor
    gradients: Tensor


def minimise(
    surface: Surface,
    optimiser: Optimiser,
    *,
    start: Sequence[float] | Tensor | None = None,
    steps: int = 100,
    schedule: Callable[[int], float] | None = None,
    noise: float = 0.0,
    generator: torch.Generator | None = None,
) -> Path:
    """Walk down a surface.

    Parameters
    ----------
    surface
        What to walk on; any object with its `value` and `gradient` serves.
    optimiser
        Fresh: it remembers what it has seen.
    start
        The first point (..., 2), or several at once; the surface's own by default.
    steps
        T, at least 1. The walk does not stop by itself.
    schedule
        From the number of the step, from 0, to its rate.
    noise
        Standard deviation of what is added to each component of each gradient, as from a small batch.
    generator
        Draws the noise; needed with it.

    Returns
    -------
    Path
        In double precision.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    if noise < 0 or (noise and generator is None):
        raise ValueError(f"noise must be at least 0 and comes with a generator, got {noise}")
    point = torch.as_tensor(surface.start if start is None else start, dtype=torch.float64)
    points, gradients = [point], []
    # excerpt: minimise
    for number in range(steps):
        if schedule is not None:
            optimiser.rate = schedule(number)
        gradient = surface.gradient(optimiser.look(point))  # ask for the slope
        # end excerpt
        if noise:
            gradient = gradient + noise * torch.randn(point.shape, dtype=point.dtype, generator=generator)
        # excerpt: minimise
        point = optimiser.step(point, gradient)  # take a step
        points.append(point)
        gradients.append(gradient)
    # end excerpt
    trajectory = torch.stack(points)
    return Path(points=trajectory, values=surface.value(trajectory), gradients=torch.stack(gradients))


# The surfaces -----------------------------------------------------------------------------------------------


def _saddle(point: Tensor) -> Tensor:
    x, y = point.unbind(-1)
    return x**2 - y**2


def _saddle_slope(point: Tensor) -> Tensor:
    x, y = point.unbind(-1)
    return torch.stack([2 * x, -2 * y], -1)


SADDLE = Surface(
    name="saddle",
    title="saddle, x² - y²",
    value=_saddle,
    gradient=_saddle_slope,
    box=((-1.5, 1.5), (-1.5, 1.5)),
    start=(1.2, 0.001),
)


def ravine(steepness: float = 25.0) -> Surface:
    """Make a long valley: `steepness` times as steep across as along, (x² + steepness y²) / 2."""
    if not steepness > 0:
        raise ValueError(f"steepness must be above 0, got {steepness}")

    def value(point: Tensor) -> Tensor:
        x, y = point.unbind(-1)
        return (x**2 + steepness * y**2) / 2

    def gradient(point: Tensor) -> Tensor:
        x, y = point.unbind(-1)
        return torch.stack([x, steepness * y], -1)

    return Surface(
        name="ravine",
        title=f"ravine, (x² + {steepness:g} y²) / 2",
        value=value,
        gradient=gradient,
        box=((-4.5, 1.5), (-1.5, 1.5)),
        start=(-4.0, 1.0),
        minimum=(0.0, 0.0),
    )


def _beale(point: Tensor) -> Tensor:
    x, y = point.unbind(-1)
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2


def _beale_slope(point: Tensor) -> Tensor:
    x, y = point.unbind(-1)
    first, second, third = 1.5 - x + x * y, 2.25 - x + x * y**2, 2.625 - x + x * y**3
    across = 2 * (first * (y - 1) + second * (y**2 - 1) + third * (y**3 - 1))
    up = 2 * x * (first + second * 2 * y + third * 3 * y**2)
    return torch.stack([across, up], -1)


BEALE = Surface(
    name="beale",
    title="Beale's function",
    value=_beale,
    gradient=_beale_slope,
    box=((-1.0, 4.5), (-2.0, 2.0)),
    start=(1.0, 1.5),
    minimum=(3.0, 0.5),
)


def _rosenbrock(point: Tensor) -> Tensor:
    x, y = point.unbind(-1)
    return (1 - x) ** 2 + 20 * (y - x**2) ** 2


def _rosenbrock_slope(point: Tensor) -> Tensor:
    x, y = point.unbind(-1)
    return torch.stack([-2 * (1 - x) - 80 * x * (y - x**2), 40 * (y - x**2)], -1)


ROSENBROCK = Surface(
    name="rosenbrock",
    title="bent ravine (Rosenbrock), (1 - x)² + 20 (y - x²)²",
    value=_rosenbrock,
    gradient=_rosenbrock_slope,
    box=((-2.0, 2.0), (-1.0, 3.0)),
    start=(-1.5, 2.5),
    minimum=(1.0, 1.0),
)


def hills(
    centres: Sequence[tuple[float, float]],
    heights: Sequence[float],
    widths: Sequence[float],
    *,
    bowl: float = 0.05,
    box: tuple[tuple[float, float], tuple[float, float]] = ((-3.0, 3.0), (-3.0, 3.0)),
    start: tuple[float, float] = (-2.0, 2.0),
    name: str = "hills",
    title: str = "hills and pits",
) -> Surface:
    r"""Make a surface out of round hills and pits, such as one that a reader draws.

    .. math:: \tfrac{b}{2} |p|^2 + \sum_i h_i \exp\!\big(-|p - c_i|^2 / 2 w_i^2\big)

    Parameters
    ----------
    centres, heights, widths
        One of each a hill; a pit has a negative height.
    bowl
        How strongly the whole is curved upwards, so that a descent stays in the picture; at least 0.
    box, start, name, title
        As of `Surface`.
    """
    if not len(centres) == len(heights) == len(widths):
        raise ValueError(
            f"centres, heights and widths must be equally many, got {len(centres)}, {len(heights)} "
            f"and {len(widths)}"
        )
    if any(width <= 0 for width in widths):
        raise ValueError(f"widths must be above 0, got {min(widths)}")
    if bowl < 0:
        raise ValueError(f"bowl must be at least 0, got {bowl}")
    middle = torch.tensor(centres, dtype=torch.float64).reshape(-1, 2)
    tall, wide = (torch.tensor(list(values), dtype=torch.float64) for values in (heights, widths))

    def bumps(point: Tensor) -> tuple[Tensor, Tensor]:
        away = point[..., None, :] - middle.to(point)  # (..., hills, 2)
        return away, tall.to(point) * torch.exp(-(away**2).sum(-1) / (2 * wide.to(point) ** 2))

    def value(point: Tensor) -> Tensor:
        return bowl / 2 * (point**2).sum(-1) + bumps(point)[1].sum(-1)

    def gradient(point: Tensor) -> Tensor:
        away, bump = bumps(point)
        return bowl * point - ((bump / wide.to(point) ** 2)[..., None] * away).sum(-2)

    return Surface(name=name, title=title, value=value, gradient=gradient, box=box, start=start)


TWO_PITS = hills(
    [(-1.2, 0.0), (1.5, 0.4)],
    [-1.0, -1.6],
    [0.6, 0.6],
    start=(-2.2, 1.2),
    name="two-pits",
    title="a shallow pit before a deep one",
)

SURFACES: dict[str, Surface] = {
    surface.name: surface for surface in (SADDLE, ravine(), BEALE, ROSENBROCK, TWO_PITS)
}
"""The surfaces of the chapter, by name."""
