r"""Attention seen as a dictionary look-up, and what scale, positions, masks, norms and length do to it.

Sources: Vaswani et al. (2017), sections 3.2.1 (the scale), 3.5 (positions) and 4 (cost); Xiong et al. (2020)
(where the norm stands). `soft_lookup` at temperature 1 is attention (An 2021, eq. 2.1).

Axes: Q queries, N keys, D width, T tokens, L layers.

::

    look_up     mary -> {mary: garden, john: office}[mary] -> garden               one value, or none
    nearest     query -> the key most like it -> its value                         one value, always
    soft_lookup query -> how much like each key -> that much of each value         a mixture, with a slope
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.nn import (
    Attended,
    Encoder,
    PostNorm,
    PreNorm,
    TransformerConfig,
    scaled_dot_product_attention,
)
from reasonlib.training import seeded

__all__ = [
    "Cost",
    "Saturation",
    "attention_memory",
    "attention_seconds",
    "cost",
    "exponent",
    "gradient_norms",
    "influence",
    "layer_flops",
    "look_up",
    "nearest",
    "permutation_gap",
    "saturation",
    "slope",
    "soft_lookup",
]


# From a dictionary to attention -----------------------------------------------------------------------------


def look_up(table: Mapping[str, Any], query: str) -> Any:
    """Read a dictionary: the value of exactly this key, or None.

    >>> look_up({"mary": "garden", "john": "office"}, "mary")
    'garden'
    """
    return table.get(query)


def nearest(query: Float[Tensor, "Q D"], key: Float[Tensor, "N D"], value: Float[Tensor, "N C"]) -> Attended:
    """Give each query the value of the one key that it matches best.

    >>> key, value = torch.eye(2), torch.tensor([[1.0], [2.0]])
    >>> nearest(torch.tensor([[0.9, 0.1]]), key, value).output
    tensor([[1.]])
    """
    best = (query @ key.T).argmax(-1)
    weights = nn.functional.one_hot(best, len(key)).to(value.dtype)
    return Attended(weights @ value, weights)


def soft_lookup(
    query: Float[Tensor, "Q D"],
    key: Float[Tensor, "N D"],
    value: Float[Tensor, "N C"],
    *,
    temperature: float = 1.0,
) -> Attended:
    r"""Give each query a mixture of values: ``softmax(q k / (temperature * sqrt(D))) v``.

    Temperature 1 is eq. 2.1. Towards zero the mixture hardens to `nearest`; the warmer, the more even it is.

    Parameters
    ----------
    query, key, value
        As in `reasonlib.nn.scaled_dot_product_attention`, which does the work.
    temperature
        Above 0.

    Examples
    --------
    >>> key, value = 4 * torch.eye(2), torch.tensor([[1.0], [2.0]])
    >>> query = torch.tensor([[1.0, 0.0]])
    >>> [round(soft_lookup(query, key, value, temperature=t).output.item(), 3) for t in (0.1, 1.0, 10.0)]
    [1.0, 1.056, 1.43]
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, got {temperature}")
    return scaled_dot_product_attention(query / temperature, key, value)


# Why the scale is there -------------------------------------------------------------------------------------


def slope(weights: Float[Tensor, "*B N"]) -> Float[Tensor, "*B"]:
    r"""Give the size of the softmax's slope where it gave these weights.

    The Frobenius norm of its Jacobian, ``J = diag(p) - p p^T``: zero where one weight is one, so that nothing
    is learnt there.

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
    found = []
    for width in widths:
        generator = torch.Generator().manual_seed(seed)
        query = torch.randn(queries, 1, width, generator=generator)
        key = torch.randn(queries, keys, width, generator=generator)
        scores = (query @ key.transpose(1, 2)).squeeze(1)  # (Q, N)
        if scaled:
            scores = scores / math.sqrt(width)
        weights = scores.softmax(-1)
        entropy = -torch.xlogy(weights, weights).sum(-1) / math.log(keys)
        found.append(
            Saturation(
                width=width,
                spread=float(scores.std()),
                entropy=float(entropy.mean()),
                largest=float(weights.max(-1).values.mean()),
                slope=float(slope(weights).mean()),
            )
        )
    return found


# What positions add, and what masks hide --------------------------------------------------------------------


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
    for place in range(len(output)):
        total = torch.zeros(x.shape[1])
        for number in output[place]:
            (grad,) = torch.autograd.grad(number, x, retain_graph=True)
            total += grad[0].square().sum(-1)
        rows.append(total.sqrt())
    return torch.stack(rows)


# Where the norm stands --------------------------------------------------------------------------------------


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
    if norm not in residuals:
        raise ValueError(f"norm must be one of {', '.join(residuals)}, got {norm!r}")
    config = TransformerConfig(
        layers=layers, width=width, heads=heads, hidden=hidden, dropout=0.0, residual=residuals[norm]
    )
    with seeded(seed):
        encoder, last = Encoder(config), nn.Linear(width, classes)
        x = torch.randn(batch, tokens, width)
        wanted = torch.randint(classes, (batch, tokens))
    logits = last(encoder(x).output)
    nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten()).backward()
    stack: list[Any] = list(encoder.layers)
    return [float(layer.feed_forward.narrow.weight.grad.norm()) for layer in stack]


# What length costs ------------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """What one encoder layer costs on one sequence: products in its parts, and the weights it must hold.

    Attributes
    ----------
    projections
        Multiplications of the four linear maps of attention: ``4 T D^2``.
    attention
        Of the scores and the mixture: ``2 T^2 D``.
    feed_forward
        ``2 T D F``.
    weights
        Attention weights kept: ``H T^2``.
    """

    projections: int
    attention: int
    feed_forward: int
    weights: int

    @property
    def products(self) -> int:
        """All multiplications; twice as many operations."""
        return self.projections + self.attention + self.feed_forward


def cost(length: int, *, width: int = 512, heads: int = 8, hidden: int = 2048) -> Cost:
    """Count what one encoder layer does with one sequence of T tokens (table 1 of the source).

    >>> cost(10, width=512).attention, cost(20, width=512).attention
    (102400, 409600)
    """
    for name, number in (("length", length), ("width", width), ("heads", heads), ("hidden", hidden)):
        if number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")
    return Cost(
        projections=4 * length * width**2,
        attention=2 * length**2 * width,
        feed_forward=2 * length * width * hidden,
        weights=heads * length**2,
    )


def layer_flops(length: int, *, width: int = 512, heads: int = 8, hidden: int = 2048) -> int:
    """Count floating-point operations of one encoder layer: a product and a sum for each in `cost`."""
    return 2 * cost(length, width=width, heads=heads, hidden=hidden).products


def attention_memory(length: int, *, heads: int = 8, batch: int = 1, bytes_a_number: int = 4) -> int:
    """Count the bytes that the attention weights of one layer take."""
    return batch * heads * length**2 * bytes_a_number


@torch.no_grad()
def attention_seconds(
    lengths: Sequence[int], *, width: int = 64, repeats: int = 5, seed: int = 0
) -> list[float]:
    """Time self-attention of one head on this machine: the least of some repeats at each length (seconds).

    Notes
    -----
    Seconds of processor time, of all threads together, so that other work on the machine does not count.
    The formula as `reasonlib.nn` computes it, with all weights written out. Fused kernels take the same
    number of steps but keep no weights.
    """
    generator = torch.Generator().manual_seed(seed)
    found = []
    for length in lengths:
        x = torch.randn(1, length, width, generator=generator)
        scaled_dot_product_attention(x, x, x)
        best = math.inf
        for _ in range(repeats):
            began = time.process_time()
            scaled_dot_product_attention(x, x, x)
            best = min(best, time.process_time() - began)
        found.append(best)
    return found


def exponent(lengths: Sequence[float], costs: Sequence[float]) -> float:
    """Fit ``cost = a * length ** b`` by least squares of the logarithms, and give b.

    >>> round(exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    if len(lengths) != len(costs) or len(lengths) < 2:
        raise ValueError(f"lengths and costs must be two or more pairs, got {len(lengths)} and {len(costs)}")
    if min(*lengths, *costs) <= 0:
        raise ValueError("lengths and costs must be above 0")
    x = torch.tensor(lengths, dtype=torch.float64).log()
    y = torch.tensor(costs, dtype=torch.float64).log()
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / x.square().sum())


def as_rows(found: Sequence[Saturation]) -> list[dict[str, float]]:
    """Give measurements as rows for a table or a figure."""
    return [asdict(one) for one in found]
