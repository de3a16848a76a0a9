"""Attention weights: as a map of shades, or as a table of the memories that were read."""

import html
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from reasonlib.display.plotting.picture import Picture
from reasonlib.display.plotting.style import HEAT, STRONGEST, figure, theme

__all__ = ["attention_map", "memory_hops"]


def attention_map(
    weights: ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    titles: Sequence[str] | None = None,
    unit: str = "attention weight",
    top: float = 1.0,
) -> Figure:
    """Draw who attends to whom: a row a query, a column a key, the more colour the stronger.

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
    top
        The weight of the full colour; a larger weight has it, too.

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
    drawing = _draw_maps(maps, names, queries, keys, unit, top)
    descriptions = []
    for name, weight in zip(names, maps, strict=True):
        best = weight.argmax(axis=1)
        pairs = [
            f"{query} to {keys[index]} ({row[index]:.2f})"
            for query, index, row in zip(queries, best, weight, strict=True)
        ]
        descriptions.append((f"{name}, " if name else "") + "strongest: " + ", ".join(pairs[:12]) + ".")
    drawing.set_label(" ".join(descriptions[:4]))
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
    rows = [
        _row(f"{position + 1}. {sentence}", hops[:, position], needed=position in needed)
        for position, sentence in enumerate(sentences)
    ]
    heads = "".join(f'<th scope="col" class="rr-hop">{hop + 1}</th>' for hop in range(len(hops)))
    alt = _in_words(sentences, hops, question, answer, sorted(needed), look)
    body = (
        f'<figure class="rr rr-hops" tabindex="0" aria-label="{html.escape(alt)}">'
        + _heading(question, answer, expected)
        + "<table>"
        + (f"<caption>{html.escape(caption)}</caption>" if caption else "")
        + '<thead><tr><th scope="col" rowspan="2">Sentence in memory</th>'
        + f'<th scope="colgroup" colspan="{len(hops)}">Weight at {html.escape(look)}</th></tr>'
        + f"<tr>{heads}</tr></thead>"
        + f"<tbody>{''.join(rows)}</tbody></table></figure>"
    )
    return Picture(body, alt=alt)


def _row(sentence: str, weights: NDArray[np.float64], *, needed: bool) -> str:
    """Return a sentence and its weight at each hop, as a row of the table."""
    red, green, blue = (round(255 * channel) for channel in to_rgb(HEAT))
    cells = "".join(
        f'<td style="background:rgba({red},{green},{blue},{STRONGEST * weight:.3f})">{weight:.2f}</td>'
        for weight in weights
    )
    kind = ' class="rr-needed"' if needed else ""
    tag = ' <span class="rr-tag">needed</span>' if needed else ""
    return f'<tr{kind}><th scope="row">{html.escape(sentence)}{tag}</th>{cells}</tr>'


def _heading(question: str | None, answer: str | None, expected: str | None) -> str:
    """Return what was asked and answered, as HTML above the table; empty where neither is given."""
    parts = []
    if question:
        parts.append(f"<strong>{html.escape(question)}</strong>")
    if answer is not None:
        mark = (
            ""
            if expected is None
            else (" ✓" if answer == expected else f" ✗ (expected: {html.escape(expected)})")
        )
        parts.append(f"Answer: <strong>{html.escape(answer)}</strong>{mark}")
    return f"<figcaption>{'<br>'.join(parts)}</figcaption>" if parts else ""


def _in_words(
    sentences: Sequence[str],
    hops: NDArray[np.float64],
    question: str | None,
    answer: str | None,
    needed: Sequence[int],
    look: str,
) -> str:
    """Say which sentence each hop reads most, and which were needed."""
    parts = [part for part in (question, None if answer is None else f"Answer: {answer}.") if part]
    for hop, row in enumerate(hops):
        best = int(row.argmax())
        most = f"sentence {best + 1} most ({row[best]:.2f}): {sentences[best]}"
        parts.append(f"{look.capitalize()} {hop + 1} reads {most}")
    if needed:
        parts.append("Needed: sentences " + ", ".join(str(position + 1) for position in needed) + ".")
    return " ".join(parts)


def _draw_maps(
    maps: NDArray[np.float64],
    names: Sequence[str],
    queries: Sequence[str],
    keys: Sequence[str],
    unit: str,
    top: float,
) -> Figure:
    """Draw maps of shape (H, Q, K); a single small one has its numbers printed in the cells."""
    heads = len(maps)
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
        for head, axes in enumerate(grid.flat):
            if head >= heads:
                axes.set_visible(False)
                continue
            shown = axes.imshow(maps[head], cmap=ramp, vmin=0, vmax=top, interpolation="none", aspect="auto")
            axes.grid(visible=False)
            axes.set_title(names[head])
            axes.set_xticks(range(len(keys)), keys, rotation=90 if max(map(len, keys)) > 2 else 0)
            axes.set_yticks(range(len(queries)), queries)
            axes.spines[:].set_visible(True)
            if printed:
                for (query, key), weight in np.ndenumerate(maps[head]):
                    axes.text(key, query, f"{weight:.2f}", ha="center", va="center", fontsize=9)
        if not printed:
            scale = drawing.colorbar(shown, ax=grid, location="bottom", fraction=0.05, aspect=30, pad=0.04)
            scale.set_label(unit)
            scale.set_ticks([0, top / 2, top])
            scale.outline.set_linewidth(0.8)
    return drawing


def _weights(values: ArrayLike) -> NDArray[np.float64]:
    if hasattr(values, "detach"):
        values = values.detach().cpu().float().numpy()
    array = np.asarray(values, dtype=np.float64)
    if array.size and not (np.min(array) >= -1e-6 and np.max(array) <= 1 + 1e-6):
        raise ValueError(f"weights must lie between 0 and 1, got {np.min(array):.3g} to {np.max(array):.3g}")
    return np.clip(array, 0.0, 1.0)
