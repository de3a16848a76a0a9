"""The pictures that stand in the page where scripts are off, drawn from the library's own numbers."""

import numpy as np
import torch

from reasonlib.optimisation.live.tracks import Track, run
from reasonlib.optimisation.optimisers import OPTIMISERS
from reasonlib.optimisation.surfaces import SURFACES
from reasonlib.plotting import COLOURS, DASHES, INK, MARKERS, Picture, figure, show, theme

__all__ = ["race"]


def race(track: Track, key: str = "ravine") -> Picture:
    """Draw the paths of the six optimisers on a surface, all from one point."""
    surface = SURFACES[key]
    (left, right), (bottom, top) = track.window
    x, y = np.meshgrid(np.linspace(left, right, 33), np.linspace(bottom, top, 33))
    height = surface.value(torch.from_numpy(np.stack([x, y], -1))).numpy()
    said = []
    with theme():
        drawing, axes = figure(height=3.5)
        axes.contour(x, y, np.log1p(track.bend * (height - height.min())), 9, colors=INK, linewidths=0.5)
        for name, colour, dash, marker in zip(OPTIMISERS, COLOURS.values(), DASHES, MARKERS, strict=True):
            points, losses = (values.numpy() for values in run(track, surface, name))
            seen = points[: 60 if len(points) > 60 else None]
            axes.plot(*seen.T, color=colour, linestyle=dash, linewidth=1.5)
            axes.plot(*points[-1], color=colour, marker=marker, linestyle="none", label=name)
            said.append(f"{name[0].upper()}{name[1:]} ends with a loss of {losses[-1]:.2g}.")
        axes.set(xlim=(left, right), ylim=(bottom, top))
        axes.grid(False)
        drawing.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    start = f"Six optimisers from one point on a surface ({surface.title}), {track.steps} steps each."
    return show(drawing, alt=" ".join([start, *said]))
