r"""Attention as a soft dictionary look-up.

Source: Vaswani et al. (2017), section 3.2.1; `soft_lookup` at temperature 1 is attention (An 2021, eq. 2.1).

Axes: Q queries, N keys, D width.

::

    look_up     mary -> {mary: garden, john: office}[mary] -> garden               one value, or none
    nearest     query -> the key most like it -> its value                         one value, always
    soft_lookup query -> how much like each key -> that much of each value         a mixture, with a slope
"""

from collections.abc import Mapping
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.nn import Attended, scaled_dot_product_attention

__all__ = ["look_up", "nearest", "soft_lookup"]


def look_up(table: Mapping[str, Any], query: str) -> Any:
    """Read a dictionary: the value of exactly this key, or None.

    >>> look_up({"mary": "garden", "john": "office"}, "mary")
    'garden'
    """
    return table.get(query)


def nearest(query: Float[Tensor, "Q D"], key: Float[Tensor, "N D"], value: Float[Tensor, "N C"]) -> Attended:
    """Give each query the value of the one key that it matches best.

    >>> import torch
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
    >>> import torch
    >>> key, value = 4 * torch.eye(2), torch.tensor([[1.0], [2.0]])
    >>> query = torch.tensor([[1.0, 0.0]])
    >>> [round(soft_lookup(query, key, value, temperature=t).output.item(), 3) for t in (0.1, 1.0, 10.0)]
    [1.0, 1.056, 1.43]
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, got {temperature}")
    return scaled_dot_product_attention(query / temperature, key, value)
