"""One look for every figure: readable on light and dark pages, on a phone, and without seeing it.

A figure is drawn on its own `Figure` object, never on a hidden global one, and shown by `show`, which turns
it into SVG inside the page. Text, axes and grid take the page's own text colour (``currentColor``), so they
keep its contrast in any theme; areas and lines take `COLOURS`, which stand out from white and from near-black
alike and stay apart for colour-blind readers. The same numbers give the same bytes.

>>> with theme():
...     drawing, axes = figure()
...     _ = axes.plot([1, 2, 3], [0.2, 0.6, 0.9])
>>> show(drawing, alt="Accuracy rises from 0.2 to 0.9 in three epochs.")
Accuracy rises from 0.2 to 0.9 in three epochs.
"""

import contextlib
import hashlib
import html
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import seaborn
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from reasonlib.display.intervals import Spread

INK = "#767a7e"  # drawn as this grey, shown as the page's own text colour

COLOURS = {
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "pink": "#cc79a7",
    "violet": "#8d49f2",
    "olive": "#73683f",
}
PALETTE = tuple(COLOURS.values())
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.5)),
    (0, (5, 2, 1, 2)),
    (0, (8, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)
MARKERS = ("o", "s", "^", "D", "v", "P")

HEAT = "#2389d7"
STRONGEST = 0.6  # opacity of a full cell: text of the page's colour keeps 4.5:1 on top of it in both themes

WIDTH = 4.2  # inches; at a phone's 340 px a 10 pt letter is still 11 px high

PUBLISHED_MARK: dict[str, Any] = {
    "color": COLOURS["orange"],
    "marker": "D",
    "markersize": 7,
    "fillstyle": "none",
    "markeredgewidth": 1.8,
    "linestyle": "none",
}
OURS_MARK: dict[str, Any] = {
    "color": COLOURS["blue"],
    "marker": "o",
    "markersize": 6.5,
    "capsize": 3,
    "linestyle": "none",
}
VERDICTS = {
    "reproduced": "✓",
    "exceeded": "▲",
    "supported": "↗",
    "inconclusive": "≈",
    "challenged": "↘",
    "contradicted": "✗",
    "not run": "○",
}

CSS = """
.rr{color:inherit}
.rr-figure{margin:1rem 0;max-width:34rem}
.rr-figure svg{display:block;width:100%;height:auto;color:inherit}
.rr-figure figcaption{font-size:.9em;margin-top:.4rem;text-align:left}
.rr figcaption{font-weight:400}
.rr figcaption strong{font-weight:600}
.rr figcaption,.rr figcaption *{color:inherit!important}
.rr-beside{display:flex;flex-wrap:wrap;gap:1rem}
.rr-beside>*{flex:1 1 17rem;margin:0}
.rr-hops{margin:1rem 0;max-width:44rem;overflow-x:auto}
.rr-hops table{border-collapse:collapse;width:100%;font-size:.92em;color:inherit;margin:0;background:none}
.rr-hops figcaption{text-align:left;margin-bottom:.4rem}
.rr-hops caption{caption-side:bottom;text-align:left;font-size:.9em;padding-top:.4rem;color:inherit}
.rr-hops :is(th,td){border:0;border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);
padding:.3rem .35rem;background:none;color:inherit;font-weight:normal}
.rr-hops thead th{font-weight:600;text-align:center;vertical-align:bottom}
.rr-hops :is(thead th:first-child:not(.rr-hop),tbody th){text-align:left}
.rr-hops td{text-align:center;font-variant-numeric:tabular-nums;min-width:2.2rem}
.rr-hops .rr-needed th{font-weight:600;box-shadow:inset .25rem 0 currentColor;padding-left:.7rem}
@media(max-width:30rem){.rr-hops :is(td,.rr-hop){padding:.3rem .08rem;min-width:1.75rem;font-size:.9em}}
.rr-hops .rr-tag{font-size:.8em;font-weight:600;border:1px solid;border-radius:.3rem;padding:0 .3rem;
white-space:nowrap}
html[data-theme=dark] .bd-content div.cell_output .text_html:has(.rr){
background:none!important;color:inherit!important;padding:0!important}
"""


class Picture:
    """Something to look at, as HTML, with the words that stand for it.

    Attributes
    ----------
    html
        A fragment that needs nothing else: no script, no style sheet, no network.
    alt
        What it shows, for those who cannot see it; also how it prints in a terminal.
    """

    def __init__(self, body: str, *, alt: str):
        self.html = body
        self.alt = alt

    def _repr_html_(self) -> str:
        return f"<style>{CSS}</style>{self.html}"

    def __repr__(self) -> str:
        return self.alt

    def save(self, path: str | Path) -> None:
        """Write the picture as a page of its own that follows the reader's light or dark setting."""
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            '<meta name="color-scheme" content="light dark">'
            '<meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(self.alt)}</title><style>body{{font-family:sans-serif}}</style>"
            f"{self._repr_html_()}\n"
        )
        Path(path).write_text(page, encoding="utf-8")


@contextlib.contextmanager
def theme() -> Iterator[None]:
    """Draw in the book's look; whatever was set before is back afterwards."""
    style = {
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": INK,
        "font.family": ["DejaVu Sans"],
    }
    size = {
        "font.size": 10,
        "axes.labelsize": 10,
        "axes.titlesize": 10.5,
        "xtick.labelsize": 9.5,
        "ytick.labelsize": 9.5,
        "legend.fontsize": 9.5,
        "legend.title_fontsize": 9.5,
        "lines.linewidth": 1.8,
        "lines.markersize": 5,
        "grid.linewidth": 0.6,
        "axes.linewidth": 0.8,
    }
    rest = {
        "axes.prop_cycle": cycler(color=PALETTE, linestyle=DASHES),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.formatter.useoffset": False,
        "grid.alpha": 0.25,
        "legend.frameon": False,
        "figure.constrained_layout.use": True,
        "svg.fonttype": "path",
        "svg.hashsalt": "reasonlib",
    }
    look = {
        **seaborn.axes_style("whitegrid", style),
        **seaborn.plotting_context("notebook", rc=size),
        **rest,
    }
    with matplotlib.rc_context(look):
        yield


def figure(*, height: float = 2.6, rows: int = 1, columns: int = 1, **axes: Any) -> tuple[Figure, Any]:
    """Make an empty figure, to be filled inside `theme()`.

    Parameters
    ----------
    height
        In inches; the width is always `WIDTH`, so that letters have one size on every page.
    rows, columns
        How many axes; with one of each the axes come alone, otherwise as an array.
    **axes
        Passed on to `Figure.subplots`, such as ``sharey=True``.

    Returns
    -------
    Figure
        Known to no global list, so there is nothing to close.
    Axes or ndarray of Axes
        Where to draw.
    """
    drawing = Figure(figsize=(WIDTH, height))
    return drawing, drawing.subplots(rows, columns, **axes)


def show(drawing: Figure, *, alt: str, caption: str | None = None) -> Picture:
    """Turn a finished figure into a picture for the page.

    Parameters
    ----------
    drawing
        Made inside `theme()` by `figure` or by any function of this module. The functions leave the numbers
        they drew in words on the figure, and these are added to `alt`.
    alt
        What a reader who cannot see the figure should learn from it.
    caption
        Printed under the figure.

    Raises
    ------
    ValueError
        Without alternative text.
    """
    if not alt or not alt.strip():
        raise ValueError(f"alt must say in words what the figure shows, got {alt!r}")
    words = " ".join(part for part in (alt.strip(), str(drawing.get_label())) if part)
    below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return Picture(f'<figure class="rr rr-figure">{_svg(drawing, alt=words)}{below}</figure>', alt=words)


def beside(*pictures: Picture) -> Picture:
    """Put pictures next to each other, or one under the other where the page is narrow."""
    if not pictures:
        raise ValueError("beside needs at least one picture")
    inner = "".join(picture.html for picture in pictures)
    return Picture(
        f'<div class="rr rr-beside">{inner}</div>', alt=" ".join(picture.alt for picture in pictures)
    )


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
        y = [float(np.mean(table[at])) for at in x]
        low, high = [min(table[at]) for at in x], [max(table[at]) for at in x]
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
    log
        A logarithmic horizontal axis.

    Raises
    ------
    ValueError
        With no series, more than six, or lengths that differ.
    """
    if not 1 <= len(series) <= len(PALETTE):
        raise ValueError(f"series must hold 1 to {len(PALETTE)} lines to stay apart, got {len(series)}")
    said = []
    with theme():
        drawing, axes = figure()
        for (label, columns), colour, dash, marker in zip(
            series.items(), PALETTE, DASHES, MARKERS, strict=False
        ):
            arrays = [_array(column, dimensions=1) for column in columns]
            if len(arrays) not in (2, 4) or len({len(array) for array in arrays}) != 1 or not len(arrays[0]):
                raise ValueError(
                    f"series must be (x, y) or (x, y, low, high) of one length, got lengths "
                    f"{[len(array) for array in arrays]} for {label!r}"
                )
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
            at = f"{level[0]:.3g} at {x} {across[0]:g}, {level[-1]:.3g} at {x} {across[-1]:g}."
            said.append(f"{label}: {at}" if label else f"From {at}")
        axes.set_xlabel(x)
        axes.set_title(y, fontsize=10)
        if log:
            axes.set_xscale("log")
        elif len(arrays[0]) > 1 and all(float(value).is_integer() for value in arrays[0]):
            axes.xaxis.get_major_locator().set_params(integer=True)
        if limits is not None:
            axes.set_ylim(*limits)
        if any(series):
            _legend(drawing, list(series), handlelength=2.6)
    drawing.set_label(" ".join(said))
    return drawing


def bars(
    values: Mapping[str, Any],
    *,
    unit: str,
    limits: tuple[float, float] | None = None,
    reference: tuple[str, float] | None = None,
) -> Figure:
    """Draw horizontal bars, single or grouped.

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
    thick = 0.8 / len(series)
    with theme():
        drawing, axes = figure(height=0.75 + len(labels) * max(0.24, 0.13 * len(series) + 0.08))
        for place, ((name, group), colour) in enumerate(zip(series.items(), PALETTE, strict=False)):
            spreads = [
                (row, _as_spread(group[label]))
                for row, label in enumerate(labels)
                if group.get(label) is not None
            ]
            heights = [row - 0.4 + thick * (place + 0.5) for row, _ in spreads]
            means = [spread.mean for _, spread in spreads]
            axes.barh(heights, means, height=thick * 0.9, color=colour, label=name or None, linewidth=0)
            for height, spread in zip(heights, (spread for _, spread in spreads), strict=True):
                if spread.half:
                    axes.errorbar(spread.mean, height, xerr=spread.half, color=INK, capsize=2, linewidth=1)
                if len(series) == 1:
                    end = spread.mean + (spread.half or 0)
                    axes.annotate(
                        f"{spread.mean:.3g}",
                        (end if limits is None else min(end, limits[1]), height),
                        xytext=(4, 0),
                        textcoords="offset points",
                        va="center",
                        fontsize=9,
                    )
        if reference is not None:
            axes.axvline(reference[1], color=INK, linestyle=(0, (4, 2)), linewidth=1.2, label=reference[0])
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(unit)
        if limits is not None:
            axes.set_xlim(*limits)
        else:
            axes.margins(x=0.14)
        if len(series) > 1 or reference is not None:
            _legend(drawing, [*series, *([reference[0]] if reference else [])])
    said = []
    for name, group in series.items():
        shown = [f"{label} {_as_spread(group[label])}" for label in labels if group.get(label) is not None]
        said.append((f"{name}: " if name else "") + ", ".join(shown) + ".")
    if reference is not None:
        said.append(f"{reference[0]}: {reference[1]:.3g}.")
    if any(isinstance(value, Spread) and value.half for group in series.values() for value in group.values()):
        said.append("± is half of the 95 % interval over runs.")
    drawing.set_label(" ".join(said))
    return drawing


def attention_map(
    weights: ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    titles: Sequence[str] | None = None,
    unit: str = "attention weight",
) -> Figure:
    """Draw who attends to whom: a row a query, a column a key, the darker the stronger.

    Parameters
    ----------
    weights
        Shape (Q, K) or, one map a head, (H, Q, K); between 0 and 1.
    queries, keys
        The Q and the K names.
    titles
        One a head; "head 1", "head 2" and so on when not given.
    unit
        What the shades count.

    Raises
    ------
    ValueError
        When names and weights do not fit together, or a weight is not between 0 and 1.
    """
    maps = _weights(weights)
    if maps.ndim == 2:
        maps = maps[None]
    if maps.ndim != 3 or maps.shape[1:] != (len(queries), len(keys)):
        raise ValueError(
            f"weights must have shape (queries, keys) or (heads, queries, keys) with {len(queries)} queries "
            f"and {len(keys)} keys, got {tuple(np.shape(weights))}"
        )
    heads = len(maps)
    names = titles or ([""] if heads == 1 else [f"head {head + 1}" for head in range(heads)])
    if len(names) != heads:
        raise ValueError(f"titles must name the {heads} heads, got {len(names)}")
    columns = 1 if heads == 1 or len(keys) > 9 else 2
    rows = -(-heads // columns)
    printed = heads == 1 and len(keys) <= 8 and len(queries) <= 16
    ramp = LinearSegmentedColormap.from_list(
        "weight", [(*to_rgb(HEAT), 0.0), (*to_rgb(HEAT), STRONGEST if printed else 1.0)]
    )
    cell = min(0.34, 3.0 / columns / len(keys))
    with theme():
        height = rows * (len(queries) * max(cell, 0.17) + 0.35) + 1.1
        drawing, grid = figure(
            height=height, rows=rows, columns=columns, squeeze=False, sharex=True, sharey=True
        )
        for place, axes in enumerate(grid.flat):
            if place >= heads:
                axes.set_visible(False)
                continue
            shown = axes.imshow(maps[place], cmap=ramp, vmin=0, vmax=1, interpolation="none", aspect="auto")
            axes.grid(visible=False)
            axes.set_title(names[place])
            axes.set_xticks(range(len(keys)), keys, rotation=90 if max(map(len, keys)) > 2 else 0)
            axes.set_yticks(range(len(queries)), queries)
            axes.spines[:].set_visible(True)
            if printed:
                for (query, key), weight in np.ndenumerate(maps[place]):
                    axes.text(key, query, f"{weight:.2f}", ha="center", va="center", fontsize=9)
        if not printed:
            scale = drawing.colorbar(shown, ax=grid, location="bottom", fraction=0.05, aspect=30, pad=0.04)
            scale.set_label(unit)
            scale.set_ticks([0, 0.5, 1])
            scale.outline.set_linewidth(0.8)
    said = []
    for name, weight in zip(names, maps, strict=True):
        best = weight.argmax(axis=1)
        pairs = [
            f"{query} to {keys[at]} ({row[at]:.2f})"
            for query, at, row in zip(queries, best, weight, strict=True)
        ]
        said.append((f"{name}, " if name else "") + "strongest: " + ", ".join(pairs[:12]) + ".")
    drawing.set_label(" ".join(said[:4]))
    return drawing


def memory_hops(
    sentences: Sequence[str],
    weights: ArrayLike,
    *,
    question: str | None = None,
    answer: str | None = None,
    expected: str | None = None,
    support: Iterable[int] | None = None,
    caption: str | None = None,
    look: str = "hop",
) -> Picture:
    """Show which memories a network read at each hop, as a table: a sentence a row, a hop a column.

    Parameters
    ----------
    sentences
        The S memories, oldest first.
    weights
        Shape (K, S): at each of K hops, the share of attention on each sentence.
    question, answer
        What was asked and what the network said.
    expected
        The right answer, where it is known.
    support
        Positions of the sentences that are needed for the answer; they are marked.
    caption
        Printed under the table.
    look
        What a column is called: a hop, or a layer of an encoder.

    Raises
    ------
    ValueError
        When sentences and weights do not fit together, a weight is not between 0 and 1, or a position is not
        in the story.
    """
    hops = _weights(weights)
    if hops.ndim != 2 or hops.shape[1] != len(sentences) or not len(hops):
        raise ValueError(
            f"weights must have shape (hops, sentences) with {len(sentences)} sentences, "
            f"got {tuple(np.shape(weights))}"
        )
    needed = set() if support is None else {int(position) for position in support}
    outside = sorted(position for position in needed if not 0 <= position < len(sentences))
    if outside:
        raise ValueError(f"support must lie within the {len(sentences)} sentences, got {outside[0]}")
    asked = []
    if question:
        asked.append(f"<strong>{html.escape(question)}</strong>")
    if answer is not None:
        mark = (
            ""
            if expected is None
            else (" ✓" if answer == expected else f" ✗ (expected: {html.escape(expected)})")
        )
        asked.append(f"Answer: <strong>{html.escape(answer)}</strong>{mark}")
    red, green, blue = (round(255 * channel) for channel in to_rgb(HEAT))
    rows = []
    for position, sentence in enumerate(sentences):
        tag = ' <span class="rr-tag">needed</span>' if position in needed else ""
        cells = "".join(
            f'<td style="background:rgba({red},{green},{blue},{STRONGEST * weight:.3f})">{weight:.2f}</td>'
            for weight in hops[:, position]
        )
        kind = ' class="rr-needed"' if position in needed else ""
        rows.append(
            f'<tr{kind}><th scope="row">{position + 1}. {html.escape(sentence)}{tag}</th>{cells}</tr>'
        )
    heads = "".join(f'<th scope="col" class="rr-hop">{hop + 1}</th>' for hop in range(len(hops)))
    said = [part for part in (question, None if answer is None else f"Answer: {answer}.") if part]
    for hop, row in enumerate(hops):
        best = int(row.argmax())
        most = f"sentence {best + 1} most ({row[best]:.2f}): {sentences[best]}"
        said.append(f"{look.capitalize()} {hop + 1} reads {most}")
    if needed:
        said.append("Needed: sentences " + ", ".join(str(position + 1) for position in sorted(needed)) + ".")
    alt = " ".join(said)
    body = (
        f'<figure class="rr rr-hops" tabindex="0" aria-label="{html.escape(alt)}">'
        + (f"<figcaption>{'<br>'.join(asked)}</figcaption>" if asked else "")
        + "<table>"
        + (f"<caption>{html.escape(caption)}</caption>" if caption else "")
        + '<thead><tr><th scope="col" rowspan="2">Sentence in memory</th>'
        + f'<th scope="colgroup" colspan="{len(hops)}">Weight at {html.escape(look)}</th></tr>'
        + f"<tr>{heads}</tr></thead>"
        + f"<tbody>{''.join(rows)}</tbody></table></figure>"
    )
    return Picture(body, alt=alt)


def _legend(drawing: Figure, labels: Sequence[str], **style: Any) -> None:
    """Put the legend above the axes, in as many columns as the width holds; each further row adds height."""
    letter, handle, line = 5.8, 42, 16  # points
    widest = handle + letter * max(map(len, labels))
    columns = int(max(1, min(len(labels), 3, 72 * WIDTH // widest)))
    drawing.set_figheight(drawing.get_figheight() + line / 72 * (ceil(len(labels) / columns) - 1))
    drawing.legend(loc="outside upper left", ncols=columns, **style)


def _svg(drawing: Figure, *, alt: str) -> str:
    """Render for a place inside a page: no fixed size, no clashing ids, ink in the page's own colour."""
    stream = io.StringIO()
    with theme():
        metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        drawing.savefig(stream, format="svg", metadata=metadata, transparent=True)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", "\n", text).replace(INK, "currentColor")
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in used else "", text)
    own = "r" + hashlib.sha256((alt + text).encode()).hexdigest()[:10]
    text = re.sub(r' id="', f' id="{own}-', text)
    text = re.sub(r'((?:xlink:)?href="|url\()#', rf"\1#{own}-", text)
    text = text.replace("xlink:href", "href")
    view = re.search(r'viewBox="([^"]+)"', text)
    assert view is not None  # the SVG backend always writes one
    head = (
        f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="{view[1]}" '
        'style="stroke-linejoin:round;stroke-linecap:butt">'
    )
    return head + text[text.index(">") + 1 :].strip()


def _array(values: ArrayLike, *, dimensions: int) -> NDArray[np.float64]:
    """Bring a list, an array or a tensor (on any device, with a gradient or not) to NumPy."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().float().numpy()
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != dimensions:
        raise ValueError(f"values must have {dimensions} dimension, got shape {array.shape}")
    return array


def _weights(values: ArrayLike) -> NDArray[np.float64]:
    if hasattr(values, "detach"):
        values = values.detach().cpu().float().numpy()
    array = np.asarray(values, dtype=np.float64)
    if array.size and not (np.min(array) >= -1e-6 and np.max(array) <= 1 + 1e-6):
        raise ValueError(f"weights must lie between 0 and 1, got {np.min(array):.3g} to {np.max(array):.3g}")
    return np.clip(array, 0.0, 1.0)


def _runs(histories: Any) -> list[list[Mapping[str, Any]]]:
    """Bring one history or several to a list of lists of records."""
    rows = list(histories)
    if all(isinstance(row, Mapping) for row in rows):
        return [rows]
    return [list(history) for history in rows]


def _as_spread(value: float | Spread) -> Spread:
    return value if isinstance(value, Spread) else Spread(float(value))
