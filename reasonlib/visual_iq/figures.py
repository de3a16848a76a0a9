"""Puzzles to look at: pictures for page and notebook, crisp at any size, on light and dark pages, on a phone.

Each function returns a `Picture`: HTML with inline SVG, which needs no script, no style sheet and no network.
Every panel is described in words, so that a reader who does not see it can solve the puzzle too. Panels stay
white in the dark, since their greys are what the rules speak of; they are only dimmed a little.

Axes: N problems, P 16 panels, C 8 candidates, S slots, A attributes, L layers, H heads.
"""

import html
from collections.abc import Mapping, Sequence
from itertools import count
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
    "panel",
    "puzzle",
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
