"""The tables and figures of this topic's chapters that are made from records."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reasonlib import training
from reasonlib.display import results
from reasonlib.errors import UserError
from reasonlib.tracking import claims, records
from reasonlib.visual_iq.data.datasets import ANSWER_SETS
from reasonlib.visual_iq.data.distractors import DISTRACTORS
from reasonlib.visual_iq.data.example import CONFIGURATIONS
from reasonlib.visual_iq.experiments.pixels import PIXELS
from reasonlib.visual_iq.experiments.reasoners import AS_PUBLISHED
from reasonlib.visual_iq.models import solvers
from reasonlib.visual_iq.page.charts import BY_LAYOUT, passes_of, percentage
from reasonlib.visual_iq.page.labels import ABLATIONS, PIXEL_MODELS, RELATIONAL_STEPS, SOURCES

__all__ = [
    "angle_accuracy",
    "human_accuracy",
    "i_raven_table",
    "pipeline_table",
    "pixel_models",
    "relational_ablation",
    "table_3_2",
    "table_3_3",
    "training_budgets",
]


HUMAN_LEFT_RIGHT = 0.8636
"""What people solve of L-R: Zhang et al. (2019), "RAVEN", table 2."""


def human_accuracy() -> pd.DataFrame:
    """List what people solve, by layout, in per cent: published, and not measured here.

    The cell of L-R is RAVEN's; what the thesis prints there, 98.36, is a misprint.
    """
    rows = claims.table("visual_iq", table="Table 3.2: accuracy")
    shares = {
        row["row"].removeprefix("Human, "): percentage(row["published"], 2)
        for row in rows
        if row["row"].startswith("Human, ")
    }
    shares["L-R"] = percentage(HUMAN_LEFT_RIGHT, 2)
    return pd.DataFrame({"people": shares}).T.rename_axis("solved, %")


def _methods() -> dict[str, dict[str, dict[str, Any]]]:
    """Read the cells of table 3.2: for each method, from column to claim."""
    methods: dict[str, dict[str, dict[str, Any]]] = {}
    for row in claims.table("visual_iq", table="Table 3.2: accuracy"):
        method, _, column = row["row"].rpartition(", ")
        methods.setdefault(method, {})[column] = row
    return methods


def _run_behind(claim: Mapping[str, Any]) -> records.Group | None:
    """Find the runs that answer for a cell."""
    if not claim["scale"]:
        return None
    return results.best(
        claim["experiment"], claim["experiment_row"], scale=claim["scale"], data=claim["data"]["name"]
    )


def table_3_2() -> pd.DataFrame:
    """Set table 3.2 out as the source does, in per cent: for each method what was published, and ours below.

    Returns
    -------
    DataFrame
        Two rows for each method, a column for each layout; the second row says at which scale ours ran;
        `training_budgets` says what that was. A dash stands where the copy at hand is illegible, or nothing
        was measured.
    """
    columns = {"overall": "accuracy", **BY_LAYOUT}
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for method, cells in _methods().items():
        lines[method, "published"] = {name: percentage(cells[name]["published"], 2) for name in columns}
        if group := _run_behind(cells["overall"]):
            summaries = {name: group.summary(metric) for name, metric in columns.items()}
            lines[method, f"ours, {group.scale}"] = {
                name: percentage(summary.mean if summary else None, 2) for name, summary in summaries.items()
            }
    index = pd.MultiIndex.from_tuples(lines, names=["solved, %", ""])
    return pd.DataFrame(list(lines.values()), index=index)


def training_budgets() -> pd.DataFrame:
    """List what stands behind each line of ours in `table_3_2`, beside what the methods were published with.

    Returns
    -------
    DataFrame
        For each method the scale and the number of runs, the passes over the training problems, how many
        these were, the side of a picture (*tables* where the model sees none) and the model's parameters. The
        last two lines are how CoPINet's authors and the source trained theirs.
    """

    def line(run: str, config: Mapping[str, Any], parameters: float | None) -> dict[str, str]:
        each = config.get("problems", config.get("per_configuration"))
        size = config.get("size")
        return {
            "scale, runs": run,
            "passes": str(config["epochs"]),
            "training problems": f"{len(CONFIGURATIONS) * each * 6 // 10:,}",
            "sees": f"{size}\N{NO-BREAK SPACE}px" if size else "tables",
            "parameters": f"{parameters:,.0f}" if parameters else "–",
        }

    lines = {}
    for method, cells in _methods().items():
        if group := _run_behind(cells["overall"]):
            record = group.records[-1]
            parameters = record.metrics.get("parameters")
            if record.config["model"] == "reasoner":
                parameters = training.parameter_count(solvers.build(record.config))
            lines[method] = line(f"{group.scale}, {len(group.records)}", record.config, parameters)
    lines["CoPINet's authors"] = line("published", PIXELS.scales["paper"], None)
    lines["the source"] = line("published", AS_PUBLISHED.scales["paper"], None)
    return pd.DataFrame(lines).T.rename_axis("method")


def pixel_models() -> pd.DataFrame:
    """List what models on pictures solve of each answer set when trained on it, in per cent.

    Returns
    -------
    DataFrame
        A row for each model that was measured on one of the sets: its passes over the problems, what it
        solves of the three (mean of the runs), and what was published of the method on two of them. Chance is
        12.5. A dash stands where nothing was measured with today's code, or nothing was published.
    """
    published = {claim["id"]: claim["published"] for claim in claims.table("visual_iq")}
    lines: dict[str, dict[str, str]] = {}
    for row, model in PIXEL_MODELS.items():
        on_raven = "visual_iq/ablation/cnn" if row == "cnn-reasoner" else f"visual_iq/{row}/overall"
        measured = {name: records.best(PIXELS.name, row, data=name) for name in DISTRACTORS}
        groups = {name: group for name, group in measured.items() if group and group.stale is None}
        shares = {name: group.summary("accuracy") for name, group in groups.items()}
        if not shares:
            continue
        passes = {str(group.records[-1].config["epochs"]) for group in groups.values()}
        ours = {name: share.mean for name, share in shares.items() if share}
        lines[model] = {
            "passes": ", ".join(sorted(passes)),
            **{f"{ANSWER_SETS[name]}, ours": percentage(ours.get(name)) for name in DISTRACTORS},
            "RAVEN, published": percentage(published.get(on_raven)),
            "I-RAVEN, published": percentage(published.get(f"visual_iq/fair/{row}")),
        }
    if not lines:
        raise UserError("no model on pictures was measured; reasonlib run visual_iq/pixels")
    return pd.DataFrame(lines).T.rename_axis("solved, %")


def angle_accuracy() -> pd.DataFrame:
    """List what share of the angles' labels can be named, and by whom, in per cent.

    Returns
    -------
    DataFrame
        The published figure between what the bundled detector reaches by two counts and what two ideal
        observers could reach on the same panels, the least first.
    """
    claim = claims.table("visual_iq", ids=["visual_iq/detector/angle"])[0]
    group = results.best("visual_iq/detector", "bundled", data="raven")
    measured = {
        "ideal observer of shapes, guessing among turns that look alike": "angle_blind",
        "our detector": "angle",
        "ideal observer of pixels, guessing where they agree": "angle_limit",
        "our detector, turns that look alike counted as equal": "angle_fair",
    }
    origin = f"{group.records[-1].config['panels']:,} panels, {group.scale} scale"
    lines = [("the source's detector", claim["published"], "published; how it counts is unknown")]
    for observer, metric in measured.items():
        if summary := group.summary(metric):
            lines.append((observer, summary.mean, origin))
    lines.sort(key=lambda line: line[1])
    return pd.DataFrame(
        [(observer, percentage(share, 2), source) for observer, share, source in lines],
        columns=["who", "angles named, %", "from"],
    ).set_index("who")


def table_3_3() -> pd.DataFrame:
    """Set table 3.3 out as the source does, in per cent, with ours, where they come from, and the verdict."""
    lines = []
    for row in claims.table("visual_iq", ids=ABLATIONS):
        perception, entity, panel = ABLATIONS[row["id"]]
        group = _run_behind(row)
        summary = group.summary("accuracy") if group else None
        lines.append(
            {
                "perception": perception,
                "entity encoder": entity,
                "panel encoder": panel,
                "published": percentage(row["published"], 2),
                "ours": percentage(summary.mean if summary else None, 2),
                "our runs": f"{group.scale}, {passes_of(group)}" if group else "–",
                "verdict": row["verdict"],
            }
        )
    return pd.DataFrame(lines).set_index("perception")


def relational_ablation() -> pd.DataFrame:
    """List what each step of the relational model is worth on I-RAVEN: each undone by itself, in per cent.

    A column for each scale at which all rows were measured, so that what is compared was measured alike. The
    reasoner, which takes none of the steps, stands last.
    """
    name, columns = "visual_iq/relational", {}
    for scale in ("quick", "paper"):
        groups = {
            label: records.best(name, row, scale=scale, data="i-raven")
            for label, row in RELATIONAL_STEPS.items()
        }
        if not all(groups.values()):
            continue
        groups["none: the reasoner"] = records.best("visual_iq/reasoner", "full", scale=scale, data="i-raven")
        solved = {}
        for label, group in groups.items():
            summary = group.summary("accuracy") if group else None
            solved[label] = percentage(summary.mean if summary else None, 2)
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


def pipeline_table() -> pd.DataFrame:
    """List what the shipped models solve when the shipped detector reads the puzzles, in per cent."""
    tables = {
        "told": "generator's tables",
        "with_angles": "detector's, with angles",
        "one_reading": "detector's, without",
        "accuracy": "and both sizes tried",
        "fair": "identical candidates counted",
    }
    lines = {}
    for label, row in (("the reasoner", "reasoner"), ("row predictor", "relational")):
        for data in ("raven", "i-raven"):
            group = records.best("visual_iq/pipeline", row, data=data)
            if group is None:
                continue
            line = {}
            for metric, title in tables.items():
                summary = group.summary(metric)
                line[title] = percentage(summary.mean if summary else None, 2)
            count = group.summary("problems")
            line["from"] = f"{count.mean:,.0f} problems, {group.scale} scale" if count else group.scale
            lines[f"{label}, {ANSWER_SETS[data]}"] = line
    return pd.DataFrame(lines).T.rename_axis("solved, %")


def i_raven_table() -> pd.DataFrame:
    """List what was published about I-RAVEN beside our model, the best last, in per cent.

    Ours stands there twice: with the generator's tables, and with what the detector reads from the pictures.
    """
    rows = claims.table("visual_iq", table="I-RAVEN")
    lines = [(row["row"].split(",")[0], row["published"], SOURCES[row["source"]]) for row in rows]
    ours = results.best("visual_iq/relational", "full", data="i-raven")
    summary = ours.summary("accuracy")
    if summary is not None:
        stale = ", stale" if ours.stale else ""
        lines.append(("row predictor", summary.mean, f"here, {ours.scale} scale{stale}"))
    group = records.best("visual_iq/pipeline", "relational", data="i-raven")
    summary = group.summary("accuracy") if group else None
    if group is not None and summary is not None:
        count = int(group.records[-1].metrics["problems"] or 0)
        lines.append(
            (
                "row predictor, from pictures",
                summary.mean,
                f"here, {count:,} problems, {group.scale} scale{', stale' if group.stale else ''}",
            )
        )
    lines.sort(key=lambda line: line[1])
    return pd.DataFrame(
        [(name, percentage(value, 2), source) for name, value, source in lines],
        columns=["model", "solved, %", "from"],
    ).set_index("model")
