"""Attention between panels, drawn as lines from the last panel of the matrix to all others.

Axes: L layers, H heads, T tokens, S slots, A attributes.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from numpy.typing import ArrayLike

from reasonlib.display.plotting import HEAT, Picture
from reasonlib.visual_iq.data.example import CANVAS, CONTEXT, PANELS, Problems
from reasonlib.visual_iq.page.detection_figures import _numpy
from reasonlib.visual_iq.page.figures import CANDIDATES, _choices, _problem_at, picture
from reasonlib.visual_iq.page.svg import describe, panel_svg

__all__ = ["attention", "matrix_svg", "percent", "shares"]

# Attention between panels -----------------------------------------------------------------------------------

GAP = 10  # between panels of the matrix, in their own pixels
LABEL = 30  # under a panel, for the share of attention that it gets
SEPARATED = (0, 1, 2, 4, 5, 6, 8, 9)  # where the context's panels stand when separators stand between rows


def matrix_svg(
    configuration: int,
    shown: Sequence[Int[ndarray, "S A"]],
    *,
    weights: Sequence[float] | Float[ndarray, "8"] | None = None,
    most: float | None = None,
    labels: bool | None = None,
) -> str:
    """Draw the matrix of eight or nine panels as one SVG element, with lines from the last to each other.

    Parameters
    ----------
    configuration
        Index of the layout.
    shown
        Panels row by row; with eight of them the last is a question mark.
    weights
        Eight shares: how wide and dark the line to each context panel is.
    most
        The share of the widest line; by default the largest of `weights`.
    labels
        Whether to leave room for a share under each panel; by default where there are weights.
    """
    labelled = (weights is not None) if labels is None else labels
    below = LABEL if labelled else 0
    side, height = 3 * CANVAS + 2 * GAP, 3 * (CANVAS + below) + 2 * GAP
    parts = []
    for cell, panel in enumerate(shown):
        left, top = _corner(cell, below)
        words = f"Row {cell // 3 + 1}, panel {cell % 3 + 1}: {describe(configuration, panel)}"
        parts.append(
            panel_svg(configuration, panel, label=words, box=(left, top, left + CANVAS, top + CANVAS))
            + f'<rect class="rr-iq-edge" x="{left}" y="{top}" width="{CANVAS}" height="{CANVAS}" rx="5" '
            'fill="none"/>'
        )
    if len(shown) == CONTEXT:
        left, top = _corner(CONTEXT, below)
        parts.append(
            f'<g role="img" aria-label="Row 3, panel 3: missing"><rect x="{left + 2}" y="{top + 2}" '
            f'width="{CANVAS - 4}" height="{CANVAS - 4}" rx="6" fill="none" stroke="currentColor" '
            'stroke-opacity=".5" stroke-width="3" stroke-dasharray="9 7"/>'
            f'<text x="{left + CANVAS / 2:g}" y="{top + CANVAS / 2 + 24:g}" text-anchor="middle" '
            'fill="currentColor" fill-opacity=".75" style="font:600 68px sans-serif">?</text></g>'
        )
    if weights is not None:
        parts.append(_look_lines(weights, max(weights) if most is None else most))
    return f'<svg viewBox="-2 -2 {side + 4} {height + 4}">{"".join(parts)}</svg>'


def _corner(cell: int, below: int = 0) -> tuple[int, int]:
    return cell % 3 * (CANVAS + GAP), cell // 3 * (CANVAS + GAP + below)


def _label(cell: int) -> tuple[float, float]:
    """Find the middle of the room under a panel, beside no shape."""
    left, top = _corner(cell, LABEL)
    return left + CANVAS / 2, top + CANVAS + LABEL / 2 + 3


def _look_lines(weights: Sequence[float] | Float[ndarray, "8"], most: float) -> str:
    """Bend a line from under the last panel to under each other one, as wide and dark as its weight."""
    x, y = _label(CONTEXT)
    parts = []
    for cell, weight in enumerate(weights):
        to, down = _label(cell)
        across, deep = (x + to) / 2 + (y - down) * 0.17, (y + down) / 2 - (x - to) * 0.17
        part = min(weight / max(most, 1e-9), 1)
        parts.append(
            f'<path d="M{x:g} {y:g}Q{across:.1f} {deep:.1f} {to:g} {down:g}" fill="none" stroke="{HEAT}" '
            f'stroke-width="{1.5 + 9 * part:.1f}" opacity="{0.2 + 0.55 * part:.2f}"/>'
            f'<rect x="{to - 30:g}" y="{down - 13:g}" width="60" height="26" rx="5" fill="#0b4f85"/>'
            f'<text x="{to:g}" y="{down + 6:g}" text-anchor="middle" fill="#fff">{percent(weight)}</text>'
        )
    return f'<g class="rr-iq-lines" aria-hidden="true">{"".join(parts)}</g>'


def percent(share: float) -> str:
    """Write a share as a percentage, with a decimal where it is small or nearly all."""
    fine = share < 0.0995 or 0.9949 < share < 0.9995
    return f"{100 * share:.{1 if fine else 0}f}\u00a0%"


def shares(weights: ArrayLike, candidate: int) -> tuple[Float[ndarray, "8"], Float[ndarray, "8"], float]:
    """Average attention maps: what one candidate reads of the matrix, of the candidates and of the rest.

    Parameters
    ----------
    weights
        Shape (..., T, T): any maps of the panel encoder. T is 16 panels, or 18 with two separators, or the
        8 candidates alone.
    candidate
        0 to 7.
    """
    maps = _numpy(weights).astype(float)
    tokens = maps.shape[-1]
    if maps.ndim < 2 or maps.shape[-2] != tokens or tokens not in (CANDIDATES, PANELS, PANELS + 2):
        raise ValueError(f"weights must have shape (..., T, T) with T 16 or 18, got {maps.shape}")
    if not 0 <= candidate < CANDIDATES:
        raise ValueError(f"candidate must be 0 to 7, got {candidate}")
    row = maps.reshape(-1, tokens, tokens).mean(0)[tokens - CANDIDATES + candidate]
    if tokens == CANDIDATES:
        return np.zeros(CONTEXT), row, 0.0
    matrix = row[list(SEPARATED)] if tokens > PANELS else row[:CONTEXT]
    others = row[-CANDIDATES:]
    return matrix, others, float(row.sum() - matrix.sum() - others.sum())


def attention(problems: Problems, index: int, weights: ArrayLike, *, candidate: int | None = None) -> Picture:
    """Draw which panels a model read to judge a candidate.

    Parameters
    ----------
    problems, index
        Which problem.
    weights
        Shape (..., T, T): maps of the panel encoder for this problem, such as ``attention[layer][problem]``
        of `reasoner.ReasonerOutput`; they are averaged over all axes but the last two.
    candidate
        0 to 7; by default the right one.

    Raises
    ------
    ValueError
        If the maps are not of the panels, or there is no such candidate.
    """
    configuration, panels, target = _problem_at(problems, index)
    selected = target if candidate is None else candidate
    matrix, others, rest = shares(weights, selected)
    tags = [f"{number + 1} · {percent(share)}" for number, share in enumerate(others)]
    kinds = ["asked" if number == selected else "" for number in range(CANDIDATES)]
    drawing = matrix_svg(
        configuration,
        [*panels[:CONTEXT], panels[CONTEXT + selected]],
        weights=matrix if matrix.any() else None,
        most=max(matrix.max(), others.max()),
    )
    most = int(matrix.argmax())
    description = (
        f"To judge candidate {selected + 1}, {percent(matrix.sum())} of the attention goes to the matrix "
        f"(the largest share, {percent(matrix[most])}, to panel {most % 3 + 1} of row {most // 3 + 1}), "
        f"{percent(others.sum())} to the candidates"
        + (f" and {percent(rest)} to the separators between rows." if rest > 1e-6 else ".")
    )
    inner = (
        f'<div class="rr-iq-board">'
        f'<div style="flex:1 1 16rem;max-width:22rem">{drawing}</div>'
        + _choices(configuration, panels[CONTEXT:], tags, kinds)
        + "</div>"
    )
    return picture(inner, alt=description, caption=description)
