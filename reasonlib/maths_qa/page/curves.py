"""Learning curves of the nine modules of figure 5.6, in three rows as the source has them."""

import numpy as np

from reasonlib.display import plotting, results
from reasonlib.display.plotting import DASHES, PALETTE, Picture
from reasonlib.maths_qa.data.modules import CURVES
from reasonlib.maths_qa.page.figures import PRETRAINING, _nothing
from reasonlib.maths_qa.page.labels import ROWS, module_title
from reasonlib.tracking import records

__all__ = ["curves"]


def curves() -> Picture:
    """Draw exact match of each module against steps of fine-tuning, mean and range over seeds."""
    groups = {row: records.best(PRETRAINING, row) for row in ("scratch", "both")}
    found = {row: group for row, group in groups.items() if group is not None}
    if len(found) < 2:
        return _nothing(PRETRAINING)
    said = []
    with plotting.theme():
        drawing, axes = plotting.figure(height=5.4, rows=3, columns=3, sharex=True, sharey=True)
        for panel, module in zip(axes.flat, CURVES, strict=True):
            ends = []
            for (row, group), colour, dash in zip(found.items(), PALETTE, DASHES, strict=False):
                runs = [record.details["curve"] for record in group.records]
                steps = [point["step"] for point in runs[0]]
                values = np.array([[point[f"accuracy.{module}"] for point in run] for run in runs])
                panel.plot(steps, values.mean(0), color=colour, linestyle=dash, label=ROWS[row])
                panel.fill_between(steps, values.min(0), values.max(0), color=colour, alpha=0.2, linewidth=0)
                ends.append(f"{ROWS[row]} {values.mean(0)[-1]:.2f}")
            panel.set_title(module_title(module), fontsize=9)
            panel.set_ylim(0, 1)
            said.append(f"{module_title(module)} ends at {', '.join(ends)}.")
        for panel in axes[-1]:
            panel.set_xlabel("fine-tuning steps")
        for panel in axes[:, 0]:
            panel.set_ylabel("exact match")
        drawing.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    drawing.set_label(" ".join(said))
    origin = "; ".join(sorted({results.origin(group) for group in found.values()}))
    return plotting.show(
        drawing,
        alt="Learning curves of nine modules, from scratch and pre-trained.",
        caption="Exact match on validation questions by steps of fine-tuning: the nine modules of the "
        f"source's figure 5.6, in its rows. Lines are means, bands ranges over seeds ({origin}).",
    )
