r"""Drophead: whole heads are dropped while a model trains.

Sources: Zhou et al. (2020), "Scheduled DropHead", https://arxiv.org/abs/2004.13342; Yun (2022), section
4.3.3, which uses a constant rate.

Axes: B sequences, T tokens, H heads, C width of a head.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.head_diversity.models.hooks import AttentionSite, attention_sites, hook_heads

__all__ = ["Drophead", "drop_heads", "scheduled_rate"]


def drop_heads(
    heads: Float[Tensor, "B H T C"], rate: float, *, generator: torch.Generator | None = None
) -> Float[Tensor, "B H T C"]:
    """Set whole heads of each sequence to zero, and scale the others so that the mean stays.

    Parameters
    ----------
    heads : (B, H, T, C)
        What each head gives.
    rate
        Probability that a head is dropped.
    generator
        Draws them; PyTorch's own, as dropout's, if None.

    Notes
    -----
    The source does not say whether what is left is scaled; here it is, as in dropout. Zhou et al. divide by
    the share of heads that were kept instead, which is not defined where all are dropped.
    """
    # excerpt: drophead
    shape = (*heads.shape[:-2], 1, 1)  # one draw for each head of each sequence
    kept = torch.rand(shape, generator=generator, device=heads.device) >= rate
    return heads * kept / (1 - rate)
    # end excerpt


def scheduled_rate(step: int, steps: int, *, warmup: int, start: float, end: float) -> float:
    """Return the rate of Zhou et al.'s V: it falls from `start` to 0, then rises to `end`.

    Parameters
    ----------
    step, steps
        Steps (or epochs) done, and in all.
    warmup
        Where the rate is zero.
    start, end
        Rates at both ends.

    Examples
    --------
    >>> [scheduled_rate(step, 10, warmup=2, start=0.2, end=0.4) for step in (0, 1, 2, 6, 10)]
    [0.2, 0.1, 0.0, 0.2, 0.4]
    """
    if not 0 <= warmup <= steps:
        raise ValueError(f"warmup must be from 0 to steps={steps}, got {warmup}")
    if step < warmup:
        return start * (1 - step / warmup)
    return end * (step - warmup) / (steps - warmup) if steps > warmup else 0.0


class Drophead:
    """Drop heads of every attention of a model while it is in training mode.

    Parameters
    ----------
    model
        With attention of a known form, see `attention_sites`.
    rate
        Probability that a head is dropped, at least 0 and below 1; it may be changed between epochs.

    Raises
    ------
    ValueError
        If the rate is out of range.

    Notes
    -----
    It stays on the model until `remove` is called.
    """

    def __init__(self, model: nn.Module, rate: float) -> None:
        self.rate = rate
        self._hooks = [hook_heads(site, self._drop) for site in attention_sites(model)]

    def remove(self) -> None:
        """Drop no more heads of the model."""
        for hook in self._hooks:
            hook.remove()

    @property
    def rate(self) -> float:
        """Probability that a head is dropped."""
        return self._rate

    @rate.setter
    def rate(self, value: float) -> None:
        if not 0 <= value < 1:
            raise ValueError(f"rate must be at least 0 and below 1, got {value}")
        self._rate = value

    def _drop(self, site: AttentionSite, heads: Tensor) -> Tensor | None:
        return drop_heads(heads, self.rate) if site.output.training and self.rate else None
