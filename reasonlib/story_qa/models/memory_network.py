r"""End-to-end memory network (Sukhbaatar et al. 2015), as trained on the bAbI tasks by Mehak (2019).

::

    question ----B----> u_1 --read--> o_1      u_2 = u_1 + o_1 --read--> o_2   ...   u_{K+1} --W--> answer
                         |   A_1, C_1               |    A_2, C_2
    sentences -----------+--------------------------+

.. math:: p_i = \mathrm{softmax}(u^\top m_i),\quad o = \sum_i p_i c_i,\quad u_{k+1} = u_k + o_k,\quad
          \hat a = \mathrm{softmax}(W u_{K+1})

Axes: B questions, S memory slots, U distinct sentences, V words, D width, K hops, T embedding tables.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reasonlib.arguments import check_at_least
from reasonlib.nn.attention import masked_softmax
from reasonlib.nn.memory import Reading, masked_identity, read_shared
from reasonlib.story_qa.data.encoding import Batch

__all__ = ["MemoryConfig", "MemoryNetwork", "MemoryOutput", "Tying", "averaged_scores"]


@dataclass(frozen=True)
class Tying:
    """Which of the T embedding tables serves as what (section 2.2 of the source).

    Attributes
    ----------
    tables
        T, how many tables there are.
    query, answer
        The table of the question (B) and of the answer (W).
    keys, values
        The table of the input memories (A) and of the output memories (C), for each of the K hops.
    """

    tables: int
    query: int
    answer: int
    keys: tuple[int, ...]
    values: tuple[int, ...]

    @staticmethod
    def adjacent(hops: int) -> "Tying":
        """Each hop's output embedding is the next hop's input embedding; B = A_1 and W = C_K transposed.

        >>> Tying.adjacent(2)
        Tying(tables=3, query=0, answer=2, keys=(0, 1), values=(1, 2))
        """
        return Tying(hops + 1, 0, hops, tuple(range(hops)), tuple(range(1, hops + 1)))

    @staticmethod
    def layerwise(hops: int) -> "Tying":
        """Every hop has the same A and the same C, as in a recurrent network; B and W stand alone.

        >>> Tying.layerwise(2)
        Tying(tables=4, query=2, answer=3, keys=(0, 0), values=(1, 1))
        """
        return Tying(4, 2, 3, (0,) * hops, (1,) * hops)


@dataclass(frozen=True, kw_only=True)
class MemoryConfig:
    """Sizes of a memory network.

    Raises `ValueError` if a size is below 1 or the tying is unknown.
    """

    vocabulary: int  # V, answers included
    width: int = 50  # D; Mehak (2019) tries 20, 50 and 100
    hops: int = 3  # K; Mehak (2019) tries 3 and 6
    slots: int = 50  # S; the latest sentences kept, 50 in Sukhbaatar et al. (2015)
    tying: str = "adjacent"  # or "layerwise"
    mapped: bool = False  # add the linear map H between hops, u_{k+1} = H u_k + o_k
    temporal: bool = True  # add T_A and T_C
    # share of the units of u that pass a ReLU between hops; 0.5 in the source's section 5
    rectified: float = 0.0
    init_std: float = 0.1  # standard deviation of the first weights

    def __post_init__(self) -> None:
        check_at_least(self, 1, "vocabulary", "width", "hops", "slots")
        if self.tying not in ("adjacent", "layerwise"):
            raise ValueError(f"tying must be adjacent or layerwise, got {self.tying!r}")
        if not 0 <= self.rectified <= 1:
            raise ValueError(f"rectified must be between 0 and 1, got {self.rectified}")


def averaged_scores(
    scores: Float[Tensor, "B S"], mask: Bool[Tensor, "B S"] | None = None
) -> Float[Tensor, "B S"]:
    """Weigh each memory by its score over the number of memories: the reading of linear start.

    The source uses the bare scores. Stories of all tasks together are two to some hundred sentences long, and
    a sum that grows with them makes the first epochs diverge; dividing by the number keeps every story alike.
    """
    # excerpt: averaged scores
    weights = masked_identity(scores, mask)  # the scores, zero in empty slots
    return weights / (
        scores.shape[1]  # without a mask every slot is filled
        if mask is None
        else mask.sum(1, keepdim=True).clamp(min=1)  # sentences of the story
    )
    # end excerpt


class MemoryOutput(NamedTuple):
    """What the network says and where it looked.

    Attributes
    ----------
    logits : (B, V)
        Score of every word as the answer.
    readings : K of Reading
        Output (B, D), weights (B, S) and scores (B, S) of each hop.
    """

    logits: Float[Tensor, "B V"]
    readings: tuple[Reading, ...]

    @property
    def weights(self) -> Float[Tensor, "B K S"]:
        """The attention of every hop over the memory slots."""
        return torch.stack([reading.weights for reading in self.readings], dim=1)


class MemoryNetwork(nn.Module):
    r"""Read the story K times, each time asking with what was read before.

    .. math:: m_i = \sum_j l_j \circ A x_{ij} + T_A(i),\quad c_i = \sum_j l_j \circ C x_{ij} + T_C(i)

    ``words`` holds the tables A, B, C, W of shape (T, V, D) and ``ages`` the temporal tables of shape
    (T, S, D); `Tying` says which is which.

    Parameters
    ----------
    config
        Sizes and tying.
    seed
        Draws the first weights from N(0, init_std).

    Notes
    -----
    Sukhbaatar et al. add the map H to layer-wise tying; Mehak (2019) does not. H starts at the identity.
    The source rectifies half of the state's units for language modelling only (section 5); with ``rectified``
    the same can be had for stories, where a purely linear state cannot say "neither of the two".
    """

    unit: Tensor

    def __init__(self, config: MemoryConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.tying = (Tying.adjacent if config.tying == "adjacent" else Tying.layerwise)(config.hops)
        draw = torch.Generator().manual_seed(seed)
        shape = (self.tying.tables, config.vocabulary, config.width)
        self.words = nn.Parameter(torch.randn(shape, generator=draw) * config.init_std)
        ages = torch.randn((shape[0], config.slots, config.width), generator=draw) * config.init_std
        self.ages = nn.Parameter(ages) if config.temporal else None
        self.between: nn.Module = nn.Identity()
        if config.mapped:
            self.between = nn.Linear(config.width, config.width, bias=False)
            nn.init.eye_(self.between.weight)
        self.register_buffer("unit", torch.arange(1, config.width + 1) / config.width, persistent=False)

    def embed(self, bags: Float[Tensor, "U 2 V"]) -> Float[Tensor, "T U D"]:
        """Embed each distinct sentence with every table: P A + (k / D) o (Q A), see `sentence_bags`."""
        # excerpt: embed
        # with every embedding table at once; self.unit is k / D
        return bags[:, 0] @ self.words + self.unit * (bags[:, 1] @ self.words)
        # end excerpt

    def rectify(self, state: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Pass the last units of the state, `config.rectified` of them, through a ReLU."""
        linear = round(self.config.width * (1 - self.config.rectified))
        return torch.cat([state[:, :linear], state[:, linear:].relu()], dim=1)

    def forward(self, batch: Batch, *, linear: bool = False) -> MemoryOutput:
        """Answer a batch of questions.

        Parameters
        ----------
        batch
            Stories with at most ``config.slots`` sentences.
        linear
            Leave softmax and ReLU out, as *linear start* does for the first epochs (section 4.2); see
            `averaged_scores`.
        """
        # excerpt: hops
        weigh = averaged_scores if linear else masked_softmax
        sentences = self.embed(batch.sentences)  # (T, U, D)
        slots = batch.story.shape[1]
        state = sentences[self.tying.query, batch.question]  # u_1: (B, D)
        readings = []
        for key, value in zip(self.tying.keys, self.tying.values, strict=True):
            reading = read_shared(  # the same as read, for repeated sentences
                state,
                sentences[key],
                sentences[value],
                batch.story,
                batch.filled,
                key_time=None if self.ages is None else self.ages[key, :slots],
                value_time=None if self.ages is None else self.ages[value, :slots],
                weigh=weigh,
            )
            state = self.between(state) + reading.output  # u_{k+1} = u_k + o_k
            if not linear:
                state = self.rectify(state)
            readings.append(reading)
        return MemoryOutput(state @ self.words[self.tying.answer].T, tuple(readings))
        # end excerpt
