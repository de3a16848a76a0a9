"""Tables of the chapters that are made from runs and records."""

from typing import Any

import pandas as pd

from reasonlib.modality_alignment.data.simulator import KINDS
from reasonlib.modality_alignment.models.pretrained import from_pretrained
from reasonlib.modality_alignment.page.figures.bars import NEEDS

__all__ = ["bundled", "by_need"]


def bundled() -> pd.DataFrame:
    """Return the accuracy of the bundled model on new questions, by kind of question."""
    metrics = from_pretrained().made
    rows = [
        (kind, NEEDS[KINDS[kind]], float(metrics[f"accuracy.{KINDS[kind]}.{kind}"]))
        for kind in KINDS
        if f"accuracy.{KINDS[kind]}.{kind}" in metrics
    ]
    return (
        pd.DataFrame(rows, columns=["kind of question", "it needs", "accuracy"])
        .round(2)
        .set_index("kind of question")
    )


def by_need(run: Any) -> pd.DataFrame:
    """Return the accuracy of a run that has just been made, by what a question needs."""
    rows = {
        words: run.metrics[f"accuracy.{need}"]
        for need, words in NEEDS.items()
        if f"accuracy.{need}" in run.metrics
    }
    rows["all questions"] = run.metrics["accuracy"]
    table = pd.DataFrame({"accuracy": {name: round(float(value), 2) for name, value in rows.items()}})
    return table.rename_axis("the question needs")
