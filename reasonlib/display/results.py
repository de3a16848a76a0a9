"""Figures that any topic can make from its records: what was measured, and where it comes from.

Every number that a chapter shows and does not compute in a cell of its own comes from ``records/``; each
picture says at which scale and on which data it was measured.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reasonlib.display import plotting
from reasonlib.display.intervals import Spread, spread
from reasonlib.errors import UserError
from reasonlib.tracking import claims, records

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["best", "by_metric", "grid", "missing", "origin", "published", "rows", "spreads", "together"]

_SEEDS = re.compile(r"(\d+) seeds?")


def best(experiment: str, row: str, **filters: Any) -> records.Group:
    """Find the best group of records of a row; see `reasonlib.tracking.records.best`.

    Raises
    ------
    UserError
        When nothing was measured yet; says how to.
    """
    group = records.best(experiment, row, **filters)
    if group is None:
        options = "".join(f" --{name} {value}" for name, value in filters.items() if value is not None)
        raise UserError(
            f"no record of {experiment}, row {row}; make one: reasonlib run {experiment} --row {row}{options}"
        )
    return group


def origin(group: records.Group) -> str:
    """Say where a number comes from: scale, data, seeds, and whether its code has changed since."""
    seeds = f"{len(group.records)} seed{'s' * (len(group.records) > 1)}"
    stale = f", stale ({group.stale})" if group.stale else ""
    kind = "" if group.data.name == group.data.kind else f" ({group.data.kind})"
    return f"{group.scale} scale, {group.data.name}{kind}, {seeds}{stale}"


def together(origins: Iterable[str]) -> str:
    """Join what `origin` says of several groups; those that differ only in their seeds become one.

    >>> together(["quick scale, made (stand-in), 3 seeds", "quick scale, made (stand-in), 10 seeds"])
    'quick scale, made (stand-in), 3 to 10 seeds'
    """
    seeds: dict[tuple[str, str], set[int]] = {}
    for text in origins:
        match = _SEEDS.search(text)
        before, after = (text[: match.start()], text[match.end() :]) if match else (text, "")
        seeds.setdefault((before, after), set()).update({int(match[1])} if match else ())
    parts = []
    for (before, after), counts in sorted(seeds.items()):
        if not counts:
            parts.append(before)
            continue
        least, most = min(counts), max(counts)
        number = f"{most}" if least == most else f"{least} to {most}"
        parts.append(f"{before}{number} seed{'s' * (most > 1)}{after}")
    return "; ".join(parts)


def missing(experiment: str) -> plotting.Picture:
    """Say that nothing was measured yet, and which command does."""
    prefix, command = "Not measured yet; the command is: ", f"reasonlib run {experiment} --scale quick"
    caption = f"<figcaption>{prefix}<code>{html.escape(command)}</code></figcaption>"
    return plotting.Picture(f'<figure class="rr-figure">{caption}</figure>', alt=prefix + command)


def published(prefix: str) -> dict[str, float]:
    """Return the numbers that a source prints, by what follows a prefix in the names of their claims.

    Parameters
    ----------
    prefix
        Topic and beginning of the name, such as ``"multi_task/dev/mt-dnn/"``.
    """
    return {
        claim.id.removeprefix(prefix): float(claim.published)
        for claim in claims.load(prefix.partition("/")[0])
        if claim.id.startswith(prefix) and claim.published is not None
    }


def spreads(
    rows: Iterable[tuple[str, str]],
    metric: str,
    *,
    names: Mapping[str, str],
    data: str | None = None,
    scale: str | None = None,
    factor: float = 1.0,
) -> tuple[dict[str, Spread], set[str]]:
    """Summarise a metric of the rows that have records, for `reasonlib.display.plotting.bars`.

    Parameters
    ----------
    rows
        Names of experiment and row.
    metric
        As it is called in the records.
    names
        What to call a row; its own name where there is none.
    data
        Only records of this data set.
    scale
        Only records of this scale.
    factor
        Multiplies the values, such as 100 for points.

    Returns
    -------
    dict
        Name of a row to the mean over seeds and its 95 % interval.
    set of str
        Where the numbers come from; see `origin`.
    """
    values = {}
    origins = set()
    for experiment, row in rows:
        group = records.best(experiment, row, data=data, scale=scale)
        summary = None if group is None else group.summary(metric)
        if group is not None and summary is not None:
            values[names.get(row, row)] = spread(summary, factor=factor)
            origins.add(origin(group))
    return values, origins


def by_metric(
    series: Mapping[str, str],
    metrics: Mapping[str, str],
    *,
    unit: str,
    data: str | None = None,
    scale: str | None = None,
) -> plotting.Picture:
    """Draw several metrics of some rows side by side, such as accuracy by task or by layout.

    The caption says where the rows were measured: once for all rows if alike, else for which rows.

    Parameters
    ----------
    series
        From what the legend says to ``experiment:row``.
    metrics
        From what the axis says to the record's metric.
    unit
        Of the values.
    data, scale
        Only records of this data set and scale.
    """
    means: dict[str, dict[str, float]] = {}
    names: dict[str, list[str]] = {}
    for name, row in series.items():
        experiment, _, word = row.partition(":")
        group = best(experiment, word, data=data, scale=scale)
        values = {label: group.summary(metric) for label, metric in metrics.items()}
        means[name] = {label: value.mean for label, value in values.items() if value is not None}
        names.setdefault(origin(group), []).append(name)
    if len(names) == 1:
        origins = next(iter(names))
        origins = origins[0].upper() + origins[1:]
    else:
        origins = "; ".join(
            f"{', '.join(f'“{name}”' for name in same)}: {source}" for source, same in names.items()
        )
    return plotting.show(
        plotting.bars(means, unit=unit, limits=(0, 1)),
        alt=f"{unit} by {len(metrics)} kinds for " + " and ".join(means),
        caption=f"{origins}.",
    )


def rows(
    experiment: str,
    *,
    metric: str = "accuracy",
    unit: str = "accuracy",
    names: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
    scale: str | None = None,
    data: str | None = None,
    caption: str | None = None,
) -> plotting.Picture:
    """Draw what each row of an experiment reaches, best first: rows measured alike, as many as there are.

    Parameters
    ----------
    experiment
        Name of the experiment, ``topic/word``.
    metric, unit
        Name of the metric that is drawn, and what the axis calls it.
    names
        What to call a row.
    only
        These rows alone.
    scale, data
        Only records of this scale and data set.
    caption
        What is seen, instead of the experiment's name; where it was measured is added.
    """
    settings: dict[tuple[str, str], dict[str, records.Group]] = {}
    for group in records.groups(experiment, scale=scale, data=data):
        if only is None or group.row in only:  # best first: of two settings as full the better is met first
            settings.setdefault((group.scale, group.data.name), {}).setdefault(group.row, group)
    if not settings:
        raise UserError(f"no record of {experiment}; make some: reasonlib run {experiment}")
    chosen = max(settings.values(), key=len)
    measured = {
        row: spread(summary)
        for row, group in chosen.items()
        if (summary := group.summary(metric)) is not None
    }
    best_first = sorted(measured, key=lambda row: -measured[row].mean)
    ordered = {(names or {}).get(row, row): measured[row] for row in best_first}
    shares = all(0 <= value.mean <= 1 for value in measured.values())
    lines = " Lines: 95 % intervals." if any(value.half for value in measured.values()) else ""
    return plotting.show(
        plotting.bars(ordered, unit=unit, limits=(0, 1) if shares else None),
        alt=f"{unit} of the rows of {experiment}",
        caption=f"{caption or experiment}: {together(map(origin, chosen.values()))}.{lines}",
    )


def grid(topic: str, *, table: str, only: Sequence[str] | None = None, decimals: int = 1) -> "pd.DataFrame":
    """Set a published table out as its source does, each cell *published / ours* in per cent.

    Parameters
    ----------
    topic, table
        Whose claims: those of this table whose rows are named ``system, column``.
    only
        These systems alone, in this order.
    decimals
        Of each number.

    Returns
    -------
    DataFrame
        A row for each system, a column for each of its cells, and the run that ours come from. A dash stands
        where the source is illegible, or nothing was measured.

    Raises
    ------
    UserError
        If the table has no such system.
    """
    import pandas as pd

    lines: dict[str, dict[str, str]] = {}
    for row in claims.table(topic, table=table):
        system, _, column = row["row"].rpartition(", ")
        line = lines.setdefault(system, {})
        ours = row["ours"]["mean"] if row["ours"] else None
        line[column] = f"{_percent(row['published'], decimals)} / {_percent(ours, decimals)}"
        if row["scale"]:
            line["our run"] = f"{row['scale']}, {row['data']['kind']}"
    if absent := [name for name in only or () if name not in lines]:
        raise UserError(f"{table} has no row {absent[0]!r}; there are: {', '.join(lines)}")
    chosen = {name: lines[name] for name in only} if only else lines
    columns = [column for column in dict.fromkeys(key for line in chosen.values() for key in line)]
    columns = [*(column for column in columns if column != "our run"), "our run"]
    frame = pd.DataFrame(chosen).T.reindex(columns=columns).fillna("–")
    return frame.rename_axis("published / ours, %")


def _percent(share: float | None, decimals: int) -> str:
    return "–" if share is None else f"{100 * share:.{decimals}f}"
