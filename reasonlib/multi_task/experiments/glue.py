"""The nine sets of GLUE, whole, with any encoder of `transformers` (tables 2 and 3).

::

    trained on      the training part, without the examples that validate
    validated on    `checked` of them, never more than a tenth; they choose the pass whose weights are kept
    measured on     the development part, of MNLI both: labels of the test parts are secret

On ``glue-qnli-v1`` QNLI is version 1, the others are the same, and QNLI alone is measured. There its two
sentences about a question are ranked, but for the row with plain heads, which classifies each.

The setting ``encoder`` is a name on the Hugging Face hub or a folder; with another one than BERT-large::

    glue = EXPERIMENTS["multi_task/glue"]
    rows = {name: {**row, "encoder": "roberta-base"} for name, row in glue.rows.items()}
    run(replace(glue, rows=rows), rows="mt-dnn", data="glue", scale="paper")

A task's system is forgotten before the next one is trained: nine copies of BERT-large take 12 GB.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from reasonlib.multi_task.data import benchmark
from reasonlib.multi_task.data.datasets import Splits
from reasonlib.multi_task.data.example import Example
from reasonlib.multi_task.experiments.joint import joint_stage, load_family, measure_all, train_singles
from reasonlib.multi_task.experiments.train import Trained, evaluate, recipe_of, train
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured

__all__ = ["glue_version", "load_glue", "run_glue"]

VERSION_1 = "glue-qnli-v1"


def glue_version(data: str) -> str | None:
    """Name the state of the files that are read; None where one is not on this machine."""
    if data == "simulated":
        return None
    return benchmark.version_here(qnli="v1" if data == VERSION_1 else "v2")


@lru_cache(maxsize=32)
def _part(name: str, part: str, qnli: str) -> tuple[Example, ...]:
    return tuple(benchmark.read_part(name, part, qnli=qnli))


def _measured_part(name: str, part: str, qnli: str, asked: int | None) -> tuple[Example, ...]:
    """Return a part, or `asked` examples of it: the first of a fixed permutation."""
    examples = _part(name, part, qnli)
    chosen = np.random.default_rng(0).permutation(len(examples))[:asked]
    return tuple(examples[number] for number in sorted(chosen))


def load_glue(
    name: str, *, checked: int, most: int | None = None, asked: int | None = None, seed: int, qnli: str = "v2"
) -> Splits:
    """Read a set; its development part is the test part here.

    Parameters
    ----------
    name
        A key of `reasonlib.multi_task.data.benchmark.METRICS`.
    checked
        Validation examples at most; never more than a tenth of the training part.
    most, asked
        Training and test examples at most; all if None.
    seed
        Draws the order of the training examples, and which are used; the others are the same for every seed.
    qnli
        Its form.
    """
    examples = _part(name, "train", qnli)
    order = np.random.default_rng(0).permutation(len(examples))
    count = max(1, min(checked, len(examples) // 10))
    rest = np.random.default_rng(seed + 1).permutation(order[count:])[:most]
    return Splits(
        benchmark.task_of(name, qnli=qnli),
        tuple(examples[number] for number in rest),
        tuple(examples[number] for number in order[:count]),
        _measured_part(name, "dev", qnli, asked),
    )


def _form_of(trial: Trial) -> str:
    """Return the form of QNLI that a row reads."""
    if trial.data != VERSION_1:
        return "v2"
    return "v1" if trial.settings.get("ranking") == "classification" else "v1-ranking"


def _load(trial: Trial, names: Sequence[str]) -> list[Splits]:
    settings = trial.settings
    if trial.data == "simulated":  # the same run, on sets that every machine has
        return load_family({**settings, "share": 0.03}, seed=trial.seed)
    sizes = {name: settings.get(name) for name in ("most", "asked")}
    return [
        load_glue(name, checked=settings["checked"], **sizes, seed=trial.seed, qnli=_form_of(trial))
        for name in names
    ]


def train_together(stage: Trial) -> Trained:
    """Train all nine sets together."""
    splits = _load(stage, list(benchmark.METRICS))
    return train(recipe_of(stage.settings), splits, device=stage.device, **stage.options)


def run_glue(trial: Trial) -> Measured:
    """Train and measure one row.

    Returns
    -------
    Measured
        Every metric of every set as ``set.metric``; ``mnli.accuracy`` is of the matched part, and
        ``mnli.mismatched`` the accuracy on the other; ``score`` is GLUE's, of the development parts.
    """
    settings, recipe = trial.settings, recipe_of(trial.settings)
    splits = _load(trial, ["qnli"] if trial.data == VERSION_1 else list(benchmark.METRICS))
    together = joint_stage(trial, train_together) if settings["joint"] else None
    own = recipe
    if together is not None:
        own = replace(recipe, epochs=settings["further"], lr=settings["further_lr"])
    finished = together is None or together.history.stopped == "finished"  # fine-tuning starts from its end
    tuned = finished and (together is None or settings.get("fine_tune", False))
    histories = [] if together is None else [together.history]
    metrics: dict[str, float] = {}
    tested: dict[str, int] = {}
    for split in splits:
        name, count = split.task.name, len(split.test)
        system = together
        if system is None or tuned:
            (system,) = train_singles(trial, own, [split], start=together)
            histories.append(system.history)
        metrics |= measure_all([system], [split], recipe)
        tested[f"{name}.accuracy"] = count
        if name == "mnli":
            other = _measured_part(name, "mismatched", "v2", settings.get("asked"))
            scores = evaluate(system.model, system.tokenizer, split.task, other, longest=recipe.longest)
            metrics["mnli.mismatched"], tested["mnli.mismatched"] = scores["accuracy"], len(other)
    metrics["mean"] = sum(metrics[f"{task.name}.{task.metric}"] for task, *_ in splits) / len(splits)
    if trial.data == "glue":
        metrics["score"] = benchmark.glue_score(metrics)
    return measured(
        histories[0],
        metrics,
        further=histories[1:],
        details={
            "train": {split.task.name: len(split.train) for split in splits},
            "test": {split.task.name: len(split.test) for split in splits},
        },
        examples={name: count for name, count in tested.items() if name in metrics},
    )
