"""Pictures of the chapters that are made from claims and records."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reasonlib.display import plotting, results
from reasonlib.display.intervals import Spread, band, spread
from reasonlib.display.plotting import Picture
from reasonlib.modality_alignment.page.labels import ROWS
from reasonlib.tracking import records

__all__ = [
    "aligned",
    "bias",
    "by_need",
    "captions",
    "cka_table",
    "curves",
    "ends",
    "found",
    "giveaways",
    "guessed",
    "maps",
    "matched",
    "moments",
    "points",
    "published_accuracy",
    "seen_and_new",
    "seen_and_new_with_cause",
    "streams",
    "text_bias",
    "variants",
]

POINTS, SHARED = "modality_alignment/points", "modality_alignment/shared_points"
TVQA, BIAS = "modality_alignment/tvqa", "modality_alignment/batch_bias"
SYSTEMS = {"tvqa-abc": TVQA, "stage": "modality_alignment/video_qa"}
BIASED, RULES = "modality_alignment/text_bias", "modality_alignment/annotations"
OBJECTIVES = ("cosine", "cka", "both", "both-cold", "both-rbf", "infonce")
NEEDS = {"video": "the video", "subtitle": "the subtitles", "both": "both", "text": "the words alone"}
RECORDED = {"video": "regions", "subtitle": "subtitle", "caption": "captions"}
"""What the records call the streams of the source's table 5.1."""

SIZES = ("16", "32", "64", "128", "512", "2048")
"""Batches of the experiment on the bias of CKA."""


def measured(
    experiment: str, rows: Iterable[str], metric: str, names: Mapping[str, str] = ROWS
) -> tuple[dict[str, Spread], set[str]]:
    """Return what `results.spreads` gives of rows of one experiment."""
    return results.spreads([(experiment, row) for row in rows], metric, names=names)


def _grouped(
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
    spoken = "; ".join(
        f"{label}: " + ", ".join(f"{row} {value.mean:.2f}" for row, value in values.items())
        for label, values in shown.items()
    )
    bars = shown if len(shown) > 1 else next(iter(shown.values()))
    return plotting.show(
        plotting.bars(bars, unit=unit, **look),
        alt=f"{about} {spoken}.",
        caption=f"{about} Lines: 95 % intervals ({'; '.join(sorted(origins))}).",
    )


# Two geometries ---------------------------------------------------------------------------------------------


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
    spoken = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    origin = "one run each" if counts == [1] else f"means of {spoken} runs with 95 % intervals"
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
                caption=None
                if metric == "cosine"
                else f"Cosine similarity (left) and CKA (right) of the training pairs; {origin}.",
            )
        )
    return plotting.beside(*pictures)


CLASSES = {"a": ("blue", "o"), "b": ("orange", "s")}
"""Colour and marker of the points of both classes."""


def _maps(row: str) -> Mapping[str, Any]:
    """Return the recorded t-SNE maps of a row: of the data, and of the representations after epochs."""
    group = records.best(POINTS, row)
    found = [] if group is None else [each for each in group.records if each.details.get("tsne")]
    return found[0].details["tsne"] if found else {}


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
    return _grouped(
        series, POINTS, "at the end of training", "Random pairs: cosine similarity and CKA, by objective."
    )


def found() -> Picture:
    """Draw how many wrong points are nearer than the partner, for random pairs and for those with a cause."""
    series = {
        "random pairs, as in the source": measured(POINTS, OBJECTIVES, "rank.held_out"),
        "pairs with a common cause": measured(SHARED, OBJECTIVES, "rank.held_out"),
    }
    return _grouped(
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
        what = "CKA" if metric == "cka.debiased" else "retrieval among 1,000 pairs (low is good)"
        pictures.append(_grouped(series, experiment, unit, f"{about}: {what}.", **look))
    return plotting.beside(*pictures)


def seen_and_new_with_cause() -> Picture:
    """Draw the same for pairs with a common cause."""
    return seen_and_new(SHARED)


# Watching, reading, answering -------------------------------------------------------------------------------


def published_accuracy() -> Picture:
    """Draw the accuracies of the source's table 5.2."""
    names = {
        "tvqa-abc": "TVQA_abc", "tvqa-abc-cka": "TVQA_abc, CKA", "stage-video": "STAGE, video only",
        "stage-subtitle": "STAGE, subtitles only", "stage": "STAGE", "stage-cka": "STAGE, CKA",
        "stage-caption-cka": "STAGE, CKA, captions",
    }  # fmt: skip
    theirs = results.published("modality_alignment/accuracy/")
    values = {label: 100 * theirs[key] for key, label in names.items()}
    return plotting.show(
        plotting.bars(
            values, unit="accuracy in per cent, published", limits=(0, 100), reference=("chance", 20)
        ),
        alt="Published accuracy: "
        + ", ".join(f"{name} {value:.2f} %" for name, value in values.items())
        + ".",
        caption="The source's table 5.2: TVQA_abc on TVQA, STAGE on TVQA+; one number each.",
    )


def by_need(experiment: str, rows: Mapping[str, str], about: str) -> Picture:
    """Draw accuracy by what a question needs, for some rows of an experiment with simulated videos."""
    return _by_kind(experiment, rows, NEEDS, about)


def _by_kind(experiment: str, rows: Mapping[str, str], kinds: Mapping[str, str], about: str) -> Picture:
    series = {}
    for row, label in rows.items():
        values: dict[str, Spread] = {}
        origins: set[str] = set()
        for kind, words in kinds.items():
            share, recorded = measured(experiment, [row], f"accuracy.{kind}", {row: words})
            values |= share
            origins |= recorded
        series[label] = (values, origins)
    return _grouped(series, experiment, "accuracy", about, limits=(0, 1), reference=("chance", 0.2))


def streams(system: str = "tvqa-abc") -> Picture:
    """Draw what each stream of a system answers alone, by what the question needs."""
    rows = {
        "": "subtitles and video",
        "-video": "video only",
        "-subtitle": "subtitles only",
        "-question": "question only",
    }
    return by_need(
        SYSTEMS[system],
        {row: label for ending, label in rows.items() if (row := f"{system}{ending}") in ROWS},
        f"Simulated questions, by what they need, for {ROWS[system]} with some of its streams.",
    )


def captions() -> Picture:
    """Draw which questions about both streams TVQA_abc answers with and without generated captions."""
    return _by_kind(
        TVQA,
        {"tvqa-abc": "subtitles and video", "tvqa-abc-caption": "and captions"},
        {"both.meeting": "meeting", "both.moment": "moment"},
        "Simulated questions that need both streams, for TVQA_abc with and without generated captions.",
    )


def giveaways() -> Picture:
    """Draw how often rules that read only the words are right on the released questions of TVQA+."""
    values: dict[str, float] = {}
    for row in ("first", "shortest", "most-typical", "word-overlap", "longest"):
        group = records.best(RULES, row, data="tvqa-plus")
        summary = None if group is None else group.summary("accuracy")
        if summary is not None:
            values[ROWS[row]] = summary.mean
    if not values:
        return results.missing(RULES)
    return plotting.show(
        plotting.bars(values, unit="accuracy", limits=(0, 1), reference=("chance", 0.2)),
        alt="Accuracy of rules that read only the words: "
        + ", ".join(f"{name} {value:.2f}" for name, value in values.items()),
        caption="Accuracy of rules without a model on the released validation questions of TVQA+, which "
        "have five answers each. A rule sees the words of question and answers, no video and no subtitles.",
    )


def guessed() -> Picture:
    """Draw how far one guessed moment overlaps those of the released questions of TVQA+."""
    group = records.best(RULES, "first", data="tvqa-plus")
    if group is None:
        return results.missing(RULES)
    tenths = [tenth / 10 for tenth in range(1, 10)]
    found = {least: group.summary(f"recall@{least}") for least in tenths}
    shares = [(least, summary.mean) for least, summary in found.items() if summary is not None]
    mean, length = group.summary("overlap"), group.summary("seconds.span")
    if not shares or mean is None or length is None:
        return results.missing(RULES)
    return plotting.show(
        plotting.lines(
            {"one guess": tuple(zip(*shares, strict=True))}, x="overlap of at least", y="share of questions"
        ),
        alt="One guessed moment for all questions of TVQA+: "
        + ", ".join(f"{share:.2f} overlap by {least}" for least, share in shares)
        + f"; mean overlap {mean.mean:.2f}.",
        caption="Released validation questions of TVQA+: the same moment is guessed for all, from the median "
        f"start to the median end. Its mean overlap is {mean.mean:.2f}; moments last {length.mean:.1f} "
        "seconds on average. Any model that finds moments should do better.",
    )


def moments() -> Picture:
    """Draw how well STAGE finds the moments of simulated questions."""
    experiment = SYSTEMS["stage"]
    rows = [row for row in ROWS if row.startswith("stage")]
    series = {
        "overlap in time": measured(experiment, rows, "overlap"),
        "right answer and overlap of 0.5": measured(experiment, rows, "joint"),
    }
    return _grouped(
        series,
        experiment,
        "overlap; share of questions",
        "Simulated questions with a moment: the mean overlap of the moment that STAGE finds with the true "
        "one, and the share answered right with an overlap of at least one half.",
        limits=(0, 1),
    )


def text_bias() -> Picture:
    """Draw accuracy on biased questions without and with CKA, against the share that the words give away."""
    rows = {"0": "no bias", "0.5": "half", "1": "all"}
    series = {
        label: measured(
            BIASED,
            [f"{row}{ending}" for row in rows],
            "accuracy",
            {f"{row}{ending}": name for row, name in rows.items()},
        )
        for label, ending in (("no alignment", ""), ("CKA", "-cka"))
    }
    return _grouped(
        series,
        BIASED,
        "accuracy",
        "Questions about the video; of those about colour, shape or motion, a share of training and test "
        "questions is given the usual answer.",
        limits=(0, 1),
        reference=("chance", 0.2),
    )


# Does alignment help? ---------------------------------------------------------------------------------------


ALIGNED = {
    "": "no alignment",
    "-cka": "CKA",
    "-cka-unpaired": "CKA of unpaired rows",
    "-infonce": "InfoNCE",
    "-infonce-weak": "InfoNCE, λ = 0.005",
}
"""What the names of rows end in."""


def aligned(system: str = "tvqa-abc") -> Picture:
    """Draw the accuracy of a system with and without alignment, by what the question needs."""
    labels = {row: label for ending, label in ALIGNED.items() if (row := f"{system}{ending}") in ROWS}
    return by_need(
        SYSTEMS[system],
        labels,
        f"Accuracy on simulated questions, by what they need, for {ROWS[system]} with and without alignment.",
    )


def matched() -> Picture:
    """Draw whether a video finds its own words among those of other test questions."""
    labels = {f"tvqa-abc{ending}": label for ending, label in ALIGNED.items()}
    return _grouped(
        {"share of wrong questions nearer": measured(TVQA, labels, "retrieval.regions.rank", labels)},
        TVQA,
        "share of wrong questions nearer (low is good)",
        "Test questions of TVQA_abc: the share of other questions whose words are nearer to the mean state "
        "of a video than the words of its own question.",
        limits=(0, 0.7),
        reference=("chance", 0.5),
    )


def variants() -> Picture:
    """Draw the accuracy of TVQA_abc with CKA in its variants, by what the question needs."""
    return by_need(
        TVQA,
        {
            "tvqa-abc-cka": "warm-up, linear kernel",
            "tvqa-abc-cka-cold": "no warm-up",
            "tvqa-abc-cka-rbf": "RBF kernel",
        },
        "Simulated questions, by what they need, for TVQA_abc with CKA: as in the source, without warm-up, "
        "and with the other kernel.",
    )


def cka_table() -> Picture:
    """Draw CKA between the streams and the question-answers: the source's table 5.1 beside our runs."""
    theirs = results.published("modality_alignment/cka/")
    kinds = {"video": "video", "subtitle": "subtitles", "caption": "captions"}
    rows = ("tvqa-abc", "tvqa-abc-cka", "stage", "stage-caption", "stage-caption-cka")
    series = {
        kinds[kind]: {ROWS[row]: theirs[f"{row}/{kind}"] for row in rows if f"{row}/{kind}" in theirs}
        for kind in kinds
    }
    spoken = "; ".join(
        f"{kind}: " + ", ".join(f"{row} {value:.2f}" for row, value in values.items())
        for kind, values in series.items()
    )
    left = plotting.show(
        plotting.bars(series, unit="CKA with question and answers, published", limits=(0, 1)),
        alt=f"Published CKA with question and answers. {spoken}.",
    )
    ours = {kinds[kind]: _of_both_systems(rows, f"cka.{RECORDED[kind]}") for kind in kinds}
    right = _grouped(
        ours,
        TVQA,
        "CKA with question and answers, simulated",
        "CKA between the states of a stream and those of question and answers. Left: the source's table 5.1. "
        "Right: our runs, on held-out questions.",
        limits=(0, 1),
    )
    return plotting.beside(left, right)


def _of_both_systems(rows: Iterable[str], metric: str) -> tuple[dict[str, Spread], set[str]]:
    """Return what `results.spreads` gives of rows of TVQA_abc and of STAGE."""
    pairs = [
        (experiment, row) for system, experiment in SYSTEMS.items() for row in rows if row.startswith(system)
    ]
    return results.spreads(pairs, metric, names=ROWS)


def bias() -> Picture:
    """Draw CKA of rows that do not belong together against the size of the batch, plain and debiased."""
    series = {}
    origins: set[str] = set()
    for label, metric in (("CKA", "strangers"), ("unbiased estimate", "strangers.debiased")):
        values, recorded = measured(BIAS, SIZES, metric, {})
        origins |= recorded
        if values:
            series[label] = band([float(size) for size in values], list(values.values()))
    if not series:
        return results.missing(BIAS)
    spoken = "; ".join(f"{name} from {line[1][0]:.2f} to {line[1][-1]:.2f}" for name, line in series.items())
    return plotting.show(
        plotting.lines(series, x="examples in the batch", y="CKA of shuffled rows", log=True),
        alt=f"CKA of shuffled representations from the smallest to the largest batch: {spoken}.",
        caption="CKA of two trained representations, in batches of the size that training used. The rows of "
        "one representation are shuffled, so the right value is 0. "
        f"Bands: 95 % intervals ({'; '.join(sorted(origins))}).",
    )
