"""Tables of this topic's records, mean ± standard deviation over seeds, and pictures with 95 % intervals.

Nothing here is measured: every number is read from ``records/transformer``, and each table says at which
scale and over how many seeds it was measured. Records whose code has changed since do not count: what they
measured is shown as not run.
"""

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reasonlib.display import plotting, results
from reasonlib.display.intervals import band, spread
from reasonlib.tracking import records

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["bars", "few_labels", "solved", "table"]


def _fresh(experiment: str, row: str, scale: str | None = None) -> records.Group | None:
    group = records.best(experiment, row, scale=scale)
    return None if group is None or group.stale else group


def _measured(
    experiment: str, row: str, metric: str, scale: str | None = None
) -> tuple[records.Group, records.Summary] | None:
    """Return the records of a row and what they say of a metric, if they are fresh and have it."""
    group = _fresh(experiment, row, scale)
    summary = None if group is None else group.summary(metric)
    return None if group is None or summary is None else (group, summary)


def _cell(group: records.Group, metric: str, decimals: int) -> str:
    summary = group.summary(metric)
    if summary is None:
        return "–"
    deviation = "" if summary.sd is None else f" ± {summary.sd:.{decimals}f}"
    return f"{summary.mean:.{decimals}f}{deviation}"


def table(
    experiment: str,
    rows: Mapping[str, str],
    metrics: Mapping[str, str],
    *,
    decimals: int = 2,
    scale: str | None = None,
) -> "pd.DataFrame":
    """List rows of an experiment with some of their metrics: mean ± standard deviation over seeds.

    Parameters
    ----------
    experiment
        Its name.
    rows
        From what the table says to the experiment's row.
    metrics
        From a column's head to the record's metric.
    decimals
        Of every number.
    scale
        Only records of this scale; by default the fullest.
    """
    import pandas as pd

    lines = []
    for name, row in rows.items():
        group = _fresh(experiment, row, scale)
        if group is None:
            lines.append({"": name, **dict.fromkeys(metrics, "–"), "seeds": 0, "scale": "not run"})
            continue
        cells = {head: _cell(group, metric, decimals) for head, metric in metrics.items()}
        lines.append({"": name, **cells, "seeds": len(group.records), "scale": group.scale})
    return pd.DataFrame(lines).set_index("")


def bars(
    experiment: str, rows: Mapping[str, str], metric: str, *, unit: str, subject: str
) -> plotting.Picture:
    """Draw one metric of some rows, mean and 95 % interval over seeds.

    Parameters
    ----------
    experiment
        Its name.
    rows
        From what the axis says to the experiment's row; rows that were not measured are left out.
    metric
        Of the records.
    unit
        What the axis counts.
    subject
        The first half of the caption.
    """
    drawn, groups = {}, []
    for name, row in rows.items():
        if measured := _measured(experiment, row, metric):
            group, summary = measured
            drawn[name] = spread(summary)
            groups.append(group)
    if not groups:
        return results.missing(experiment)
    return plotting.show(
        plotting.bars(drawn, unit=unit, limits=(0, 1)),
        alt=f"{subject}: {unit}",
        caption=f"{subject}: mean and 95 % interval; {results.together(map(results.origin, groups))}.",
    )


def solved(
    tasks: Sequence[str], removed: Mapping[str, str], *, experiment: str = "transformer/parts"
) -> plotting.Picture:
    """Lay out every task with every part taken out of its model; a stronger colour means more is solved.

    Parameters
    ----------
    tasks
        The columns: rows of the experiment.
    removed
        The rows: from what the table says to what stands after the task's name in the record's row, as in
        ``copy.no-scale``; empty for the whole model.
    experiment
        Whose records.
    """
    lines, groups = [], []
    for name, end in removed.items():
        cells = []
        for task in tasks:
            measured = _measured(experiment, f"{task}{end}", "exact")
            if measured is None:
                cells.append('<td style="text-align:center">–</td>')
                continue
            group, summary = measured
            groups.append(group)
            deviation = "" if summary.sd is None else f"<br><small>± {summary.sd:.2f}</small>"
            cells.append(
                f'<td style="text-align:center;background:rgba(35,137,215,{0.4 * summary.mean:.2f})">'
                f"{summary.mean:.2f}{deviation}</td>"
            )
        lines.append(
            f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>{"".join(cells)}</tr>'
        )
    heads = "".join(f'<th scope="col">{html.escape(task)}</th>' for task in tasks)
    over = results.together(map(results.origin, groups)) or "nothing measured"
    caption = (
        f"Share of answers with every token right, mean ± standard deviation ({over}); "
        "– where the model has no such part."
    )
    body = (
        f'<div class="rr" style="overflow-x:auto" tabindex="0" role="region" aria-label="Tasks and parts">'
        f'<table class="rr-solved"><thead><tr><th scope="col"></th>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div><p><small>{caption}</small></p>"
    )
    return plotting.Picture(body, alt=caption)


def few_labels(
    names: Mapping[str, str], examples: Sequence[int], *, metric: str = "answers", scale: str | None = None
) -> plotting.Picture:
    """Draw what fine-tuning reaches against the number of labelled examples, with 95 % intervals as bands.

    Parameters
    ----------
    names
        From what the legend says to the beginning of the row, as ``pre-trained`` of ``pre-trained-200``.
    examples
        Numbers of labelled examples.
    metric
        Of the record.
    scale
        Only records of this scale; by default the fullest.
    """
    series = {}
    groups = []
    for name, row in names.items():
        across, spreads = [], []
        for count in examples:
            if measured := _measured("transformer/fine-tuning", f"{row}-{count}", metric, scale):
                group, summary = measured
                groups.append(group)
                across.append(count)
                spreads.append(spread(summary))
        if across:
            series[name] = band(across, spreads)
    if not groups:
        return results.missing("transformer/fine-tuning")
    counts = sorted(len(group.records) for group in groups)
    most = max(groups, key=lambda group: len(group.records))
    origin = results.origin(most)
    if counts[0] < counts[-1]:
        origin = origin.replace(f"{counts[-1]} seeds", f"{counts[0]} to {counts[-1]} seeds")
    return plotting.show(
        plotting.lines(
            series, x="labelled examples", y="share of questions answered correctly", limits=(0, 1), log=True
        ),
        alt="Share of questions answered correctly against the number of labelled examples, for "
        + " and ".join(series),
        caption="Share of questions answered correctly against the number of labelled examples: "
        f"mean and 95 % interval; {origin}.",
    )
