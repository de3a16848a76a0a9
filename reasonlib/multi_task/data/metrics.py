"""Metrics as GLUE uses them, and those of a ranking; `scikit-learn` and `scipy` compute what they have.

A ranking is scored by the position of its right candidates: the share of questions whose best candidate is
right (accuracy), mean average precision (MAP) and mean reciprocal rank (MRR).
"""

import warnings
from collections.abc import Sequence

import numpy as np

from reasonlib.multi_task.data.example import Example, Task

__all__ = ["average_precision", "reciprocal_rank", "score"]


def average_precision(scores: Sequence[float] | np.ndarray, relevant: Sequence[int]) -> float:
    """Return the mean, over the right candidates, of the share of right ones down to each.

    Examples
    --------
    >>> average_precision([0.9, 0.8, 0.1], [0, 2])
    0.8333333333333333
    """
    order = np.argsort(-np.asarray(scores), kind="stable")
    ranks = sorted(int(np.flatnonzero(order == position)[0]) + 1 for position in relevant)
    return float(np.mean([(number + 1) / rank for number, rank in enumerate(ranks)]))


def reciprocal_rank(scores: Sequence[float] | np.ndarray, relevant: Sequence[int]) -> float:
    """Return one over the rank of the first right candidate.

    Examples
    --------
    >>> reciprocal_rank([0.2, 0.8, 0.1], [0, 2])
    0.5
    """
    order = np.argsort(-np.asarray(scores), kind="stable")
    return 1.0 / (1 + min(int(np.flatnonzero(order == position)[0]) for position in relevant))


def score(task: Task, examples: Sequence[Example], predictions: Sequence[object]) -> dict[str, float]:
    """Return the metrics of a task.

    Parameters
    ----------
    task
        Says which metrics: accuracy, and Matthews or F1 where there are two classes; Pearson and Spearman of
        a similarity; accuracy, MAP and MRR of a ranking.
    examples
        The labelled examples.
    predictions
        For each a class number, a similarity, or the scores of its candidates.

    Raises
    ------
    ValueError
        If there are no examples, or their number is not that of the predictions.
    """
    if not examples or len(examples) != len(predictions):
        raise ValueError(
            f"predictions must be one for each example, got {len(predictions)} and {len(examples)}"
        )
    if task.kind == "ranking":
        relevant = [(int(example.label), *example.others) for example in examples]
        rows = [np.asarray(row, dtype=np.float64) for row in predictions]
        return {
            "accuracy": float(
                np.mean([int(row.argmax()) in right for row, right in zip(rows, relevant, strict=True)])
            ),
            "map": float(
                np.mean([average_precision(row, right) for row, right in zip(rows, relevant, strict=True)])
            ),
            "mrr": float(
                np.mean([reciprocal_rank(row, right) for row, right in zip(rows, relevant, strict=True)])
            ),
        }
    labels = np.asarray([example.label for example in examples], dtype=np.float64)
    values = np.asarray(predictions, dtype=np.float64)
    if task.kind == "similarity":
        return _correlations(labels, values)
    from sklearn.metrics import f1_score, matthews_corrcoef

    metrics = {"accuracy": float((labels == values).mean())}
    if len(task.labels) == 2:
        metrics["f1"] = float(f1_score(labels, values, zero_division=0.0))
        # one class alone correlates with nothing; scikit-learn says the same, with a warning
        constant = np.ptp(labels) == 0 or np.ptp(values) == 0
        metrics["matthews"] = 0.0 if constant else float(matthews_corrcoef(labels, values))
    return metrics


def _correlations(labels: np.ndarray, values: np.ndarray) -> dict[str, float]:
    from scipy.stats import pearsonr, spearmanr

    if np.ptp(values) == 0 or np.ptp(labels) == 0:  # no order: GLUE's script gives no number here
        return {"pearson": 0.0, "spearman": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of nearly constant predictions
        return {
            "pearson": float(pearsonr(labels, values)[0]),
            "spearman": float(spearmanr(labels, values)[0]),
        }
