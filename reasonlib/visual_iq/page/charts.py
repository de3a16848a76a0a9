"""Charts of this topic's records: accuracy by layout, by answer set and by pass."""

from collections.abc import Mapping, Sequence
from typing import Any

from reasonlib.display import plotting, results
from reasonlib.display.intervals import Spread, spread
from reasonlib.errors import UserError
from reasonlib.tracking import records
from reasonlib.visual_iq.data.datasets import ANSWER_SETS
from reasonlib.visual_iq.data.distractors import DISTRACTORS
from reasonlib.visual_iq.data.example import CONFIGURATIONS
from reasonlib.visual_iq.experiments.pixels import PIXELS
from reasonlib.visual_iq.page.labels import PIXEL_MODELS

__all__ = [
    "BY_LAYOUT",
    "CURVES",
    "accuracy_by_answer_set",
    "accuracy_by_layout",
    "accuracy_on_other_sets",
    "context_blind_by_layout",
    "errors_by_layout",
    "learning_curves",
    "row_predictor_errors",
]

BY_LAYOUT = {layout.title: f"accuracy_{layout.title}" for layout in CONFIGURATIONS}
"""From what an axis says to the metric of a record."""

COMPARED = {
    "majority vote": "visual_iq/shortcut:vote",
    "reasoner, context hidden": "visual_iq/shortcut:blind",
    "small CoPINet, pictures": "visual_iq/pixels:copinet",
    "reasoner, no panel encoder": "visual_iq/reasoner:no-panel",
    "reasoner": "visual_iq/reasoner:full",
    "row predictor": "visual_iq/relational:full",
}
"""From what a figure says to ``experiment:row``: the models whose scores are held against each other."""


def accuracy_by_layout(series: Mapping[str, str], *, data: str) -> plotting.Picture:
    """Draw what some rows reach on each of the seven layouts of one answer set."""
    return results.by_metric(series, {"all": "accuracy", **BY_LAYOUT}, unit="share solved", data=data)


ON_RAVEN = (
    ("binary loss", "visual_iq/reasoner:full"),
    ("binary loss", "visual_iq/longer:full"),
    ("cross-entropy", "visual_iq/reasoner:cross-entropy"),
    ("cross-entropy", "visual_iq/longer:cross-entropy"),
    ("majority vote", "visual_iq/shortcut:vote"),
    ("row predictor", "visual_iq/relational:full"),
)
"""What a legend says, and ``experiment:row``: the reasoner with both losses, and what it is compared with."""


def errors_by_layout(
    series: Sequence[tuple[str, str]] = ON_RAVEN, *, data: str = "raven"
) -> plotting.Picture:
    """Draw the share of problems that each row does not solve, by layout; rows not yet measured are left out.

    The legend says how many passes a row had, and what it misses of all layouts together.
    """
    drawn: dict[str, dict[str, float]] = {}
    origins: dict[str, None] = {}
    for label, row in series:
        experiment, _, word = row.partition(":")
        group = records.best(experiment, word, data=data)
        overall = group.summary("accuracy") if group else None
        if group is None or overall is None:
            continue
        by_layout = {title: group.summary(metric) for title, metric in BY_LAYOUT.items()}
        passes = passes_of(group)
        drawn[f"{label}{passes and f', {passes}'}: {percentage(1 - overall.mean, 2)} % of all"] = {
            title: 1 - summary.mean for title, summary in by_layout.items() if summary
        }
        origins[results.origin(group)] = None
    if not drawn:
        raise UserError("nothing was measured that could be drawn; reasonlib run visual_iq/longer")
    return plotting.show(
        plotting.bars(drawn, unit="share of problems not solved"),
        alt=f"Share of the test problems of {ANSWER_SETS[data]} that each model fails to solve, by layout",
        caption=f"Share of test problems not solved, by layout of {ANSWER_SETS[data]}. The legend gives the "
        f"passes over the training problems and the mean over all layouts ({'; '.join(origins)}).",
    )


def context_blind_by_layout() -> plotting.Picture:
    """Draw what the context-blind reasoner solves of I-RAVEN, by layout."""
    return accuracy_by_layout({"reasoner, context hidden": "visual_iq/shortcut:blind"}, data="i-raven")


def row_predictor_errors() -> plotting.Picture:
    """Draw what the row predictor does not solve of I-RAVEN, by layout."""
    return errors_by_layout([("row predictor", "visual_iq/relational:full")], data="i-raven")


def passes_of(group: records.Group) -> str:
    """Say how many passes over its problems a row had; nothing where nothing was trained."""
    config = group.records[-1].config
    return "" if config["model"] == "vote" else f"{config['epochs']} passes"


def accuracy_by_answer_set(compared: Mapping[str, str] = COMPARED) -> plotting.Picture:
    """Draw what each model solves of each answer set, each trained on that set."""
    accuracies: dict[str, dict[str, Spread]] = {ANSWER_SETS[name]: {} for name in DISTRACTORS}
    origins: list[str] = []
    missing = False
    for label, row in compared.items():
        experiment, _, word = row.partition(":")
        for name in DISTRACTORS:
            group = records.best(experiment, word, data=name)
            summary = group.summary("accuracy") if group else None
            missing |= summary is None
            if group and summary:
                accuracies[ANSWER_SETS[name]][label] = spread(summary)
                named = f"{group.data.name} ({group.data.kind})"  # the legend names the sets
                origins.append(results.origin(group).replace(named, group.data.kind))
    return plotting.show(
        plotting.bars(
            {name: solved for name, solved in accuracies.items() if solved},
            unit="share solved",
            limits=(0, 1),
        ),
        alt="Share of test problems that each model solves on RAVEN, I-RAVEN and RAVEN-FAIR",
        caption="Share of test problems solved by models trained and tested on the same answer set "
        f"({results.together(origins)}). Chance is 0.125. Lines: 95 % intervals of several runs."
        + (" Where a bar is missing, nothing was measured." if missing else ""),
    )


MOVED = (
    ("the reasoner", "visual_iq/longer:full"),
    ("the reasoner, cross-entropy", "visual_iq/reasoner:cross-entropy"),
    ("the reasoner, cross-entropy", "visual_iq/longer:cross-entropy"),
    ("the reasoner without its entity encoder", "visual_iq/reasoner:no-entity"),
    ("row predictor", "visual_iq/relational:full"),
)
"""What an axis says, and ``experiment:row``: models that are given candidates they were not trained on."""


def accuracy_on_other_sets(
    models: Sequence[tuple[str, str]] = MOVED, *, trained: str = "raven"
) -> plotting.Picture:
    """Draw what models trained on one answer set solve of each: the same questions, other candidates.

    Parameters
    ----------
    models
        What the axis says, and ``experiment:row``; rows not yet measured are left out.
    trained
        The set they were trained on.
    """
    accuracies: dict[str, dict[str, float]] = {}
    origins: list[str] = []
    for label, row in models:
        experiment, _, word = row.partition(":")
        group = records.best(experiment, word, data=trained)
        if group is None:
            continue
        solved = {ANSWER_SETS[name]: group.summary(f"accuracy_on_{name}") for name in DISTRACTORS}
        accuracies[f"{label}, {passes_of(group)}"] = {
            name: summary.mean for name, summary in solved.items() if summary
        }
        origins.append(results.origin(group))
    if not accuracies:
        raise UserError("nothing was measured that could be drawn; reasonlib run visual_iq/longer")
    return plotting.show(
        plotting.bars(accuracies, unit="share solved; chance is 0.125", limits=(0, 1)),
        alt=f"Share of test problems solved of each answer set by models trained on {ANSWER_SETS[trained]}",
        caption=f"Share of test problems solved by models trained on {ANSWER_SETS[trained]} alone and tested "
        f"on all three answer sets ({results.together(origins)}).",
    )


CURVES = ("blind-cnn", "cnn", "cnn-reasoner", "copinet", "resnet", "wren-notag-aux")
"""Rows of ``visual_iq/pixels`` whose curves stay apart."""


def learning_curves(rows: Sequence[str] = CURVES, *, data: str = "raven") -> plotting.Picture:
    """Draw what models on pictures solve of the validation problems, after each pass.

    Where a curve ends is where its budget ended. Of measured rows that are not drawn, the caption says it.
    """
    curves: dict[str, list[Any]] = {}
    others: list[str] = []
    origins: list[str] = []
    for row, name in PIXEL_MODELS.items():
        group = records.best(PIXELS.name, row, data=data)
        runs = [run.details["curve"] for run in group.records if "curve" in run.details] if group else []
        if not group or not runs:
            continue
        origins.append(results.origin(group))
        if row in rows:
            curves[name] = runs
        else:
            last = [run[-1]["accuracy"] for run in runs]
            others.append(f"{name} {percentage(sum(last) / len(last))} % after {len(runs[0])}")
    if not curves:
        raise UserError("no model on pictures was measured; reasonlib run visual_iq/pixels")
    return plotting.show(
        plotting.learning_curve(curves, "accuracy", unit="share of problems solved; chance is 0.125"),
        alt=f"Share of {ANSWER_SETS[data]}'s validation problems solved by models on pictures, by pass",
        caption="Share of validation problems solved by models on pictures of 40 x 40 pixels; an epoch "
        f"is a pass over all training problems ({results.together(origins)})."
        + (f" Not drawn: {', '.join(others)}." if others else ""),
    )


def percentage(share: float | None, decimals: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{decimals}f}"
