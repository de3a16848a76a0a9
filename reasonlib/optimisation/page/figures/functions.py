"""Curves of functions of one number, which the figures of all chapters share."""

from collections.abc import Callable, Mapping, Sequence

import torch
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from reasonlib.display import plotting
from reasonlib.display.plotting import DASHES, PALETTE, Picture

__all__ = ["Function", "curves", "legend"]

Function = Callable[[Tensor], Tensor]


def curves(
    functions: Mapping[str, Function],
    across: tuple[float, float],
    *,
    x: str,
    y: str,
    alt: str,
    caption: str | None = None,
    limits: tuple[float, float] | None = None,
    slopes: bool | tuple[float, float] = False,
    points: int = 401,
) -> Picture:
    """Draw functions of one number.

    Parameters
    ----------
    functions
        Name in the legend to function; at most six.
    across
        Left and right end of the horizontal axis.
    x, y
        What the axes say.
    alt, caption
        As of `plotting.show`.
    limits
        Ends of the vertical axis.
    slopes
        Draw the derivatives too, on axes of their own below; ends of these axes, if wanted.
    points
        At how many places.
    """
    if not 1 <= len(functions) <= len(PALETTE):
        raise ValueError(f"functions must be 1 to {len(PALETTE)} to stay apart, got {len(functions)}")
    inputs = torch.linspace(*across, points, dtype=torch.float64)
    with plotting.theme():
        drawing, grid = plotting.figure(
            height=4.2 if slopes else 2.7, rows=2 if slopes else 1, sharex=True, squeeze=False
        )
        axes, below = grid[0, 0], grid[-1, 0]
        for (label, function), colour, dash in zip(functions.items(), PALETTE, DASHES, strict=False):
            leaf = inputs.clone().requires_grad_()
            value = function(leaf)
            axes.plot(inputs, value.detach(), color=colour, linestyle=dash, label=label or None)
            if slopes:
                (slope,) = torch.autograd.grad(value.sum(), leaf)
                below.plot(inputs, slope, color=colour, linestyle=dash)
        axes.set_title(y, fontsize=10)
        below.set_xlabel(x)
        if abs(across[1] - across[0]) > 1000:  # long numbers need room
            below.xaxis.set_major_locator(MaxNLocator(4))
        if slopes:
            below.set_title("its derivative", fontsize=10)
        if isinstance(slopes, tuple):
            below.set_ylim(*slopes)
        if limits is not None:
            axes.set_ylim(*limits)
        if any(functions):
            legend(drawing, list(functions))
    return plotting.show(drawing, alt=alt, caption=caption)


def legend(drawing: Figure, labels: Sequence[str]) -> None:
    """Put the legend above, in as many columns as its letters leave room for."""
    widest = 42 + 5.8 * max(map(len, labels))
    drawing.legend(
        loc="outside upper left", ncols=int(max(1, min(len(labels), 3, 300 // widest))), handlelength=2.6
    )
