"""Bar charts: numbers, or runs with their interval, single or grouped."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reasonlib.display.intervals import Spread
from reasonlib.display.plotting.style import INK, PALETTE, add_legend, figure, keep_name_inside, theme

__all__ = ["bars"]

LETTERS = 28  # of a label in one line; half of the width is left for the bars


def bars(
    values: Mapping[str, Any],
    *,
    unit: str,
    limits: tuple[float, float] | None = None,
    reference: tuple[str, float] | None = None,
) -> Figure:
    """Draw horizontal bars, single or grouped; a long label takes several lines.

    Parameters
    ----------
    values
        From label to a number, or to a `Spread` of runs, which is drawn as a line over the 95 % interval; or
        from series to such a mapping, for grouped bars (at most six series).
    unit
        What the horizontal axis counts.
    limits
        Ends of the horizontal axis.
    reference
        A name and a level, drawn as a dashed vertical line: chance, or a published number.

    Raises
    ------
    ValueError
        With no value, or more series than colours.
    """
    if not values:
        raise ValueError("values must hold at least one bar, got none")
    grouped = all(isinstance(value, Mapping) for value in values.values())
    series = dict(values) if grouped else {"": dict(values)}
    if len(series) > len(PALETTE):
        raise ValueError(f"values must hold at most {len(PALETTE)} series to stay apart, got {len(series)}")
    labels = list(dict.fromkeys(label for group in series.values() for label in group))
    wrapped = [fill(label, LETTERS, break_long_words=False, break_on_hyphens=False) for label in labels]
    lines = max((1 + label.count("\n") for label in wrapped), default=1)
    thick = 0.8 / len(series)
    with theme():
        row_height = max(0.24, 0.13 * len(series) + 0.08, 0.16 * lines + 0.04)  # inches
        drawing, axes = figure(height=0.75 + len(labels) * row_height)
        for number, ((name, group), colour) in enumerate(zip(series.items(), PALETTE, strict=False)):
            spreads = {
                row: _as_spread(group[key]) for row, key in enumerate(labels) if group.get(key) is not None
            }
            heights = [row - 0.4 + thick * (number + 0.5) for row in spreads]
            spreads_by_height = dict(zip(heights, spreads.values(), strict=True))
            _draw_series(axes, spreads_by_height, name, colour, thick)
            if len(series) == 1:
                _print_means(axes, spreads_by_height, limits, None if reference is None else reference[1])
        if reference is not None:
            axes.axvline(reference[1], color=INK, linestyle=(0, (4, 2)), linewidth=1.2, label=reference[0])
        axes.set_yticks(range(len(labels)), wrapped)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(unit)
        if limits is not None:
            axes.set_xlim(*limits)
        else:
            axes.margins(x=0.14)
        if len(series) > 1 or reference is not None:
            add_legend(drawing, [*series, *([reference[0]] if reference else [])])
        keep_name_inside(drawing, axes)
    drawing.set_label(_in_words(series, labels, reference))
    return drawing


def _draw_series(axes: Axes, spreads: Mapping[float, Spread], name: str, colour: str, thick: float) -> None:
    """Draw the bars of one series at their heights, each with its interval."""
    means = [spread.mean for spread in spreads.values()]
    # The edge is there so that a bar of zero shows.
    look: dict[str, Any] = {"color": colour, "edgecolor": colour, "linewidth": 1.5}
    axes.barh(list(spreads), means, height=thick * 0.9, label=name or None, **look)
    for height, spread in spreads.items():
        if spread.half:
            axes.errorbar(spread.mean, height, xerr=spread.half, color=INK, capsize=2, linewidth=1)


def _print_means(
    axes: Axes, spreads: Mapping[float, Spread], limits: tuple[float, float] | None, line: float | None = None
) -> None:
    """Print the number of each bar at its end, within the limits of the axis, and clear of the line."""
    numbers = _as_text([spread.mean for spread in spreads.values()])
    longest = limits[1] if limits else max((spread.mean for spread in spreads.values()), default=0)
    for (height, spread), number in zip(spreads.items(), numbers, strict=True):
        end = spread.mean + (spread.half or 0)
        if line is not None and end <= line < end + 0.16 * longest:  # about the width of a number
            end = line
        axes.annotate(
            number,
            (end if limits is None else min(end, limits[1]), height),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )


def _as_text(numbers: Sequence[float]) -> list[str]:
    """Write numbers with three digits, and with equally many decimals unless their sizes differ a lot.

    >>> _as_text([0.68, 0.691, 0.0685]), _as_text([100.0, 97.31]), _as_text([19.2, 0.0685])
    (['0.680', '0.691', '0.069'], ['100.0', '97.3'], ['19.2', '0.0685'])
    """
    shown = [f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}" for number in numbers]
    largest = max(map(abs, numbers), default=0.0)
    if not 0.001 <= largest < 1000 or any(0 < 100 * abs(number) < largest for number in numbers):
        return shown
    large = (text for number, text in zip(numbers, shown, strict=True) if 10 * abs(number) >= largest)
    decimals = max(len(text.partition(".")[2]) for text in large)
    while any(number and not float(f"{number:.{decimals}f}") for number in numbers):
        decimals += 1
    return [f"{number:.{decimals}f}" for number in numbers]


def _in_words(
    series: Mapping[str, Mapping[str, Any]], labels: Sequence[str], reference: tuple[str, float] | None
) -> str:
    """Say the number of each bar."""
    descriptions = []
    for name, group in series.items():
        shown = [f"{label} {_as_spread(group[label])}" for label in labels if group.get(label) is not None]
        descriptions.append((f"{name}: " if name else "") + ", ".join(shown) + ".")
    if reference is not None:
        descriptions.append(f"{reference[0]}: {reference[1]:.3g}.")
    if any(isinstance(value, Spread) and value.half for group in series.values() for value in group.values()):
        descriptions.append("± is half of the 95 % interval over runs.")
    return " ".join(descriptions)


def _as_spread(value: float | Spread) -> Spread:
    return value if isinstance(value, Spread) else Spread(float(value))
