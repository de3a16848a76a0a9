"""The tables and figures of this topic's chapters, made from records.

Every number that a chapter shows and does not compute in a cell of its own passes through here, and comes
from ``records/story_qa``; each picture says at which scale and on which data it was measured.
"""

from typing import Any

from reasonlib.display import plotting
from reasonlib.display.results import best, origin, together
from reasonlib.story_qa.data.example import TASK_NAMES, TASKS
from reasonlib.tracking import claims, records

__all__ = [
    "baselines",
    "evidence",
    "facts",
    "joint",
    "labels",
    "peer",
    "readers",
    "restarts",
    "simulator_fit",
    "tasks",
]

LEARNT_FROM = {"babi-10k": "10,000 (mixed)", "babi-1k": "1,000 released", "simulated": "simulated"}
MOST_FACTS = 6  # six of the 20,000 released test questions need more


def labels() -> dict[int, str]:
    """Name the tasks as the figures do: number and name."""
    return {task: f"{task} {name}" for task, name in TASK_NAMES.items()}


def joint() -> Any:
    """Set the joint-training table of the report beside ours as a data frame, one row a cell of it.

    Each of our figures is of the fullest run there is, and the table says what that learned from. The last
    column is of the same code at `quick`.
    """
    import pandas as pd

    lines = {}
    for cell in claims.table("story_qa", table="Accuracy on joint training"):
        short = records.best("story_qa/joint", cell["experiment_row"], scale="quick")
        few = short.summary("accuracy") if short is not None else None
        lines[cell["row"]] = {
            "published": claims.number(cell["published"]),
            "measured here": claims.number(cell["ours"]["mean"] if cell["ours"] else None),
            "questions a task": LEARNT_FROM[cell["data"]["name"]] if cell["data"] else "–",
            "from 500 simulated": claims.number(few.mean if few is not None else None),
        }
    return pd.DataFrame(lines).T.rename_axis("width, hops")


def tasks(*rows: str, names: dict[str, str] | None = None, data: str | None = None) -> plotting.Picture:
    """Draw the accuracy of each of the twenty tasks, one series a row.

    Parameters
    ----------
    rows
        ``experiment:row``, such as ``story_qa/recipe:full``.
    names
        What to call a row in the legend.
    data
        Only records of this data set.
    """
    series: dict[str, dict[str, Any]] = {}
    origins = []
    for row in rows:
        experiment, _, name = row.partition(":")
        group = best(experiment, name, data=data)
        result = {labels()[task]: group.summary(f"accuracy.qa{task}") for task in TASKS}
        series[(names or {}).get(row, name)] = {task: value.mean for task, value in result.items() if value}
        origins.append(f"{(names or {}).get(row, name)}, {origin(group)}")
    drawing = plotting.bars(series, unit="accuracy", limits=(0, 1))
    return plotting.show(
        drawing,
        alt="Accuracy on each of the twenty tasks for " + " and ".join(series),
        caption="Accuracy by task: " + "; ".join(origins) + ".",
    )


def facts(row: str = "story_qa/recipe:full", *, data: str | None = None) -> plotting.Picture:
    """Draw accuracy against the number of supporting facts, up to `MOST_FACTS`.

    Parameters
    ----------
    row
        ``experiment:row``.
    data
        Only records of this data set.
    """
    experiment, _, name = row.partition(":")
    group = best(experiment, name, data=data)
    result = {
        f"{count} fact{'s' * (count > 1)}": summary.mean
        for count in range(1, MOST_FACTS + 1)
        if (summary := group.summary(f"facts.{count}")) is not None
    }
    return plotting.show(
        plotting.bars(result, unit="accuracy", limits=(0, 1)),
        alt="Accuracy for questions that need one, two, three and more supporting facts",
        caption=f"Accuracy by number of supporting facts: {origin(group)}.",
    )


def simulator_fit() -> Any:
    """Set the simulator beside the released stories as a data frame, one row a task."""
    import pandas as pd

    lines = []
    for task in TASKS:
        group = best("story_qa/simulator-fit", f"qa{task}")
        result = {name: summary.mean for name in group.metrics if (summary := group.summary(name))}
        lines.append(
            {
                "task": labels()[task],
                "words": f"{result['simulated.vocabulary']:.0f} / {result['released.vocabulary']:.0f}",
                "sentences": f"{result['simulated.story_mean']:.1f} / {result['released.story_mean']:.1f}",
                "supports": f"{result['simulated.support_mean']:.2f} / {result['released.support_mean']:.2f}",
                "answers apart": round(result["answer_distance"], 3),
            }
        )
    return pd.DataFrame(lines).set_index("task")


def baselines() -> plotting.Picture:
    """Draw the accuracy of the models without a memory beside that of the memory network, all at `quick`."""
    rows = {
        "most frequent answer": ("story_qa/baselines", "most-frequent"),
        "bag of words": ("story_qa/baselines", "bag-of-words"),
        "LSTM": ("story_qa/baselines", "lstm"),
        "memory network": ("story_qa/recipe", "full"),
    }
    groups = {name: best(experiment, row, scale="quick") for name, (experiment, row) in rows.items()}
    summaries = {name: group.summary("accuracy") for name, group in groups.items()}
    return plotting.show(
        plotting.bars(
            {name: summary.mean for name, summary in summaries.items() if summary},
            unit="accuracy, mean over the tasks",
            limits=(0, 1),
        ),
        alt="Accuracy of three models without a memory and of the memory network",
        caption=f"Accuracy with and without a memory: {together(map(origin, groups.values()))}.",
    )


def readers() -> Any:
    """Set the three readers of sentences beside each other as a data frame: mean accuracies, and the runs."""
    import pandas as pd

    rows = {
        "with labels": ("story_qa/evidence", "evidence-loss"),
        "without labels": ("story_qa/evidence", "answer-loss"),
        "sentence reader": ("story_qa/hibert", "from-scratch"),
    }
    means = {"mean of twenty tasks": "accuracy", "without task 3": "accuracy.without_3"}
    lines = {}
    for name, (experiment, row) in rows.items():
        group = best(experiment, row)
        values = {column: group.summary(metric) for column, metric in means.items()}
        lines[name] = {
            column: claims.number(value.mean if value is not None else None)
            for column, value in values.items()
        } | {"run": origin(group)}
    return pd.DataFrame(lines).T.rename_axis("reader")


def restarts(errors: dict[str, dict[str, float]]) -> plotting.Picture:
    """Draw the test error of networks that differ in their initial weights, one series for each setting."""
    return plotting.show(
        plotting.bars(errors, unit="share of test questions answered wrongly", limits=(0, 1)),
        alt="Test error on task 16 of ten networks with different initial weights, with each of two settings",
        caption="Test error on task 16, trained on this page: ten random starts with each of two settings.",
    )


def evidence() -> Any:
    """Set training with and without labels of supporting facts side by side, as a data frame.

    The accuracy is that of short runs at `quick`; the marks are those of the fullest runs.
    """
    import pandas as pd

    rows = {"with labels": "evidence-loss", "without labels": "answer-loss"}
    measures = {
        "accuracy, short training": ("accuracy", "quick"),
        "precision of the marks": ("marks.precision", None),
        "recall of the marks": ("marks.recall", None),
    }
    lines = {}
    for name, (metric, scale) in measures.items():
        groups = {label: best("story_qa/evidence", row, scale=scale) for label, row in rows.items()}
        values = {label: group.summary(metric) for label, group in groups.items()}
        lines[name] = {
            label: claims.number(value.mean if value is not None else None) for label, value in values.items()
        } | {"runs": origin(groups["with labels"])}
    return pd.DataFrame(lines).T.rename_axis("measure")


def peer(scale: str | None = None) -> Any:
    """Set our networks for one task beside the public one, as both were measured in one run.

    Errors in per cent; speeds in questions a second of processor time, over those of the public one. The last
    rows are the mean over the tasks, and one network of each side for all tasks at once, with how often both
    passed over the questions.

    Parameters
    ----------
    scale
        Only records of this scale.
    """
    import pandas as pd

    errors = {
        "error, theirs": "port.error",
        "error, ours": "one.error",
        "error, best of ten": "together.error",
    }
    speeds = {"speed": "one.speed", "speed, ten": "together.speed"}
    lines = {}
    for task in TASKS:
        group = records.best("story_qa/peer", f"qa{task}", scale=scale)
        if group is None:
            continue
        means = {metric: summary.mean for metric in group.metrics if (summary := group.summary(metric))}
        lines[labels()[task]] = {name: 100 * means[metric] for name, metric in errors.items()} | {
            name: means[metric] for name, metric in speeds.items()
        }
    result = pd.DataFrame(lines).T
    result.loc["mean"] = result[list(errors)].mean()
    group = records.best("story_qa/peer-joint", "all", scale=scale)
    if group is not None:
        name = f"all at once, {group.records[0].config['epochs']} passes ({group.scale})"
        for column, metric in (errors | speeds).items():
            if summary := group.summary(metric):
                result.loc[name, column] = summary.mean * (100 if column in errors else 1)
    return result.map("{:.1f}".format).replace("nan", "").rename_axis("task")
