"""The tables and figures of this topic's chapters that are made from records."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reasonlib import claims, plotting, records, results
from reasonlib.visual_iq import solve, statistics
from reasonlib.visual_iq.answers import ANSWERS
from reasonlib.visual_iq.figures import ANSWER_SETS
from reasonlib.visual_iq.puzzle import CONFIGURATIONS
from reasonlib.visual_iq.simulate import simulate

__all__ = [
    "BY_LAYOUT",
    "beside_public",
    "elsewhere",
    "fair",
    "from_pictures",
    "layouts",
    "steps",
    "survivors",
    "table_3_2",
]

BY_LAYOUT = {one.title: f"accuracy_{one.title}" for one in CONFIGURATIONS}
"""From what an axis says to the metric of a record."""

COMPARED = {
    "a vote, untrained": "visual_iq/shortcut:vote",
    "the hierarchy, context hidden": "visual_iq/shortcut:blind",
    "the hierarchy without its panel encoder": "visual_iq/reasoner:no-panel",
    "the hierarchy": "visual_iq/reasoner:full",
    "prediction, row by row": "visual_iq/relational:full",
}
"""From what a figure says to ``experiment:row``: the models whose scores are held against each other."""


def layouts(series: Mapping[str, str], *, data: str) -> plotting.Picture:
    """Draw what some rows reach on each of the seven layouts of one answer set."""
    return results.by_metric(series, {"all": "accuracy", **BY_LAYOUT}, unit="share solved", data=data)


def survivors(compared: Mapping[str, str] = COMPARED) -> plotting.Picture:
    """Draw what each model solves of each answer set, each trained on that set."""
    found: dict[str, dict[str, float]] = {ANSWER_SETS[name]: {} for name in ANSWERS}
    origins: dict[str, None] = {}
    for label, row in compared.items():
        experiment, _, word = row.partition(":")
        for name in ANSWERS:
            group = records.best(experiment, word, data=name)
            summary = group.summary("accuracy") if group else None
            if group and summary:
                found[ANSWER_SETS[name]][label] = summary.mean
                origins[f"{group.scale} scale{', stale' if group.stale else ''}"] = None
    return plotting.show(
        plotting.bars(
            {name: solved for name, solved in found.items() if solved},
            unit="share solved",
            limits=(0, 1),
        ),
        alt="Share of test problems that each model solves on RAVEN, I-RAVEN and RAVEN-FAIR",
        caption="Each model trained and tested on the set of its bar. "
        f"{' and '.join(origins)}, simulated. Chance is 0.125.",
    )


def beside_public(number: int = 2000, *, seed: int = 0) -> pd.DataFrame:
    """Set our problems beside those of the public generators, one row a layout.

    Parameters
    ----------
    number
        Problems of each layout that are drawn and counted here.
    seed
        Of these.

    Returns
    -------
    DataFrame
        Total variation distances of rules (with their steps) and of entities' levels, the mean over the
        layout's measures, each with what chance alone would leave between two samples of these sizes; and the
        share of problems that `solve.majority_vote` solves, ours and theirs, for each answer set.
    """
    theirs = statistics.public()
    lines = []
    for one in CONFIGURATIONS:
        drawn = {name: simulate(one.key, number, seed=seed, answers=name) for name in ANSWERS}
        apart = statistics.compare(statistics.question_table(drawn["raven"]), theirs["questions"])
        line: dict[str, Any] = {"layout": one.title}
        for label, words in (("rules", ("rule", "step")), ("levels", ("number", "type", "size", "colour"))):
            held = [found for found in apart if found.measure.split()[1] in words]
            line[f"{label} apart"] = np.mean([found.distance for found in held])
            line[f"{label}, by chance"] = np.mean([found.chance for found in held])
        for name, problems in drawn.items():
            ours = (solve.majority_vote(problems) == problems.target).mean()
            line[f"vote on {ANSWER_SETS[name]}"] = f"{ours:.1%} / {theirs['vote'][name][one.key]:.1%}"
        lines.append(line)
    return pd.DataFrame(lines).set_index("layout").round(3)


def elsewhere(row: str, *, trained: str = "raven") -> plotting.Picture:
    """Draw what a model that was trained on one answer set solves of the others: the same questions.

    Parameters
    ----------
    row
        ``experiment:row``.
    trained
        The set it was trained on.
    """
    experiment, _, word = row.partition(":")
    group = results.best(experiment, word, data=trained)
    found = {
        ANSWER_SETS[name]: summary.mean
        for name in ANSWERS
        if (summary := group.summary(f"accuracy_on_{name}"))
    }
    return plotting.show(
        plotting.bars(found, unit="share solved", limits=(0, 1)),
        alt=f"Share of test problems solved of each answer set by a model trained on {ANSWER_SETS[trained]}",
        caption=f"Trained on {ANSWER_SETS[trained]}, tested on all three. {results.origin(group)}.",
    )


SMALL = {
    "LSTM": "lstm",
    "WReN": "wren",
    "WReN-NoTag-Aux": "wren-notag-aux",
    "CNN": "cnn",
    "ResNet": "resnet",
    "ResNet+DRT": "resnet-drt",
    "CoPINet": "copinet",
}
"""From a method of table 3.2 to a row of ``visual_iq/small-pixels``."""


def table_3_2() -> pd.DataFrame:
    """Set table 3.2 out as the source does, each cell *published / ours* in per cent.

    Returns
    -------
    DataFrame
        A row for each method, a column for each layout, and the run that ours come from. A dash stands where
        the copy at hand is illegible, or nothing was measured. A model on pictures that was never run as
        published, but for longer than at ``quick`` by a small network on small pictures, is shown by that
        run, called *small*.
    """
    table = results.grid("visual_iq", table="Table 3.2: accuracy")
    metrics = {"overall": "accuracy", **BY_LAYOUT}
    for method, row in SMALL.items():
        group = records.best("visual_iq/small-pixels", row, scale="paper", data="raven")
        if group is None or method not in table.index or table.loc[method, "our run"].startswith("paper"):
            continue
        for column, metric in metrics.items():
            summary = group.summary(metric)
            published = table.loc[method, column].split(" / ")[0]
            table.loc[method, column] = f"{published} / {_percent(summary.mean if summary else None)}"
        passes = group.records[-1].config["epochs"]
        table.loc[method, "our run"] = f"small, {passes} passes, {group.data.kind}"
    return table


STEPS = (
    ("all five", "full"),
    ("3", "no-rows"),
    ("4", "no-alike"),
    ("5, one row predicted", "third-row"),
    ("5, none: trained to choose", "choose"),
)
"""What is undone in a row of ``visual_iq/relational``."""


def steps() -> pd.DataFrame:
    """List what each step of the relational model is worth on I-RAVEN: each undone by itself, in per cent.

    The rows of the model are compared at one scale, the largest at which all were measured. The hierarchy,
    which takes none of the steps, stands last, at the largest scale at which it was.
    """
    name = "visual_iq/relational"
    rows = [row for _, row in STEPS]
    groups = {
        scale: [records.best(name, row, scale=scale, data="i-raven") for row in rows]
        for scale in ("paper", "quick", "smoke")
    }
    chosen = next((found for found in groups.values() if all(found)), [])
    lines = []
    for (undone, _), group in zip(STEPS, chosen, strict=False):
        summary = group.summary("accuracy") if group else None
        if group and summary:
            what = f"without {undone}" if undone[0].isdigit() else undone
            lines.append((what, _percent(summary.mean, 2), results.origin(group)))
    hierarchy = results.best("visual_iq/reasoner", "full", data="i-raven")
    summary = hierarchy.summary("accuracy")
    lines.append(
        (
            "without 1 to 5: the hierarchy",
            _percent(summary.mean if summary else None, 2),
            results.origin(hierarchy),
        )
    )
    return pd.DataFrame(lines, columns=["steps", "solved, %", "from"]).set_index("steps")


def from_pictures() -> pd.DataFrame:
    """List what the shipped models solve when the shipped detector reads the puzzles, in per cent."""
    tables = {
        "told": "generator's tables",
        "with_angles": "detector's, with angles",
        "one_reading": "detector's, without",
        "accuracy": "and sizes read both ways",
    }
    lines = {}
    for label, row in (("the hierarchy", "reasoner"), ("prediction, row by row", "relational")):
        for data in ("raven", "i-raven"):
            group = records.best("visual_iq/pipeline", row, data=data)
            if group is None:
                continue
            line = {}
            for metric, what in tables.items():
                summary = group.summary(metric)
                line[what] = _percent(summary.mean if summary else None, 2)
            count = group.summary("problems")
            line["from"] = f"{count.mean:,.0f} problems, {group.scale} scale" if count else group.scale
            lines[f"{label}, {ANSWER_SETS[data]}"] = line
    return pd.DataFrame(lines).T.rename_axis("solved, %")


def fair() -> pd.DataFrame:
    """List what was published about I-RAVEN beside our model, the best last, in per cent.

    Ours stands there twice: with the generator's tables, and with what the detector reads from the pictures.
    """
    rows = claims.table("visual_iq", table="I-RAVEN")
    lines = [(row["row"].split(",")[0], row["published"], row["source"]) for row in rows]
    ours = results.best("visual_iq/relational", "full", data="i-raven")
    summary = ours.summary("accuracy")
    if summary is not None:
        lines.append(("prediction, row by row", summary.mean, f"here, {results.origin(ours)}"))
    seen = records.best("visual_iq/pipeline", "relational", data="i-raven")
    summary = seen.summary("accuracy") if seen else None
    if seen is not None and summary is not None:
        count = int(seen.records[-1].metrics["problems"] or 0)
        lines.append(
            (
                "the same, from pictures",
                summary.mean,
                f"here, {count:,} problems read by the detector, {results.origin(seen)}",
            )
        )
    lines.sort(key=lambda line: line[1])
    return pd.DataFrame(
        [(name, _percent(value, 2), where) for name, value, where in lines],
        columns=["model", "solved, %", "from"],
    ).set_index("model")


def _percent(share: float | None, decimals: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{decimals}f}"
