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
        caption="Sums of four digits with one carry chain.",
    )
    control = _by_value(
        {label: (row, "control") for label, row in SUMS.items()},
        x="columns of the chain, if a carry arrived",
        caption="The controls: the same columns add up to nine, but no carry arrives.",
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
        caption="Nested sums and differences that take three steps one after another. Training has two to "
        "six terms.",
    )
    depth = _by_value(
        {"": ("trees", "depth")},
        x="steps one after another",
        caption="Six terms, and equally many characters: exact match by the depth of nesting.",
    )
    return plotting.beside(terms, depth)


def distances() -> Picture:
    """Draw exact match on sums of two digits by the spaces between the numbers, and by those before them."""
    rows = ("gaps", "gaps-learned")
    gap = _by_value(
        {ROWS[row]: (row, "gap") for row in rows},
        x="spaces between the numbers",
        caption="Sums of two-digit numbers in lines of 24 characters. Training has up to eight spaces "
        "between the numbers.",
    )
    lead = _by_value(
        {ROWS[row]: (row, "lead") for row in rows},
        x="spaces before the sum",
        caption="Four spaces between the numbers, and training has every position.",
    )
    return plotting.beside(gap, lead)


def _by_value(series: Mapping[str, tuple[str, str]], *, x: str, caption: str) -> Picture:
    """Draw the metrics ``<property>.<value>`` of rows by their value; `series` has rows and properties."""
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
    return plotting.show(
        plotting.lines(lines, x=x, y="exact match", limits=(0, 1.04)),
        alt=f"Exact match by {x}.",
        caption=f"{caption} {results.together(origins).capitalize()}."
        + (" Bands: 95 % intervals." if banded else ""),
    )
