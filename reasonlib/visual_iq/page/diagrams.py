"""Pictures that the chapters explain with: a rule alone, a shape turned, a detector at work."""

import html

import numpy as np

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
from reasonlib.visual_iq.page.attention_figures import matrix_svg
from reasonlib.visual_iq.page.figures import card, picture
from reasonlib.visual_iq.page.svg import describe, panel_svg

__all__ = ["angle_gallery", "candidates_alone", "rule_examples"]

SHOWN = (
    ("Center", "progression", "size"),
    ("Center", "distribute three", "type"),
    ("Center", "arithmetic", "colour"),
    ("3x3Grid", "progression", "number"),
    ("3x3Grid", "progression", "position"),
    ("3x3Grid", "arithmetic", "position"),
)


def rule_examples(seed: int = 0, *, tried: int = 20_000) -> Picture:
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
        drawn_problems = problems[title]
        groups = drawn_problems.rules[:, 0]  # (N, G, 3)
        own = next(index for index, name in enumerate(GROUPS) if governed in name)
        matches = (groups[:, own, 0] == RULES.index(rule)) & (groups[:, own, 1] == GOVERNED.index(governed))
        for group in range(len(GROUPS)):
            if group != own:
                matches &= groups[:, group, 0] == 0
        if governed in ("number", "position"):  # of one kind, so that nothing else is to be seen
            matches &= drawn_problems.uniformity[:, 0] == 3
        index = int(np.flatnonzero(matches)[0])
        panels = [*drawn_problems.entities[index, :CONTEXT], drawn_problems.answer[index]]
        drawn = matrix_svg(configuration_index(title), panels)
        name = f"{rule} of {governed}"
        cards.append(
            f'<div style="flex:1 1 10rem;max-width:15rem"><p class="rr-iq-title">{html.escape(name)}</p>'
            f"{card(drawn)}</div>"
        )
    words = "; ".join(f"{rule} of {governed}" for _, rule, governed in SHOWN)
    return picture(
        f'<div class="rr-iq-board" style="gap:1rem">{"".join(cards)}</div>',
        alt=f"Six complete matrices, each with one rule: {words}.",
        caption="One rule in each matrix; everything else is constant. Read each row from left to right.",
        wide=True,
    )


def angle_gallery() -> Picture:
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
        caption="Each type at eight angles. A faint picture looks like an earlier one in its row. "
        f"Angles from left to right: {', '.join(f'{angle}°' for angle in ANGLES)}.",
    )


def candidates_alone(problem: Problems, index: int = 0) -> Picture:
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
