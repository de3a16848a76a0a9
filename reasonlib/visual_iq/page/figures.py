"""Puzzles to look at: pictures for page and notebook, crisp at any size, on light and dark pages, on a phone.

Each function returns a `Picture`: HTML with inline SVG, which needs no script, no style sheet and no network.
Every panel is described in words, so that a reader who does not see it can solve the puzzle too. Panels stay
white in the dark, since their greys are what the rules speak of; they are only dimmed a little.

Axes: N problems, P 16 panels, C 8 candidates, S slots, A attributes, L layers, H heads.
"""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8
from numpy import ndarray
from numpy.typing import ArrayLike

from reasonlib.display.plotting import COLOURS as LINES
from reasonlib.display.plotting import HEAT, Picture
from reasonlib.visual_iq.data.example import (
    ANGLES,
    CANVAS,
    COLOURS,
    CONFIGURATIONS,
    CONTEXT,
    PANELS,
    SIZES,
    TYPES,
    Problems,
    configuration_index,
)
from reasonlib.visual_iq.data.grammar import Node, Option, tree
from reasonlib.visual_iq.page.svg import (
    Box,
    bounds,
    describe,
    drawn,
    image_svg,
    panel_svg,
    rules_in_words,
    slot_bounds,
)

__all__ = [
    "ANSWER_SETS",
    "answer_sets",
    "attention",
    "boxed",
    "card",
    "changes",
    "configurations",
    "detections",
    "errors",
    "example",
    "grammar_tree",
    "grid_and_objects",
    "matrix_svg",
    "panel",
    "percent",
    "picture",
    "puzzle",
    "shares",
]

ANSWER_SETS = {"raven": "RAVEN", "i-raven": "I-RAVEN", "raven-fair": "RAVEN-FAIR"}
"""The three sets of candidates that one question can have, and how they are written."""

CSS = (Path(__file__).parent / "figures.css").read_text(encoding="utf-8")
FILLED, EMPTY = "#d62728", "#b27d00"  # red and amber boxes (figure 3.1); the second is dashed too
CANDIDATES = PANELS - CONTEXT


def picture(inner: str, *, alt: str, caption: str | None = None, wide: bool = False) -> Picture:
    """Frame HTML as a figure of this topic, with its style sheet, its words and what is printed under it."""
    below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    width = ' style="max-width:56rem"' if wide else ""
    body = (
        f"<style>{CSS}</style>"
        f'<figure class="rr rr-iq mathjax_ignore" role="group" aria-label="{html.escape(alt)}"{width}>'
        f"{inner}{below}</figure>"
    )
    return Picture(body, alt=alt)


def card(svg: str) -> str:
    """Put a panel on the white card that panels lie on."""
    return f'<div class="rr-iq-cell">{svg}</div>'


def _one(problems: Problems, index: int) -> tuple[int, Int[ndarray, "P S A"], int]:
    """Take a problem apart: its configuration, panels and target."""
    if not -len(problems) <= index < len(problems):
        raise ValueError(f"index must lie within the {len(problems)} problems, got {index}")
    return int(problems.configuration[index]), problems.entities[index], int(problems.target[index])


# Panels and puzzles -----------------------------------------------------------------------------------------


def panel(configuration: int | str, entities: Int[ndarray, "S A"], *, caption: str | None = None) -> Picture:
    """Draw one panel.

    Parameters
    ----------
    configuration
        Index, key or title of its layout.
    entities
        Levels of type, size, colour and angle of what each slot holds.
    caption
        Printed under it.
    """
    title = CONFIGURATIONS[_index(configuration)].title
    words = describe(configuration, entities)
    inner = f'<div style="max-width:11rem">{card(panel_svg(configuration, entities, label=""))}</div>'
    return picture(inner, alt=f"A panel of {title}: {words}.", caption=caption)


def _index(configuration: int | str) -> int:
    return configuration_index(configuration) if isinstance(configuration, str) else int(configuration)


def _matrix(
    configuration: int, panels: Int[ndarray, "P S A"], *, last: Int[ndarray, "S A"] | None = None, boxes: bool
) -> str:
    """Write the three by three matrix, the last panel a question mark or `last`."""
    shown = [*panels[:CONTEXT], *([] if last is None else [last])]
    cells = [
        card(
            panel_svg(
                configuration,
                one,
                over=boxed(configuration, one) if boxes else "",
                label=f"Row {number // 3 + 1}, panel {number % 3 + 1}: {describe(configuration, one)}",
            )
        )
        for number, one in enumerate(shown)
    ]
    if last is not None:
        cells[-1] = f'<div class="rr-iq-right">{cells[-1]}</div>'
    else:
        cells.append('<div class="rr-iq-missing" role="img" aria-label="Row 3, panel 3: missing">?</div>')
    return f'<div class="rr-iq-matrix">{"".join(cells)}</div>'


def _choices(
    configuration: int,
    panels: Int[ndarray, "C S A"],
    tags: Sequence[str],
    kinds: Sequence[str],
    *,
    boxes: bool = False,
    style: str = "",
) -> str:
    """Write the eight candidates, each with what stands under it and how it is marked."""
    items = []
    for number, (one, tag, kind) in enumerate(zip(panels, tags, kinds, strict=True)):
        svg = panel_svg(
            configuration,
            one,
            over=boxed(configuration, one) if boxes else "",
            label=f"Candidate {number + 1}: {describe(configuration, one)}",
        )
        marked = f' class="rr-iq-{kind}"' if kind else ""
        items.append(f'<li{marked}>{card(svg)}<span class="rr-iq-tag">{tag}</span></li>')
    return f'<ol class="rr-iq-choices" aria-label="Candidates"{style}>{"".join(items)}</ol>'


def _marks(target: int, chosen: int | None, answer: bool) -> tuple[list[str], list[str]]:
    tags, kinds = [str(number + 1) for number in range(CANDIDATES)], [""] * CANDIDATES
    if answer:
        tags[target] += " ✓"
        kinds[target] = "right"
    if chosen is not None and (chosen != target or not answer):
        tags[chosen] += " ✗" if answer else " ←"
        kinds[chosen] = "wrong"
    return tags, kinds


def puzzle(
    problems: Problems,
    index: int = 0,
    *,
    answer: bool = False,
    chosen: int | None = None,
    scores: ArrayLike | None = None,
    boxes: bool = False,
    caption: str | None = None,
) -> Picture:
    """Draw a problem: the matrix with its question mark, and the eight candidates.

    Parameters
    ----------
    problems, index
        Which one.
    answer
        Mark the right candidate, and put it into the matrix.
    chosen
        A candidate, 0 to 7, that somebody chose; it is marked.
    scores
        Shape (8,): what to print under the candidates, such as the probabilities of a model.
    boxes
        Draw a red box where an entity is, an amber one where a place is empty (figure 3.1).
    caption
        Printed under it.

    Raises
    ------
    ValueError
        If there is no such problem, or not one score for each candidate.
    """
    configuration, panels, target = _one(problems, index)
    tags, kinds = _marks(target, chosen, answer)
    if scores is not None:
        numbers = np.asarray(scores, dtype=float)
        if numbers.shape != (CANDIDATES,):
            raise ValueError(f"scores must be one number for each of 8 candidates, got shape {numbers.shape}")
        tags = [f"{tag} · {_score(number)}" for tag, number in zip(tags, numbers, strict=True)]
    title = CONFIGURATIONS[configuration].title
    alt = (
        f"A puzzle of {title}: a matrix of three by three panels, the last one missing, and eight candidates."
    )
    alt += f" Number {target + 1} is right." if answer else ""
    alt += f" Number {chosen + 1} was chosen." if chosen is not None else ""
    last = panels[CONTEXT + target] if answer else None
    inner = (
        '<div class="rr-iq-board">'
        + _matrix(configuration, panels, last=last, boxes=boxes)
        + _choices(configuration, panels[CONTEXT:], tags, kinds, boxes=boxes)
        + "</div>"
        + (f'<p class="rr-iq-tag" style="text-align:left;padding-top:.7rem">{_key()}</p>' if boxes else "")
    )
    return picture(inner, alt=alt, caption=caption)


def _score(number: float) -> str:
    words = f"{number:.0f}" if float(number).is_integer() else f"{number:.2f}"
    return words.replace("-", "\N{MINUS SIGN}")


def _key() -> str:
    return (
        f'<span class="rr-iq-key"><i style="border-color:{FILLED}"></i>an entity is here</span>'
        f'<span class="rr-iq-key"><i style="border-color:{EMPTY};border-style:dashed"></i>'
        "this place is empty</span>"
    )


def _frame(box: Box, colour: str, *, dash: bool = False, width: float = 2.6, out: float = 0.0) -> str:
    left, top = max(box[0] - out, width / 2), max(box[1] - out, width / 2)
    right, bottom = min(box[2] + out, CANVAS - width / 2), min(box[3] + out, CANVAS - width / 2)
    dashed = ' stroke-dasharray="7 4"' if dash else ""
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0):.1f}" '
        f'height="{max(bottom - top, 0):.1f}" fill="none" stroke="{colour}" stroke-width="{width:g}"'
        f"{dashed}/>"
    )


def boxed(configuration: int | str, entities: Int[ndarray, "S A"]) -> str:
    """Write the boxes of a panel as SVG: red around each entity, amber and dashed for each empty place."""
    frames = []
    for slot, entity in zip(CONFIGURATIONS[_index(configuration)].slots, entities, strict=False):
        if entity[0] > 0:
            frames.append(_frame(bounds(slot, entity), FILLED, out=2.5))
        else:
            frames.append(_frame(slot_bounds(slot), EMPTY, dash=True, out=-4))
    return "".join(frames)


def example(problems: Problems, index: int = 0, *, look: int = 1) -> Picture:
    """Draw a problem as figure 3.1 does: with its boxes, how panels are numbered, and one panel's entities.

    Parameters
    ----------
    problems, index
        Which one.
    look
        The panel, 0 to 15, whose entities are listed.
    """
    configuration, panels, target = _one(problems, index)
    layout = CONFIGURATIONS[configuration]
    tags, kinds = _marks(target, None, True)
    seen = panels[look]
    name = f"context panel {look + 1}" if look < CONTEXT else f"candidate {look - CONTEXT + 1}"
    inner = (
        '<div class="rr-iq-board">'
        + _matrix(configuration, panels, boxes=True)
        + _choices(configuration, panels[CONTEXT:], tags, kinds, boxes=True)
        + "</div>"
        + f'<p class="rr-iq-tag" style="text-align:left;padding:.7rem 0 1rem">{_key()}</p>'
        + '<div class="rr-iq-board" style="align-items:flex-start">'
        + f'<div style="flex:0 1 11rem"><p class="rr-iq-title">{name[0].upper()}{name[1:]}</p>'
        + card(panel_svg(configuration, seen, over=_numbered(configuration, seen)))
        + '</div><div style="flex:1 1 17rem;overflow-x:auto"><p class="rr-iq-title">Its places</p>'
        + f"{_table(configuration, seen)}</div></div>"
    )
    right = describe(configuration, panels[CONTEXT + target])
    rules = " ".join(f"{line}." for line in rules_in_words(problems, index))
    told = f"After the source's figure 3.1: what stands where, and what the places of {name} hold."
    alt = f"A puzzle of {layout.title} with its boxes. Number {target + 1} is right: {right}. {rules}"
    return picture(inner, alt=alt.strip(), caption=f"{told} {rules}".strip())


def _numbered(configuration: int, entities: Int[ndarray, "S A"]) -> str:
    """Boxes, and the number of each place at its corner."""
    words = [boxed(configuration, entities)]
    for number, (slot, entity) in enumerate(
        zip(CONFIGURATIONS[configuration].slots, entities, strict=False), start=1
    ):
        box = bounds(slot, entity) if entity[0] > 0 else slot_bounds(slot)
        small = min(box[2] - box[0], box[3] - box[1]) < 30
        side = 9.5 if small else 13
        out = side if small else 2.5 if entity[0] > 0 else -4
        left, top = max(box[0] - out, 1), max(box[1] - out, 1)
        colour = FILLED if entity[0] > 0 else EMPTY
        words.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{side}" height="{side}" fill="{colour}"/>'
            f'<text x="{left + side / 2:.1f}" y="{top + 0.79 * side:.1f}" font-size="{0.8 * side:.1f}" '
            f'font-weight="700" text-anchor="middle" fill="#fff" font-family="sans-serif">{number}</text>'
        )
    return "".join(words)


def _table(configuration: int, entities: Int[ndarray, "S A"]) -> str:
    rows = []
    slots = CONFIGURATIONS[configuration].slots
    for number, (_, entity) in enumerate(zip(slots, entities, strict=False), start=1):
        kind, size, colour, angle = (int(level) for level in entity)
        cells = (
            [
                TYPES[kind],
                f"{SIZES[size]:g}",
                _swatch(colour) + str(COLOURS[colour]),
                f"{ANGLES[angle]}°".replace("-", "−"),
            ]
            if kind
            else ["empty", "–", "–", "–"]
        )
        rows.append(f"<tr><th scope='row'>{number}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Place", "Type", "Size", "Grey", "Angle"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _swatch(colour: int) -> str:
    grey = COLOURS[colour]
    return (
        f'<i style="display:inline-block;width:.8em;height:.8em;margin-right:.4em;border:1px solid #777;'
        f'background:rgb({grey},{grey},{grey})"></i>'
    )


def configurations(problems: Problems, *, each: int = 4) -> Picture:
    """Draw a few panels of each of the seven layouts (figure 3.10).

    Parameters
    ----------
    problems
        Of any layouts; the first panels of the first problems of each are shown.
    each
        How many panels of a layout.

    Raises
    ------
    ValueError
        If a layout has no problem.
    """
    groups = []
    for index, layout in enumerate(CONFIGURATIONS):
        own = np.flatnonzero(problems.configuration == index)
        if not len(own):
            raise ValueError(f"problems must hold some of every configuration, got none of {layout.key}")
        shown = [
            problems.entities[own[number % len(own)], (number // len(own)) * 3] for number in range(each)
        ]
        cells = "".join(card(panel_svg(index, one)) for one in shown)
        groups.append(
            f'<div><p class="rr-iq-title">{layout.title}</p><div class="rr-iq-four">{cells}</div></div>'
        )
    names = ", ".join(layout.title for layout in CONFIGURATIONS)
    return picture(
        f'<div class="rr-iq-sevens">{"".join(groups)}</div>',
        alt=f"{each} panels of each of the seven layouts: {names}.",
        caption=f"The source's figure 3.10, drawn anew: {each} panels of each layout.",
        wide=True,
    )


def grid_and_objects(
    configuration: int | str, panels: Sequence[Int[ndarray, "S A"]], *, cells: int = 5
) -> Picture:
    """Set the uniform grid of a convolutional network beside salient objects (figure 3.2).

    Parameters
    ----------
    configuration
        Layout of the panels.
    panels
        One row of the figure each.
    cells
        Cells of the grid along each side: 5 for CoPINet's network on 80 pixels.
    """
    index = _index(configuration)
    lines = "".join(
        f"M{at:.1f} 0V{CANVAS}M0 {at:.1f}H{CANVAS}"
        for at in (CANVAS * step / cells for step in range(1, cells))
    )
    grid = f'<path d="{lines}" stroke="{LINES["blue"]}" stroke-width="2" fill="none"/>'
    rows = []
    for one in panels:
        rows.append(
            card(panel_svg(index, one))
            + card(panel_svg(index, one, over=grid, label=""))
            + card(panel_svg(index, one, over=boxed(index, one), label=""))
        )
    heads = "".join(
        f'<p class="rr-iq-title" style="align-self:end">{name}</p>'
        for name in ("Panel", "A uniform grid", "Salient objects")
    )
    inner = (
        '<div style="display:grid;grid-template-columns:repeat(3,1fr);gap:.6rem .9rem;max-width:30rem">'
        + heads
        + "".join(rows)
        + f'</div><p class="rr-iq-tag" style="text-align:left;padding-top:.7rem">{_key()}</p>'
    )
    alt = (
        f"Panels three times over: as they are; cut into {cells} by {cells} equal cells, whose borders cross "
        "the shapes; and with a box around each entity and each empty place."
    )
    return picture(inner, alt=alt, caption="The source's figure 3.2, drawn anew.")


def detections(
    images: UInt8[ndarray, "M H W"],
    found: Sequence[Any],
    *,
    threshold: float = 0.9,
    caption: str | None = None,
) -> Picture:
    """Draw what a detector found, each box with its type and score (figure 3.11).

    Parameters
    ----------
    images
        What the detector was given.
    found
        For each image an object with ``boxes`` (n, 4), ``scores`` (n,) and ``type`` (n,): indices into
        `TYPES`, where 0 is an empty place.
    threshold
        Boxes of lower score are not drawn.
    caption
        Printed under it.
    """
    cells, said = [], []
    for image, one in zip(images, found, strict=True):
        marks, names = [], []
        boxes, scores, kinds = (_numpy(getattr(one, name)) for name in ("boxes", "scores", "type"))
        wide = image.shape[1]
        pen = wide / 160
        for place in np.argsort(kinds > 0, kind="stable"):  # entities above empty places
            box, score, kind = boxes[place], scores[place], kinds[place]
            if score < threshold:
                continue
            left, top, right, bottom = (float(number) for number in box)
            colour = EMPTY if int(kind) == 0 else FILLED
            label = f"{TYPES[int(kind)]} {score:.2f}"
            room = (right - left) / pen / 0.62  # how many points of letters stand side by side
            text = label if room / len(label) >= 7.5 else TYPES[int(kind)]
            size = min(max(room / (len(text) + 1), 5.5), 9.5) * pen
            width = 0.62 * size * len(text) + 2 * pen
            at = min(max(left, 0), wide - width)
            high = max(top - size - 3 * pen, 0)  # above the box, as far as there is room
            marks.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
                f'height="{bottom - top:.1f}" fill="none" stroke="{colour}" stroke-width="{1.8 * pen:g}"/>'
                f'<rect x="{at:.1f}" y="{high:.1f}" width="{width:.1f}" height="{size + 3 * pen:.1f}" '
                f'fill="{colour}"/><text x="{at + width / 2:.1f}" y="{high + size:.1f}" '
                f'font-size="{size:.1f}" font-family="sans-serif" text-anchor="middle" fill="#fff">'
                f"{text}</text>"
            )
            names.append(label)
        words = ", ".join(names) or "nothing"
        said.append(words)
        cells.append(card(image_svg(image, over="".join(marks), label=f"Found: {words}")))
    inner = (
        '<div style="display:grid;gap:.7rem;'
        'grid-template-columns:repeat(auto-fill,minmax(min(100%,16rem),1fr))">' + "".join(cells) + "</div>"
    )
    alt = f"Panels with the boxes a detector found. {'; '.join(said[:4])}."
    return picture(inner, alt=alt, caption=caption)


def _numpy(values: Any) -> ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu().float().numpy()
    return np.asarray(values)


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
    for cell, one in enumerate(shown):
        left, top = _corner(cell, below)
        words = f"Row {cell // 3 + 1}, panel {cell % 3 + 1}: {describe(configuration, one)}"
        parts.append(
            panel_svg(configuration, one, label=words, place=(left, top, left + CANVAS, top + CANVAS))
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
    fine = share < 0.0995 or 0.9949 < share < 1
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


def attention(
    problems: Problems,
    index: int,
    weights: ArrayLike,
    *,
    candidate: int | None = None,
    caption: str | None = None,
) -> Picture:
    """Draw which panels a model read to judge a candidate.

    Parameters
    ----------
    problems, index
        Which problem.
    weights
        Shape (..., T, T): maps of the panel encoder for this problem, such as ``attention[layer][problem]``
        of `reasoner.Reasoned`; they are averaged over all axes but the last two.
    candidate
        0 to 7; by default the right one.
    caption
        Printed under it.

    Raises
    ------
    ValueError
        If the maps are not of the panels, or there is no such candidate.
    """
    configuration, panels, target = _one(problems, index)
    asked = target if candidate is None else candidate
    matrix, others, rest = shares(weights, asked)
    tags = [f"{number + 1} · {percent(share)}" for number, share in enumerate(others)]
    kinds = ["asked" if number == asked else "" for number in range(CANDIDATES)]
    drawing = matrix_svg(
        configuration,
        [*panels[:CONTEXT], panels[CONTEXT + asked]],
        weights=matrix if matrix.any() else None,
        most=max(matrix.max(), others.max()),
    )
    most = int(matrix.argmax())
    said = (
        f"To judge candidate {asked + 1}, {percent(matrix.sum())} of the attention goes to the matrix, most "
        f"({percent(matrix[most])}) to panel {most % 3 + 1} of row {most // 3 + 1}, "
        f"{percent(others.sum())} to the candidates"
        + (f" and {percent(rest)} to the marks between rows." if rest > 1e-6 else ".")
    )
    inner = (
        f'<div class="rr-iq-board">'
        f'<div style="flex:1 1 16rem;max-width:22rem">{drawing}</div>'
        + _choices(configuration, panels[CONTEXT:], tags, kinds)
        + "</div>"
    )
    return picture(inner, alt=said, caption=caption or said)


# Galleries --------------------------------------------------------------------------------------------------


def errors(
    problems: Problems,
    chosen: Sequence[int] | Int[ndarray, "N"],
    *,
    scores: Float[ndarray, "N C"] | None = None,
    most: int = 6,
) -> Picture:
    """Draw problems that a model got wrong: what it chose, what is right, and the rules.

    Parameters
    ----------
    problems
        Any number; those whose choice is right are left out.
    chosen
        For each, what the model chose.
    scores
        For each, its eight scores, printed under the candidates.
    most
        How many to draw.

    Raises
    ------
    ValueError
        If there is not one choice for each problem.
    """
    choices = np.asarray(chosen)
    if len(choices) != len(problems):
        raise ValueError(
            f"chosen must be one choice for each of {len(problems)} problems, got {len(choices)}"
        )
    wrong = np.flatnonzero(choices != problems.target)
    if not len(wrong):
        return picture("<p>No errors among these problems.</p>", alt="No errors among these problems.")
    parts = []
    for number in wrong[:most]:
        configuration, panels, target = _one(problems, int(number))
        tags, kinds = _marks(target, int(choices[number]), True)
        if scores is not None:
            tags = [f"{tag} · {_score(score)}" for tag, score in zip(tags, scores[number], strict=True)]
        rules = " ".join(f"{line}." for line in rules_in_words(problems, int(number)))
        parts.append(
            '<div class="rr-iq-ruled">'
            f'<p class="rr-iq-title">{CONFIGURATIONS[configuration].title}: {int(choices[number]) + 1} was '
            f"chosen, {target + 1} is right</p>"
            '<div class="rr-iq-board" style="gap:1rem 2rem">'
            + _matrix(configuration, panels, boxes=False).replace(
                'class="rr-iq-matrix"', 'class="rr-iq-matrix" style="max-width:17rem"'
            )
            + _choices(configuration, panels[CONTEXT:], tags, kinds)
            + f'</div><p style="font-size:.88em;padding-top:.6rem">{html.escape(rules)}</p></div>'
        )
    counted = np.bincount(problems.configuration[wrong].astype(int), minlength=len(CONFIGURATIONS))
    names = ", ".join(
        f"{layout.title} {number}" for layout, number in zip(CONFIGURATIONS, counted, strict=True) if number
    )
    alt = f"{len(wrong)} of {len(problems)} answers are wrong ({names}); {min(most, len(wrong))} are drawn."
    return picture("".join(parts), alt=alt, caption=alt)


def changes(
    configuration: int | str, answer: Int[ndarray, "S A"], candidate: Int[ndarray, "S A"]
) -> tuple[str, ...]:
    """Name the attributes in which a candidate differs from the right answer, angle left out.

    >>> answer = np.array([[1, 0, 3, 0]])
    >>> changes("Center", answer, np.array([[1, 2, 5, 7]]))
    ('size', 'colour')
    """
    layout = CONFIGURATIONS[_index(configuration)]
    names: list[str] = []
    for component, part in zip(layout.components, layout.parts, strict=True):
        ours, theirs = np.asarray(answer)[part], np.asarray(candidate)[part]
        found = []
        filled, others = ours[:, 0] > 0, theirs[:, 0] > 0
        if filled.sum() != others.sum():
            found.append("number")
        elif (filled != others).any():
            found.append("position")
        for attribute, name in enumerate(("type", "size", "colour")):
            if sorted(set(ours[filled, attribute])) != sorted(set(theirs[others, attribute])) or (
                (filled == others).all() and (ours[filled, attribute] != theirs[others, attribute]).any()
            ):
                found.append(name)
        where = f"{component.name.lower()} " if len(layout.components) > 1 else ""
        names.extend(where + name for name in found)
    return tuple(names)


def answer_sets(sets: Mapping[str, Problems], index: int = 0, *, matrix: bool = True) -> Picture:
    """Draw one question with several sets of candidates, and what each candidate changes of the answer.

    Parameters
    ----------
    sets
        From name (a key of `ANSWER_SETS` or any other word) to problems that share their questions.
    index
        Which question.
    matrix
        Draw the question above the sets.

    Raises
    ------
    ValueError
        If the questions differ.
    """
    names = list(sets)
    configuration, panels, _ = _one(sets[names[0]], index)
    blocks, said = [], []
    for name in names:
        where, own, target = _one(sets[name], index)
        if where != configuration or (own[:CONTEXT] != panels[:CONTEXT]).any():
            raise ValueError(f"sets must hold the same questions, got another one in {name!r}")
        right = own[CONTEXT + target]
        tags, kinds, counts = [], [], []
        for number, one in enumerate(own[CONTEXT:]):
            changed = changes(configuration, right, one)
            kinds.append("right" if number == target else "")
            tags.append(f"{number + 1} ✓" if number == target else f"{number + 1}<br>{'<br>'.join(changed)}")
            counts.append(len(changed))
        wrong = [count for number, count in enumerate(counts) if number != target]
        words = f"attributes changed, on average {np.mean(wrong):.1f}"
        said.append(f"{ANSWER_SETS.get(name, name)}: {words}")
        shown = _choices(configuration, own[CONTEXT:], tags, kinds, style=' style="max-width:none"')
        blocks.append(
            f'<div><p class="rr-iq-title">{html.escape(ANSWER_SETS.get(name, name))} '
            f'<span style="font-weight:400;display:block">{words}</span></p>{shown}</div>'
        )
    above = (
        '<div style="max-width:17rem;margin-bottom:1.3rem">'
        + _matrix(configuration, panels, boxes=False)
        + "</div>"
        if matrix
        else ""
    )
    inner = (
        f'{above}<div style="display:grid;gap:1.4rem 2rem;align-items:start;'
        f'grid-template-columns:repeat(auto-fit,minmax(15rem,1fr))">{"".join(blocks)}</div>'
    )
    title = CONFIGURATIONS[configuration].title
    alt = f"One question of {title} with {len(names)} sets of candidates. {'. '.join(said)}."
    return picture(inner, alt=alt, wide=True)


# The grammar ------------------------------------------------------------------------------------------------


TONES = {
    "Root": LINES["violet"],
    "Structure": LINES["blue"],
    "Component": LINES["green"],
    "Layout": LINES["orange"],
    "Entity": LINES["pink"],
}


def grammar_tree(configuration: int | str | None = None, *, unfolded: int = 2) -> Picture:
    """Draw the grammar as a tree to fold out: what each node draws, and the rules it may follow.

    Parameters
    ----------
    configuration
        One layout; all seven by default.
    unfolded
        How many levels stand open at first, of five.
    """
    root = tree(configuration)
    chosen = CONFIGURATIONS if configuration is None else (CONFIGURATIONS[_index(configuration)],)
    below = [
        _branch(node, 1, unfolded, title=layout.title, picture=_layout_svg(layout.slots))
        for node, layout in zip(root.children, chosen, strict=True)
    ]
    inner = (
        f'<div class="rr-iq-tree">'
        f"<details{' open' if unfolded > 0 else ''}><summary>{_badge(root.level)}<b>{root.name}</b> "
        f"<span>{'one of seven structures' if len(below) > 1 else ''}</span></summary>"
        f"{''.join(below)}</details></div>"
    )
    names = ", ".join(layout.title for layout in chosen)
    alt = (
        f"The grammar as a tree: scene, structure ({names}), component, layout, entity; each node with what "
        "it draws and the rules it may follow."
    )
    return picture(inner, alt=alt)


def _badge(level: str) -> str:
    return f'<small style="--tone:{TONES[level]}">{level}</small>'


def _branch(node: Node, depth: int, unfolded: int, *, title: str = "", picture: str = "") -> str:
    name = (
        f"<b>{title}</b> <span>{node.name.replace('_', ' ')}</span>"
        if title
        else f"<b>{_spaced(node.name)}</b>"
    )
    facts = "".join(_fact(node, name, low, high) for name, low, high in node.ranges)
    facts += "".join(_options(attribute, options) for attribute, options in node.rules)
    own = f"<dl>{facts}</dl>" if facts else ""
    below = "".join(_branch(child, depth + 1, unfolded) for child in node.children)
    opened = " open" if depth < unfolded else ""
    return f"<details{opened}><summary>{_badge(node.level)}{picture}{name}</summary>{own}{below}</details>"


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _layout_svg(slots: Sequence[Box]) -> str:
    """Draw the places of a layout, small."""
    boxes = []
    for slot in slots:
        left, top, right, bottom = slot_bounds(slot)
        boxes.append(
            f'<rect x="{left + 7:g}" y="{top + 7:g}" width="{right - left - 14:g}" '
            f'height="{bottom - top - 14:g}" rx="6"/>'
        )
    return (
        f'<svg class="rr-iq-mini" viewBox="-4 -4 {CANVAS + 8} {CANVAS + 8}" aria-hidden="true">'
        '<g fill="none" '
        f'stroke="currentColor" stroke-width="8">{"".join(boxes)}</g></svg>'
    )


def _fact(node: Node, name: str, low: int, high: int) -> str:
    """Say and draw what a node draws of an attribute."""
    words = {
        "number": f"{low}" if low == high else f"{low} to {high}",
        "position": "one place" if low == high else f"any of {high + 1} places",
        "uniformity": "all entities of a panel alike: 1 in 4",
        "angle": f"{high - low + 1} turns, noise",
    }.get(name)
    if name in ("type", "size", "colour"):
        counted = {"type": "type", "size": "size", "colour": "shade"}[name]
        words = f"{high - low + 1} {counted}{'s' * (high > low)}"
    shown = _strip(name, low, high) if name in ("type", "size", "colour", "angle") else ""
    return f"<dt>{name.capitalize()}</dt><dd>{shown}{words}</dd>"


def _strip(name: str, low: int, high: int) -> str:
    """Draw every level of an attribute side by side, as on a panel."""
    levels = range(low, high + 1)
    samples = {
        "type": [(level, 4, 3, 3) for level in levels],
        "size": [(5, level, 3, 3) for level in levels],
        "colour": [(2, 5, level, 3) for level in levels],
        "angle": [(1, 4, 3, level) for level in levels],
    }[name]
    cells = "".join(
        f'<svg x="{at * CANVAS}" y="0" width="{CANVAS}" height="{CANVAS}" viewBox="-6 -6 172 172">'
        f"{drawn(0, np.array([sample]), edge=7)}</svg>"
        for at, sample in enumerate(samples)
    )
    width = CANVAS * len(samples)
    return (
        f'<svg viewBox="0 0 {width} {CANVAS}" aria-hidden="true" '
        f'style="width:min(100%,{1.7 * len(samples):.1f}rem)">'
        f'<rect width="{width}" height="{CANVAS}" fill="#fff"/>{cells}'
        f'<rect class="rr-iq-dim" width="{width}" height="{CANVAS}" fill="none"/></svg>'
    )


def _options(attribute: str, options: Sequence[Option]) -> str:
    """Write the rules of a group, those of one kind together, each with its chance."""
    kinds: dict[tuple[str, str], list[Option]] = {}
    for option in options:
        kinds.setdefault((option.rule, option.governed), []).append(option)
    words = []
    for (rule, governed), found in kinds.items():
        of = f" of {governed}" if governed != attribute and rule != "constant" else ""
        values = sorted(option.value for option in found if option.value)
        how = f" ({', '.join(f'{value:+d}' for value in values)})" if values else ""
        if rule == "arithmetic":
            how = f" ({', '.join('+' if value > 0 else '−' for value in values)})"
        chance = sum(option.chance for option in found)
        words.append(f"<span>{rule}{of}{how.replace('-', '−')} {100 * chance:.0f}\u00a0%</span>")
    return f"<dt>Rule on {attribute}</dt><dd>{' '.join(words)}</dd>"
