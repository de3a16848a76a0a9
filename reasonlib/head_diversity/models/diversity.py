"""How much the heads of a model differ, and how much two models do.

Source: Yun (2022), sections 4.2.2, 4.2.3 and 4.4.2.

Axes: H heads, N tokens, C width of a head, K coefficients.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reasonlib.head_diversity.models.hooks import record_heads
from reasonlib.head_diversity.models.regularisers import flat_tokens, pairs
from reasonlib.nn import canonical_correlations, pairwise_cka, principal_directions, svcca

__all__ = [
    "HeadSimilarity",
    "collect_heads",
    "compare_heads",
    "head_similarity",
    "mean_of_pairs",
    "model_similarity",
]


class HeadSimilarity(NamedTuple):
    """How similar the heads of one attention are; matrices are (H, H), curves have a coefficient each.

    Attributes
    ----------
    cka, cka_debiased : (H, H)
        Linear CKA of every pair, plain and debiased.
    svcca : (H, H)
        Mean SVCCA coefficient of every pair.
    curve : (K,)
        SVCCA coefficients, largest first, mean over pairs; K is the most that every pair has.
    """

    cka: Float[Tensor, "H H"]
    cka_debiased: Float[Tensor, "H H"]
    svcca: Float[Tensor, "H H"]
    curve: Float[Tensor, " K"]

    def means(self) -> dict[str, float]:
        """Mean over pairs of each measure (eq. 4.6); not a number for a single head."""
        return {name: mean_of_pairs(getattr(self, name)) for name in ("cka", "cka_debiased", "svcca")}


def mean_of_pairs(matrix: Float[Tensor, "H H"]) -> float:
    """Mean over all pairs i < j.

    >>> mean_of_pairs(torch.tensor([[1.0, 0.5], [0.5, 1.0]]))
    0.5
    """
    first, second = pairs(len(matrix))
    return float(matrix[first, second].mean()) if len(first) else float("nan")


def compare_heads(heads: Float[Tensor, "H N C"], *, threshold: float = 0.99) -> HeadSimilarity:
    """Compare every head with every other.

    Parameters
    ----------
    heads : (H, N, C)
        What each head gives for the same tokens; at least four.
    threshold
        Share of the variance that SVCCA keeps.

    Raises
    ------
    ValueError
        If the heads have another shape, or give anything but finite numbers; or if there are too few tokens.
    """
    if heads.ndim != 3 or 0 in heads.shape:
        raise ValueError(f"heads must be (H, N, C), none of them 0, got {tuple(heads.shape)}")
    if not torch.isfinite(heads).all():
        raise ValueError("heads must give finite numbers, got some that are infinite or not a number")
    heads = heads.double()
    bases = [principal_directions(outputs, threshold) for outputs in heads]
    matrix = torch.eye(len(heads), dtype=heads.dtype)
    curves = []
    for i, j in combinations(range(len(heads)), 2):
        curve = canonical_correlations(bases[i], bases[j])
        matrix[i, j] = matrix[j, i] = curve.mean() if len(curve) else 0.0  # a constant output
        curves.append(curve)
    shortest = min((len(curve) for curve in curves), default=0)
    mean = torch.stack([curve[:shortest] for curve in curves]).mean(0) if curves else heads.new_zeros(0)
    return HeadSimilarity(pairwise_cka(heads), pairwise_cka(heads, debiased=True), matrix, mean)


def collect_heads(
    model: nn.Module,
    batches: Iterable[Any],
    *,
    run: Callable[[Any], Any] | None = None,
    mask: Callable[[Any, str], Bool[Tensor, "B T"] | None] | None = None,
    tokens: int = 2000,
) -> dict[str, Float[Tensor, "H N C"]]:
    """Run a model over batches and keep what each head gives, by the name of its attention.

    Parameters
    ----------
    model
        With attention of a known form, see `attention_sites`; it is run in evaluation mode.
    batches
        What it is run on, in order.
    run
        ``run(batch)``; ``model(batch)`` if None.
    mask
        ``mask(batch, name)``, True at tokens that count (B, T); all if None.
    tokens
        Stop once every attention has this many; the rest is dropped.

    Raises
    ------
    ValueError
        If the model has no attention of a known form, or none was seen: there were no batches, or the model
        runs its attention in one fused step.
    """
    kept: dict[str, list[Tensor]] = {}
    training = model.training
    model.eval()
    with torch.no_grad():
        for batch in batches:
            with record_heads(model) as heads:
                (model if run is None else run)(batch)
            for name, outputs in heads.items():
                rows = flat_tokens(outputs, None if mask is None else mask(batch, name))
                kept.setdefault(name, []).append(rows.cpu())
            if all(sum(map(len, rows)) >= tokens for rows in kept.values()):
                break
    model.train(training)
    if not kept:
        raise ValueError(
            f"saw no head of {type(model).__name__}: there is no batch, or its attention is one fused step"
        )
    return {name: torch.cat(rows)[:tokens].transpose(0, 1) for name, rows in kept.items()}


def head_similarity(model: nn.Module, batch: Any, **options: Any) -> dict[str, HeadSimilarity]:
    """Compare the heads of every attention of a model on one batch; options as in `collect_heads`.

    Examples
    --------
    >>> from reasonlib.nn import Encoder, TransformerConfig
    >>> encoder = Encoder(TransformerConfig(layers=1, width=8, heads=2, hidden=8))
    >>> similarity = head_similarity(encoder, torch.randn(3, 5, 8))
    >>> similarity["layers.0.attention"].cka.shape
    torch.Size([2, 2])
    """
    heads = collect_heads(model, [batch], **options)
    return {name: compare_heads(outputs) for name, outputs in heads.items()}


def model_similarity(
    first: Mapping[str, Float[Tensor, "H N C"]],
    second: Mapping[str, Float[Tensor, "G N E"]],
    *,
    threshold: float = 0.99,
) -> dict[str, Float[Tensor, " K"]]:
    """SVCCA coefficients between the joined heads of two models, for every attention that both have.

    Raises `ValueError` if they have none in common.
    """
    if not first.keys() & second.keys():
        raise ValueError(f"no attention is in both models: {', '.join(first)}; {', '.join(second)}")
    return {
        name: svcca(
            first[name].double().transpose(0, 1).flatten(1),
            second[name].double().transpose(0, 1).flatten(1),
            threshold,
        )
        for name in first
        if name in second
    }
