"""Puzzles to look at: pictures for page and notebook, crisp at any size, on light and dark pages, on a phone.

Each function returns a `Picture`: HTML with inline SVG, which needs no script, no style sheet and no network.
Every panel is described in words, so that a reader who does not see it can solve the puzzle too. Panels stay
white in the dark, since their greys are what the rules speak of; they are only dimmed a little.

Axes: N problems, P 16 panels, C 8 candidates, S slots, A attributes, L layers, H heads.
"""

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int
from numpy import ndarray
from numpy.typing import ArrayLike

from reasonlib.display.plotting import Picture
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
from reasonlib.visual_iq.page.svg import Box, bounds, describe, panel_svg, rules_in_words, slot_bounds

__all__ = ["boxed", "card", "configurations", "example", "panel", "picture", "puzzle"]


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


def _problem_at(problems: Problems, index: int) -> tuple[int, Int[ndarray, "P S A"], int]:
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
    title = CONFIGURATIONS[configuration_index(configuration)].title
    words = describe(configuration, entities)
    inner = f'<div style="max-width:11rem">{card(panel_svg(configuration, entities, label=""))}</div>'
    return picture(inner, alt=f"A panel of {title}: {words}.", caption=caption)


def _matrix(
    configuration: int, panels: Int[ndarray, "P S A"], *, last: Int[ndarray, "S A"] | None = None, boxes: bool
) -> str:
    """Write the three by three matrix, the last panel a question mark or `last`."""
    shown = [*panels[:CONTEXT], *([] if last is None else [last])]
    cells = [
        card(
            panel_svg(
                configuration,
                panel,
                over=boxed(configuration, panel) if boxes else "",
                label=f"Row {number // 3 + 1}, panel {number % 3 + 1}: {describe(configuration, panel)}",
            )
        )
        for number, panel in enumerate(shown)
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
    for number, (panel, tag, kind) in enumerate(zip(panels, tags, kinds, strict=True)):
        svg = panel_svg(
            configuration,
            panel,
            over=boxed(configuration, panel) if boxes else "",
            label=f"Candidate {number + 1}: {describe(configuration, panel)}",
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
    configuration, panels, target = _problem_at(problems, index)
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
        "this slot is empty</span>"
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
    """Write the boxes of a panel as SVG: red around each entity, amber and dashed for each empty slot."""
    frames = []
    for slot, entity in zip(CONFIGURATIONS[configuration_index(configuration)].slots, entities, strict=False):
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
    configuration, panels, target = _problem_at(problems, index)
    layout = CONFIGURATIONS[configuration]
    tags, kinds = _marks(target, None, True)
    panel = panels[look]
    name = f"context panel {look + 1}" if look < CONTEXT else f"candidate {look - CONTEXT + 1}"
    inner = (
        '<div class="rr-iq-board">'
        + _matrix(configuration, panels, boxes=True)
        + _choices(configuration, panels[CONTEXT:], tags, kinds, boxes=True)
        + "</div>"
        + f'<p class="rr-iq-tag" style="text-align:left;padding:.7rem 0 1rem">{_key()}</p>'
        + '<div class="rr-iq-board" style="align-items:flex-start">'
        + f'<div style="flex:0 1 11rem"><p class="rr-iq-title">{name[0].upper()}{name[1:]}</p>'
        + card(panel_svg(configuration, panel, over=_numbered(configuration, panel)))
        + '</div><div style="flex:1 1 17rem;overflow-x:auto"><p class="rr-iq-title">Its slots</p>'
        + f"{_table(configuration, panel)}</div></div>"
    )
    right = describe(configuration, panels[CONTEXT + target])
    rules = " ".join(f"{line}." for line in rules_in_words(problems, index))
    description = (
        f"A puzzle with the boxes of its entities, and the table of {name} (after the source's figure 3.1)."
    )
    alt = f"A puzzle of {layout.title} with its boxes. Number {target + 1} is right: {right}. {rules}"
    return picture(inner, alt=alt.strip(), caption=f"{description} {rules}".strip())


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
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Slot", "Type", "Size", "Grey", "Angle"))
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
        cells = "".join(card(panel_svg(index, panel)) for panel in shown)
        groups.append(
            f'<div><p class="rr-iq-title">{layout.title}</p><div class="rr-iq-four">{cells}</div></div>'
        )
    names = ", ".join(layout.title for layout in CONFIGURATIONS)
    return picture(
        f'<div class="rr-iq-sevens">{"".join(groups)}</div>',
        alt=f"{each} panels of each of the seven layouts: {names}.",
        caption=f"The seven layouts, {each} panels of each (after the source's figure 3.10).",
        wide=True,
    )
