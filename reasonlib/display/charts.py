"""One chart for a chapter: what a source published beside what our runs measured, legible at a glance.

A row is a claim: a diamond where the source stands, a disc with the interval of our runs where we do, a dot
for each run, and the verdict in words. The full tables stand on the results page of the topic.

>>> ours = {"mean": 0.78, "sd": 0.01, "n": 5}
>>> rows = [{"row": "3 hops", "published": 0.69, "ours": ours, "verdict": "not run"}]
>>> print(comparison(rows).get_label())
3 hops: published 0.69, ours 0.78, 95 % interval 0.768 to 0.792 (5 runs), not run.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from matplotlib.figure import Figure

from reasonlib.display import plotting
from reasonlib.display.claim_line import GLYPHS, GOAL_WORDS
from reasonlib.display.intervals import interval
from reasonlib.errors import UserError
from reasonlib.tracking import claims

__all__ = ["MOST", "chart", "comparison"]

MOST = 12  # rows of a chart: more belong on the results page
LABEL = 46  # letters of a row's name
ROW = 0.52  # inches

PUBLISHED_MARK: dict[str, Any] = {
    "color": plotting.COLOURS["orange"],
    "marker": "D",
    "markersize": 7,
    "fillstyle": "none",
    "markeredgewidth": 1.8,
    "linestyle": "none",
}
OURS_MARK: dict[str, Any] = {
    "color": plotting.COLOURS["blue"],
    "marker": "o",
    "markersize": 6.5,
    "capsize": 3,
    "linestyle": "none",
}


def chart(
    topic: str,
    *,
    names: Mapping[str, str] | None = None,
    unit: str = "accuracy",
    limits: tuple[float, float] | None = None,
    caption: str | None = None,
    **parts: Unpack[claims.Parts],
) -> plotting.Picture:
    """Draw published against measured for some claims of a topic.

    Parameters
    ----------
    topic, **parts
        Which claims, as of `reasonlib.tracking.claims.table`; at most `MOST`.
    names
        What to call a row, from the source's name of it.
    unit
        What the horizontal axis counts.
    limits
        Ends of the horizontal axis.
    caption
        The message of the chart in a sentence.

    Raises
    ------
    UserError
        If none of these claims has a number on either side, or there are too many.
    """
    rows = [
        {**row, "label": (names or {}).get(str(row["row"]), row["row"] or row["text"] or row["id"])}
        for row in claims.table(topic, **parts)
        if row["published"] is not None or row["ours"] is not None
    ]
    if not rows:
        raise UserError("none of these claims has a number to draw; show them with findings.show")
    if len(rows) > MOST:
        raise UserError(f"a chart holds at most {MOST} rows, to be read at a glance, got {len(rows)}")
    return plotting.show(
        comparison(rows, unit=unit, limits=limits),
        alt="What was published and what we measured.",
        caption=caption,
    )


def comparison(
    rows: Sequence[Mapping[str, Any]], *, unit: str = "accuracy", limits: tuple[float, float] | None = None
) -> Figure:
    """Draw what was published and what was measured, a row a claim.

    Parameters
    ----------
    rows
        Mappings as `reasonlib.tracking.claims.table` gives them: ``label`` or ``row``, ``published``,
        ``ours`` (mean, sd and n) and ``verdict``, and the runs if they are known.
    unit
        What the horizontal axis counts.
    limits
        Ends of the horizontal axis.

    Raises
    ------
    ValueError
        With no row.
    """
    if not rows:
        raise ValueError("rows must hold at least one claim, got none")
    descriptions = []
    with plotting.theme():
        drawing, axes = plotting.figure(height=0.95 + ROW * len(rows))
        for height, row in enumerate(rows):
            label = textwrap.shorten(str(row.get("label") or row["row"]), LABEL, placeholder=" …")
            descriptions.append(f"{label}: {_draw(axes, height, row)}")
            across = axes.get_yaxis_transform()
            mark = f"{GLYPHS.get(row['verdict'], '')} {_word(row)}".strip()
            axes.axhline(height, color=plotting.INK, alpha=0.22, linewidth=0.8, zorder=0)
            axes.text(0, height - 0.27, label, transform=across, va="bottom", fontsize=9.5)
            axes.text(1, height - 0.27, mark, transform=across, va="bottom", ha="right", fontsize=9)
        axes.plot([], [], label="published", **PUBLISHED_MARK)
        axes.errorbar([], [], xerr=[], label="our runs, 95 % interval", **OURS_MARK)
        axes.set_yticks([])
        axes.set_ylim(len(rows) - 0.55, -0.8)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(unit)
        if limits is not None:
            axes.set_xlim(*limits)
        else:
            axes.margins(x=0.08)
        axes.grid(alpha=0.15)
        axes.grid(visible=False, axis="y")
        drawing.legend(loc="outside upper left", ncols=2, handletextpad=0.3)
    drawing.set_label(" ".join(descriptions))
    return drawing


def _draw(axes: Any, height: int, row: Mapping[str, Any]) -> str:
    """Draw one row; say it in words."""
    words = []
    published, ours = row.get("published"), row.get("ours")
    if ours is not None:
        mean, n = float(ours["mean"]), ours.get("n")
        ends = _interval(row)
        for value in _runs(row):
            axes.plot(value, height, ".", color=plotting.COLOURS["blue"], alpha=0.55, markersize=5)
        reach = None if ends is None else [[mean - ends[0]], [ends[1] - mean]]
        axes.errorbar(mean, height, xerr=reach, **OURS_MARK)
    if published is not None:
        if ours is not None:
            segment = [float(published), float(ours["mean"])]
            axes.plot(
                segment,
                [height, height],
                "-",
                color=plotting.COLOURS["blue"],
                alpha=0.35,
                linewidth=2.5,
                zorder=1,
            )
        axes.plot(published, height, **PUBLISHED_MARK)
        words.append(f"published {published:.3g}")
    else:
        words.append("no published number")
    if ours is None:
        words.append("not measured")
    else:
        interval_text = "" if ends is None else f", 95 % interval {ends[0]:.3g} to {ends[1]:.3g}"
        words.append(f"ours {mean:.3g}{interval_text}" + (f" ({n} run{'s' * (n != 1)})" if n else ""))
    return f"{', '.join(words)}, {_word(row)}."


def _word(row: Mapping[str, Any]) -> str:
    """The verdict in words; a goal of the book is reached, and not reproduced."""
    verdict = str(row["verdict"])
    return GOAL_WORDS.get(verdict, verdict) if row.get("goal") else verdict


def _interval(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """The interval that the verdict was decided by (none with too few runs), else that of the mean."""
    ours = row["ours"]
    if "interval" in row:
        decided = row["interval"]
        if decided is None:
            return None
        if decided["of"] != "difference":
            return float(decided["low"]), float(decided["high"])
    return interval(float(ours["mean"]), ours.get("sd"), ours.get("n"))


def _runs(row: Mapping[str, Any]) -> list[float]:
    """What each run measured, where the row says it."""
    own = (row.get("experiment_row"), row.get("metric"))
    for side in row.get("sides") or ():
        if (side.get("row"), side.get("metric")) == own:
            return [float(value) for value in side.get("values") or ()]
    return []
