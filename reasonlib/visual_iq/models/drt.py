r"""Dynamic residual tree: the structure of a picture decides how its features are put together.

Source: Zhang et al. (2019a), "RAVEN: A Dataset for Relational and Analogical Visual Reasoning", section 5.2,
eq. 1 to 3, and its authors' published code. https://arxiv.org/abs/1903.02741

A problem's annotation names the parts of its pictures, as a tree of four levels:

    Scene ── Out_In ──┬── Out ── Out_Center_Single         leaf: relu(W [word; features])
                      └── In ─── In_Distribute_Four        above: relu(W [word; sum of children])

Each level has its own W; the root's state is added to the features, a residual:
``answer(features + tree(features))``. The tree is given at test time too: the model is told what it looks at.

Axes: B problems, N nodes of one level in the whole batch, T width of a word, F features, P 16 panels.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from reasonlib.visual_iq.data.example import PANELS
from reasonlib.visual_iq.data.structure import NODE_NAMES, TREE_LEVELS, parse_structure
from reasonlib.visual_iq.models.baselines import ResNet18, answer_head, as_panels

__all__ = ["DynamicResidualTree", "Forest", "ResNetDRT", "TreeScores", "forest"]


class Forest(NamedTuple):
    """The trees of a batch, level by level: for each node its word, and the number of its parent.

    A parent is counted within the level above; the parent of a root is the problem itself.
    """

    words: tuple[Int[Tensor, " N"], ...]
    parents: tuple[Int[Tensor, " N"], ...]

    def to(self, device: torch.device | str) -> "Forest":
        """Move all of it."""
        return Forest(*(tuple(part.to(device) for part in side) for side in self))


def forest(structures: Sequence[Sequence[str]]) -> Forest:
    """Gather the trees of a batch of problems.

    Raises
    ------
    DataError
        If one of them does not parse.
    """
    words: list[list[int]] = [[] for _ in TREE_LEVELS]
    parents: list[list[int]] = [[] for _ in TREE_LEVELS]
    for problem, tokens in enumerate(structures):
        index_in_level: list[int] = []  # of each node within its level
        for node in parse_structure(tuple(tokens)):
            index_in_level.append(len(words[node.level]))
            words[node.level].append(NODE_NAMES.index(node.name))
            parents[node.level].append(problem if node.above < 0 else index_in_level[node.above])
    return Forest(*(tuple(torch.tensor(level) for level in side) for side in (words, parents)))


# Model ------------------------------------------------------------------------------------------------------


class DynamicResidualTree(nn.Module):
    """Put features together along a tree (eq. 1 to 3).

    Parameters
    ----------
    features
        F.
    word
        T; the source takes 300.

    Notes
    -----
    The source maps fixed GloVe vectors of the names by a linear layer. Ours are learned from scratch, and
    could be the same: a table of 22 free vectors holds whatever such a map can give.
    """

    def __init__(self, features: int, word: int = 300) -> None:
        super().__init__()
        self.words = nn.Embedding(len(NODE_NAMES), word)
        self.levels = nn.ModuleList(nn.Linear(word + features, features) for _ in TREE_LEVELS)

    def forward(self, features: Float[Tensor, "B F"], trees: Forest) -> Float[Tensor, "B F"]:
        """Give the states of the roots."""
        problem = trees.parents[0]
        for parents in trees.parents[1:]:
            problem = problem[parents]
        below = features[problem]  # (N, F): each leaf begins with the features of its problem
        for level in (3, 2, 1, 0):
            state = self.levels[level](torch.cat([self.words(trees.words[level]), below], 1)).relu()
            count = len(trees.words[level - 1]) if level else len(features)
            below = state.new_zeros(count, state.shape[1]).index_add(0, trees.parents[level], state)
        return below


class TreeScores(NamedTuple):
    """Scores of the candidates, the features of the pictures, and what the tree adds to them."""

    logits: Float[Tensor, "B 8"]
    features: Float[Tensor, "B F"]
    residual: Float[Tensor, "B F"]


class ResNetDRT(nn.Module):
    """A ResNet-18 over sixteen panels with a dynamic residual tree before its last layers (section 5.2).

    Parameters
    ----------
    width, dropout
        As of `baselines.PanelResNet`, which this is without the tree.
    word
        T.
    """

    def __init__(self, width: int = 64, dropout: float = 0.5, word: int = 300) -> None:
        super().__init__()
        self.backbone = ResNet18(PANELS, width)
        self.tree = DynamicResidualTree(self.backbone.features, word)
        self.head = answer_head(self.backbone.features, self.backbone.features, dropout)

    def forward(self, images: Shaped[Tensor, "B P H W"], trees: Forest) -> TreeScores:
        """Score the candidates.

        Raises
        ------
        ValueError
            If there is not one tree a problem.
        """
        panels = as_panels(images)
        if len(trees.words[0]) != len(panels):
            raise ValueError(f"trees must be {len(panels)}, one a problem, got {len(trees.words[0])}")
        features = self.backbone(panels)  # (B, F)
        residual = self.tree(features, trees)
        return TreeScores(self.head(features + residual), features, residual)
