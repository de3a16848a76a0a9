"""Accuracy by module over all modules as one picture."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from reasonlib.display import plotting, results
from reasonlib.display.intervals import Spread, spread
from reasonlib.display.plotting import COLOURS, INK, Picture
from reasonlib.maths_qa.data.datasets import extrapolation_of
from reasonlib.maths_qa.data.modules import AREAS, MODULES, area_of
from reasonlib.maths_qa.page.labels import ROWS, module_title
from reasonlib.tracking import records

__all__ = ["all_modules"]

ALL_MODULES = "maths_qa/all_modules"
ROW = 0.2  # inches of a module
COLUMNS = (AREAS[:4], AREAS[4:])  # 27 and 29 modules


def all_modules(row: str = "both", *, scale: str | None = None) -> Picture:
    """Draw exact match of one model on each of the 56 modules, and on the 15 of extrapolation.

    Parameters
    ----------
    row
        Of the experiment.
    scale
        Only records of this scale.
    """
    group = records.best(ALL_MODULES, row, scale=scale)
    baseline = records.best(ALL_MODULES, "most-frequent", scale=scale)
    if group is None:
        return results.missing(ALL_MODULES)
    bars = _spreads(group, {module: f"accuracy.{module}" for module in MODULES})
    harder = {module: extrapolation_of([module]) for module in MODULES}
    diamonds = _spreads(group, {m: f"extrapolation.{names[0]}" for m, names in harder.items() if names})
    lines = _spreads(baseline, {module: f"accuracy.{module}" for module in MODULES})
    mean = group.summary("accuracy")
    words = f"Mean exact match {mean.mean:.2f}. " if mean is not None else ""
    return plotting.beside(
        *(
            plotting.show(
                _draw(areas, bars, diamonds, lines),
                alt=f"Exact match by module: {', '.join(areas)}. {words}".strip(),
                caption=f"{', '.join(areas).capitalize()}. Bars: {ROWS[row]}, one model for all modules "
                f"({results.origin(group)}). Diamonds: the matching module of extrapolation. Strokes: the "
                "most frequent answer of the module.",
            )
            for areas in COLUMNS
        )
    )


def _spreads(group: records.Group | None, metrics: Mapping[str, str]) -> dict[str, Spread]:
    """Return the mean and interval of each module whose metric was measured."""
    summaries = {} if group is None else {module: group.summary(name) for module, name in metrics.items()}
    return {module: spread(summary) for module, summary in summaries.items() if summary is not None}


def _draw(
    areas: Sequence[str],
    bars: Mapping[str, Spread],
    diamonds: Mapping[str, Spread],
    strokes: Mapping[str, Spread],
) -> Figure:
    """Draw a row for each module, under the name of its area."""
    names = [name for area in areas for name in (area, *(m for m in MODULES if area_of(m) == area))]
    heights = {name: height for height, name in enumerate(names)}
    blue, orange = COLOURS["blue"], COLOURS["orange"]
    with plotting.theme():
        drawing, axes = plotting.figure(height=1.1 + ROW * len(names))
        axes.barh(
            [heights[name] for name in names if name in bars],
            [bars[name].mean for name in names if name in bars],
            height=0.7, color=blue, edgecolor=blue, label="interpolation",
        )  # fmt: skip
        for name in names:
            if name in bars and bars[name].half:
                axes.errorbar(bars[name].mean, heights[name], xerr=bars[name].half, color=INK, linewidth=1)
        styles: tuple[tuple[Mapping[str, Spread], dict[str, Any]], ...] = (
            (diamonds, {"marker": "D", "color": orange, "label": "extrapolation"}),
            (strokes, {"marker": "|", "markersize": 9, "color": INK, "label": "most frequent answer"}),
        )
        for marks, style in styles:
            marked = [name for name in names if name in marks]
            means = [marks[name].mean for name in marked]
            axes.plot(means, [heights[name] for name in marked], linestyle="none", clip_on=False, **style)
        axes.set_yticks(range(len(names)), [name if name in areas else module_title(name) for name in names])
        for name, label in zip(names, axes.get_yticklabels(), strict=True):
            label.set_fontweight("bold" if name in areas else "normal")
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("exact match")
        drawing.legend(loc="outside upper left", ncols=2)
    drawing.set_label(" ".join(_in_words(area, bars) for area in areas))
    return drawing


def _in_words(area: str, bars: Mapping[str, Spread]) -> str:
    """Name the best modules of an area."""
    best = sorted((m for m in bars if area_of(m) == area), key=lambda module: -bars[module].mean)[:3]
    return f"{area}: best {', '.join(f'{module_title(m)} {bars[m].mean:.2f}' for m in best)}."
