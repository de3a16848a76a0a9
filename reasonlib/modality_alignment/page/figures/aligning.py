"""What alignment changes: accuracy, matches, CKA before and after, and the bias of CKA in a batch."""

from collections.abc import Iterable

from reasonlib.display import plotting, results
from reasonlib.display.intervals import Spread, band
from reasonlib.display.plotting import Picture
from reasonlib.modality_alignment.experiments import EXPERIMENTS
from reasonlib.modality_alignment.page.figures.bars import SYSTEMS, TVQA, by_need, grouped, measured
from reasonlib.modality_alignment.page.labels import ROWS

__all__ = ["aligned", "aligned_stage", "bias", "cka_table", "matched", "variants"]

BIAS = "modality_alignment/batch_bias"
SIZES = ("16", "32", "64", "128", "512", "2048")
"""Batches of the experiment on the bias of CKA."""

RECORDED = {"video": "regions", "subtitle": "subtitle", "caption": "captions"}
"""What the records call the streams of the source's table 5.1."""

ALIGNED = {
    "": "no alignment",
    "-cka": "CKA",
    "-cka-unpaired": "CKA of unpaired rows",
    "-infonce": "InfoNCE, λ = {weight:g}",
    "-infonce-weak": "InfoNCE, λ = {weight:g}",
}
"""What the names of rows end in, with settings of a row filled in."""


def _labels(system: str) -> dict[str, str]:
    """Return the rows of a system with and without alignment, and words for them."""
    rows = EXPERIMENTS[SYSTEMS[system]].rows
    return {
        row: label.format_map(rows[row])
        for ending, label in ALIGNED.items()
        if (row := f"{system}{ending}") in rows
    }


def aligned(system: str = "tvqa-abc") -> Picture:
    """Draw the accuracy of a system with and without alignment, by what the question needs."""
    return by_need(
        SYSTEMS[system],
        _labels(system),
        f"Accuracy on simulated questions, by what they need, for {ROWS[system]} with and without alignment.",
    )


def aligned_stage() -> Picture:
    """Draw the same for STAGE."""
    return aligned("stage")


def matched() -> Picture:
    """Draw whether a video finds its own words among those of other test questions."""
    labels = _labels("tvqa-abc")
    return grouped(
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
    description = "; ".join(
        f"{kind}: " + ", ".join(f"{row} {value:.2f}" for row, value in values.items())
        for kind, values in series.items()
    )
    left = plotting.show(
        plotting.bars(series, unit="CKA with question and answers, published", limits=(0, 1)),
        alt=f"Published CKA with question and answers. {description}.",
    )
    ours = {kinds[kind]: _of_both_systems(rows, f"cka.{RECORDED[kind]}") for kind in kinds}
    right = grouped(
        ours,
        TVQA,
        "CKA with question and answers, simulated",
        "CKA between the states of a stream and those of question and answers. First: the source's table "
        "5.1. Second: our runs, on held-out questions.",
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
    for label, metric in (("plain estimate", "strangers"), ("unbiased estimate", "strangers.debiased")):
        values, recorded = measured(BIAS, SIZES, metric, {})
        origins |= recorded
        if values:
            series[label] = band([float(size) for size in values], list(values.values()))
    if not series:
        return results.missing(BIAS)
    description = "; ".join(
        f"{name} from {line[1][0]:.2f} to {line[1][-1]:.2f}" for name, line in series.items()
    )
    return plotting.show(
        plotting.lines(series, x="examples in the batch", y="CKA of shuffled rows", log=True),
        alt=f"CKA of shuffled representations from the smallest to the largest batch: {description}.",
        caption="CKA of two trained representations, in batches of the size that training used. The rows of "
        "one representation are shuffled, so the right value is 0. "
        f"Bands: 95 % intervals ({results.together(origins)}).",
    )
