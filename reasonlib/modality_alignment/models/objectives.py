"""What aligns two modalities: cosine similarity, CKA (eq. 5.3), and InfoNCE beside it.

    final loss = original loss - lambda * alignment                                         (eq. 5.4)

Axes: N sampled pairs, B questions, T and S positions, H width.
"""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from reasonlib.nn.similarity import cka

__all__ = ["ALIGNMENTS", "cosine", "info_nce", "retrieval", "sample_rows"]


def cosine(x: Float[Tensor, "N H"], y: Float[Tensor, "N H"]) -> Float[Tensor, ""]:
    """Return the mean cosine similarity of corresponding rows."""
    return functional.cosine_similarity(x, y, dim=-1).mean()


def info_nce(
    x: Float[Tensor, "N H"], y: Float[Tensor, "N H"], *, temperature: float = 0.1
) -> Float[Tensor, ""]:
    """Return minus the InfoNCE loss in nats: how well each row finds its own among all, both ways.

    The contrastive loss of van den Oord et al. (2018), in the symmetric form of CLIP.
    """
    # excerpt: infonce
    similarities = (
        functional.normalize(x, dim=-1) @ functional.normalize(y, dim=-1).T
    )  # fmt: skip
    own = torch.arange(len(x), device=x.device)
    # each row of x must find its partner in y, and each row of y its partner in x
    across = functional.cross_entropy(similarities / temperature, own)
    down = functional.cross_entropy(similarities.T / temperature, own)
    return -(across + down) / 2
    # end excerpt


def _unaligned(x: Tensor, y: Tensor) -> Tensor:
    return x.new_zeros(())


ALIGNMENTS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "none": _unaligned,
    "cosine": cosine,
    "cka-linear": partial(cka, kernel="linear"),
    "cka-rbf": partial(cka, kernel="rbf"),
    "cka-debiased": partial(cka, kernel="linear", debiased=True),
    "infonce": info_nce,
}
"""Alignment by name: a function of two sets of corresponding rows, to be maximised."""


def sample_rows(
    x_mask: Bool[Tensor, "B T"],
    y_mask: Bool[Tensor, "B S"],
    count: int,
    *,
    paired: bool = True,
    generator: torch.Generator | None = None,
) -> tuple[Int[Tensor, "N 2"], Int[Tensor, "N 2"]]:
    """Draw corresponding positions of two sequences (section 5.2.3).

    The source samples N vectors of each modality "to match the number of examples", and leaves open which
    row then belongs to which. Here a row of one modality belongs to a row of the same question.

    Parameters
    ----------
    x_mask, y_mask
        Positions that are not padding.
    count
        N.
    paired
        False draws the question of each row anew, so that rows do not correspond: a control.
    generator
        Draws the positions; torch's own stream if None, which training saves and restores.

    Returns
    -------
    tuple
        Question and position of each row, in x and in y.
    """

    def draw(mask: Tensor, questions: Tensor) -> Tensor:
        weights = mask[questions].float()
        return torch.multinomial(weights, 1, generator=generator).squeeze(1)

    device = x_mask.device
    usable = (x_mask.any(1) & y_mask.any(1)).nonzero().squeeze(1)
    if not len(usable):
        raise ValueError("at least one question must have both modalities, got none")

    def questions() -> Tensor:
        return usable[torch.randint(len(usable), (count,), generator=generator).to(device)]

    first = questions()
    second = first if paired else questions()
    return torch.stack((first, draw(x_mask, first)), 1), torch.stack((second, draw(y_mask, second)), 1)


def retrieval(x: Float[Tensor, "N H"], y: Float[Tensor, "N H"]) -> dict[str, float]:
    """Search each row of x among the rows of y by cosine similarity.

    Returns
    -------
    dict
        ``top1``, the share of rows whose own is nearest (by chance 1 / N), and ``rank``, the mean share of
        the rows that are nearer than its own (by chance 0.5).
    """
    similarities = functional.normalize(x, dim=-1) @ functional.normalize(y, dim=-1).T  # (N, N)
    own = similarities.diagonal()[:, None]
    nearer = (similarities > own).sum(1) + 0.5 * ((similarities == own).sum(1) - 1)
    return {"top1": float((nearer < 0.5).float().mean()), "rank": float(nearer.mean() / max(1, len(x) - 1))}
