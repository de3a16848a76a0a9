"""Pictures that the chapters explain with: a rule alone, a shape turned, a detector at work."""

import html

import numpy as np
from jaxtyping import Float, UInt8
from numpy import ndarray

from reasonlib.display.plotting import Picture
from reasonlib.visual_iq.data.example import (
    ANGLES,
    CONTEXT,
    FOLDS,
    GOVERNED,
    GROUPS,
    RULES,
    TYPES,
    Problems,
    configuration_index,
)
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.models.detector import Look
from reasonlib.visual_iq.page.figures import FILLED, card, matrix_svg, picture
from reasonlib.visual_iq.page.svg import describe, image_svg, panel_svg

__all__ = ["angles", "candidates", "rules", "stages"]

SHOWN = (
    ("Center", "progression", "size"),
    ("Center", "distribute three", "type"),
    ("Center", "arithmetic", "colour"),
    ("3x3Grid", "progression", "number"),
    ("3x3Grid", "progression", "position"),
    ("3x3Grid", "arithmetic", "position"),
)


def rules(seed: int = 0, *, tried: int = 20_000) -> Picture:
    """Draw matrices in which one rule works and everything else is constant, the answer in its place.

    Parameters
    ----------
    seed
        Of the problems among which these are found.
    tried
        How many to look through, for each layout.
    """
    problems = {title: simulate(title, tried, seed=seed) for title in dict.fromkeys(row[0] for row in SHOWN)}
    cards = []
    for title, rule, governed in SHOWN:
        found = problems[title]
        groups = found.rules[:, 0]  # (N, G, 3)
        own = next(index for index, name in enumerate(GROUPS) if governed in name)
        alone = (groups[:, own, 0] == RULES.index(rule)) & (groups[:, own, 1] == GOVERNED.index(governed))
        for group in range(len(GROUPS)):
            if group != own:
                alone &= groups[:, group, 0] == 0
        if governed in ("number", "position"):  # of one kind, so that nothing else is to be seen
            alone &= found.uniformity[:, 0] == 3
        index = int(np.flatnonzero(alone)[0])
        panels = [*found.entities[index, :CONTEXT], found.answer[index]]
        drawn = matrix_svg(configuration_index(title), panels)
        name = f"{rule} of {governed}"
        cards.append(
            f'<div style="flex:1 1 10rem;max-width:15rem"><p class="rr-iq-title">{html.escape(name)}</p>'
            f"{card(drawn)}</div>"
        )
    words = "; ".join(f"{rule} of {governed}" for _, rule, governed in SHOWN)
    return picture(
        f'<div class="rr-iq-board" style="gap:1rem">{"".join(cards)}</div>',
        alt=f"Six complete matrices, in each of which one rule works: {words}.",
        caption="One rule at a time: read each row from left to right.",
        wide=True,
    )


def angles() -> Picture:
    """Draw every type at the eight angles, those pictures faint that were seen before in the row."""
    lines = []
    for kind, name in enumerate(TYPES[1:], 1):
        fold = FOLDS[name]
        seen: set[int] = set()
        cells = []
        for level, angle in enumerate(ANGLES):
            look = 0 if fold is None else (angle * fold) % 360
            entity = np.array([[kind, 4, 5, level]])
            fade = ' style="opacity:.22"' if look in seen else ""
            cells.append(
                f"<div{fade}>{panel_svg('Center', entity, label=f'{name} at {angle} degrees')}</div>"
            )
            seen.add(look)
        lines.append(
            f'<p class="rr-iq-title">{name}: {len(seen)} of {len(ANGLES)} look different</p>'
            f'<div style="display:grid;grid-template-columns:repeat(8,minmax(0,1fr));gap:.25rem">'
            f"{''.join(cells)}</div>"
        )
    return picture(
        "".join(lines),
        alt="Each type at eight angles. A triangle and a pentagon look different at each, a hexagon at four, "
        "a square at two, a circle at one.",
        caption="Faint: a picture that another angle has shown already. "
        f"Angles from left to right: {', '.join(f'{angle}°' for angle in ANGLES)}.",
    )


def stages(image: UInt8[ndarray, "H W"], look: Look, *, anchors: int = 24) -> Picture:
    """Draw how a detector arrives at its boxes: anchors, proposals, a first look, what it finds.

    Parameters
    ----------
    image
        The panel that was looked at.
    look
        What `Detector.look` gave for it.
    anchors
        How many of the anchors that most look like something.
    """
    likely = np.argsort(-look.objectness)[:anchors]
    found = look.detections
    steps = (
        (
            f"The {anchors} likeliest of {len(look.anchors)} anchors",
            look.anchors[likely],
            look.objectness[likely],
        ),
        (f"{len(look.proposals)} proposals", look.proposals, look.proposal_scores),
        ("After the first look", look.first, look.first_scores),
        ("After the second: found", found.boxes, found.scores),
    )
    cards = [
        f'<div style="flex:1 1 9rem;max-width:14rem"><p class="rr-iq-title">{title}</p>'
        + card(image_svg(image, over=_outlines(boxes, scores), label=f"{title}: {len(boxes)} boxes"))
        + "</div>"
        for title, boxes, scores in steps
    ]
    return picture(
        f'<div class="rr-iq-board" style="gap:1rem;align-items:end">{"".join(cards)}</div>',
        alt="Four copies of one panel: its likeliest anchors, its proposals, the boxes after a first look, "
        f"and the {len(found.boxes)} boxes found in the end.",
        caption="Anchors are boxes of fixed size; proposals are anchors moved and stretched; two looks "
        "correct these and drop what is doubled. The surer a box, the stronger its line.",
        wide=True,
    )


def _outlines(boxes: Float[ndarray, "D 4"], scores: Float[ndarray, "D"]) -> str:
    return "".join(
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{bottom - top:.1f}" fill="none" '
        f'stroke="{FILLED}" stroke-width="1.6" stroke-opacity="{max(0.15, float(score)):.2f}"/>'
        for (left, top, right, bottom), score in zip(boxes, scores, strict=True)
    )


def candidates(problem: Problems, index: int = 0) -> Picture:
    """Draw the eight candidates of a problem alone, numbered, without the puzzle they belong to."""
    configuration = int(problem.configuration[index])
    panels = problem.entities[index, CONTEXT:]
    cells = [
        f'<div><p class="rr-iq-title">{number}</p>{card(panel_svg(configuration, panel))}</div>'
        for number, panel in enumerate(panels, 1)
    ]
    return picture(
        '<div style="display:grid;gap:.6rem;grid-template-columns:repeat(4,minmax(0,1fr));max-width:30rem">'
        f"{''.join(cells)}</div>",
        alt="Eight candidates without their puzzle. "
        + " ".join(f"{number}: {describe(configuration, panel)}." for number, panel in enumerate(panels, 1)),
    )
