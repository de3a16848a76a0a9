r"""Losses that control how much heads differ: HSIC, and orthogonality.

Source: Yun (2022), sections 4.3.1 and 4.3.2; Bansal et al. (2018) for SRIP, https://arxiv.org/abs/1810.09102;
Li et al. (2018) for the disagreement, https://arxiv.org/abs/1810.10183.

Axes: H heads, N tokens of a batch, C width of a head.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.arguments import check_at_least
from reasonlib.head_diversity.models.hooks import record_heads, record_projections
from reasonlib.nn import hsic

__all__ = [
    "Penalties",
    "TokenMask",
    "disagreement",
    "flat_tokens",
    "hsic_penalty",
    "orthogonality_penalty",
    "pairs",
    "penalised_loss",
    "srip",
]

TokenMask = Callable[[str, str], Bool[Tensor, "B T"] | None]
"""From the name of an attention, and ``query`` or ``value``, to the tokens that are no padding; None: all."""


@dataclass(frozen=True, kw_only=True)
class Penalties:
    """Weights of the regularisers in the loss; 0 leaves one out.

    Raises `ValueError` if a weight is negative.
    """

    hsic: float = 0.0  # lambda of eq. 4.7
    orthogonality: float = 0.0  # lambda of eq. 4.8

    def __post_init__(self) -> None:
        check_at_least(self, 0, "hsic", "orthogonality")

    def __bool__(self) -> bool:
        return bool(self.hsic or self.orthogonality)


def pairs(heads: int, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """Return both numbers of every pair of heads, i < j."""
    first, second = torch.triu_indices(heads, heads, offset=1, device=device)
    return first, second


def hsic_penalty(heads: Float[Tensor, "H N C"]) -> Float[Tensor, ""]:
    """Mean HSIC of every pair of heads (eq. 4.7), with a linear kernel; 0 for a single head."""
    # excerpt: hsic penalty
    first, second = pairs(len(heads), heads.device)
    return (
        hsic(heads[first], heads[second]).mean()
        if len(first)
        else heads.new_zeros(())  # one head makes no pair
    )
    # end excerpt


def srip(vectors: Float[Tensor, "N H C"], *, iterations: int = 4) -> Float[Tensor, " N"]:
    r"""Spectral restricted isometry: how far H vectors are from orthonormal (eq. 4.8).

    .. math:: \sigma(V^\top V - I)

    Parameters
    ----------
    vectors : (N, H, C)
        For each token, a vector of each head: the columns of V.
    iterations
        Of the power method. Its gradient goes through all of them.

    Returns
    -------
    (N,)
        An estimate of the spectral norm, never above it.
    """
    # excerpt: srip
    heads = vectors.shape[-2]
    gram = vectors @ vectors.mT - torch.eye(
        heads,
        dtype=vectors.dtype,
        device=vectors.device,
    )  # (N, H, H)
    direction = torch.linspace(
        1,
        2,
        heads,
        dtype=vectors.dtype,
        device=vectors.device,
    )
    direction = direction.expand(*gram.shape[:-1]).unsqueeze(-1)  # (N, H, 1)
    for _ in range(iterations):
        direction = functional.normalize(gram @ direction, dim=-2, eps=1e-12)
    return (gram @ direction).square().sum((-2, -1)).clamp_min(1e-24).sqrt()
    # end excerpt


def disagreement(vectors: Float[Tensor, "N H C"]) -> Float[Tensor, " N"]:
    """Mean cosine between the vectors of every pair of heads, which Li et al. (2018) minimise."""
    # excerpt: disagreement
    first, second = pairs(vectors.shape[-2], vectors.device)
    return functional.cosine_similarity(
        vectors[:, first],
        vectors[:, second],
        dim=-1,
    ).mean(-1)
    # end excerpt


def orthogonality_penalty(
    queries: Float[Tensor, "N H C"], keys: Float[Tensor, "M H C"], values: Float[Tensor, "M H C"]
) -> Float[Tensor, ""]:
    """SRIP of the values, and the disagreement of queries, keys and values; 0 for a single head.

    Notes
    -----
    The source says that it uses both and prints the first alone (eq. 4.8); here they are added.
    """
    if values.shape[-2] == 1:
        return values.new_zeros(())
    return srip(values).mean() + sum(disagreement(part).mean() for part in (queries, keys, values)) / 3


def penalised_loss(
    model: nn.Module, loss: Callable[[], Tensor], penalties: Penalties, mask: TokenMask
) -> Tensor:
    """Add the regularisers, each the mean over every attention of the model, to a loss.

    Parameters
    ----------
    model
        With attention of `reasonlib.nn`.
    loss
        Runs the model once.
    penalties
        Weights.
    mask
        Which tokens count.
    """
    if not penalties:
        return loss()
    with record_heads(model) as heads, record_projections(model) as projections:
        total = loss()
    if penalties.hsic:
        terms = [
            hsic_penalty(flat_tokens(outputs, mask(name, "query")).transpose(0, 1))
            for name, outputs in heads.items()
        ]
        total = total + penalties.hsic * _mean(terms)
    if penalties.orthogonality:
        terms = [
            orthogonality_penalty(
                flat_tokens(projected.queries, mask(name, "query")),
                flat_tokens(projected.keys, mask(name, "value")),
                flat_tokens(projected.values, mask(name, "value")),
            )
            for name, projected in projections.items()
        ]
        total = total + penalties.orthogonality * _mean(terms)
    return total


def flat_tokens(
    heads: Float[Tensor, "B H T C"], mask: Bool[Tensor, "B T"] | None = None
) -> Float[Tensor, "N H C"]:
    """Put the tokens of all sequences below each other, padding left out, in 32 bits or more."""
    tokens = heads.transpose(1, 2)  # (B, T, H, C)
    tokens = tokens.to(torch.promote_types(tokens.dtype, torch.float32))
    return tokens.flatten(0, 1) if mask is None else tokens[mask]


def _mean(terms: Iterable[Tensor]) -> Tensor:
    return torch.stack(tuple(terms)).mean()
