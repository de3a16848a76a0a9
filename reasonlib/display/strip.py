"""A claim in a strip of picture: the published value, our runs, and the interval that decides.

    published ◇    our runs ● ● ●    95 % interval ━━━━    tolerance ▒▒▒    what is asked for ┊

For an ordering the strip shows the difference of the two rows beside zero, or beside the margin that the
claim names: a mark that the difference must pass, a band where two rows are to be alike.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CSS", "draw"]

WIDTH, HEIGHT = 220, 26

CSS = """
.rr-strip{display:block;width:100%;max-width:22rem;height:auto;color:inherit;overflow:visible}
.rr-strip .rr-axis{stroke:currentColor;opacity:.35}
.rr-strip .rr-room{fill:#e69f00;opacity:.28}
.rr-strip .rr-reach{stroke:#0072b2;stroke-width:6;opacity:.4;stroke-linecap:round}
.rr-strip .rr-run{fill:#0072b2}
.rr-strip .rr-published{fill:none;stroke:#b96d00;stroke-width:2}
.rr-strip .rr-asked{stroke:#b96d00;stroke-width:2;stroke-dasharray:2 2}
.rr-strip text{font-size:9px;fill:currentColor}
html[data-theme="dark"] .rr-strip{--rr-blue:#56b4e9;--rr-orange:#f0b440}
html[data-theme="dark"] .rr-strip .rr-run{fill:var(--rr-blue)}
html[data-theme="dark"] .rr-strip .rr-reach{stroke:var(--rr-blue)}
html[data-theme="dark"] .rr-strip :is(.rr-published,.rr-asked){stroke:var(--rr-orange)}
"""


@dataclass(frozen=True, kw_only=True)
class Marks:
    """What a strip shows: positions on one axis, and the words that stand for them."""

    runs: Sequence[float] = ()
    published: float | None = None
    room: tuple[float, float] | None = None
    bounds: Sequence[float] = ()
    reach: tuple[float, float] | None = None
    words: Sequence[str] = field(default_factory=tuple)

    @property
    def ends(self) -> tuple[float, float] | None:
        """Least and largest position; None if there is nothing to show."""
        values = [*self.runs, *self.bounds, *(self.room or ()), *(self.reach or ())]
        values += [] if self.published is None else [self.published]
        return (min(values), max(values)) if values else None


def draw(row: Mapping[str, Any]) -> str:
    """Draw one claim as an SVG of one line; empty where there is nothing measured to show.

    Parameters
    ----------
    row
        As `reasonlib claims --json` has it.
    """
    marks = _marks(row)
    if not marks.runs and marks.reach is None:
        return ""
    low, high = marks.ends or (0.0, 1.0)
    span = (high - low) or max(abs(high), 1e-9)
    low, high = low - 0.06 * span, high + 0.06 * span

    def x(value: float) -> float:
        return round(4 + (WIDTH - 8) * (value - low) / (high - low), 1)

    middle = HEIGHT / 2 - 3
    parts = [f'<path class="rr-axis" d="M2 {middle}H{WIDTH - 2}"/>']
    if marks.room is not None:
        left, right = map(x, marks.room)
        wide = max(right - left, 1.5)
        parts.append(f'<rect class="rr-room" x="{left}" y="{middle - 8}" width="{wide}" height="16"/>')
    if marks.reach is not None:
        left, right = map(x, marks.reach)
        parts.append(f'<path class="rr-reach" d="M{left} {middle}H{max(right, left + 0.1)}"/>')
    parts += [f'<path class="rr-asked" d="M{x(value)} {middle - 9}v18"/>' for value in marks.bounds]
    parts += [f'<circle class="rr-run" cx="{x(value)}" cy="{middle}" r="2.6"/>' for value in marks.runs]
    if marks.published is not None:
        parts.append(f'<path class="rr-published" d="M{x(marks.published)} {middle - 6}l5 6-5 6-5-6z"/>')
    return (
        f'<svg class="rr-strip" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{html.escape("; ".join(marks.words))}">{"".join(parts)}'
        f'<text x="2" y="{HEIGHT}">{_number(low)}</text>'
        f'<text x="{WIDTH - 2}" y="{HEIGHT}" text-anchor="end">{_number(high)}</text></svg>'
    )


def _marks(row: Mapping[str, Any]) -> Marks:
    """Choose what to show of a claim: levels and bounds on the metric's axis, orderings as a difference."""
    agreement, interval = row.get("agreement") or {}, row.get("interval")
    reach = None if interval is None else (interval["low"], interval["high"])
    share = "95 %"
    if interval is not None and interval["of"] == "difference":
        words = [f"difference, {share} interval {_number(reach[0])} to {_number(reach[1])}"] if reach else []
        low, high = interval.get("asked") or (0.0, None)
        if low is not None and high is not None:
            words.append(f"asked for {_number(low)} to {_number(high)}")
            return Marks(bounds=[0.0], room=(low, high), reach=reach, words=words)
        words.append(f"asked for above {_number(low)}" if low else "zero is marked")
        return Marks(bounds=[low or 0.0], reach=reach, words=words)
    own = next(
        (
            side
            for side in row.get("sides") or ()
            if (side["experiment"], side["row"], side["metric"])
            == (row.get("experiment"), row.get("experiment_row"), row.get("metric"))
        ),
        None,
    )
    runs = list((own or {}).get("values") or ())
    published, within = row.get("published"), agreement.get("within")
    bounds = [bound for bound in (agreement.get("at_least"), agreement.get("at_most")) if bound is not None]
    room = None if published is None or within is None else (published - within, published + within)
    words = [] if published is None else [f"published {_number(published)}"]
    words += [f"asked for {_number(bound)}" for bound in bounds]
    words += [f"our runs {', '.join(map(_number, runs[:12]))}"] if runs else []
    if reach is not None and interval is not None:
        words.append(f"{share} interval of {interval['of']} {_number(reach[0])} to {_number(reach[1])}")
    return Marks(runs=runs, published=published, room=room, bounds=bounds, reach=reach, words=words)


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")
