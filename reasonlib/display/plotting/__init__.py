"""One look for every figure: readable on light and dark pages, on a phone, and without seeing it.

A figure is drawn on its own `Figure` object, never on a hidden global one, and shown by `show`, which turns
it into SVG inside the page. Text, axes and grid take the page's own text colour (``currentColor``), so they
keep its contrast in any theme; areas and lines take `COLOURS`, which stand out from white and from near-black
alike and stay apart for colour-blind readers. The same numbers give the same bytes.

>>> with theme():
...     drawing, axes = figure()
...     _ = axes.plot([1, 2, 3], [0.2, 0.6, 0.9])
>>> show(drawing, alt="Accuracy rises from 0.2 to 0.9 in three epochs.")
Accuracy rises from 0.2 to 0.9 in three epochs.
"""

from reasonlib.display.plotting.attention import attention_map, memory_hops
from reasonlib.display.plotting.bar_charts import bars
from reasonlib.display.plotting.line_charts import learning_curve, lines
from reasonlib.display.plotting.picture import CSS, Picture, beside, show
from reasonlib.display.plotting.style import (
    COLOURS,
    DASHES,
    HEAT,
    INK,
    MARKERS,
    PALETTE,
    STRONGEST,
    WIDTH,
    figure,
    make_logarithmic,
    theme,
)

__all__ = [
    "COLOURS",
    "CSS",
    "DASHES",
    "HEAT",
    "INK",
    "MARKERS",
    "PALETTE",
    "STRONGEST",
    "WIDTH",
    "Picture",
    "attention_map",
    "bars",
    "beside",
    "figure",
    "learning_curve",
    "lines",
    "make_logarithmic",
    "memory_hops",
    "show",
    "theme",
]
