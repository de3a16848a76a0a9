"""Measurements of untrained Transformers: saturation of the softmax, positions, masks, gradients by layer.

Sources: Vaswani et al. (2017), sections 3.2.1 (the scale) and 3.5 (positions); Xiong et al. (2020) (where the
norm stands).

Axes: Q queries, N keys, D width, T tokens, L layers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.arguments import check_choice
from reasonlib.nn import Encoder, PostNorm, PreNorm, TransformerConfig
from reasonlib.training import seeded

__all__ = ["Saturation", "gradient_norms", "influence", "permutation_gap", "saturation", "slope"]


def slope(weights: Float[Tensor, "*B N"]) -> Float[Tensor, "*B"]:
    r"""Give the size of the softmax's slope where it gave these weights.

    The Frobenius norm of its Jacobian, ``J = diag(p) - p p^T``: zero where one weight is one, so that nothing
    is learned there.

    >>> slope(torch.tensor([[0.5, 0.5], [1.0, 0.0]]))
    tensor([0.5000, 0.0000])
    """
    square = weights.square()
    total = square.sum(-1)
    return (total - 2 * (square * weights).sum(-1) + total.square()).clamp(min=0).sqrt()


@dataclass(frozen=True, kw_only=True)
class Saturation:
    """How the softmax over one width's scores stands, on average over many queries.

    Attributes
    ----------
    width
        D, of query and key.
    spread
        Standard deviation of the scores.
    entropy
        Of the weights, as a share of the largest there can be (``log N``): 1 is even, 0 is all on one key.
    largest
        The largest weight.
    slope
        See `slope`.
    """

    width: int
    spread: float
    entropy: float
    largest: float
    slope: float


def saturation(
    widths: Sequence[int], *, scaled: bool = True, keys: int = 16, queries: int = 2000, seed: int = 0
) -> list[Saturation]:
    """Measure the softmax over dot products of random queries and keys, width by width.

    Their components are independent with mean 0 and variance 1, as the source assumes (its footnote 4): a dot
    product then has variance D.

    Parameters
    ----------
    widths
        Which D.
    scaled
        Whether scores are divided by the root of D.
    keys, queries
        N, and over how many queries to average.
    seed
        Draws them.
    """
    results = []
    for width in widths:
        generator = torch.Generator().manual_seed(seed)
        query = torch.randn(queries, 1, width, generator=generator)
        key = torch.randn(queries, keys, width, generator=generator)
        scores = (query @ key.transpose(1, 2)).squeeze(1)  # (Q, N)
        if scaled:
            scores = scores / math.sqrt(width)
        weights = scores.softmax(-1)
        entropy = -torch.xlogy(weights, weights).sum(-1) / math.log(keys)
        results.append(
            Saturation(
                width=width,
                spread=float(scores.std()),
                entropy=float(entropy.mean()),
                largest=float(weights.max(-1).values.mean()),
                slope=float(slope(weights).mean()),
            )
        )
    return results


@torch.no_grad()
def permutation_gap(
    encode: Callable[[Tensor], Tensor], tokens: Tensor, *, seed: int = 0
) -> tuple[float, Tensor]:
    """Shuffle the tokens of sequences and see whether anything but the order of the outputs changes.

    Parameters
    ----------
    encode
        From tokens (B, T), or vectors (B, T, D), to outputs (B, T, D).
    tokens
        What to give it.
    seed
        Draws the permutation.

    Returns
    -------
    gap, permutation
        The largest change of a number, ``max |f(x P) - f(x) P|``, and P (T,). Zero, but for rounding: a token
        is told apart by what it is and not by where it stands.
    """
    permutation = torch.randperm(tokens.shape[1], generator=torch.Generator().manual_seed(seed))
    gap = (encode(tokens[:, permutation]) - encode(tokens)[:, permutation]).abs().max()
    return float(gap), permutation


def influence(apply: Callable[[Tensor], Tensor], x: Float[Tensor, "1 T D"]) -> Float[Tensor, "T T"]:
    """Measure how much each output would move with each input: the norm of its gradient.

    Parameters
    ----------
    apply
        From vectors (1, T, D) to outputs (1, T, D).
    x
        Where to measure.

    Returns
    -------
    (T, T)
        Row: output; column: input. Exactly zero where a mask lets nothing through.
    """
    if x.ndim != 3 or len(x) != 1:
        raise ValueError(f"x must have shape (1, T, D), got {tuple(x.shape)}")
    x = x.detach().requires_grad_()
    output = apply(x)[0]  # (T, D)
    rows = []
    for position in range(len(output)):
        total = torch.zeros(x.shape[1])
        for number in output[position]:
            (grad,) = torch.autograd.grad(number, x, retain_graph=True)
            total += grad[0].square().sum(-1)
        rows.append(total.sqrt())
    return torch.stack(rows)


def gradient_norms(
    norm: str,
    *,
    layers: int = 12,
    width: int = 64,
    heads: int = 4,
    hidden: int = 256,
    tokens: int = 16,
    batch: int = 16,
    classes: int = 32,
    seed: int = 0,
) -> list[float]:
    """Measure, before any training, how large the gradient is in each layer.

    Parameters
    ----------
    norm
        ``"post"``, the norm after the sum as published, or ``"pre"``, inside the branch.
    layers, width, heads, hidden
        Of an `Encoder` with random weights.
    tokens, batch, classes
        Of random sequences, each token to be put in a random class: the loss is the cross-entropy.
    seed
        Draws weights and sequences.

    Returns
    -------
    list of float
        For each layer, first to last, the norm of the gradient of its second feed-forward map.

    Notes
    -----
    The quantity of theorem 1 and figure 3 of Xiong et al. (2020): after the norm it is large in the last
    layers however deep the stack, inside the branch it is smaller and about the same in all.
    """
    residuals: dict[str, type[PostNorm] | type[PreNorm]] = {"post": PostNorm, "pre": PreNorm}
    check_choice("norm", norm, residuals)
    config = TransformerConfig(
        layers=layers, width=width, heads=heads, hidden=hidden, dropout=0.0, residual=residuals[norm]
    )
    with seeded(seed):
        encoder, last = Encoder(config), nn.Linear(width, classes)
        x = torch.randn(batch, tokens, width)
        targets = torch.randint(classes, (batch, tokens))
    logits = last(encoder(x).output)
    nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
    stack: list[Any] = list(encoder.layers)
    return [float(layer.feed_forward.narrow.weight.grad.norm()) for layer in stack]
