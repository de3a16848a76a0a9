"""Pictures of the runs on released sets: what joint training gains, every level, and new sets."""

import pandas as pd

from reasonlib.display import plotting, results
from reasonlib.display.intervals import Spread, band, spread
from reasonlib.display.plotting import Picture
from reasonlib.multi_task.page.figures import differences
from reasonlib.multi_task.page.transfer import by_share, matrix
from reasonlib.tracking import records

__all__ = ["adaptation", "gains", "levels", "transfer"]

REAL, ADAPTATION, DATA = "multi_task/real", "multi_task/real-adaptation", "sentence-tasks"

ENCODERS = {"minilm": "MiniLM", "own": "pre-trained here"}
"""From the first part of a row's name to words."""

SETS = {
    "rte.accuracy": "RTE",
    "mrpc.f1": "MRPC",
    "stsb.pearson": "STS-B",
    "cola.matthews": "CoLA",
    "sst2.accuracy": "SST-2",
    "wikiqa.map": "WikiQA",
}
"""From the metric of a set to its name, from the smallest training part to the largest; WikiQA ranks."""

SYSTEMS = {
    "mt-dnn": "MT-DNN",
    "mt-dnn-no-fine-tuning": "MT-DNN, not fine-tuned",
    "st-dnn": "ST-DNN",
    "bert": "plain heads",
}


def gains() -> Picture:
    """Draw what joint training changes on each released set, for both encoders."""
    series: dict[str, dict[str, Spread]] = {}
    origins = set()
    for encoder, name in ENCODERS.items():
        values, origin = differences(REAL, f"{encoder}-mt-dnn", f"{encoder}-st-dnn", list(SETS), data=DATA)
        if values:
            series[name] = {SETS[metric]: gain for metric, gain in values.items()}
            origins.add(origin)
    if not series:
        return results.missing(REAL)
    description = "; ".join(
        f"{encoder}: " + ", ".join(f"{name} {gain.mean:+.1f}" for name, gain in values.items())
        for encoder, values in series.items()
    )
    return plotting.show(
        plotting.bars(series, unit="points gained"),
        alt=f"Measured gain of MT-DNN over ST-DNN in points: {description}.",
        caption="Gain of MT-DNN, fine-tuned, over ST-DNN on six released sets, in points of their metrics, "
        f"with the encoder {' or '.join(series)} ({results.together(origins)}). Lines: 95 % intervals of "
        "the paired difference. MiniLM was itself trained on sentence pairs, paraphrases and inference among "
        "them.",
    )


def levels() -> pd.DataFrame:
    """Set out what each system reaches on each released set, in points with 95 % intervals."""
    rows: dict[str, dict[str, str]] = {}
    for encoder, name in ENCODERS.items():
        for system, words in SYSTEMS.items():
            group = records.best(REAL, f"{encoder}-{system}", data=DATA)
            if group is None:
                continue
            cells = {}
            for metric, corpus in SETS.items():
                summary = group.summary(metric)
                cells[corpus] = "" if summary is None else _points(spread(summary, factor=100))
            rows[f"{name}, {words}"] = {**cells, "runs": str(len(group.records))}
    return pd.DataFrame.from_dict(rows, orient="index")


def _points(value: Spread) -> str:
    return f"{value.mean:.1f}" + ("" if value.half is None else f" ± {value.half:.1f}")


def adaptation() -> Picture:
    """Draw accuracy on SNLI and SciTail against the share of their examples, for both encoders."""
    curves: dict[str, dict[str, tuple[list[float], ...]]] = {}
    origins, counts = set(), set()
    shares = ("0.1", "1", "10", "100")
    for corpus, words in (("snli", "SNLI"), ("scitail", "SciTail")):
        lines: dict[str, tuple[list[float], ...]] = {}
        for encoder, name in ENCODERS.items():
            for row, system in (("mt-dnn", "MT-DNN"), ("bert", "not trained jointly")):
                group = records.best(ADAPTATION, f"{encoder}-{row}", data=DATA)
                if group is None:
                    continue
                measured = {share: group.summary(f"{corpus}.accuracy_{share}") for share in shares}
                accuracies = {
                    float(share): spread(value, factor=100)
                    for share, value in measured.items()
                    if value is not None
                }
                if not accuracies:
                    continue
                origins.add(results.origin(group))
                counts.add(group.records[0].config["new"])
                lines[f"{name}, {system}"] = band(list(accuracies), list(accuracies.values()))
        if lines:
            curves[words] = lines
    if not curves:
        return results.missing(ADAPTATION)
    most = " or ".join(f"{count:,}" for count in sorted(counts))
    caption = (
        f"Accuracy on SNLI and SciTail after training on a share of {most} examples of their "
        f"development parts ({results.together(origins)}). Bands: 95 % intervals. Chance is 33 % on SNLI; "
        "on SciTail, whose two labels are not equally frequent, one label alone gets more than half."
    )
    *first, last = curves
    return plotting.beside(
        *(by_share(curves[words], words) for words in first), by_share(curves[last], last, caption=caption)
    )


def transfer() -> Picture:
    """Draw which released set helps which as a table, shaded by the gain."""
    names = {metric.partition(".")[0]: name for metric, name in SETS.items()}
    return matrix("multi_task/real-transfer", names, data=DATA)
