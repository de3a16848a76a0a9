"""The tables and figures of this topic's chapters that are made from records."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reasonlib import claims, plotting, records, results
from reasonlib.errors import UserError
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
    "people",
    "steps",
    "survivors",
    "table_3_2",
    "table_3_3",
    "two_right",
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
    missing = False
    for label, row in compared.items():
        experiment, _, word = row.partition(":")
        for name in ANSWERS:
            group = records.best(experiment, word, data=name)
            summary = group.summary("accuracy") if group else None
            missing |= summary is None
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
        f"{' and '.join(origins)}, simulated. Chance is 0.125."
        + (" Where a bar is missing, nothing was measured." if missing else ""),
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
            both = (_percent(ours), _percent(theirs["vote"][name][one.key]))
            line[f"vote on {ANSWER_SETS[name]}, %"] = "\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}".join(both)
        lines.append(line)
    return pd.DataFrame(lines).set_index("layout").round(3)


def two_right() -> pd.DataFrame:
    """List in how many of the public generators' problems two candidates fit, by layout, in per cent.

    The last column is what a perfect reader of the panels alone solves, who must guess between the two.
    """
    theirs = statistics.public()
    lines = {}
    for name in ANSWERS:
        shares = theirs["two_right"][name]
        lines[ANSWER_SETS[name]] = {
            **{one.title: _percent(shares[one.key]) for one in CONFIGURATIONS},
            "perfect reader": _percent(theirs["solved"][name]["panels_alone"], 2),
        }
    return pd.DataFrame(lines).T.rename_axis("two fit, %")


def people() -> pd.DataFrame:
    """List what people solve, by layout, in per cent: published, and not measured here."""
    rows = claims.table("visual_iq", table="Table 3.2: accuracy")
    told = {
        row["row"].removeprefix("Human, "): _percent(row["published"], 2)
        for row in rows
        if row["row"].startswith("Human, ")
    }
    return pd.DataFrame({"people": told}).T.rename_axis("solved, %")


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
    """Set table 3.2 out as the source does, in per cent: for each method what was published, and ours below.

    Returns
    -------
    DataFrame
        Two rows for each method, a column for each layout; the second row says which run ours come from. A
        dash stands where the copy at hand is illegible, or nothing was measured. A model on pictures that was
        never run as published, but for longer than at ``quick`` by a small network on small pictures, is
        shown by that run, called *small*.
    """
    columns = {"overall": "accuracy", **BY_LAYOUT}
    lines: dict[tuple[str, str], dict[str, str]] = {}
    methods: dict[str, dict[str, Any]] = {}
    for row in claims.table("visual_iq", table="Table 3.2: accuracy"):
        method, _, column = row["row"].rpartition(", ")
        methods.setdefault(method, {})[column] = row
    for method, cells in methods.items():
        lines[method, "published"] = {name: _percent(cells[name]["published"], 2) for name in columns}
        first = cells["overall"]
        group = None
        if method in SMALL and first["scale"] != "paper":
            group = records.best("visual_iq/small-pixels", SMALL[method], scale="paper", data="raven")
        if group is not None:
            summaries = {name: group.summary(metric) for name, metric in columns.items()}
            passes = group.records[-1].config["epochs"]
            lines[method, f"ours, small, {passes} passes"] = {
                name: _percent(summary.mean if summary else None, 2) for name, summary in summaries.items()
            }
        elif first["scale"]:
            lines[method, f"ours, {first['scale']}"] = {
                name: _percent(cells[name]["ours"]["mean"] if cells[name]["ours"] else None, 2)
                for name in columns
            }
    index = pd.MultiIndex.from_tuples(lines, names=["solved, %", ""])
    return pd.DataFrame(list(lines.values()), index=index)


ABLATIONS = {
    "visual_iq/ablation/cnn": ("CNN", "yes", "yes"),
    "visual_iq/ablation/neither": ("detector", "no", "no"),
    "visual_iq/ablation/no-entity": ("detector", "no", "yes"),
    "visual_iq/ablation/no-panel": ("detector", "yes", "no"),
    "visual_iq/ablation/full": ("detector", "yes", "yes"),
}
"""From a claim to what table 3.3 says of its row: what perceives, and which of the two encoders there are."""


def table_3_3() -> pd.DataFrame:
    """Set table 3.3 out as the source does, in per cent, with what we measured and what follows."""
    lines = []
    for row in claims.table("visual_iq", ids=ABLATIONS):
        perception, entity, panel = ABLATIONS[row["id"]]
        lines.append(
            {
                "perception": perception,
                "entity encoder": entity,
                "panel encoder": panel,
                "published": _percent(row["published"], 2),
                "ours": _percent(row["ours"]["mean"] if row["ours"] else None, 2),
                "our run": row["scale"] or "–",
                "verdict": row["verdict"],
            }
        )
    return pd.DataFrame(lines).set_index("perception")


STEPS = {
    "all five": "full",
    "without 3: panels, not rows": "no-rows",
    "without 4: mixed is mixed": "no-alike",
    "5 for the third row alone": "third-row",
    "without 5: trained to choose": "choose",
}
"""From what is undone to a row of ``visual_iq/relational``."""


def steps() -> pd.DataFrame:
    """List what each step of the relational model is worth on I-RAVEN: each undone by itself, in per cent.

    A column for each scale at which all rows were measured, so that what is compared was measured alike. The
    hierarchy, which takes none of the steps, stands last.
    """
    name, columns = "visual_iq/relational", {}
    for scale in ("quick", "paper"):
        groups = {label: records.best(name, row, scale=scale, data="i-raven") for label, row in STEPS.items()}
        if not all(groups.values()):
            continue
        groups["none: the hierarchy"] = records.best(
            "visual_iq/reasoner", "full", scale=scale, data="i-raven"
        )
        solved = {}
        for label, group in groups.items():
            summary = group.summary("accuracy") if group else None
            solved[label] = _percent(summary.mean if summary else None, 2)
            if group:
                passes = group.records[-1].config["epochs"]
                solved[label] += f" ({passes} passes{', stale' if group.stale else ''})"
        config = results.best(name, "full", scale=scale, data="i-raven").records[-1].config
        columns[f"{scale}: {len(CONFIGURATIONS) * config['per_configuration'] * 6 // 10:,} problems"] = solved
    if not columns:
        raise UserError(
            "visual_iq/relational was not measured in all its rows; reasonlib run visual_iq/relational"
        )
    return pd.DataFrame(columns).rename_axis("solved on I-RAVEN, %")


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


WORKS = {
    "hersche2023": "Hersche et al. 2023",
    "hu2021": "Hu et al. 2021",
    "yang2023": "Yang et al. 2023",
}
"""Who published a figure about I-RAVEN."""


def fair() -> pd.DataFrame:
    """List what was published about I-RAVEN beside our model, the best last, in per cent.

    Ours stands there twice: with the generator's tables, and with what the detector reads from the pictures.
    """
    rows = claims.table("visual_iq", table="I-RAVEN")
    lines = [(row["row"].split(",")[0], row["published"], WORKS[row["source"]]) for row in rows]
    ours = results.best("visual_iq/relational", "full", data="i-raven")
    summary = ours.summary("accuracy")
    if summary is not None:
        stale = ", stale" if ours.stale else ""
        lines.append(("prediction, row by row", summary.mean, f"here, {ours.scale} scale{stale}"))
    seen = records.best("visual_iq/pipeline", "relational", data="i-raven")
    summary = seen.summary("accuracy") if seen else None
    if seen is not None and summary is not None:
        count = int(seen.records[-1].metrics["problems"] or 0)
        lines.append(
            (
                "the same, from pictures",
                summary.mean,
                f"here, {count:,} problems, {seen.scale} scale{', stale' if seen.stale else ''}",
            )
        )
    lines.sort(key=lambda line: line[1])
    return pd.DataFrame(
        [(name, _percent(value, 2), where) for name, value, where in lines],
        columns=["model", "solved, %", "from"],
    ).set_index("model")


def _percent(share: float | None, decimals: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{decimals}f}"
