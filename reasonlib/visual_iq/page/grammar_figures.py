"""The grammar of RAVEN as a tree to fold out."""

from collections.abc import Sequence

import numpy as np

from reasonlib.display.plotting import COLOURS as LINES
from reasonlib.display.plotting import Picture
from reasonlib.visual_iq.data import grammar
from reasonlib.visual_iq.data.example import CANVAS, CONFIGURATIONS, configuration_index
from reasonlib.visual_iq.data.grammar import Node, RuleOption
from reasonlib.visual_iq.page.figures import picture
from reasonlib.visual_iq.page.svg import Box, drawn, slot_bounds

__all__ = ["grammar_tree"]

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
    root = grammar.grammar_tree(configuration)
    chosen = (
        CONFIGURATIONS if configuration is None else (CONFIGURATIONS[configuration_index(configuration)],)
    )
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
        "position": "one slot" if low == high else f"any of {high + 1} slots",
        "uniformity": "all entities of a panel alike: 1 in 4",
        "angle": f"{high - low + 1} turns, at random",
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
        f'<svg x="{index * CANVAS}" y="0" width="{CANVAS}" height="{CANVAS}" viewBox="-6 -6 172 172">'
        f"{drawn(0, np.array([sample]), edge=7)}</svg>"
        for index, sample in enumerate(samples)
    )
    width = CANVAS * len(samples)
    return (
        f'<svg viewBox="0 0 {width} {CANVAS}" aria-hidden="true" '
        f'style="width:min(100%,{1.7 * len(samples):.1f}rem)">'
        f'<rect width="{width}" height="{CANVAS}" fill="#fff"/>{cells}'
        f'<rect class="rr-iq-dim" width="{width}" height="{CANVAS}" fill="none"/></svg>'
    )


def _options(attribute: str, options: Sequence[RuleOption]) -> str:
    """Write the rules of a group, those of one kind together, each with its chance."""
    kinds: dict[tuple[str, str], list[RuleOption]] = {}
    for option in options:
        kinds.setdefault((option.rule, option.governed), []).append(option)
    words = []
    for (rule, governed), variants in kinds.items():
        of = f" of {governed}" if governed != attribute and rule != "constant" else ""
        values = sorted(option.value for option in variants if option.value)
        how = f" ({', '.join(f'{value:+d}' for value in values)})" if values else ""
        if rule == "arithmetic":
            how = f" ({', '.join('+' if value > 0 else '−' for value in values)})"
        chance = sum(option.chance for option in variants)
        words.append(f"<span>{rule}{of}{how.replace('-', '−')} {100 * chance:.0f}\u00a0%</span>")
    return f"<dt>Rule on {attribute}</dt><dd>{' '.join(words)}</dd>"
