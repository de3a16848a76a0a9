"""Figures of descents on surfaces."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from reasonlib.display import plotting
from reasonlib.display.plotting import COLOURS, DASHES, INK, PALETTE, Picture
from reasonlib.optimisation.models.optimisers import Nesterov
from reasonlib.optimisation.models.surfaces import SURFACES, Path, Surface, minimise, ravine
from reasonlib.optimisation.page.figures.functions import legend

__all__ = ["contour", "descents", "fading", "nesterov", "race", "ravine_paths", "saddle"]


def _levels(surface: Surface, height: np.ndarray) -> np.ndarray:
    """Heights of the contour lines: even on a saddle, ever wider apart above a minimum."""
    if surface.minimum is None:
        return np.linspace(height.min(), height.max(), 14)
    low = float(surface.value(torch.tensor(surface.minimum, dtype=torch.float64)))
    return low + (height.max() - low) * np.linspace(0.02, 1, 14) ** 3


def contour(
    surface: Surface, paths: Mapping[str, Path], *, alt: str, caption: str | None = None, last: int = -1
) -> Picture:
    """Draw a surface by its contour lines, and up to six walks on it.

    Parameters
    ----------
    surface
        What was walked on.
    paths
        From what the legend says to a walk from a single start.
    alt, caption
        As of `plotting.show`.
    last
        The most steps of a walk to draw; -1 for all.
    """
    x, y, height = surface.grid(101)
    descriptions = []
    (left, right), (bottom, top) = surface.box
    with plotting.theme():
        drawing, axes = plotting.figure(height=3.4)
        axes.contour(
            x, y, height, levels=_levels(surface, height.numpy()), colors=INK, linewidths=0.6, alpha=0.55
        )
        for (name, path), colour, dash in zip(paths.items(), PALETTE, DASHES, strict=False):
            points = path.points if last < 0 else path.points[: last + 1]
            points = points[torch.isfinite(points).all(-1)].clamp(-1e3, 1e3)
            axes.plot(points[:, 0], points[:, 1], color=colour, linestyle=dash, label=name, linewidth=1.6)
            axes.plot(points[-1, 0], points[-1, 1], "o", color=colour, markersize=5)
            end = f"({float(points[-1, 0]):.2f}, {float(points[-1, 1]):.2f})"
            descriptions.append(f"{name} ends at {end} after {len(points) - 1} steps.")
        start = next(iter(paths.values())).points[0] if paths else None
        if start is not None:
            axes.plot(start[0], start[1], "s", color=INK, markersize=5)
        if surface.minimum is not None:
            axes.plot(*surface.minimum, "*", color=INK, markersize=9)
        axes.set_xlim(left, right)
        axes.set_ylim(bottom, top)
        axes.grid(visible=False)
        if paths:
            legend(drawing, list(paths))
    drawing.set_label(" ".join(descriptions))
    return plotting.show(drawing, alt=alt, caption=caption)


def saddle() -> Picture:
    """Figure 2.18: the saddle of x² - y², in space."""
    ground = SURFACES["saddle"]
    x, y, height = ground.grid(25)
    down, across = torch.meshgrid(y, x, indexing="ij")
    with plotting.theme():
        drawing, axes = plotting.figure(height=3.2, subplot_kw={"projection": "3d"})
        axes.plot_wireframe(
            across.numpy(), down.numpy(), height.numpy(), color=COLOURS["blue"], linewidth=0.7, rstride=2,
            cstride=2,
        )  # fmt: skip
        axes.plot([0], [0], [0], "o", color=COLOURS["orange"], markersize=6)
        for side in (axes.xaxis, axes.yaxis, axes.zaxis):
            side.set_pane_color((0, 0, 0, 0))
            side.line.set_color(INK)
        axes.grid(visible=False)
        axes.set_xlabel("x")
        axes.set_ylabel("y")
        axes.set_title("z = x² - y²", fontsize=10)
        axes.tick_params(labelsize=8)
        axes.view_init(elev=28, azim=-60)
    return plotting.show(
        drawing,
        alt="A saddle in space: it rises to both ends of x and falls to both ends of y; at its middle, "
        "which is marked, it is flat",
        caption="A saddle: zero gradient in the middle, but no minimum (the source's figure 2.18).",
    )


def descents(
    surface: Surface | str, optimisers: Mapping[str, Any], *, steps: int, alt: str, **show: Any
) -> Picture:
    """Walk down a surface with fresh optimisers and draw where they went."""
    ground = SURFACES[surface] if isinstance(surface, str) else surface
    return contour(
        ground,
        {name: minimise(ground, optimiser, steps=steps) for name, optimiser in optimisers.items()},
        alt=alt,
        **show,
    )


def ravine_paths(optimisers: Mapping[str, Any], *, steps: int = 40, caption: str | None = None) -> Picture:
    """Figures 2.19 and 2.20: walks in a ravine, 25 times as steep across as along."""
    return descents(
        ravine(),
        optimisers,
        steps=steps,
        alt="Paths of descent down a long valley with steep sides.",
        caption=caption,
    )


def nesterov(momentum: float = 0.9) -> Picture:
    """Figure 2.21: one step of momentum and of Nesterov's variant from the same place and velocity."""
    ground = ravine(6.0)
    rate = 0.15
    optimiser = Nesterov(rate=rate, momentum=momentum)
    here = torch.tensor([-2.2, 0.75], dtype=torch.float64)
    optimiser.velocity = torch.tensor([-0.75, 0.85], dtype=torch.float64)  # it has come from the upper left
    ahead = optimiser.look(here)
    plain = here - (momentum * optimiser.velocity + rate * ground.gradient(here))
    nesterov_end = optimiser.step(here, ground.gradient(ahead))
    arrows = {
        "velocity": (here, ahead, COLOURS["olive"], "-"),
        "gradient there": (ahead, nesterov_end, COLOURS["orange"], "-"),
        "Nesterov": (here, nesterov_end, COLOURS["green"], DASHES[1]),
        "momentum": (here, plain, COLOURS["blue"], DASHES[2]),
    }
    x = torch.linspace(-3, 1, 101, dtype=torch.float64)
    y = torch.linspace(-1.2, 1.2, 101, dtype=torch.float64)
    down, across = torch.meshgrid(y, x, indexing="ij")
    height = ground.value(torch.stack([across, down], -1))
    with plotting.theme():
        drawing, axes = plotting.figure(height=3.2)
        axes.contour(x, y, height, levels=12, colors=INK, linewidths=0.6, alpha=0.55)
        for name, (start, end, colour, dash) in arrows.items():
            axes.plot([start[0], end[0]], [start[1], end[1]], color=colour, linestyle=dash, label=name)
            axes.plot(end[0], end[1], "o", color=colour, markersize=5)
        axes.plot(here[0], here[1], "s", color=INK, markersize=6)
        axes.plot(0, 0, "*", color=INK, markersize=9)
        axes.grid(visible=False)
        legend(drawing, list(arrows))
    return plotting.show(
        drawing,
        alt=f"From the same point and velocity, momentum lands at height {float(ground.value(plain)):.2f}, "
        f"Nesterov's step at {float(ground.value(nesterov_end)):.2f}: the slope at the end of the kept step "
        "already points back",
        caption="Nesterov's step: first the velocity, then the gradient computed there "
        "(the source's figure 2.21).",
    )


def race(surface: Surface | str, optimisers: Mapping[str, Any], *, steps: int) -> Picture:
    """Figure 2.22: the optimisers on one surface, from one start."""
    ground = SURFACES[surface] if isinstance(surface, str) else surface
    return descents(
        ground,
        optimisers,
        steps=steps,
        alt=f"Paths of {len(optimisers)} optimisers on one surface ({ground.title}).",
        caption=f"{ground.title}; {steps} steps each (the source's figure 2.22).",
    )


def fading(rates: Mapping[str, Sequence[float]], *, every: float = 1.0) -> Picture:
    """Draw how the rates that adaptive optimisers give their weights change, on log scales."""
    descriptions = []
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.7)
        for (name, values), colour, dash in zip(rates.items(), PALETTE, DASHES, strict=False):
            level = np.array(values, dtype=float) / values[0]
            axes.plot(every * np.arange(1, len(level) + 1), level, color=colour, linestyle=dash, label=name)
            descriptions.append(f"{name}: {level[-1]:.2g} of the first rate is left.")
        plotting.make_logarithmic(axes, "x")
        plotting.make_logarithmic(axes, "y")
        axes.set_xlabel("step")
        axes.set_title("rate of a weight, relative to the first step's", fontsize=10)
        legend(drawing, list(rates))
    drawing.set_label(" ".join(descriptions))
    return plotting.show(drawing, alt="How the rates of single weights fall.")
