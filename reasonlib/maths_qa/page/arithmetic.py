"""Pictures of the probes of arithmetic: exact match by carry chain, length, nesting and distance."""

from collections.abc import Mapping

from reasonlib.display import plotting, results
from reasonlib.display.intervals import band, spread
from reasonlib.display.plotting import Picture
from reasonlib.maths_qa.page.labels import ROWS
from reasonlib.tracking import records

__all__ = ["carries", "distances", "lengths", "steps"]

PROBES = "maths_qa/probes"


SUMS = {
    "place values": "sums",
    "place values, long chains in training": "chained-sums",
    "learned positions": "sums-learned",
}
"""Rows that are trained on sums."""


def carries() -> Picture:
    """Draw exact match on sums of four digits by the length of the carry chain, and on the controls."""
    chain = _by_value(
        {label: (row, "carry") for label, row in SUMS.items()},
        x="columns of the carry chain",
    )
    control = _by_value(
        {label: (row, "control") for label, row in SUMS.items()},
        x="columns of the chain, if a carry arrived",
        caption="First: sums of four digits with one carry chain. Second: the controls, where the same "
        "columns add up to nine, but no carry arrives.",
    )
    return plotting.beside(chain, control)


def lengths() -> Picture:
    """Draw exact match on sums with one carry by the number of digits."""
    return _by_value(
        {label: (row, "digits") for label, row in SUMS.items()},
        x="digits of each number",
        caption="Exact match on sums in which one column carries. Training has two to four digits.",
    )


def steps() -> Picture:
    """Draw exact match on nested sums by the number of terms, and by the steps that follow one another."""
    terms = _by_value(
        {"": ("trees", "terms")},
        x="terms",
    )
    depth = _by_value(
        {"": ("trees", "depth")},
        x="steps one after another",
        caption="Nested sums and differences. First: three steps one after another; training has two to six "
        "terms. Second: six terms, and equally many characters.",
    )
    return plotting.beside(terms, depth)


def distances() -> Picture:
    """Draw exact match on sums of two digits by the spaces between the numbers, and by those before them."""
    rows = ("gaps", "gaps-learned")
    gap = _by_value(
        {ROWS[row]: (row, "gap") for row in rows},
        x="spaces between the numbers",
    )
    lead = _by_value(
        {ROWS[row]: (row, "lead") for row in rows},
        x="spaces before the sum",
        caption="Sums of two-digit numbers in lines of 24 characters. First: training has up to eight spaces "
        "between the numbers. Second: four spaces between them, and training has every position.",
    )
    return plotting.beside(gap, lead)


def _by_value(series: Mapping[str, tuple[str, str]], *, x: str, caption: str | None = None) -> Picture:
    """Draw the metrics ``<property>.<value>`` of rows by their value; `series` has rows and properties.

    The second of two pictures has the caption of both.
    """
    lines = {}
    origins, banded = set(), False
    for label, (row, name) in series.items():
        group = records.best(PROBES, row)
        if group is None:
            continue
        values = sorted(
            int(value) for prefix, _, value in (m.partition(".") for m in group.metrics) if prefix == name
        )
        summaries = {value: group.summary(f"{name}.{value}") for value in values}
        spreads = {value: spread(summary) for value, summary in summaries.items() if summary is not None}
        if spreads:
            lines[label] = band(list(spreads), list(spreads.values()))
            origins.add(results.origin(group))
            banded |= any(value.half for value in spreads.values())
    if not lines:
        return results.missing(PROBES)
    if caption is not None:
        caption += f" {results.together(origins).capitalize()}." + (
            " Bands: 95 % intervals." if banded else ""
        )
    drawing = plotting.lines(lines, x=x, y="exact match", limits=(0, 1.04))
    return plotting.show(drawing, alt=f"Exact match by {x}.", caption=caption)
