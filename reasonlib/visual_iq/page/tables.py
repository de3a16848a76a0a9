"""The tables and figures of this topic's chapters that are made from records."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from reasonlib import training
from reasonlib.display import plotting, results
from reasonlib.errors import UserError
from reasonlib.tracking import claims, records
from reasonlib.visual_iq.data import rule_solver, simulator_fit
from reasonlib.visual_iq.data.distractors import ANSWERS
from reasonlib.visual_iq.data.example import CONFIGURATIONS
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.experiments import train_reasoners
from reasonlib.visual_iq.page.figures import ANSWER_SETS

__all__ = [
    "BY_LAYOUT",
    "CURVES",
    "angles",
    "beside_public",
    "budgets",
    "counted",
    "elsewhere",
    "fair",
    "from_pictures",
    "layouts",
    "missed",
    "people",
    "small_curves",
    "small_models",
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
    "hierarchy, context hidden": "visual_iq/shortcut:blind",
    "small CoPINet, pictures": "visual_iq/small-pixels:copinet",
    "hierarchy, no panel encoder": "visual_iq/reasoner:no-panel",
    "hierarchy": "visual_iq/reasoner:full",
    "prediction, row by row": "visual_iq/relational:full",
}
"""From what a figure says to ``experiment:row``: the models whose scores are held against each other."""


def layouts(series: Mapping[str, str], *, data: str) -> plotting.Picture:
    """Draw what some rows reach on each of the seven layouts of one answer set."""
    return results.by_metric(series, {"all": "accuracy", **BY_LAYOUT}, unit="share solved", data=data)


ON_RAVEN = (
    ("binary loss", "visual_iq/reasoner:full"),
    ("binary loss", "visual_iq/longer:full"),
    ("cross-entropy", "visual_iq/reasoner:cross-entropy"),
    ("cross-entropy", "visual_iq/longer:cross-entropy"),
    ("a vote, untrained", "visual_iq/shortcut:vote"),
    ("prediction, row by row", "visual_iq/relational:full"),
)
"""What a legend says, and ``experiment:row``: the hierarchy with both losses, and what it is held against."""


def missed(series: Sequence[tuple[str, str]] = ON_RAVEN, *, data: str = "raven") -> plotting.Picture:
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
        passes = _passes(group)
        drawn[f"{label}{passes and f', {passes}'}: {_percent(1 - overall.mean, 2)} % of all"] = {
            title: 1 - summary.mean for title, summary in by_layout.items() if summary
        }
        origins[results.origin(group)] = None
    if not drawn:
        raise UserError("nothing was measured that could be drawn; reasonlib run visual_iq/longer")
    return plotting.show(
        plotting.bars(drawn, unit="share missed"),
        alt=f"Share of the test problems of {ANSWER_SETS[data]} that each model misses, by layout",
        caption=f"What each model misses of {ANSWER_SETS[data]} ({'; '.join(origins)}).",
    )


def _passes(group: records.Group) -> str:
    """Say how many passes over its problems a row had; nothing where nothing was trained."""
    config = group.records[-1].config
    return "" if config["model"] == "vote" else f"{config['epochs']} passes"


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
        caption="Each model trained and tested on the set of its bar "
        f"({' and '.join(origins)}, simulated). Chance is 0.125."
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
    theirs = simulator_fit.public()
    lines = []
    for one in CONFIGURATIONS:
        drawn = {name: simulate(one.key, number, seed=seed, answers=name) for name in ANSWERS}
        apart = simulator_fit.compare(simulator_fit.question_table(drawn["raven"]), theirs["questions"])
        line: dict[str, Any] = {"layout": one.title}
        for label, words in (("rules", ("rule", "step")), ("levels", ("number", "type", "size", "colour"))):
            held = [found for found in apart if found.measure.split()[1] in words]
            line[f"{label} apart"] = np.mean([found.distance for found in held])
            line[f"{label}, by chance"] = np.mean([found.chance for found in held])
        for name, problems in drawn.items():
            ours = (rule_solver.majority_vote(problems) == problems.target).mean()
            both = (_percent(ours), _percent(theirs["vote"][name][one.key]))
            line[f"vote on {ANSWER_SETS[name]}, %"] = "\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}".join(both)
        lines.append(line)
    return pd.DataFrame(lines).set_index("layout").round(3)


def counted(number: int = 1000, *, seed: int = 0) -> pd.DataFrame:
    """List what one solves who sees no context and only counts which looks are common among right answers.

    Parameters
    ----------
    number
        Problems of each layout to answer; three times as many are counted on.
    seed
        Of both.

    Returns
    -------
    DataFrame
        For each answer set the share that `statistics.by_counting` solves, by layout; and *motley*, the share
        whose colours differ of all candidates with several entities: of the right ones, of the wrong ones.
    """
    lines = {}
    for name in ANSWERS:
        solved: dict[str, float] = {}
        motley: dict[bool, list[ndarray]] = {True: [], False: []}
        for one in CONFIGURATIONS:
            drawn = simulate(one.key, 4 * number, seed=seed, answers=name)
            asked = drawn[-number:]
            solved[one.title] = float(
                (simulator_fit.by_counting(asked, drawn[:-number]) == asked.target).mean()
            )
            for here, shown in simulator_fit.looks(drawn):
                answers = np.arange(shown.shape[1]) == drawn.target[here, None]
                for right, parts in motley.items():
                    several = shown[(shown[..., 0] > 1) & (answers == right)]
                    parts.append(several[:, -1] == simulator_fit.MIXED)
        shares = {"all": float(np.mean(list(solved.values()))), **solved}
        for right, parts in motley.items():
            shares[f"motley, {'right' if right else 'wrong'}"] = float(np.concatenate(parts).mean())
        lines[ANSWER_SETS[name]] = {label: _percent(share) for label, share in shares.items()}
    return pd.DataFrame(lines).T.rename_axis("solved, %")


def two_right() -> pd.DataFrame:
    """List in how many of the public generators' problems two candidates fit, by layout, in per cent.

    The last column is what a perfect reader of the panels alone solves, who must guess between the two.
    """
    theirs = simulator_fit.public()
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


MOVED = (
    ("the hierarchy", "visual_iq/longer:full"),
    ("the hierarchy, cross-entropy", "visual_iq/reasoner:cross-entropy"),
    ("the hierarchy, cross-entropy", "visual_iq/longer:cross-entropy"),
    ("the hierarchy without its entity encoder", "visual_iq/reasoner:no-entity"),
    ("prediction, row by row", "visual_iq/relational:full"),
)
"""What an axis says, and ``experiment:row``: models that are given candidates they were not trained on."""


def elsewhere(models: Sequence[tuple[str, str]] = MOVED, *, trained: str = "raven") -> plotting.Picture:
    """Draw what models trained on one answer set solve of each: the same questions, other candidates.

    Parameters
    ----------
    models
        What the axis says, and ``experiment:row``; rows not yet measured are left out.
    trained
        The set they were trained on.
    """
    found: dict[str, dict[str, float]] = {}
    origins: dict[str, None] = {}
    for label, row in models:
        experiment, _, word = row.partition(":")
        group = records.best(experiment, word, data=trained)
        if group is None:
            continue
        solved = {ANSWER_SETS[name]: group.summary(f"accuracy_on_{name}") for name in ANSWERS}
        found[f"{label}, {_passes(group)}"] = {name: one.mean for name, one in solved.items() if one}
        origins[results.origin(group)] = None
    if not found:
        raise UserError("nothing was measured that could be drawn; reasonlib run visual_iq/longer")
    return plotting.show(
        plotting.bars(found, unit="share solved; chance is 0.125", limits=(0, 1)),
        alt=f"Share of test problems solved of each answer set by models trained on {ANSWER_SETS[trained]}",
        caption=f"Trained on {ANSWER_SETS[trained]}, tested on all three ({'; '.join(origins)}).",
    )


def _methods() -> dict[str, dict[str, dict[str, Any]]]:
    """Read the cells of table 3.2: for each method, from column to claim."""
    methods: dict[str, dict[str, dict[str, Any]]] = {}
    for row in claims.table("visual_iq", table="Table 3.2: accuracy"):
        method, _, column = row["row"].rpartition(", ")
        methods.setdefault(method, {})[column] = row
    return methods


def _behind(claim: Mapping[str, Any]) -> tuple[str, records.Group] | None:
    """Find the run that answers for a cell, and what to call it: *small*, or its scale.

    A model on pictures that was never run as published, but for longer than at ``quick`` by a small network
    on small pictures, is answered for by that run.
    """
    name, row = claim["experiment"], claim["experiment_row"]
    group = None
    if name == "visual_iq/pixels" and claim["scale"] != "paper":
        group = records.best("visual_iq/small-pixels", row, scale="paper", data="raven")
    if group is not None:
        return "small", group
    if not claim["scale"]:
        return None
    return claim["scale"], results.best(name, row, scale=claim["scale"], data=claim["data"]["name"])


def table_3_2() -> pd.DataFrame:
    """Set table 3.2 out as the source does, in per cent: for each method what was published, and ours below.

    Returns
    -------
    DataFrame
        Two rows for each method, a column for each layout; the second row says which run ours come from:
        its scale, or *small*; `budgets` says what that was. A dash stands where the copy at hand is
        illegible, or nothing was measured.
    """
    columns = {"overall": "accuracy", **BY_LAYOUT}
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for method, cells in _methods().items():
        lines[method, "published"] = {name: _percent(cells[name]["published"], 2) for name in columns}
        if found := _behind(cells["overall"]):
            kind, group = found
            summaries = {name: group.summary(metric) for name, metric in columns.items()}
            lines[method, f"ours, {kind}"] = {
                name: _percent(summary.mean if summary else None, 2) for name, summary in summaries.items()
            }
    index = pd.MultiIndex.from_tuples(lines, names=["solved, %", ""])
    return pd.DataFrame(list(lines.values()), index=index)


def budgets() -> pd.DataFrame:
    """List what stands behind each line of ours in `table_3_2`, beside what the methods were published with.

    Returns
    -------
    DataFrame
        For each method the run, its passes over the training problems, how many these were, the side of a
        picture (*tables* where the model sees none) and the model's parameters. The last two lines are how
        CoPINet's authors and the source trained theirs.
    """
    from reasonlib.visual_iq.experiments import AS_PUBLISHED, PIXELS

    def line(run: str, config: Mapping[str, Any], parameters: float | None) -> dict[str, str]:
        each = config.get("problems", config.get("per_configuration"))
        size = config.get("size")
        return {
            "run": run,
            "passes": str(config["epochs"]),
            "training problems": f"{len(CONFIGURATIONS) * each * 6 // 10:,}",
            "sees": f"{size}\N{NO-BREAK SPACE}px" if size else "tables",
            "parameters": f"{parameters:,.0f}" if parameters else "–",
        }

    lines = {}
    for method, cells in _methods().items():
        if found := _behind(cells["overall"]):
            kind, group = found
            one = group.records[-1]
            parameters = one.metrics.get("parameters")
            if one.config["model"] == "reasoner":
                parameters = training.parameter_count(train_reasoners.build(one.config))
            lines[method] = line(kind, one.config, parameters)
    lines["CoPINet's authors"] = line("published", PIXELS.scales["paper"], None)
    lines["the source"] = line("published", AS_PUBLISHED.scales["paper"], None)
    return pd.DataFrame(lines).T.rename_axis("method")


CURVES = ("blind-cnn", "cnn", "cnn-reasoner", "copinet", "resnet", "wren-notag-aux")
"""Rows of ``visual_iq/small-pixels`` whose curves stay apart."""


def small_curves(rows: Sequence[str] = CURVES, *, data: str = "raven") -> plotting.Picture:
    """Draw what *small* models on pictures solve of the validation problems, after each pass.

    Where a curve ends is where its budget ended. Of measured rows that are not drawn, the caption says it.
    """
    from reasonlib.visual_iq.experiments import SMALL_PIXELS

    curves: dict[str, list[Any]] = {}
    others: list[str] = []
    origins: dict[str, None] = {}
    for row in SMALL_PIXELS.rows:
        group = records.best(SMALL_PIXELS.name, row, scale="paper", data=data)
        if group and (curve := group.records[-1].details.get("curve")):
            name = PICTURED.get(row, row)
            origins[results.origin(group)] = None
            if row in rows:
                curves[name] = curve
            else:
                others.append(f"{name} {_percent(curve[-1]['accuracy'])} % after {len(curve)}")
    if not curves:
        raise UserError("no small model was measured; reasonlib run visual_iq/small-pixels --scale paper")
    return plotting.show(
        plotting.learning_curve(curves, "accuracy", unit="share of problems solved; chance is 0.125"),
        alt=f"Share of {ANSWER_SETS[data]}'s validation problems solved by small models on pictures, by pass",
        caption="A quarter as wide, on pictures of 40 x 40 pixels; an epoch is a pass over all problems "
        f"({'; '.join(origins)})." + (f" Not drawn: {', '.join(others)}." if others else ""),
    )


PICTURED = {
    "lstm": "LSTM",
    "wren": "WReN",
    "wren-notag-aux": "WReN-NoTag-Aux",
    "cnn": "CNN",
    "resnet": "ResNet",
    "resnet-drt": "ResNet+DRT",
    "copinet": "CoPINet",
    "cnn-reasoner": "CNN, both encoders",
    "blind-cnn": "CNN, context hidden",
    "blind-resnet": "ResNet, context hidden",
}
"""From a row of ``visual_iq/small-pixels`` to what table 3.2 or 3.3 calls it; the last two see no context."""


def small_models() -> pd.DataFrame:
    """List what the *small* models on pictures solve of each answer set when trained on it, in per cent.

    Returns
    -------
    DataFrame
        A row for each model that was measured on one of the sets: its passes over the problems, what it
        solves of the three, and what was published of the method on two of them. Chance is 12.5. A dash
        stands where nothing was measured or published.
    """
    from reasonlib.visual_iq.experiments import SMALL_PIXELS

    published = {claim["id"]: claim["published"] for claim in claims.table("visual_iq")}
    lines: dict[str, dict[str, str]] = {}
    for row in SMALL_PIXELS.rows:
        on_raven = "visual_iq/ablation/cnn" if row == "cnn-reasoner" else f"visual_iq/{row}/overall"
        groups = {name: records.best(SMALL_PIXELS.name, row, scale="paper", data=name) for name in ANSWERS}
        shares = {name: group.summary("accuracy") for name, group in groups.items() if group}
        if not shares:
            continue
        passes = {str(group.records[-1].config["epochs"]) for group in groups.values() if group}
        ours = {name: share.mean for name, share in shares.items() if share}
        lines[PICTURED.get(row, row)] = {
            "passes": ", ".join(sorted(passes)),
            **{f"{ANSWER_SETS[name]}, small": _percent(ours.get(name)) for name in ANSWERS},
            "RAVEN, published": _percent(published.get(on_raven)),
            "I-RAVEN, published": _percent(published.get(f"visual_iq/fair/{row}")),
        }
    if not lines:
        raise UserError("no small model was measured; reasonlib run visual_iq/small-pixels --scale paper")
    return pd.DataFrame(lines).T.rename_axis("solved, %")


def angles() -> pd.DataFrame:
    """List what share of the angles' labels can be named, and by whom, in per cent.

    Returns
    -------
    DataFrame
        The published figure between what the detector that ships reaches by two counts and what two kinds of
        perfect eyes could reach on the same panels, the least first.
    """
    claim = claims.table("visual_iq", ids=["visual_iq/detector/angle"])[0]
    group = results.best("visual_iq/detector", "shipped", data="raven")
    measured = {
        "an eye for shapes, which must guess among turns that look alike": "angle_blind",
        "our detector": "angle",
        "an eye that compares single pixels, and guesses where they agree": "angle_limit",
        "our detector, turns that look alike counted as equal": "angle_fair",
    }
    origin = f"{group.records[-1].config['panels']:,} panels, {group.scale} scale"
    lines = [("the source's detector", claim["published"], "published, its way of counting unknown")]
    for who, metric in measured.items():
        if summary := group.summary(metric):
            lines.append((who, summary.mean, origin))
    lines.sort(key=lambda line: line[1])
    return pd.DataFrame(
        [(who, _percent(share, 2), where) for who, share, where in lines],
        columns=["who", "angles named, %", "from"],
    ).set_index("who")


ABLATIONS = {
    "visual_iq/ablation/cnn": ("CNN", "yes", "yes"),
    "visual_iq/ablation/neither": ("detector", "no", "no"),
    "visual_iq/ablation/no-entity": ("detector", "no", "yes"),
    "visual_iq/ablation/no-panel": ("detector", "yes", "no"),
    "visual_iq/ablation/full": ("detector", "yes", "yes"),
}
"""From a claim to what table 3.3 says of its row: what perceives, and which of the two encoders there are."""


def table_3_3() -> pd.DataFrame:
    """Set table 3.3 out as the source does, in per cent, with ours, where they come from, and the verdict."""
    lines = []
    for row in claims.table("visual_iq", ids=ABLATIONS):
        perception, entity, panel = ABLATIONS[row["id"]]
        found = _behind(row)
        summary = found[1].summary("accuracy") if found else None
        lines.append(
            {
                "perception": perception,
                "entity encoder": entity,
                "panel encoder": panel,
                "published": _percent(row["published"], 2),
                "ours": _percent(summary.mean if summary else None, 2),
                "our run": f"{found[0]}, {_passes(found[1])}" if found else "–",
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
        "fair": "twins counted",
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
                "prediction, row by row, from pictures",
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
