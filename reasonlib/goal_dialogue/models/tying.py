"""How the hops of a memory network share their word tables: adjacent, layer-wise, or unified.

::

    sentences --encoder--> T vectors each --tying--> query, and keys and values of K hops

Sources: adjacent and layer-wise tying, Sukhbaatar et al. (2015); unified tying, Liu et al. (2017). Equation
numbers are those of the thesis reproduced here.

Axes: B turns, S memory slots, D width, K hops, T word tables.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

__all__ = ["Adjacent", "Layerwise", "Memories", "TiedMemory", "Unified"]

Memories = tuple[Float[Tensor, "B S D"], ...]
"""The sentences of a story as vectors, once for each of several tables or hops."""


class TiedMemory(NamedTuple):
    """What a tying makes of the embedded sentences.

    Attributes
    ----------
    query : (B, D)
        The first state, ``u``.
    keys, values : K of (B, S, D)
        Input and output memories of every hop.
    shares : tuple of (B, D), or None
        How much of each answer table W is made of, for each turn; None where W is one table.
    gate : (B, D) or None
        The gating vector ``z``.
    """

    query: Float[Tensor, "B D"]
    keys: Memories
    values: Memories
    shares: tuple[Float[Tensor, "B D"], ...] | None = None
    gate: Float[Tensor, "B D"] | None = None


class Adjacent(nn.Module):
    """The output table of a hop is the input table of the next; B = A_1, W = C_K (K + 1 tables)."""

    def __init__(self, hops: int) -> None:
        super().__init__()
        self.tables, self.query, self.memory, self.answers = hops + 1, 0, range(hops + 1), (hops,)

    def forward(
        self, question: Float[Tensor, "B D"], memory: Memories, filled: Bool[Tensor, "B S"]
    ) -> TiedMemory:
        """Hand out the tables."""
        # excerpt: adjacent
        # Adjacent: the values of a hop are the keys of the next
        return TiedMemory(question, memory[:-1], memory[1:])
        # end excerpt


class Layerwise(nn.Module):
    """Every hop has the same A and C, as in a recurrent network; B and W stand alone (4 tables)."""

    def __init__(self, hops: int) -> None:
        super().__init__()
        self.hops = hops
        self.tables, self.query, self.memory, self.answers = 4, 2, (0, 1), (3,)

    def forward(
        self, question: Float[Tensor, "B D"], memory: Memories, filled: Bool[Tensor, "B S"]
    ) -> TiedMemory:
        """Hand out the tables."""
        # excerpt: layer-wise
        # Layer-wise: every hop has the same keys and the same values
        keys, values = memory
        return TiedMemory(question, (keys,) * self.hops, (values,) * self.hops)
        # end excerpt


class Unified(nn.Module):
    r"""A gate of the question and the story chooses between both, column by column (eq. 3.12 to 3.15).

    .. math:: A^{k+1} = A^k \odot z + C^k \odot (1 - z),\quad
              C^{k+1} = C^k \odot z + \hat C^{k+1} \odot (1 - z),\quad
              z = \sigma(W_z [u^0; h_T] + b_z)

    z scales whole columns of a table, so a gated table's sentence is the gated sentence of the table, and
    the tables of each turn need never be made. With z = 1 every hop has the A and C of the first, as in
    `Layerwise` (but B and W stay tied); with z = 0 it is `Adjacent`. The tables are A_1, C_1 and the
    unconstrained C of the hops 2 to K; B = A_1, W = C_K.

    Notes
    -----
    As printed, eq. 3.13 gives :math:`C^{k+1} = C^k`; its last term is the unconstrained table, as the text
    below it says.
    """

    def __init__(self, hops: int, width: int, *, generator: torch.Generator, init_std: float = 0.1) -> None:
        super().__init__()
        self.tables, self.query, self.memory = hops + 1, 0, range(hops + 1)
        self.answers = tuple(range(1, hops + 1))
        self.story = nn.GRU(width, width, batch_first=True)
        self.gate = nn.Linear(2 * width, width)
        for parameter in self.parameters():
            with torch.no_grad():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * init_std)

    def forward(
        self, question: Float[Tensor, "B D"], memory: Memories, filled: Bool[Tensor, "B S"]
    ) -> TiedMemory:
        """Read the story, decide how to tie, mix the tables."""
        # excerpt: unified
        keys, *fresh = memory
        story = self.story(keys)[0]  # (B, S, D), after each sentence
        last = (filled.sum(1) - 1).clamp(min=0)
        story = (
            story[torch.arange(len(story), device=story.device), last] * filled[:, :1]
        )  # zeros where the memory is empty
        z = self.gate(torch.cat([question, story], dim=1)).sigmoid()  # (B, D)
        # z and 1 - z mix the old table and the next one, column by column
        mix = z.unsqueeze(1)
        all_keys, all_values, shares = [keys], [fresh[0]], [torch.ones_like(z)]
        for table in fresh[1:]:
            all_keys.append(all_keys[-1] * mix + all_values[-1] * (1 - mix))
            all_values.append(all_values[-1] * mix + table * (1 - mix))
            shares = [share * z for share in shares] + [1 - z]
        # end excerpt
        return TiedMemory(question, tuple(all_keys), tuple(all_values), tuple(shares), z)
