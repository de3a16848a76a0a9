"""From what heads give to the numbers of a record."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from reasonlib.head_diversity.models.diversity import HeadSimilarity, compare_heads
from reasonlib.head_diversity.models.regularisers import disagreement

__all__ = ["head_metrics", "mean_metrics", "rank_correlation", "similarity_details"]

MEASURES = ("cka", "cka_debiased", "svcca", "top_svcca", "disagreement")


def head_metrics(heads: Tensor) -> tuple[dict[str, float], HeadSimilarity]:
    """Compare the heads (H, N, C) of one attention.

    Returns
    -------
    dict
        ``cka``, ``cka_debiased``, ``svcca``: mean over pairs; ``top_svcca``: mean of the eight largest
        coefficients, or of all that there are; ``disagreement``: one less the mean cosine of two heads at the
        same token. Empty for a single head.
    HeadSimilarity
        The same pair by pair.
    """
    similarity = compare_heads(heads)
    if len(heads) == 1:
        return {}, similarity
    top = float(similarity.curve[:8].mean())
    cosine = float(disagreement(heads.transpose(0, 1)).mean())
    return {**similarity.means(), "top_svcca": top, "disagreement": 1 - cosine}, similarity


def mean_metrics(metrics: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Average the metrics of several attentions or models; those with a single head have none."""
    rows = [values for values in metrics.values() if values]
    return {name: float(np.mean([values[name] for values in rows])) for name in MEASURES if rows}


def similarity_details(compared: Mapping[str, HeadSimilarity]) -> dict[str, Any]:
    """Give what a record keeps of attentions with several heads: matrices and curves, rounded."""
    return {
        name: {
            part: np.round(getattr(similarity, part).numpy(), 3).tolist()
            for part in ("cka_debiased", "svcca", "curve")
        }
        for name, similarity in compared.items()
        if len(similarity.cka) > 1
    }


def rank_correlation(first: list[float], second: list[float]) -> float:
    """Spearman's correlation of two lists of numbers; not a number if one is constant.

    >>> rank_correlation([1.0, 2.0, 5.0], [10.0, 30.0, 20.0])
    0.5
    """
    from scipy.stats import spearmanr

    if len(set(first)) == 1 or len(set(second)) == 1:
        return float("nan")
    return round(float(spearmanr(first, second)[0]), 12)
