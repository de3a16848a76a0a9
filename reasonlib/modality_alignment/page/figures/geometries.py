"""Points in pairs: curves, maps and ends of training, and held-out pairs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reasonlib.display import plotting, results
from reasonlib.display.intervals import band, spread
from reasonlib.display.plotting import Picture
from reasonlib.modality_alignment.page.figures.bars import grouped, measured
from reasonlib.modality_alignment.page.labels import ROWS
from reasonlib.tracking import records

__all__ = ["curves", "ends", "maps", "points", "retrieval", "seen_and_new", "seen_and_new_with_cause"]

POINTS, SHARED = "modality_alignment/points", "modality_alignment/shared_points"
OBJECTIVES = ("cosine", "cka", "both", "both-cold", "both-rbf", "infonce")


def curves(runs: Iterable[Any] | None = None) -> Picture:
    """Draw cosine similarity and CKA over the steps: of runs, or of the best records (figure 5.4, right)."""
    if runs is None:
        groups = [records.best(POINTS, row) for row in ("cosine", "cka", "both")]
        runs = [record for group in groups if group is not None for record in group.records]
    drawn: dict[str, list[Any]] = {}
    for run in runs:
        if run.details.get("curve"):
            drawn.setdefault(ROWS.get(run.row, run.row), []).append(run.details["curve"])
    if not drawn:
        return results.missing(POINTS)
    counts = sorted({len(each) for each in drawn.values()})
    run_count = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    origin = "one run each" if counts == [1] else f"means of {run_count} runs with 95 % intervals"
    pictures = []
    for metric, title in (("cosine", "mean cosine similarity"), ("cka", "CKA")):
        series = {
            name: band(
                each[0]["step"], [spread(values) for values in zip(*(c[metric] for c in each), strict=True)]
            )
            for name, each in drawn.items()
        }
        ends_ = ", ".join(f"{name} {line[1][0]:.2f} to {line[1][-1]:.2f}" for name, line in series.items())
        pictures.append(
            plotting.show(
                plotting.lines(series, x="steps", y=title),
                alt=f"{title[0].upper()}{title[1:]} over the steps of training: {ends_}.",
                caption=f"{title[0].upper()}{title[1:]} of the training pairs; {origin}.",
            )
        )
    return plotting.beside(*pictures)


CLASSES = {"a": ("blue", "o"), "b": ("orange", "s")}
"""Colour and marker of the points of both classes."""


def _maps(row: str) -> Mapping[str, Any]:
    """Return the recorded t-SNE maps of a row: of the data, and of the representations after epochs."""
    group = records.best(POINTS, row)
    with_maps = [] if group is None else [each for each in group.records if each.details.get("tsne")]
    return with_maps[0].details["tsne"] if with_maps else {}


def _scatter(plot: Any, cloud: Mapping[str, Any], size: float) -> None:
    """Draw the points of both classes."""
    for name, (colour, marker) in CLASSES.items():
        across, up = np.array(cloud.get(name, [])).reshape(-1, 2).T
        look = {"color": plotting.COLOURS[colour], "markersize": size, "linestyle": "none", "alpha": 0.6}
        plot.plot(across, up, marker, **look)
    plot.set(xticks=[], yticks=[])
    plot.grid(visible=False)


def points() -> Picture:
    """Draw a t-SNE map of the synthetic data (figure 5.3)."""
    drawn = _maps("cosine").get("data")
    if not drawn:
        return results.missing(POINTS)
    with plotting.theme():
        drawing, axes = plotting.figure()
        _scatter(axes, drawn, 2.5)
    return plotting.show(
        drawing,
        alt="t-SNE map of the synthetic data: class A is one cloud, class B many small ones.",
        caption=f"t-SNE map of {len(drawn['a'])} points of class A (blue circles) and as many of class B "
        "(orange squares), as in the source's figure 5.3; pairs are not shown.",
    )


def maps(
    rows: Sequence[str] = ("cosine", "cka", "both"), epochs: Sequence[str] = ("1", "5", "10")
) -> Picture:
    """Draw t-SNE maps of both representations over training (figure 5.4, left)."""
    drawn = {row: _maps(row) for row in rows}
    if not all(drawn.values()):
        return results.missing(POINTS)
    with plotting.theme():
        drawing, axes = plotting.figure(height=4.4, rows=len(epochs), columns=len(rows))
        for across, row in enumerate(rows):
            for down, epoch in enumerate(epochs):
                plot = axes[down][across]
                _scatter(plot, drawn[row].get(epoch, {}), 1.6)
                if not down:
                    plot.set_title(ROWS.get(row, row))
                if not across:
                    plot.set_ylabel(f"epoch {epoch}")
    return plotting.show(
        drawing,
        alt="t-SNE maps of the two encoded classes after 1, 5 and 10 epochs, for three objectives.",
        caption="t-SNE maps of the encoded classes A (blue circles) and B (orange squares), as in the "
        "source's figure 5.4; one run each.",
    )


def ends() -> Picture:
    """Draw cosine similarity and CKA of the training pairs at the end, for each objective."""
    series = {
        "cosine similarity, training pairs": measured(POINTS, OBJECTIVES, "cosine"),
        "cosine similarity, held-out pairs": measured(POINTS, OBJECTIVES, "cosine.held_out"),
        "CKA, training pairs": measured(POINTS, OBJECTIVES, "cka"),
    }
    return grouped(
        series, POINTS, "at the end of training", "Random pairs: cosine similarity and CKA, by objective."
    )


def retrieval() -> Picture:
    """Draw how many wrong points are nearer than the partner, for random pairs and for those with a cause."""
    series = {
        "random pairs, as in the source": measured(POINTS, OBJECTIVES, "rank.held_out"),
        "pairs with a common cause": measured(SHARED, OBJECTIVES, "rank.held_out"),
    }
    return grouped(
        series,
        SHARED,
        "share of wrong points nearer (low is good)",
        "Held-out pairs: the share of wrong points that are nearer than the partner, by cosine similarity.",
        limits=(0, 0.7),
        reference=("chance", 0.5),
    )


def seen_and_new(experiment: str = POINTS) -> Picture:
    """Draw CKA and retrieval of training pairs beside those of held-out pairs."""
    about = {POINTS: "Random pairs", SHARED: "Pairs with a common cause"}[experiment]
    ends_ = {"training pairs": "", "held-out pairs": ".held_out"}
    pictures = []
    for metric, unit, look in (
        ("cka.debiased", "CKA, unbiased estimate", {}),
        ("rank", "share of wrong points nearer", {"limits": (0, 0.7), "reference": ("chance", 0.5)}),
    ):
        series = {
            label: measured(experiment, OBJECTIVES, f"{metric}{ending}") for label, ending in ends_.items()
        }
        measure = "CKA" if metric == "cka.debiased" else "retrieval among 1,000 pairs (low is good)"
        pictures.append(grouped(series, experiment, unit, f"{about}: {measure}.", **look))
    return plotting.beside(*pictures)


def seen_and_new_with_cause() -> Picture:
    """Draw the same for pairs with a common cause."""
    return seen_and_new(SHARED)
