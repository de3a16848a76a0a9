"""Puzzles to look at: pictures for page and notebook, crisp at any size, on light and dark pages, on a phone.

Each function returns a `Picture`: HTML with inline SVG, which needs no script, no style sheet and no network.
Every panel is described in words, so that a reader who does not see it can solve the puzzle too. Panels stay
white in the dark, since their greys are what the rules speak of; they are only dimmed a little.

Axes: N problems, P 16 panels, C 8 candidates, S slots, A attributes, L layers, H heads.
"""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8
from numpy import ndarray
from numpy.typing import ArrayLike

from reasonlib.plotting import COLOURS as LINES
from reasonlib.plotting import HEAT, Picture
from reasonlib.visual_iq.drawing import (
    Box,
    bounds,
    describe,
    image_svg,
    panel_svg,
    rules_in_words,
    slot_bounds,
)
from reasonlib.visual_iq.puzzle import (
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

__all__ = [
    "ANSWER_SETS",
    "answer_sets",
    "attention",
    "boxed",
    "changes",
    "configurations",
    "detections",
    "entities",
    "errors",
    "example",
    
    "grid_and_objects",
    "matrix_svg",
    "panel",
    "percent",
    "puzzle",
    "shares",
]

ANSWER_SETS = {"raven": "RAVEN", "i-raven": "I-RAVEN", "raven-fair": "RAVEN-FAIR"}
"""The three sets of candidates that one question can have, and how they are written."""

FILLED, EMPTY = "#d62728", "#b27d00"  # red and amber boxes (figure 3.1); the second is dashed too
CANDIDATES = PANELS - CONTEXT

CSS = """
.rr-iq{max-width:46rem;margin:1.25rem 0;line-height:1.4;text-align:left;font-size:1rem}
.rr-iq,.rr-iq *{box-sizing:border-box}
.rr-iq :is(p,ol,ul,figure){margin:0;padding:0}
.rr-iq :is(ol,ul){list-style:none}
.rr-iq li{margin:0}
.rr-iq svg{display:block;width:100%;height:auto;max-width:none;margin:0}
.rr-iq figcaption{font-size:.9em;margin-top:.7rem}
.rr-iq-cell{position:relative;border-radius:.3rem;overflow:hidden;
box-shadow:0 0 0 1px color-mix(in srgb,currentColor 32%,transparent)}
.rr-iq-dim{fill:none;fill:light-dark(transparent,rgb(0 0 0/.1))}
.rr-iq-board{display:flex;flex-wrap:wrap;gap:1.2rem 2.2rem;align-items:center}
.rr-iq-matrix{display:grid;grid-template-columns:repeat(3,1fr);gap:.4rem;flex:1 1 16rem;max-width:22rem}
.rr-iq-choices{display:grid;grid-template-columns:repeat(4,1fr);gap:.55rem .5rem;flex:1 1 17rem;max-width:24rem}
.rr-iq-missing{display:grid;place-items:center;aspect-ratio:1;border-radius:.3rem;font-size:2.1rem;font-weight:600;
border:2px dashed color-mix(in srgb,currentColor 45%,transparent);color:color-mix(in srgb,currentColor 75%,transparent)}
.rr-iq-tag{display:block;text-align:center;font-size:.84em;line-height:1.3;padding-top:.2rem;
font-variant-numeric:tabular-nums}
.rr-iq-right>.rr-iq-cell{box-shadow:0 0 0 3px #009e73}
.rr-iq-wrong>.rr-iq-cell{box-shadow:0 0 0 3px #d55e00}
.rr-iq-right>.rr-iq-tag,.rr-iq-wrong>.rr-iq-tag{font-weight:650}
.rr-iq-row{display:grid;gap:.9rem 1rem;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr))}
.rr-iq-row .rr-iq-title,.rr-iq-title{font-size:.9em;font-weight:600;margin:0 0 .35rem}
.rr-iq-four{display:grid;grid-template-columns:repeat(4,1fr);gap:.4rem}
.rr-iq-sevens{display:grid;gap:1.1rem 1.6rem;grid-template-columns:repeat(auto-fit,minmax(15rem,1fr))}
.rr-iq-key{display:inline-flex;align-items:center;gap:.4em;margin-right:1.2em;white-space:nowrap}
.rr-iq-key i{display:inline-block;width:.95em;height:.95em;border:2.5px solid;border-radius:2px}
.rr-iq table{border-collapse:collapse;font-size:.88em;color:inherit;background:none;width:100%;margin:0}
.rr-iq :is(th,td){border:0;border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);background:none;
color:inherit;padding:.28rem .3rem;text-align:left;font-weight:400;vertical-align:middle}
.rr-iq thead th{font-weight:600}
.rr-iq tr{background:none!important}
"""


def _picture(inner: str, *, alt: str, caption: str | None = None, wide: bool = False) -> Picture:
    below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    width = ' style="max-width:56rem"' if wide else ""
    body = (
        f"<style>{CSS}</style>"
        f'<figure class="rr rr-iq mathjax_ignore" role="group" aria-label="{html.escape(alt)}"{width}>'
        f"{inner}{below}</figure>"
    )
    return Picture(body, alt=alt)


def _cell(svg: str) -> str:
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
    inner = f'<div style="max-width:11rem">{_cell(panel_svg(configuration, entities, label=""))}</div>'
    return _picture(inner, alt=f"A panel of {title}: {words}.", caption=caption)


def _index(configuration: int | str) -> int:
    return configuration_index(configuration) if isinstance(configuration, str) else int(configuration)


def _matrix(
    configuration: int, panels: Int[ndarray, "P S A"], *, last: Int[ndarray, "S A"] | None = None, boxes: bool
) -> str:
    """Write the three by three matrix, the last panel a question mark or `last`."""
    shown = [*panels[:CONTEXT], *([] if last is None else [last])]
    cells = [
        _cell(
            panel_svg(
                configuration,
                one,
                over=boxed(configuration, one) if boxes else "",
                label=f"Row {number // 3 + 1}, panel {number % 3 + 1}: {describe(configuration, one)}",
            )
        )
        for number, one in enumerate(shown)
    ]
    if last is None:
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
        items.append(f'<li{marked}>{_cell(svg)}<span class="rr-iq-tag">{tag}</span></li>')
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
        tags = [f"{tag} · {number:.2f}" for tag, number in zip(tags, numbers, strict=True)]
    title = CONFIGURATIONS[configuration].title
    alt = f"A puzzle of {title}: a matrix of three by three panels, the last one missing, and eight candidates."
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
    return _picture(inner, alt=alt, caption=caption)


def _key() -> str:
    return (
        f'<span class="rr-iq-key"><i style="border-color:{FILLED}"></i>an entity is here</span>'
        f'<span class="rr-iq-key"><i style="border-color:{EMPTY};border-style:dashed"></i>this place is empty</span>'
    )


def _frame(box: Box, colour: str, *, dash: bool = False, width: float = 2.6, out: float = 0.0) -> str:
    left, top = max(box[0] - out, width / 2), max(box[1] - out, width / 2)
    right, bottom = min(box[2] + out, CANVAS - width / 2), min(box[3] + out, CANVAS - width / 2)
    dashed = ' stroke-dasharray="7 4"' if dash else ""
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0):.1f}" '
        f'height="{max(bottom - top, 0):.1f}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'
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
        + _cell(panel_svg(configuration, seen, over=_numbered(configuration, seen)))
        + f'</div><div style="flex:1 1 17rem;overflow-x:auto"><p class="rr-iq-title">Its places</p>'
        + f"{_table(configuration, seen)}</div></div>"
    )
    right = describe(configuration, panels[CONTEXT + target])
    rules = " ".join(f"{line}." for line in rules_in_words(problems, index))
    alt = f"A puzzle of {layout.title} with its boxes. Number {target + 1} is right: {right}. {rules}"
    return _picture(inner, alt=alt.strip(), caption=rules or None)


def _numbered(configuration: int, entities: Int[ndarray, "S A"]) -> str:
    """Boxes, and the number of each place at its corner."""
    words = [boxed(configuration, entities)]
    for number, (slot, entity) in enumerate(
        zip(CONFIGURATIONS[configuration].slots, entities, strict=False), start=1
    ):
        box = bounds(slot, entity) if entity[0] > 0 else slot_bounds(slot)
        left, top = max(box[0] - 2.5, 1), max(box[1] - 2.5, 1)
        if entity[0] <= 0:
            left, top = left + 6.5, top + 6.5
        colour = FILLED if entity[0] > 0 else EMPTY
        words.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="13" height="13" fill="{colour}"/>'
            f'<text x="{left + 6.5:.1f}" y="{top + 10.2:.1f}" font-size="10.5" font-weight="700" '
            f'text-anchor="middle" fill="#fff" font-family="sans-serif">{number}</text>'
        )
    return "".join(words)


def _table(configuration: int, entities: Int[ndarray, "S A"]) -> str:
    rows = []
    slots = CONFIGURATIONS[configuration].slots
    for number, (_, entity) in enumerate(zip(slots, entities, strict=False), start=1):
        kind, size, colour, angle = (int(level) for level in entity)
        cells = (
            [TYPES[kind], f"{SIZES[size]:g}", _swatch(colour) + str(COLOURS[colour]), f"{ANGLES[angle]}°"]
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


def entities(configuration: int | str, entities: Int[ndarray, "S A"], *, name: str = "Panel") -> Picture:
    """Draw a panel with its places numbered, beside a table of what each holds."""
    index = _index(configuration)
    inner = (
        '<div class="rr-iq-board" style="align-items:flex-start">'
        + f'<div style="flex:0 1 11rem"><p class="rr-iq-title">{html.escape(name)}</p>'
        + _cell(panel_svg(index, entities, over=_numbered(index, entities)))
        + '</div><div style="flex:1 1 17rem;overflow-x:auto"><p class="rr-iq-title">Its places</p>'
        + f"{_table(index, entities)}</div></div>"
    )
    title = CONFIGURATIONS[index].title
    return _picture(inner, alt=f"A panel of {title} and its entities: {describe(index, entities)}.")


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
        cells = "".join(_cell(panel_svg(index, one)) for one in shown)
        groups.append(
            f'<div><p class="rr-iq-title">{layout.title}</p><div class="rr-iq-four">{cells}</div></div>'
        )
    names = ", ".join(layout.title for layout in CONFIGURATIONS)
    return _picture(
        f'<div class="rr-iq-sevens">{"".join(groups)}</div>',
        alt=f"{each} panels of each of the seven layouts: {names}.",
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
            _cell(panel_svg(index, one))
            + _cell(panel_svg(index, one, over=grid, label=""))
            + _cell(panel_svg(index, one, over=boxed(index, one), label=""))
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
    return _picture(inner, alt=alt)


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
        for box, score, kind in zip(boxes, scores, kinds, strict=True):
            if score < threshold:
                continue
            left, top, right, bottom = (float(number) for number in box)
            colour = EMPTY if int(kind) == 0 else FILLED
            label = f"{TYPES[int(kind)]} {score:.2f}"
            small = right - left < 40 * pen
            text = TYPES[int(kind)] if small else label
            size = (7.5 if small else 9.5) * pen
            width = 0.62 * size * len(text) + 3 * pen
            at = min(max(left, 0), wide - width)
            above = top - size - 3 * pen >= 0
            high = top - size - 3 * pen if above else top
            marks.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
                f'height="{bottom - top:.1f}" fill="none" stroke="{colour}" stroke-width="{1.8 * pen:g}"/>'
                f'<rect x="{at:.1f}" y="{high:.1f}" width="{width:.1f}" height="{size + 3 * pen:.1f}" '
                f'fill="{colour}"/><text x="{at + width / 2:.1f}" y="{high + size:.1f}" '
                f'font-size="{size:.1f}" font-family="sans-serif" text-anchor="middle" fill="#fff">{text}</text>'
            )
            names.append(label)
        words = ", ".join(names) or "nothing"
        said.append(words)
        cells.append(_cell(image_svg(image, over="".join(marks), label=f"Found: {words}")))
    inner = (
        '<div style="display:grid;gap:.7rem;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr))">'
        + "".join(cells)
        + "</div>"
    )
    alt = f"Panels with the boxes a detector found. {'; '.join(said[:4])}."
    return _picture(inner, alt=alt, caption=caption)


def _numpy(values: Any) -> ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu().float().numpy()
    return np.asarray(values)


# Attention between panels -----------------------------------------------------------------------------------

GAP = 10  # between panels of the matrix, in their own pixels
SEPARATED = (0, 1, 2, 4, 5, 6, 8, 9)  # where the context's panels stand when separators stand between rows

LOOKS_CSS = """
.rr-iq svg svg{width:160px;height:160px}
.rr-iq-edge{fill:none;stroke:color-mix(in srgb,currentColor 38%,transparent);stroke-width:1.6}
.rr-iq-lines path{fill:none;stroke:#2389d7;stroke-linecap:round}
.rr-iq-lines circle{fill:#2389d7;stroke:#fff;stroke-width:2}
.rr-iq-lines text{font:600 17px sans-serif;text-anchor:middle;fill:#fff}
.rr-iq-lines rect{fill:#0b4f85;fill-opacity:.92}
"""


def matrix_svg(
    configuration: int, shown: Sequence[Int[ndarray, "S A"]], *, weights: Sequence[float] | None = None
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
    """
    side = 3 * CANVAS + 2 * GAP
    parts = []
    for cell, one in enumerate(shown):
        left, top = _corner(cell)
        words = f"Row {cell // 3 + 1}, panel {cell % 3 + 1}: {describe(configuration, one)}"
        parts.append(
            panel_svg(configuration, one, label=words, place=(left, top, left + CANVAS, top + CANVAS))
            + f'<rect class="rr-iq-edge" x="{left}" y="{top}" width="{CANVAS}" height="{CANVAS}" rx="5" '
            'fill="none"/>'
        )
    if len(shown) == CONTEXT:
        left, top = _corner(CONTEXT)
        parts.append(
            f'<g role="img" aria-label="Row 3, panel 3: missing"><rect x="{left + 2}" y="{top + 2}" '
            f'width="{CANVAS - 4}" height="{CANVAS - 4}" rx="6" fill="none" stroke="currentColor" '
            'stroke-opacity=".5" stroke-width="3" stroke-dasharray="9 7"/>'
            f'<text x="{left + CANVAS / 2:g}" y="{top + CANVAS / 2 + 24:g}" text-anchor="middle" '
            'fill="currentColor" fill-opacity=".75" style="font:600 68px sans-serif">?</text></g>'
        )
    if weights is not None:
        parts.append(_look_lines(weights))
    return f'<svg viewBox="-2 -2 {side + 4} {side + 4}">{"".join(parts)}</svg>'


def _corner(cell: int) -> tuple[int, int]:
    return cell % 3 * (CANVAS + GAP), cell // 3 * (CANVAS + GAP)


def _look_lines(weights: Sequence[float]) -> str:
    """Bend a line from the last panel to each other one, as wide and dark as its weight."""
    most = max(max(weights), 1e-9)
    x, y = (edge + CANVAS / 2 for edge in _corner(CONTEXT))
    parts = []
    for cell, weight in enumerate(weights):
        left, top = _corner(cell)
        to, down = left + CANVAS / 2, top + CANVAS / 2
        across, deep = (x + to) / 2 + (y - down) * 0.17, (y + down) / 2 - (x - to) * 0.17
        part = weight / most
        parts.append(
            f'<path d="M{x:g} {y:g}Q{across:.1f} {deep:.1f} {to:g} {down:g}" fill="none" stroke="{HEAT}" '
            f'stroke-width="{1.5 + 9 * part:.1f}" opacity="{0.2 + 0.55 * part:.2f}"/>'
            f'<circle cx="{to:g}" cy="{down:g}" r="{3 + 6 * part:.1f}" fill="{HEAT}"/>'
            f'<rect x="{left + 4}" y="{top + 4}" width="54" height="25" rx="4" fill="#0b4f85"/>'
            f'<text x="{left + 31}" y="{top + 22.5}" text-anchor="middle" fill="#fff">{percent(weight)}</text>'
        )
    return (
        f'<g class="rr-iq-lines" aria-hidden="true">{"".join(parts)}'
        f'<circle cx="{x:g}" cy="{y:g}" r="10" fill="{HEAT}"/></g>'
    )


def percent(share: float) -> str:
    """Write a share as a percentage, small ones with a decimal."""
    return f"{100 * share:.{1 if share < 0.0995 else 0}f} %"


def shares(
    weights: ArrayLike, candidate: int
) -> tuple[Float[ndarray, "8"], Float[ndarray, "8"], float]:
    """Average attention maps and take what one candidate reads: of the matrix, of the candidates, of the rest.

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
    kinds = ["right" if number == asked else "" for number in range(CANDIDATES)]
    drawing = matrix_svg(
        configuration, [*panels[:CONTEXT], panels[CONTEXT + asked]], weights=matrix if matrix.any() else None
    )
    most = int(matrix.argmax())
    said = (
        f"To judge candidate {asked + 1}, {percent(matrix.sum())} of the attention goes to the matrix, most "
        f"({percent(matrix[most])}) to panel {most % 3 + 1} of row {most // 3 + 1}, "
        f"{percent(others.sum())} to the candidates"
        + (f" and {percent(rest)} to the marks between rows." if rest > 1e-6 else ".")
    )
    inner = (
        f'<style>{LOOKS_CSS}</style><div class="rr-iq-board">'
        f'<div style="flex:1 1 16rem;max-width:22rem">{drawing}</div>'
        + _choices(configuration, panels[CONTEXT:], tags, kinds)
        + "</div>"
    )
    return _picture(inner, alt=said, caption=caption or said)


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
        raise ValueError(f"chosen must be one choice for each of {len(problems)} problems, got {len(choices)}")
    wrong = np.flatnonzero(choices != problems.target)
    if not len(wrong):
        return _picture("<p>No errors among these problems.</p>", alt="No errors among these problems.")
    parts = []
    for number in wrong[:most]:
        configuration, panels, target = _one(problems, int(number))
        tags, kinds = _marks(target, int(choices[number]), True)
        if scores is not None:
            tags = [f"{tag} · {score:.2f}" for tag, score in zip(tags, scores[number], strict=True)]
        rules = " ".join(f"{line}." for line in rules_in_words(problems, int(number)))
        parts.append(
            '<div style="padding:1rem 0;border-top:1px solid color-mix(in srgb,currentColor 18%,transparent)">'
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
    return _picture("".join(parts), alt=alt, caption=alt)


def changes(
    configuration: int | str, answer: Int[ndarray, "S A"], candidate: Int[ndarray, "S A"]
) -> tuple[str, ...]:
    """Name the attributes in which a candidate differs from the right answer, angle left out.

    >>> answer = np.array([[1, 0, 3, 0]])
    >>> changes("Center", answer, np.array([[1, 2, 5, 7]]))
    ('size', 'colour')
    """
    layout = CONFIGURATIONS[_index(configuration)]
    names = []
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
            f'<span style="font-weight:400">{words}</span></p>{shown}</div>'
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
    return _picture(inner, alt=alt, wide=True)

