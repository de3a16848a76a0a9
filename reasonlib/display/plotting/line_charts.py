"""Line charts: learning curves, and lines with bands."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from reasonlib.display.plotting.style import (
    DASHES,
    MARKERS,
    PALETTE,
    add_legend,
    figure,
    make_logarithmic,
    theme,
)

__all__ = ["learning_curve", "lines"]


def learning_curve(
    histories: Any, metric: str = "accuracy", *, unit: str = "", step: str = "epoch"
) -> Figure:
    """Draw how a metric moves as training goes on.

    Parameters
    ----------
    histories
        One history (the records of `training.fit`, one mapping an epoch), or a mapping from label to one
        history or to several histories of the same setting with other seeds: their mean as a line, their
        range as a band.
    metric
        Which entry of the records to draw. Epochs without it are skipped.
    unit
        Printed after the metric's name.
    step
        Which entry counts the progress.

    Raises
    ------
    ValueError
        When no record holds the metric.
    """
    series: dict[str, tuple[Any, ...]] = {}
    named = histories if isinstance(histories, Mapping) else {"": histories}
    for label, runs in named.items():
        table: dict[float, list[float]] = {}
        for run in _runs(runs):
            for row in run:
                if row.get(metric) is not None:
                    table.setdefault(float(row[step]), []).append(float(row[metric]))
        if not table:
            raise ValueError(f"metric must be in the history, got {metric!r} for {label or 'it'}")
        x = sorted(table)
        y = [float(np.mean(table[position])) for position in x]
        low, high = [min(table[position]) for position in x], [max(table[position]) for position in x]
        series[str(label)] = (x, y, low, high)
    name = metric.replace("_", " ")
    return lines(series, x=step, y=f"{name} ({unit})" if unit else name)


def lines(
    series: Mapping[str, Sequence[ArrayLike]],
    *,
    x: str,
    y: str,
    limits: tuple[float, float] | None = None,
    log: bool = False,
    log_y: bool = False,
) -> Figure:
    """Draw lines, each with a band where one is given.

    Parameters
    ----------
    series
        From label to ``(x, y)`` or ``(x, y, low, high)``, all of one length. At most six.
    x, y
        What the axes count, with units.
    limits
        Ends of the vertical axis.
    log, log_y
        A logarithmic horizontal axis, a logarithmic vertical axis.

    Raises
    ------
    ValueError
        With no series, more than six, or lengths that differ.
    """
    if not 1 <= len(series) <= len(PALETTE):
        raise ValueError(f"series must hold 1 to {len(PALETTE)} lines to stay apart, got {len(series)}")
    descriptions = []
    with theme():
        drawing, axes = figure()
        for (label, columns), colour, dash, marker in zip(
            series.items(), PALETTE, DASHES, MARKERS, strict=False
        ):
            arrays = _columns(label, columns)
            across, level = arrays[0], arrays[1]
            every = max(1, len(across) // 8)
            axes.plot(
                across,
                level,
                color=colour,
                linestyle=dash,
                marker=marker,
                markevery=every,
                label=label or None,
            )
            if len(arrays) == 4 and np.any(arrays[3] > arrays[2]):
                axes.fill_between(across, arrays[2], arrays[3], color=colour, alpha=0.25, linewidth=0)
            ends = f"{level[0]:.3g} at {x} {across[0]:g}, {level[-1]:.3g} at {x} {across[-1]:g}."
            descriptions.append(f"{label}: {ends}" if label else f"From {ends}")
        axes.set_xlabel(x)
        axes.set_title(y, fontsize=10)
        if log:
            make_logarithmic(axes, "x")
        elif len(arrays[0]) > 1 and all(float(value).is_integer() for value in arrays[0]):
            axes.xaxis.get_major_locator().set_params(integer=True)
        if limits is not None:
            axes.set_ylim(*limits)
        if log_y:
            make_logarithmic(axes, "y")
        if any(series):
            add_legend(drawing, list(series), handlelength=2.6)
    drawing.set_label(" ".join(descriptions))
    return drawing


def _columns(label: str, columns: Sequence[ArrayLike]) -> list[NDArray[np.float64]]:
    """Bring the columns of a line to NumPy, and check that they are of one length."""
    arrays = [_array(column, dimensions=1) for column in columns]
    if len(arrays) not in (2, 4) or len({len(array) for array in arrays}) != 1 or not len(arrays[0]):
        raise ValueError(
            f"series must be (x, y) or (x, y, low, high) of one length, got lengths "
            f"{[len(array) for array in arrays]} for {label!r}"
        )
    return arrays


def _array(values: ArrayLike, *, dimensions: int) -> NDArray[np.float64]:
    """Bring a list, an array or a tensor (on any device, with a gradient or not) to NumPy."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().float().numpy()
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != dimensions:
        raise ValueError(f"values must have {dimensions} dimension, got shape {array.shape}")
    return array


def _runs(histories: Any) -> list[list[Mapping[str, Any]]]:
    """Bring one history or several to a list of lists of records."""
    rows = list(histories)
    if all(isinstance(row, Mapping) for row in rows):
        return [rows]
    return [list(history) for history in rows]
