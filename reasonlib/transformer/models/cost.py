"""What attention costs as sequences grow: multiplications, bytes, seconds (Vaswani et al. 2017, section 4).

Axes: T tokens, D width, H heads, F width of the feed-forward layer.
"""

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import torch

from reasonlib.nn import scaled_dot_product_attention

__all__ = ["Cost", "attention_memory", "attention_seconds", "cost", "exponent", "layer_flops"]


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
    results = []
    for length in lengths:
        x = torch.randn(1, length, width, generator=generator)
        scaled_dot_product_attention(x, x, x)
        best = math.inf
        for _ in range(repeats):
            began = time.process_time()
            scaled_dot_product_attention(x, x, x)
            best = min(best, time.process_time() - began)
        results.append(best)
    return results


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
