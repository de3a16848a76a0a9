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
    lines: Mapping[str, Spread],
) -> Figure:
    """Draw one panel for each area, a row for each module."""
    panels = [[module for module in MODULES if area_of(module) == area] for area in areas]
    descriptions = []
    with plotting.theme():
        height = 0.8 + sum(ROW * len(modules) + 0.3 for modules in panels)
        drawing, grid = plotting.figure(
            height=height, rows=len(panels), sharex=True, height_ratios=[len(p) for p in panels]
        )
        for area, modules, axes in zip(areas, panels, grid, strict=True):
            rows = range(len(modules))
            means = [bars[module].mean if module in bars else 0.0 for module in modules]
            axes.barh(rows, means, height=0.7, color=COLOURS["blue"], label="56 modules")
            for row, module in enumerate(modules):
                if module in bars and bars[module].half:
                    axes.errorbar(bars[module].mean, row, xerr=bars[module].half, color=INK, linewidth=1)
            styles: tuple[tuple[Mapping[str, Spread], dict[str, Any]], ...] = (
                (lines, {"marker": "|", "markersize": 9, "color": INK, "label": "most frequent answer"}),
                (diamonds, {"marker": "D", "color": COLOURS["orange"], "label": "extrapolation"}),
            )
            for marks, style in styles:
                marked = [row for row, module in enumerate(modules) if module in marks]
                means_of_marks = [marks[modules[row]].mean for row in marked]
                axes.plot(means_of_marks, marked, linestyle="none", clip_on=False, **style)
            axes.set_yticks(rows, [module_title(module) for module in modules])
            axes.set_ylim(len(modules) - 0.5, -0.5)
            axes.set_xlim(0, 1)
            axes.grid(visible=False, axis="y")
            axes.set_title(area)
            best = sorted(zip(means, modules, strict=True), reverse=True)[:3]
            descriptions.append(f"{area}: best {', '.join(f'{module_title(m)} {v:.2f}' for v, m in best)}.")
        axes.set_xlabel("exact match")
        handles, labels = grid[0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside upper left", ncols=2)
    drawing.set_label(" ".join(descriptions))
    return drawing
