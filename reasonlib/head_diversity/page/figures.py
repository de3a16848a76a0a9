"""Pictures of the chapters that are made from records, from claims and from small clouds of points."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from reasonlib.display import plotting, results
from reasonlib.display.intervals import Spread
from reasonlib.display.plotting import Picture
from reasonlib.head_diversity.page.clouds import draw_points, related
from reasonlib.head_diversity.page.labels import ROWS
from reasonlib.head_diversity.page.trained import HEAD_COUNTS, LANGUAGE_MODEL, curves, described
from reasonlib.nn import cka, kernel_matrix
from reasonlib.tracking import records

__all__ = [
    "bias",
    "control_similarity",
    "count_curves",
    "every_model",
    "geometry",
    "heads_published",
    "perplexities",
    "pruning",
    "published",
    "quarter_turn",
    "tables",
    "translator_heads",
]

HEADS, CONTROLS, SMALL = "head_diversity/heads", "head_diversity/controls", "head_diversity/small_samples"
PRUNING, EVERY = "head_diversity/pruning", "head_diversity/every_model"
COUNTS = ("h1", "h2", "h4", "h8", "h16")
DIMENSIONS = 64  # of the clouds of the experiment on small samples
THREE = ("drophead", "orthogonality", "hsic")
TREEBANK = "head_diversity/treebank"


def published(name: str) -> float:
    """Look up a number of the source by the end of its claim's name."""
    numbers = results.published("head_diversity/")
    if name not in numbers:
        raise ValueError(f"the source prints no number for {name!r}")
    return numbers[name]


# Comparing --------------------------------------------------------------------------------------------------


def tables(count: int = 12) -> Picture:
    """Draw the table of products of a cloud, of the same cloud turned, and of another cloud."""
    points = draw_points()[:count]
    points.sort(key=lambda point: math.atan2(point[1], point[0]))  # neighbours stand side by side
    clouds = {
        "a cloud": points,
        "turned and shrunk": related("turned", points),
        "unrelated": related("unrelated", points),
    }
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.3, columns=len(clouds))
        for panel, (title, cloud) in zip(axes, clouds.items(), strict=True):
            products = kernel_matrix(torch.tensor(cloud, dtype=torch.float64))
            most = float(products.abs().max())
            panel.imshow(products.numpy(), vmin=-most, vmax=most, cmap="RdBu_r")
            panel.set(xticks=[], yticks=[])
            panel.set_title(title, fontsize=9)
    return plotting.show(
        drawing,
        alt=f"Three tables of {count} by {count} products. The tables of a cloud and of the same cloud "
        "turned have the same pattern of blocks; that of an unrelated cloud has another.",
        caption=f"Tables of the products of every two of {count} points: red where positive, blue where "
        "negative, each table on its own colour scale. The points have the same order in all three tables.",
    )


def bias() -> Picture:
    """Draw what measures say of independent clouds, by the number of examples."""
    groups = {int(row[1:]): group for row, group in _best(SMALL).items()}
    if not groups:
        return results.missing(SMALL)
    counts = sorted(groups)
    lines: dict[str, tuple[list[int], list[float]]] = {}
    for words, metric in (("CKA", "cka"), ("CKA, debiased", "cka_debiased"), ("SVCCA", "svcca")):
        values = [groups[count].summary(metric) for count in counts]
        lines[words] = (counts, [summary.mean for summary in values if summary is not None])
    lines["D / (N + D)"] = (counts, [DIMENSIONS / (count + DIMENSIONS) for count in counts])
    return plotting.show(
        plotting.lines(
            lines, x="examples N", y="similarity of independent clouds", limits=(-0.1, 1), log=True
        ),
        alt="Similarity of two independent clouds by the number of examples.",
        caption=f"Two independent clouds in {DIMENSIONS} dimensions: three measures (CKA is linear) "
        "and the formula D / (N + D), by the number of examples. The true similarity is 0. "
        f"Means ({results.together(map(results.origin, groups.values()))}).",
    )


# Many heads -------------------------------------------------------------------------------------------------


def count_curves() -> Picture:
    """Draw SVCCA coefficients between the heads of language models with few and many heads."""
    models = [model for row in COUNTS[1:] if (model := described(HEAD_COUNTS, row))]
    if not models:
        return results.missing(HEAD_COUNTS)
    return plotting.show(
        plotting.lines(curves(models), x="number of the coefficient", y="SVCCA coefficient", limits=(0, 1)),
        alt="SVCCA coefficients between the heads of language models.",
        caption="SVCCA coefficients between two heads, mean over pairs and layers, one run each. All models "
        "have the same width, so more heads mean narrower heads.",
    )


def heads_published() -> Picture:
    """Draw the similarity of heads by their number: the source's models of width 512, and ours."""
    counts = [2, 4, 8, 16]
    lines = {
        f"source, {measure.upper()}": (
            counts,
            [published(f"similarity/h{count}-d512/{measure}") for count in counts],
        )
        for measure in ("svcca", "cka")
    }
    origins = set()
    for name, experiment, row in (
        ("translators", HEADS, "h{}-d512"),
        ("language models", HEAD_COUNTS, "h{}"),
    ):
        for metric, measure in (("svcca", "SVCCA"), ("cka_debiased", "CKA")):
            means, metric_origins = _by_heads(experiment, row, counts, metric)
            if means:
                lines[f"our {name}, {measure}"] = (list(means), list(means.values()))
                origins |= {f"{name}: {origin}" for origin in metric_origins}
    return plotting.show(
        plotting.lines(lines, x="heads", y="mean similarity of two heads", limits=(0, 1)),
        alt="Mean similarity of two heads by the number of heads, in the source and here.",
        caption="Mean similarity of two heads by the number of heads, for models of one width. The "
        "source's table 4.3 has plain CKA; ours is linear, debiased CKA "
        f"({results.together(origins) or 'not measured yet'}).",
    )


def translator_heads() -> Picture:
    """Draw the SVCCA similarity to a model with one head: the source's table 4.2, and ours."""
    counts = [1, 2, 4, 8, 16]
    lines = {
        "source, encoder": (counts, [published(f"single/encoder/h{count}") for count in counts]),
        "source, encoder-decoder": (counts, [published(f"single/cross/h{count}") for count in counts]),
    }
    origins: set[str] = set()
    for words, metric in (("ours, encoder", "single_encoder"), ("ours, encoder-decoder", "single_cross")):
        means, metric_origins = _by_heads(HEADS, "h{}-d512", counts, metric)
        if means:
            lines[words] = (list(means), list(means.values()))
            origins |= metric_origins
    return plotting.show(
        plotting.lines(lines, x="heads", y="SVCCA similarity to a model with one head", limits=(0, 1)),
        alt="SVCCA similarity to a single-headed model by the number of heads.",
        caption="SVCCA similarity of a layer's joined heads to those of another model with one head "
        f"({results.together(origins) or 'ours: not measured yet'}).",
    )


def geometry(untrained: Mapping[int, float]) -> Picture:
    """Draw the similarity of heads against what random projections give.

    Parameters
    ----------
    untrained
        From a number of heads to the debiased CKA of untrained heads.
    """
    points = [(2, 64), (2, 128), (2, 512), (4, 128), (4, 256), (4, 512), (8, 256), (8, 512), (16, 512)]
    counts = [2, 4, 8, 16]
    values = {
        count: [published(f"similarity/h{heads}-d{total}/cka") for heads, total in points if heads == count]
        for count in counts
    }
    trained, origins = _by_heads(HEAD_COUNTS, "h{}", counts, "cka_debiased")
    lines: dict[str, tuple[Any, ...]] = {
        "1 / H": (counts, [1 / count for count in counts]),
        "source, all widths": (
            counts,
            [sum(value) / len(value) for value in values.values()],
            [min(value) for value in values.values()],
            [max(value) for value in values.values()],
        ),
        "ours, untrained": (list(untrained), list(untrained.values())),
    }
    if trained:
        lines["ours, trained"] = (list(trained), list(trained.values()))
    return plotting.show(
        plotting.lines(lines, x="heads H", y="CKA of two heads", limits=(0, 1)),
        alt="CKA of two heads by the number of heads, beside that of random projections.",
        caption="CKA of two heads by the number of heads: 1 / H, the value for random orthonormal "
        "projections; the source's nine models (mean and range over widths, plain CKA); and our language "
        "models before training (linear, debiased CKA, one model of each size) and after it "
        f"({results.together(origins) or 'not measured yet'}).",
    )


def every_model() -> Picture:
    """Draw the similarity of heads in the bundled models of the book."""
    groups = {row: group for row, group in _best(EVERY).items() if row != "all"}
    values: dict[str, dict[str, Any]] = {"CKA, debiased": {}, "SVCCA": {}}
    for row, group in sorted(groups.items()):
        for words, metric in (("CKA, debiased", "cka_debiased"), ("SVCCA", "svcca")):
            summary = group.summary(metric)
            if summary is not None:
                values[words][ROWS.get(row, row)] = summary.mean
    if not values["SVCCA"]:
        return results.missing(EVERY)
    origin = results.origin(next(iter(groups.values())))
    return plotting.show(
        plotting.bars(values, unit="mean similarity of two heads", limits=(0, 1)),
        alt="Mean similarity of two heads in the bundled models of the book.",
        caption="Mean similarity of two heads over all pairs and attentions, in the bundled models of the "
        "book whose layers all have the same number of heads. CKA is linear. Each attention was given random "
        "vectors "
        f"({origin}).",
    )


# Controls ---------------------------------------------------------------------------------------------------


def quarter_turn(count: int = 12) -> Picture:
    """Draw a cloud and the same cloud rotated by 90 degrees: right angles at every point, and a CKA of 1."""
    left = torch.tensor(draw_points()[:count])
    right = left @ torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    cosine = float(torch.nn.functional.cosine_similarity(left, right, dim=1).abs().mean())
    summary = (
        f"Mean absolute cosine of the two vectors of an example: {cosine:.2f}. "
        f"Linear CKA: {cka(left, right):.2f}."
    )
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.7, columns=2)
        for panel, cloud, title, colour in zip(
            axes, (left, right), ("Head A", "Head B"), plotting.PALETTE, strict=False
        ):
            for number, (x, y) in enumerate(cloud.tolist(), start=1):
                panel.plot([0, x], [0, y], color=colour, linewidth=0.8, linestyle="-", marker="")
                panel.annotate(str(number), (1.12 * x, 1.12 * y), ha="center", va="center", fontsize=8)
            panel.set(
                title=title, xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), xticks=[], yticks=[], aspect="equal"
            )
    return plotting.show(
        drawing,
        alt=f"Vectors of {count} examples in two heads; the second has each rotated by 90 degrees. {summary}",
        caption=f"{count} examples in two heads; equal numbers mark the same example. {summary}",
    )


def perplexities() -> Picture:
    """Draw perplexities as shares of the uncontrolled model's: the source's table 4.7, and ours."""
    rows = ("baseline", *THREE, "all")
    first = published("perplexity/baseline")
    values: dict[str, dict[str, Any]] = {
        "source": {ROWS[row]: published(f"perplexity/{row}") / first for row in rows}
    }
    captions: list[str] = []
    for name, experiment, data in (
        ("ours, simulated text", LANGUAGE_MODEL, "simulated"),
        ("ours, an eighth of Penn Treebank", TREEBANK, "penn-treebank"),
        ("ours, Penn Treebank", LANGUAGE_MODEL, "penn-treebank"),
    ):
        pairs = [(experiment, row) for row in rows]
        ours, origins = results.spreads(pairs, "perplexity", names=ROWS, data=data)
        if ROWS["baseline"] in ours:
            base = ours[ROWS["baseline"]].mean
            values[name] = {
                words: Spread(value.mean / base, value.half and value.half / base)
                for words, value in ours.items()
            }
            captions.append(f"{name.removeprefix('ours, ')} ({results.together(origins)})")
    return plotting.show(
        plotting.bars(values, unit="relative perplexity (lower is better)"),
        alt="Perplexities with each control as shares of that without, in the source and here.",
        caption="Perplexity on test text, divided by that without control: the source's table 4.7 on "
        f"Penn Treebank, one number each; ours on {' and '.join(captions) or 'no text yet'}. Lines: 95 % "
        "intervals over runs.",
    )


def control_similarity() -> Picture:
    """Draw how similar the heads of a language model are with each control."""
    rows = ("baseline", *THREE, "all")
    values: dict[str, Mapping[str, Any]] = {}
    origins: set[str] = set()
    for words, metric in (("CKA, debiased", "cka_debiased"), ("SVCCA", "svcca")):
        values[words], metric_origins = _controlled(rows, metric)
        origins |= metric_origins
    if not origins:
        return results.missing(LANGUAGE_MODEL)
    return plotting.show(
        plotting.bars(values, unit="mean similarity of two heads", limits=(0, 1)),
        alt="Similarity of heads with each control.",
        caption=f"Mean similarity of two heads of a language model ({results.together(origins)}). CKA is "
        "linear. Lines: 95 % intervals.",
    )


def pruning() -> Picture:
    """Draw for every head how much it resembles the others, and what its removal costs."""
    series: dict[str, tuple[list[float], list[float]]] = {}
    origins: set[str] = set()
    for row in ("language-model", "language-model-hsic"):
        group = records.best(PRUNING, row)
        if group is None:
            continue
        heads = [head for record in group.records for head in record.details["heads"]]
        heads.sort(key=lambda head: head["similarity"])
        origins.add(results.origin(group))
        series[ROWS[row]] = ([head["similarity"] for head in heads], [head["damage"] for head in heads])
    if not series:
        return results.missing(PRUNING)
    with plotting.theme():
        drawing, axes = plotting.figure(height=2.8)
        for (words, (across, up)), colour, mark in zip(
            series.items(), plotting.PALETTE, plotting.MARKERS, strict=False
        ):
            axes.scatter(across, up, color=colour, marker=mark, s=22, label=words)
        axes.set_xlabel("mean CKA with the other heads of its layer")
        axes.set_title("rise of the loss when the head is removed (nats)", fontsize=10)
        axes.legend()
    counts = ", ".join(f"{len(across)} heads of the {words}" for words, (across, _) in series.items())
    return plotting.show(
        drawing,
        alt=f"Damage by removal against similarity, for {counts}.",
        caption=f"Each mark is a head of a trained model ({counts}; {results.together(origins)}): how much "
        "it resembles the other heads of its layer (linear, debiased CKA), and how much the test loss rises "
        "when it is set to zero.",
    )


def _best(experiment: str) -> dict[str, records.Group]:
    """Return the group that a reader should be shown for every row that has records."""
    best: dict[str, records.Group] = {}
    for group in records.groups(experiment):  # best first
        best.setdefault(group.row, group)
    return best


def _by_heads(
    experiment: str, row: str, counts: Sequence[int], metric: str
) -> tuple[dict[int, float], set[str]]:
    """Return the mean of a metric by the number of heads, and where it comes from; `row` has a gap for it."""
    values, origins = results.spreads(
        [(experiment, row.format(count)) for count in counts],
        metric,
        names={row.format(count): str(count) for count in counts},
    )
    return {int(count): value.mean for count, value in values.items()}, origins


def _controlled(rows: Sequence[str], metric: str) -> tuple[dict[str, Spread], set[str]]:
    return results.spreads([(LANGUAGE_MODEL, row) for row in rows], metric, names=ROWS, data="simulated")
