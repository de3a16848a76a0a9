"""Pictures of the chapters that are made from claims and records."""

from collections.abc import Mapping, Sequence
from typing import Any

from reasonlib.display import plotting, results
from reasonlib.display.intervals import Spread, spread
from reasonlib.display.plotting import Picture
from reasonlib.multi_task.data.datasets import SIZES
from reasonlib.multi_task.data.simulator import TASKS
from reasonlib.multi_task.page.labels import ROWS
from reasonlib.tracking import records
from reasonlib.tracking.claims_file import load

__all__ = [
    "ablated",
    "conflicts",
    "differences",
    "gains",
    "heads",
    "rankings",
    "sampling",
    "scratch",
    "sizes",
]

JOINT, HEADS = "multi_task/joint", "multi_task/heads"
BY_SIZE = tuple(sorted(SIZES, key=SIZES.__getitem__))
"""Simulated tasks from the smallest training set to the largest."""


def own_metric(task: str) -> str:
    """Return the metric of a record that stands for a task."""
    return f"{task}.{TASKS[task].metric}"


def sizes() -> Picture:
    """Draw the training examples of the source's sets, on a logarithmic axis."""
    counts = {
        str(claim.label).partition(",")[0]: float(claim.published or 0)
        for claim in load("multi_task")
        if claim.id.startswith("multi_task/sizes/") and claim.id.endswith("/train")
    }
    ordered = dict(sorted(counts.items(), key=lambda item: -item[1]))
    drawing = plotting.bars(ordered, unit="training examples (logarithmic axis)", limits=(300, 1e6))
    plotting.make_logarithmic(drawing.axes[0], "x")
    most, least = next(iter(ordered)), list(ordered)[-1]
    return plotting.show(
        drawing,
        alt=f"Training examples of {len(ordered)} sets, from {most} with {ordered[most]:,.0f} to {least} "
        f"with {ordered[least]:,.0f}.",
        caption="Training examples of the sets of the source. The axis is logarithmic.",
    )


def differences(
    experiment: str, first: str, second: str, metrics: Sequence[str], **filters: Any
) -> tuple[dict[str, Spread], str]:
    """Compute first less second, seed by seed, in points: mean and 95 % interval, and where they come from.

    Parameters
    ----------
    experiment, first, second
        Which rows.
    metrics
        Of the records.
    filters
        As of `reasonlib.tracking.records.best`.
    """
    groups = [records.best(experiment, row, **filters) for row in (first, second)]
    if groups[0] is None or groups[1] is None:
        return {}, ""
    by_seed = [{record.seed: record for record in group.records} for group in groups if group is not None]
    seeds = sorted(set(by_seed[0]) & set(by_seed[1]))
    values = {}
    for metric in metrics:
        gaps = [
            float(a) - float(b)
            for a, b in (
                (by_seed[0][seed].metrics.get(metric), by_seed[1][seed].metrics.get(metric)) for seed in seeds
            )
            if a is not None and b is not None
        ]
        if gaps:
            values[metric] = spread(gaps, factor=100)
    return values, results.origin(groups[0])


def _published_gains(gains: Mapping[str, float], *, of: str, limits: tuple[float, float]) -> Picture:
    return plotting.show(
        plotting.bars(gains, unit="points gained, as published", limits=limits),
        alt=f"Published gain of {of}: "
        + ", ".join(f"{name} {gain:.1f} points" for name, gain in gains.items()),
    )


def _measured_gains(
    values: Mapping[str, Spread], names: Mapping[str, str], experiment: str, *, of: str, caption: str
) -> Picture:
    """Draw the gains of tasks in `names`, from task to label, or say that `experiment` has none yet."""
    gains = {label: values[own_metric(task)] for task, label in names.items() if own_metric(task) in values}
    if not gains:
        return results.missing(experiment)
    return plotting.show(
        plotting.bars(gains, unit="points gained, simulated tasks"),
        alt=f"Measured gain of {of}: "
        + ", ".join(f"{name} {gain.mean:.1f} points" for name, gain in gains.items()),
        caption=caption,
    )


def gains() -> Picture:
    """Draw what joint training changes, task by task: the source's table 3 beside our runs."""
    joint = results.published("multi_task/dev/mt-dnn/")
    alone = results.published("multi_task/dev/bert-large/") | results.published("multi_task/dev/st-dnn/")
    theirs = {
        label: 100 * (joint[key] - alone[key])
        for label, key in (
            ("RTE (2,500)", "rte"), ("MRPC (3,700)", "mrpc-f1"), ("STS-B* (7,000)", "sts-b-pearson"),
            ("CoLA* (8,500)", "cola"), ("SST-2* (67,000)", "sst-2"), ("QNLI v1 (108,000)", "qnli-v1"),
            ("QQP (364,000)", "qqp-accuracy"), ("MNLI (393,000)", "mnli-matched"),
        )
    }  # fmt: skip
    left = _published_gains(theirs, of="MT-DNN by task", limits=(-1, 13))
    values, origin = differences(
        JOINT, "mt-dnn-no-fine-tuning", "st-dnn", [own_metric(task) for task in BY_SIZE]
    )
    right = _measured_gains(
        values,
        {task: f"{task} ({SIZES[task]:,})" for task in BY_SIZE},
        JOINT,
        of="MT-DNN by task",
        caption="Gain of MT-DNN over ST-DNN, from the smallest training set to the largest (in brackets). "
        "First: table 3, without intervals; * marks a gain over BERT, where the table has no ST-DNN. Second: "
        f"our runs without fine-tuning ({origin}); lines are 95 % intervals of the paired difference.",
    )
    return plotting.beside(left, right)


def heads() -> Picture:
    """Draw what another head changes for a single task: the source's ST-DNN less BERT, beside our runs."""
    alone = results.published("multi_task/dev/st-dnn/")
    bert = results.published("multi_task/dev/bert-large/")
    theirs = {
        label: 100 * (alone[key] - bert[key])
        for label, key in (
            ("MNLI, answer network", "mnli-matched"), ("QQP, answer network", "qqp-accuracy"),
            ("RTE, answer network", "rte"), ("MRPC, answer network", "mrpc-f1"),
            ("QNLI v1, ranking", "qnli-v1"),
        )
    }  # fmt: skip
    left = _published_gains(theirs, of="ST-DNN over BERT", limits=(-1, 7))
    tasks = ("inference", "paraphrase", "entailment", "answers")
    values, origin = differences(HEADS, "san", "linear", [own_metric(task) for task in tasks[:3]])
    values |= differences(HEADS, "relevance", "classification", [own_metric("answers")])[0]
    right = _measured_gains(
        values,
        {task: f"{task}, {'ranking' if task == 'answers' else 'answer network'}" for task in tasks},
        HEADS,
        of="the heads over linear ones",
        caption="Gain of a task's head over a linear classifier, each task trained alone. First: table 3, "
        f"ST-DNN minus BERT, without intervals. Second: our runs ({origin}), the ranking head with γ = 1; "
        "lines are 95 % intervals of the paired difference.",
    )
    return plotting.beside(left, right)


def _rows(experiment: str, rows: Sequence[str], metrics: dict[str, str], unit: str, about: str) -> Picture:
    """Draw some metrics of some rows, grouped by row, with 95 % intervals; name rows without a record."""
    series: dict[str, dict[str, Spread]] = {}
    origins: set[str] = set()
    names = {row: ROWS.get(row, row.replace("-", " ")) for row in rows}
    for label, metric in metrics.items():
        values, recorded = results.spreads(
            [(experiment, row) for row in rows], metric, names=names, factor=100
        )
        if values:
            series[label] = values
            origins |= recorded
    if not series:
        return results.missing(experiment)
    description = "; ".join(
        f"{label}: " + ", ".join(f"{row} {value.mean:.1f}" for row, value in values.items())
        for label, values in series.items()
    )
    drawing = plotting.bars(series if len(series) > 1 else next(iter(series.values())), unit=unit)
    absent = [names[row] for row in rows if not any(names[row] in values for values in series.values())]
    missing = f" Not run yet: {'; '.join(absent)}." if absent else ""
    caption = f"{about} Lines: 95 % intervals ({results.together(origins)}).{missing}"
    return plotting.show(drawing, alt=f"{about} {description}.", caption=caption)


def scratch() -> Picture:
    """Draw joint and single training, from the pre-trained encoder and from random weights."""
    return _rows(
        JOINT,
        ("mt-dnn-no-fine-tuning", "st-dnn", "mt-dnn-from-scratch", "st-dnn-from-scratch"),
        {"all tasks": "mean", "the smallest, entailment": "entailment.accuracy"},
        "points of the tasks' own metrics",
        "Training on all tasks and on each alone, from a pre-trained encoder and from random weights.",
    )


def sampling() -> Picture:
    """Draw what each rule of sampling gives all tasks, and the smallest."""
    return _rows(
        "multi_task/sampling",
        ("proportional", "square-root", "temperature", "uniform"),
        {
            "all tasks": "mean",
            "the smallest, entailment": "entailment.accuracy",
            "the largest, inference": "inference.accuracy",
        },
        "points of the tasks' own metrics",
        "How tasks are sampled, at the same number of steps.",
    )


def ablated() -> Picture:
    """Draw the answer network without parts, on the tasks that use it."""
    return _rows(
        "multi_task/heads",
        ("linear", "san-one-step", "san-keeps-all", "san"),
        {name: f"{name}.accuracy" for name in ("inference", "entailment", "paraphrase")},
        "accuracy in per cent",
        "Heads for pairs, each task trained alone.",
    )


def rankings() -> Picture:
    """Draw the ranking head, at two sharpnesses and without sigmoid, beside judging each candidate alone."""
    return _rows(
        "multi_task/heads",
        ("classification", "relevance", "relevance-sharp", "scores"),
        {"first candidate right": "answers.accuracy", "mean average precision": "answers.map"},
        "per cent, and points of MAP",
        "Heads for ranking, trained on answers alone.",
    )


def conflicts() -> Picture:
    """Draw what PCGrad changes at equal compute."""
    return _rows(
        "multi_task/conflict",
        ("one-task-a-step", "joint", "pcgrad"),
        {"all tasks": "mean", "the smallest, entailment": "entailment.accuracy"},
        "points of the tasks' own metrics",
        "The mean of all gradients, PCGrad, and one task a step, on the same mini-batches.",
    )
