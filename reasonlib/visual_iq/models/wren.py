r"""Wild Relation Network: every pair of panels is looked at, and what the pairs say is added up.

Source: Barrett, Hill, Santoro et al. (2018), "Measuring abstract reasoning in neural networks", section 4,
eq. 1 and 2. https://arxiv.org/abs/1807.04225

For candidate `c` with embedding :math:`x_c`, context :math:`x_1 \dots x_8` and :math:`X_c` all nine,

.. math:: s_c = f\Big(\sum_{y, z \in X_c} g(y, z)\Big)

Their g is ours: `Pairs`; their f: `WReN.judge`. The 64 pairs within the context are the same for all eight
candidates and are computed once.

Axes: B problems, P 16 panels, H x W pixels, F features of a panel, E width of an embedding, D hidden width.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from reasonlib.arguments import check_at_least
from reasonlib.visual_iq.data.example import CONTEXT, PANELS
from reasonlib.visual_iq.models.baselines import CANDIDATES, as_panels, convolutions, side_after

__all__ = ["Pairs", "WReN", "WReNConfig", "WReNScores", "position_tags"]


@dataclass(frozen=True, kw_only=True)
class WReNConfig:
    """Sizes of a Wild Relation Network; the defaults are those of the published implementations.

    Raises `ValueError` if a number is out of range.
    """

    size: int = 80  # pixels, side of a panel
    width: int = 32  # channels of the convolutions
    embedding: int = 256  # E
    hidden: int = 512  # D, of g
    tags: bool = True  # tell g where in the matrix a panel stands
    auxiliary: int = 9  # meta-targets predicted beside the answer; 0: none
    dropout: float = 0.5  # before the last layer of f

    def __post_init__(self) -> None:
        check_at_least(self, 1, "width", "embedding", "hidden")
        check_at_least(self, 0, "auxiliary")


class WReNScores(NamedTuple):
    """What a Wild Relation Network says.

    Attributes
    ----------
    logits : (B, 8)
        Score of each candidate.
    meta : (B, M)
        Logits of the meta-targets, summed over the candidates; M is 0 without auxiliary training.
    relations : (B, 8, E)
        Sum of g over all pairs, what f judges.
    """

    logits: Float[Tensor, "B 8"]
    meta: Float[Tensor, "B M"]
    relations: Float[Tensor, "B 8 E"]


def position_tags() -> Float[Tensor, "P 9"]:
    """Mark each context panel's place among eight; all candidates share the ninth."""
    return torch.eye(9)[[*range(CONTEXT), *[CONTEXT] * CANDIDATES]]


class Pairs(nn.Module):
    """The relation g of two panels: four layers on both embeddings, side by side.

    Parameters
    ----------
    embedding, hidden
        E and D.

    Notes
    -----
    The first layer's weights of the first and of the second panel stand apart, ``W [y; z] = W_1 y + W_2 z``,
    so that each panel is mapped once, and not once a pair.
    """

    def __init__(self, embedding: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Linear(embedding, hidden)
        self.second = nn.Linear(embedding, hidden, bias=False)
        self.rest = nn.Sequential(
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, embedding),
            nn.ReLU(),
        )

    def forward(self, y: Float[Tensor, "B *Y E"], z: Float[Tensor, "B *Z E"]) -> Float[Tensor, "B *P E"]:
        """Relate panels `y` to panels `z`; their axes are broadcast against each other."""
        return self.rest(self.first(y) + self.second(z))


class WReN(nn.Module):
    """Score each candidate by the sum of all pairwise relations of nine panels (eq. 1).

    Notes
    -----
    The tags say where a context panel stands; a candidate's number is never told, so that reordered
    candidates get reordered scores. Batch norm follows each convolution, and the embedding is a linear map of
    features and tag, as in the implementations that produced the published figures on RAVEN.
    """

    def __init__(self, config: WReNConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone = convolutions(1, config.width, config.size)
        features = config.width * side_after(config.size) ** 2
        self.embed = nn.Linear(features + 9 * config.tags, config.embedding)
        self.relate = Pairs(config.embedding, config.hidden)
        self.head = nn.Sequential(
            nn.Linear(config.embedding, config.embedding),
            nn.ReLU(),
            nn.Linear(config.embedding, config.embedding),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.embedding, 1 + config.auxiliary),
        )
        self.tags: Tensor
        self.register_buffer("tags", position_tags(), persistent=False)

    def forward(self, images: Shaped[Tensor, "B P H W"]) -> WReNScores:
        """Score the candidates and say which rules are at work."""
        panels = as_panels(images)
        features = self.backbone(panels.flatten(0, 1).unsqueeze(1)).unflatten(
            0, panels.shape[:2]
        )  # (B, P, F)
        if self.config.tags:
            features = torch.cat([features, self.tags.expand(len(panels), PANELS, 9).to(features)], 2)
        context, candidates = self.embed(features).split((CONTEXT, CANDIDATES), 1)  # (B, 8, E) twice

        first, second = context.unsqueeze(1), candidates.unsqueeze(2)
        within = self.relate(context.unsqueeze(2), first).sum((1, 2))  # (B, E): 64 pairs
        across = self.relate(first, second).sum(2) + self.relate(second, first).sum(
            2
        )  # (B, 8, E): 16 pairs each
        relations = within.unsqueeze(1) + across
        judged = self.head(relations)  # (B, 8, 1 + M)
        return WReNScores(judged[..., 0], judged[..., 1:].sum(1), relations)
