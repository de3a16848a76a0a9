"""Learning curves by module: the nine of figure 5.6 in its rows, or those that were run."""

import textwrap
from typing import Any

import numpy as np

from reasonlib.display import plotting, results
from reasonlib.display.plotting import DASHES, PALETTE, Picture
from reasonlib.maths_qa.data.modules import CURVES, MODULES
from reasonlib.maths_qa.page.figures import MAIN, PRETRAINING
from reasonlib.maths_qa.page.labels import ROWS, module_title
from reasonlib.tracking import records

__all__ = ["by_steps"]


def by_steps() -> Picture:
    """Draw exact match of each module against steps of fine-tuning, mean and range over seeds.

    The curves end where both models have had the same number of steps.
    """
    nine = {row: records.best(PRETRAINING, row, scale="paper") for row in ("scratch", "both")}
    few = {row: records.best(MAIN, row) for row in ("scratch", "both")}
    groups = few if None in nine.values() else nine
    available = {row: group for row, group in groups.items() if group is not None}
    if len(available) < 2:
        return results.missing(MAIN)
    curves = {row: [record.details["curve"] for record in group.records] for row, group in available.items()}
    last = min(run[-1]["step"] for runs in curves.values() for run in runs)
    shared = [module for module in MODULES if f"accuracy.{module}" in curves["both"][0][-1]]
    modules = list(CURVES) if set(CURVES) <= set(shared) else shared[:9]
    columns = min(len(modules), 3 if len(modules) > 4 else 2)
    rows = -(-len(modules) // columns)
    descriptions, highest = [], 0.0
    with plotting.theme():
        shape = {"rows": rows, "columns": columns, "sharex": True, "sharey": True}
        drawing, axes = plotting.figure(height=1.1 + 1.7 * rows, squeeze=False, **shape)
        for panel, module in zip(axes.flat, modules, strict=False):
            ends = []
            for (row, runs), colour, dash in zip(curves.items(), PALETTE, DASHES, strict=False):
                steps, values = _column(runs, f"accuracy.{module}", last)
                panel.plot(steps, values.mean(0), color=colour, linestyle=dash, label=ROWS[row])
                panel.fill_between(steps, values.min(0), values.max(0), color=colour, alpha=0.2, linewidth=0)
                ends.append(f"{ROWS[row]} {values.mean(0)[-1]:.2f}")
                highest = max(highest, values.max())
            panel.set_title(textwrap.fill(module_title(module), width=45 // columns), fontsize=9)
            descriptions.append(f"{module_title(module)} ends at {', '.join(ends)}.")
        # The nine modules are hardly learned in few steps: the axis ends at 0.5 unless a curve goes higher.
        axes[0, 0].set_ylim(0, 0.5 if highest <= 0.5 else 1)
        for panel in axes[-1]:
            panel.set_xlabel("fine-tuning steps")
        for panel in axes[:, 0]:
            panel.set_ylabel("exact match")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside upper left", ncols=2)
    drawing.set_label(" ".join(descriptions))
    origin = results.together(map(results.origin, available.values()))
    published = modules == list(CURVES)
    panels = "the modules of the source's figure 5.6, in its rows" if published else "a panel for each module"
    return plotting.show(
        drawing,
        alt="Learning curves by module, from scratch and pre-trained.",
        caption=f"Exact match on test questions by steps of fine-tuning: {panels}. Lines are means, "
        f"bands ranges over seeds ({origin}).",
    )


def _column(runs: list[Any], name: str, last: float) -> tuple[list[float], np.ndarray]:
    """Return the steps up to `last`, and one metric of every run there."""
    rows = [[point for point in run if point["step"] <= last] for run in runs]
    return [point["step"] for point in rows[0]], np.array([[point[name] for point in run] for run in rows])
