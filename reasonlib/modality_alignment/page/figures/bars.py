"""Grouped bars of recorded runs, which the figures of all chapters share."""

from collections.abc import Iterable, Mapping
from typing import Any

from reasonlib.display import plotting, results
from reasonlib.display.intervals import Spread
from reasonlib.display.plotting import Picture
from reasonlib.modality_alignment.page.labels import ROWS

__all__ = ["NEEDS", "SYSTEMS", "TVQA", "by_kind", "by_need", "grouped", "measured"]

TVQA = "modality_alignment/tvqa"
SYSTEMS = {"tvqa-abc": TVQA, "stage": "modality_alignment/video_qa"}
NEEDS = {"video": "the video", "subtitle": "the subtitles", "both": "both", "text": "the words alone"}


def measured(
    experiment: str, rows: Iterable[str], metric: str, names: Mapping[str, str] = ROWS
) -> tuple[dict[str, Spread], set[str]]:
    """Return what `results.spreads` gives of rows of one experiment."""
    return results.spreads([(experiment, row) for row in rows], metric, names=names)


def grouped(
    series: Mapping[str, tuple[dict[str, Spread], set[str]]],
    experiment: str,
    unit: str,
    about: str,
    **look: Any,
) -> Picture:
    """Draw several series of bars with 95 % intervals, or say that nothing was measured."""
    shown = {label: values for label, (values, _) in series.items() if values}
    if not shown:
        return results.missing(experiment)
    origins = set().union(*(origins for _, origins in series.values()))
    description = "; ".join(
        f"{label}: " + ", ".join(f"{row} {value.mean:.2f}" for row, value in values.items())
        for label, values in shown.items()
    )
    bars = shown if len(shown) > 1 else next(iter(shown.values()))
    return plotting.show(
        plotting.bars(bars, unit=unit, **look),
        alt=f"{about} {description}.",
        caption=f"{about} Lines: 95 % intervals ({results.together(origins)}).",
    )


def by_need(experiment: str, rows: Mapping[str, str], about: str) -> Picture:
    """Draw accuracy by what a question needs, for some rows of an experiment with simulated videos."""
    return by_kind(experiment, rows, NEEDS, about)


def by_kind(experiment: str, rows: Mapping[str, str], kinds: Mapping[str, str], about: str) -> Picture:
    """Draw accuracy by the kind of question, for some rows of an experiment with simulated videos."""
    series = {}
    for row, label in rows.items():
        values: dict[str, Spread] = {}
        origins: set[str] = set()
        for kind, words in kinds.items():
            share, recorded = measured(experiment, [row], f"accuracy.{kind}", {row: words})
            values |= share
            origins |= recorded
        series[label] = (values, origins)
    return grouped(series, experiment, "accuracy", about, limits=(0, 1), reference=("chance", 0.2))
