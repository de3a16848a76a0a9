"""Contrast: what a candidate has that the candidates together have not, and the losses that ask for it.

Source: An (2021), "Towards mastering complex reasoning with Transformers", section 3.2.3 and eq. 3.5, after
Zhang et al. (2019), "Learning Perceptual Inference by Contrasting" (CoPINet), section 3.2.
https://arxiv.org/abs/1912.00086

Axes: B problems, C candidates (8), and any axes of a feature after them.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["LOSSES", "Contrast", "choice_loss"]

LOSSES = ("bce", "ce")


class Contrast(nn.Module):
    r"""Take from every candidate's features what all candidates have in common (eq. 3.5).

    .. math:: \mathrm{Contrast}(F_c) = F_c - h\Big(\sum_{c' \in C} F_{c'}\Big)

    The sum has no order, so candidates may change places and their results change places with them.

    Parameters
    ----------
    aggregate
        ``h``: from the sum of the features, (B, ...), to features of the same shape. A two-layer MLP in the
        reasoner; a convolution with batch norm in CoPINet.
    """

    def __init__(self, aggregate: nn.Module) -> None:
        super().__init__()
        self.aggregate = aggregate

    def forward(self, features: Float[Tensor, "B C *F"]) -> Float[Tensor, "B C *F"]:
        """Subtract from every candidate what ``h`` makes of their sum.

        Raises
        ------
        ValueError
            If ``h`` changes the shape.
        """
        # excerpt: contrast
        common = self.aggregate(features.sum(1))  # h of the sum over candidates
        # end excerpt
        if common.shape != features[:, 0].shape:
            raise ValueError(
                f"aggregate must keep the shape {tuple(features[:, 0].shape)}, got {tuple(common.shape)}"
            )
        # excerpt: contrast
        return features - common.unsqueeze(1)  # taken from each candidate
        # end excerpt


def choice_loss(
    logits: Float[Tensor, "B C"], target: Int[Tensor, "B"], kind: str = "bce"
) -> Float[Tensor, ""]:
    """Loss of choosing among candidates, in nats, the mean over problems (and, for ``bce``, candidates).

    Parameters
    ----------
    logits
        One number for each candidate.
    target
        The right one.
    kind
        ``bce``: each candidate is right or wrong by itself (section 3.2.3). ``ce``: exactly one is right.

    Raises
    ------
    ValueError
        If the kind is unknown.

    Examples
    --------
    >>> import torch
    >>> logits = torch.zeros(1, 8)
    >>> [round(choice_loss(logits, torch.tensor([3]), kind).item(), 3) for kind in LOSSES]
    [0.693, 2.079]
    """
    if kind == "bce":
        right = functional.one_hot(target.long(), logits.shape[1]).to(logits.dtype)
        return functional.binary_cross_entropy_with_logits(logits, right)
    if kind == "ce":
        return functional.cross_entropy(logits, target.long())
    raise ValueError(f"kind must be one of {', '.join(LOSSES)}, got {kind!r}")
