"""When sharing helps, from records: which task helps which, relatedness, size, noise, and a new task."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from reasonlib.display import plotting, results
from reasonlib.display.intervals import Spread, band, spread
from reasonlib.display.plotting import Picture
from reasonlib.multi_task.data.simulator import FAMILY
from reasonlib.tracking import records

__all__ = ["adaptation", "by_share", "dials", "equal_steps", "help_matrix", "matrix", "noise"]

TRANSFER, ADAPTATION = "multi_task/transfer", "multi_task/adaptation"
RELATEDNESS = "multi_task/relatedness"
TARGETS = ("entailment", "paraphrase")
"""The small tasks of the dials."""

SHARES = ("0.1", "1", "10", "100")
"""Percent of a new task's examples."""


def points(group: records.Group | None, metric: str) -> Spread | None:
    """Return a metric of a group in points; None where a run has none."""
    summary = None if group is None else group.summary(metric)
    return None if summary is None else spread(summary, factor=100)


def help_matrix(
    experiment: str = TRANSFER, names: Mapping[str, str] | None = None, *, data: str | None = None
) -> dict[str, Any] | None:
    """Return what the page shows of which task helps which; None if no run of today's code did.

    Parameters
    ----------
    experiment
        Its rows are the targets.
    names
        From each task to what the page calls it; by default the simulated tasks under their own names.
    data
        The data set; by default the first.

    Returns
    -------
    dict or None
        ``gains[helper][target]`` in points, ``mean`` and the ends of the 95 % interval (None for one run), in
        the order of ``tasks``; None on the diagonal and where nothing was measured.
    """
    names = {task: task for task in FAMILY} if names is None else names
    groups = {}
    for target in names:
        group = records.best(experiment, target, data=data)
        if group is not None and group.stale is None:
            groups[target] = group
    if not groups:
        return None
    gains = [[_ends(points(groups.get(target), f"gain.{helper}")) for target in names] for helper in names]
    first = next(iter(groups.values()))
    config = first.records[0].config
    return {
        "tasks": list(names),
        "names": dict(names),
        "gains": gains,
        "note": f"Points of the task's own metric, gained or lost. The task has {config['few']:,} examples, "
        f"the second task {config['many']:,}; {results.origin(first)}. Framed: the 95 % interval "
        "excludes zero.",
    }


def _ends(gain: Spread | None) -> dict[str, float | None] | None:
    if gain is None:
        return None
    if gain.half is None:
        return {"mean": gain.mean, "low": None, "high": None}
    return {"mean": gain.mean, "low": gain.mean - gain.half, "high": gain.mean + gain.half}


def matrix(
    experiment: str = TRANSFER, names: Mapping[str, str] | None = None, *, data: str | None = None
) -> Picture:
    """Draw which task helps which as a table, shaded by the gain; parameters as of `help_matrix`."""
    shown = help_matrix(experiment, names, data=data)
    if shown is None:
        return results.missing(experiment)
    tasks, gains = list(shown["names"].values()), shown["gains"]
    largest = max(abs(gain["mean"]) for row in gains for gain in row if gain is not None)
    rows, sure = [], []
    for helper, row in zip(tasks, gains, strict=True):
        cells = []
        for target, gain in zip(tasks, row, strict=True):
            if gain is None:
                cells.append('<td style="padding:.1em .4em">·</td>')
                continue
            certain = gain["low"] is not None and (gain["low"] > 0 or gain["high"] < 0)
            if certain:
                sure.append(f"{helper} {'helps' if gain['mean'] > 0 else 'hurts'} {target}")
            colour = "#0072b2" if gain["mean"] > 0 else "#d55e00"
            share = 60 * abs(gain["mean"]) / max(largest, 0.01)
            text = f"{gain['mean']:+.1f}".replace("-", "−")
            shade = f"color-mix(in srgb,{colour} {share:.0f}%,transparent)"
            cells.append(
                f'<td style="padding:.1em .4em;background:{shade}">'
                f"{f'<b>{text}</b>' if certain else text}</td>"
            )
        rows.append(f'<tr><th scope="row">{html.escape(helper)}</th>{"".join(cells)}</tr>')
    heads = "".join(f'<th scope="col">{html.escape(task)}</th>' for task in tasks)
    table = (
        f"<table><thead><tr><th>trained with</th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    note = shown["note"].replace("Framed", "Bold")
    caption = f"A row is the second task of training, a column the task that is measured. {note}"
    return Picture(
        '<figure class="rr-figure"><div style="overflow-x:auto" tabindex="0" role="region" '
        f'aria-label="Gains">{table}</div>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>",
        alt=f"Gains of each task from each other one. Clear of zero: {', '.join(sure) or 'none'}.",
    )


def _curve(experiment: str, rows: Sequence[str], task: str) -> tuple[tuple[list[float], ...], str]:
    """Return the line of a task's gain, in points, over rows that are numbers, and where it comes from."""
    gains, origins = results.spreads(
        [(experiment, row) for row in rows], f"{task}.gain", names={}, factor=100
    )
    return band([float(row) for row in gains], list(gains.values())), results.together(origins)


def _dial(
    experiment: str, rows: Sequence[str], x: str, *, caption: str | None = None, log: bool = False
) -> tuple[Picture, str]:
    """Draw both gains against what the rows set, and say where the runs come from.

    In the caption, ``{origin}`` is filled in.
    """
    curves = {task: _curve(experiment, rows, task) for task in TARGETS}
    origin = "; ".join(sorted({origin for _, origin in curves.values()}))
    if not all(line[0] for line, _ in curves.values()):
        return results.missing(experiment), origin
    drawing = plotting.lines(
        {task: line for task, (line, _) in curves.items()}, x=x, y="points gained", log=log
    )
    drawing.axes[0].axhline(0, color="0.5", linewidth=1, linestyle=":")
    description = "; ".join(
        f"{task} "
        + ", ".join(f"{gain:+.1f} at {value:g}" for value, gain in zip(line[0], line[1], strict=True))
        for task, (line, _) in curves.items()
    )
    caption = None if caption is None else caption.replace("{origin}", origin)
    return plotting.show(drawing, alt=f"Points gained against {x}: {description}.", caption=caption), origin


def dials() -> Picture:
    """Draw the gain of small tasks from inference: over relatedness, and over their size."""
    left, origin = _dial(
        RELATEDNESS, ("0", "0.25", "0.5", "0.75", "1"), "share of words that mean the same in all tasks"
    )
    right, _ = _dial(
        "multi_task/size",
        ("50", "100", "200", "400", "800", "1600"),
        "training examples of the small task",
        caption="Points of accuracy that entailment and paraphrase gain from training with inference. First: "
        f"against relatedness ({origin}). Second: against the size of the small task, at relatedness 1 "
        "({origin}). Bands: 95 % intervals.",
        log=True,
    )
    return plotting.beside(left, right)


def equal_steps() -> Picture:
    """Draw the gain of small tasks over their size, with as many steps alone as beside inference."""
    picture, _ = _dial(
        "multi_task/size-equal-steps",
        ("32", "96", "224", "672", "2016"),
        "training examples of the small task",
        caption="Points of accuracy that entailment and paraphrase gain from training with inference, when "
        "the small task takes as many steps alone as beside it. Bands: 95 % intervals ({origin}).",
        log=True,
    )
    return picture


def noise() -> Picture:
    """Draw the gain of small tasks as labels become wrong."""
    picture, _ = _dial(
        "multi_task/noise",
        ("0", "0.1", "0.2", "0.3"),
        "share of wrong training labels, in all tasks",
        caption="Points of accuracy that entailment and paraphrase gain from training with inference, "
        "with wrong training labels in all tasks. Test labels are right. Bands: 95 % intervals ({origin}).",
    )
    return picture


def adaptation() -> Picture:
    """Draw accuracy on new tasks against the share of examples: the source's figure 2, and ours."""
    theirs = results.published("multi_task/adaptation/")
    x_values = [float(share) for share in SHARES]
    published: dict[str, tuple[list[float], ...]] = {
        f"{name}, {label}": (x_values, [theirs[f"{key}/{row}/{share.replace('.', '-')}"] for share in SHARES])
        for key, name in (("snli", "SNLI"), ("scitail", "SciTail"))
        for row, label in (("mt-dnn", "MT-DNN"), ("bert", "BERT"))
    }
    left = by_share(published, "published")
    ours: dict[str, tuple[list[float], ...]] = {}
    origins, examples = set(), 0
    for task in ("captions", "science"):
        for row in ("mt-dnn-head", "mt-dnn", "bert"):
            group = records.best(ADAPTATION, row)
            measured = {share: points(group, f"{task}.accuracy_{share}") for share in SHARES}
            shares = {float(share): value for share, value in measured.items() if value is not None}
            if group is None or not shares:
                continue
            origins.add(results.origin(group))
            examples = group.records[0].config["new"]
            ours[f"{task}, {ROWS_SHORT[row]}"] = band(list(shares), list(shares.values()))
    if not ours:
        return plotting.beside(left, results.missing(ADAPTATION))
    right = by_share(
        ours,
        "simulated",
        caption="First: the source's figure 2, without intervals. Second: our new tasks with "
        f"{examples:,} examples each, bands are 95 % intervals ({results.together(origins)}). "
        "Chance is 33 % on captions and SNLI, 50 % on science and SciTail.",
    )
    return plotting.beside(left, right)


def by_share(series: Mapping[str, tuple[list[float], ...]], kind: str, caption: str | None = None) -> Picture:
    """Draw accuracy against the share of training examples that were used.

    Parameters
    ----------
    series
        From the name of a line to its shares and accuracies in per cent, and the band around them if any.
    kind
        What the accuracies are, for the axis: published, simulated, or the name of a set.
    caption
        Under the picture.
    """
    description = "; ".join(f"{name} from {y[0]:.0f} to {y[-1]:.0f}" for name, (_, y, *_) in series.items())
    return plotting.show(
        plotting.lines(
            series,
            x="training examples used, in per cent",
            y=f"accuracy in per cent, {kind}",
            limits=(30, 100),
            log=True,
        ),
        alt=f"Accuracy against the share of examples, {kind}: {description}.",
        caption=caption,
    )


ROWS_SHORT = {"mt-dnn-head": "MT-DNN with a trained head", "mt-dnn": "MT-DNN", "bert": "BERT"}
"""What the legend calls the rows of adaptation."""
