"""The look of every figure: colours, dashes, markers, and the theme that draws with them.

Text, axes and grid are drawn in `INK`, which the page shows in its own text colour; areas and lines take
`COLOURS`, which stand out from white and from near-black alike and stay apart for colour-blind readers.
"""

import contextlib
import textwrap
from collections.abc import Iterator, Sequence
from itertools import product
from math import ceil, log10
from typing import Any, Literal

import matplotlib
import seaborn
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

__all__ = [
    "COLOURS",
    "DASHES",
    "HEAT",
    "INK",
    "MARKERS",
    "PALETTE",
    "STRONGEST",
    "WIDTH",
    "add_legend",
    "figure",
    "keep_name_inside",
    "make_logarithmic",
    "theme",
]

INK = "#767a7e"  # drawn as this grey, shown as the page's own text colour

COLOURS = {
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "pink": "#cc79a7",
    "violet": "#8d49f2",
    "olive": "#73683f",
}
PALETTE = tuple(COLOURS.values())  # in the order that lines and bars take them
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.5)),
    (0, (5, 2, 1, 2)),
    (0, (8, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)
MARKERS = ("o", "s", "^", "D", "v", "P")  # one for each colour, as `DASHES`

HEAT = "#2389d7"  # the colour of a weight; the weight is its opacity
STRONGEST = 0.6  # opacity of a full cell: text of the page's colour keeps 4.5:1 on top of it in both themes

WIDTH = 4.2  # inches; at a phone's 340 px a 10 pt letter is still 11 px high


@contextlib.contextmanager
def theme() -> Iterator[None]:
    """Draw in the book's look; whatever was set before is back afterwards."""
    style = {
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": INK,
        "font.family": ["DejaVu Sans"],
    }
    size = {
        "font.size": 10,
        "axes.labelsize": 10,
        "axes.titlesize": 10.5,
        "xtick.labelsize": 9.5,
        "ytick.labelsize": 9.5,
        "legend.fontsize": 9.5,
        "legend.title_fontsize": 9.5,
        "lines.linewidth": 1.8,
        "lines.markersize": 5,
        "grid.linewidth": 0.6,
        "axes.linewidth": 0.8,
    }
    rest = {
        "axes.prop_cycle": cycler(color=PALETTE, linestyle=DASHES),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.formatter.useoffset": False,
        "grid.alpha": 0.25,
        "legend.frameon": False,
        "figure.constrained_layout.use": True,
        "svg.fonttype": "path",
        "svg.hashsalt": "reasonlib",
    }
    look = {
        **seaborn.axes_style("whitegrid", style),
        **seaborn.plotting_context("notebook", rc=size),
        **rest,
    }
    with matplotlib.rc_context(look):
        yield


def figure(*, height: float = 2.6, rows: int = 1, columns: int = 1, **axes: Any) -> tuple[Figure, Any]:
    """Make an empty figure, to be filled inside `theme()`.

    Parameters
    ----------
    height
        In inches; the width is always `WIDTH`, so that letters have one size on every page.
    rows, columns
        How many axes; with one of each the axes come alone, otherwise as an array.
    **axes
        Passed on to `Figure.subplots`, such as ``sharey=True``.

    Returns
    -------
    Figure
        Known to no global list, so there is nothing to close.
    Axes or ndarray of Axes
        Where to draw.
    """
    drawing = Figure(figsize=(WIDTH, height))
    return drawing, drawing.subplots(rows, columns, **axes)


def add_legend(drawing: Figure, labels: Sequence[str], **style: Any) -> None:
    """Put the legend above the axes, in as many columns as the width holds; each further row adds height."""
    letter, handle, line = 5.8, 42, 16  # points
    widest = handle + letter * max(map(len, labels))
    columns = int(max(1, min(len(labels), 3, 72 * WIDTH // widest)))
    drawing.set_figheight(drawing.get_figheight() + line / 72 * (ceil(len(labels) / columns) - 1))
    drawing.legend(loc="outside upper left", ncols=columns, **style)


def make_logarithmic(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis with its data drawn logarithmic, with labels enough to read a value from.

    Up to four decades the labels are plain numbers; below two and a half decades 2 and 5 have labels, too.
    """
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    decades = log10(high / low)
    if decades <= 4:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,)))
        axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
        axis.set_minor_formatter(NullFormatter())


def keep_name_inside(drawing: Figure, axes: Axes) -> None:
    """Keep the label of the horizontal axis inside the figure: centred, right-aligned, or on two lines."""
    name = axes.get_xlabel()
    broken = textwrap.fill(name, len(name) // 2 + 8)
    ends: tuple[Literal["center", "right"], ...] = ("center", "right")
    for text, end in product((name, broken), ends):
        axes.set_xlabel(text, loc=end)
        drawing.draw_without_rendering()
        shown = axes.xaxis.label.get_window_extent()
        if drawing.bbox.x0 <= shown.x0 and shown.x1 <= drawing.bbox.x1:
            return
