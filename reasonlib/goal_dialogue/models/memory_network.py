r"""One memory network over candidates, and the parts that make it N2N, GN2N or UN2N.

::

    sentences --encoder--> T vectors each --tying--> keys, values of K hops     candidates --answers--> W
                                                        |                                              |
    question --encoder--> u_1 --read--> o_1 --step--> u_2 --read--> o_2 --step--> ... u_{K+1} --> scores

.. math:: p_i = \mathrm{softmax}(u^\top m_i),\quad o = \sum_i p_i c_i,\quad
          u_{k+1} = \mathrm{step}(u_k, o_k),\quad a = \mathrm{softmax}(W u_{K+1})

What makes a variant is which parts are put in; `NETWORKS` is the whole list. Sources: N2N, Sukhbaatar et al.
(2015) for dialogues by Bordes et al. (2017); GN2N, Liu and Perez (2017); UN2N, Liu et al. (2017). Equation
numbers are those of the thesis reproduced here.

Axes: B turns, S memory slots, U distinct sentences, C candidates, V words, D width, K hops, T word tables.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.arguments import check_at_least, check_choice
from reasonlib.goal_dialogue.data.bags import Bags
from reasonlib.goal_dialogue.data.encoding import Batch, EncodedTask
from reasonlib.goal_dialogue.models.hop_updates import Gate, Linear, Residual, UnifiedStep
from reasonlib.goal_dialogue.models.match_features import Match
from reasonlib.goal_dialogue.models.tying import Adjacent, Layerwise, TiedMemory, Unified
from reasonlib.nn.memory import Reading, read
from reasonlib.nn.sums import sum_groups

__all__ = [
    "NETWORKS",
    "BagOfWordsEncoder",
    "Candidates",
    "MemoryNetwork",
    "MemoryNetworkOutput",
    "NetworkConfig",
    "build",
]


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """Which network, and its sizes.

    Raises `ValueError` if there is no such network or a size is out of range.
    """

    network: str = "n2n"  # a key of NETWORKS
    width: int = 32  # D; section 5.3.1 of the source finds 32 best
    hops: int = 3  # K
    slots: int = 50  # S; section 5.3.1 finds 50 better than 100
    match: bool = False  # add match features
    init_std: float = 0.1  # standard deviation of the first weights

    def __post_init__(self) -> None:
        check_choice("network", self.network, NETWORKS)
        check_at_least(self, 1, "width", "hops")
        check_at_least(self, 0, "slots")


# Sentences --------------------------------------------------------------------------------------------------


class BagOfWordsEncoder(nn.Module):
    """A sentence is the sum of its words' vectors, once for each of T tables.

    Any module with this call can stand in its place: vectors of whole paragraphs, words beside their tags.

    Parameters
    ----------
    vocabulary
        V. A word that a bag leaves out counts as zeros.
    tables, width
        T and D.
    generator
        Draws the first vectors from N(0, init_std).
    """

    def __init__(
        self, vocabulary: int, tables: int, width: int, *, generator: torch.Generator, init_std: float = 0.1
    ) -> None:
        super().__init__()
        self.tables = nn.ParameterList(
            torch.randn((vocabulary, width), generator=generator) * init_std for _ in range(tables)
        )

    def forward(self, sentences: Bags, tables: Iterable[int]) -> tuple[Float[Tensor, "U D"], ...]:
        """Embed U sentences with each of some tables."""
        return tuple(sum_groups(self.tables[table], sentences.words) for table in tables)


# The network ------------------------------------------------------------------------------------------------


class Candidates(nn.Module):
    """Score every candidate by its match with the last state, W u.

    Parameters
    ----------
    candidates
        All of them as bags of words.
    tables
        The tables of the encoder that embed them.
    """

    def __init__(self, candidates: Bags, tables: Sequence[int]) -> None:
        super().__init__()
        self.candidates, self.tables = candidates, tuple(tables)

    def forward(
        self, encoder: nn.Module, state: Float[Tensor, "B D"], tied: TiedMemory
    ) -> Float[Tensor, "B C"]:
        """Score them; the match with a gated table is the match of the gated state with the table."""
        if self.candidates.text.device != state.device:
            self.candidates = self.candidates.to(state.device)
        vectors = encoder(self.candidates, self.tables)  # T of (C, D)
        if tied.shares is None:
            return state @ vectors[0].T
        queries = torch.cat([share * state for share in tied.shares], dim=1)
        return queries @ torch.cat(vectors, dim=1).T


class MemoryNetworkOutput(NamedTuple):
    """What the network says, where it looked and what its gates did.

    Attributes
    ----------
    logits : (B, C)
        Score of every candidate.
    readings : K of Reading
        Output (B, D), weights (B, S) and scores (B, S) of each hop.
    gates : (B, K, D) or None
        The gates of GN2N at every hop; of UN2N the gating vector z, K = 1.
    """

    logits: Float[Tensor, "B C"]
    readings: tuple[Reading, ...]
    gates: Float[Tensor, "B K D"] | None = None

    @property
    def weights(self) -> Float[Tensor, "B K S"]:
        """The attention of every hop over the memory slots."""
        return torch.stack([reading.weights for reading in self.readings], dim=1)


class MemoryNetwork(nn.Module):
    """Read the dialogue K times, then score every candidate.

    Parameters
    ----------
    encoder
        From `Bags` of U sentences and some tables to (U, D) each, see `BagOfWordsEncoder`.
    tying
        Names the tables of question and memory, and makes keys and values of what they give, see `Adjacent`.
    steps
        K modules from state and output to the next state, see `Residual`; the same one may stand for all.
    answers
        From encoder and last state to scores, see `Candidates`.
    match
        Adds match features to the scores.
    slots
        S, how much of a dialogue's memory to give it.
    """

    def __init__(
        self,
        *,
        encoder: nn.Module,
        tying: Any,
        steps: list[nn.Module],
        answers: nn.Module,
        match: Match | None = None,
        slots: int = 50,
    ) -> None:
        super().__init__()
        self.encoder, self.answers, self.match = encoder, answers, match
        self.tying: Any = tying
        self.steps = nn.ModuleList(dict.fromkeys(steps))  # a shared one is kept once
        self.order = [list(self.steps).index(step) for step in steps]
        self.slots = slots

    def forward(self, batch: Batch) -> MemoryNetworkOutput:
        """Answer a batch of turns."""
        tables = dict.fromkeys((self.tying.query, *self.tying.memory))
        embedded = dict(zip(tables, self.encoder(batch.sentences, tables), strict=True))  # (U, D) each
        slots = batch.memory.flatten()
        memory = tuple(
            embedded[table].index_select(0, slots).unflatten(0, batch.memory.shape)  # (B, S, D)
            for table in self.tying.memory
        )
        question = embedded[self.tying.query].index_select(0, batch.question)
        # excerpt: hops
        tied: TiedMemory = self.tying(question, memory, batch.filled)
        # end excerpt
        state, readings, gates = tied.query, [], [] if tied.gate is None else [tied.gate]
        # excerpt: hops
        for index, keys, values in zip(self.order, tied.keys, tied.values, strict=True):
            # attention p over the keys, and the mixture o of the values
            reading = read(state, keys, values, batch.filled)
            # the next state, from u and o
            state, gate = self.steps[index](state, reading.output, tied)
            readings.append(reading)
            gates += [] if gate is None else [gate]
        logits = self.answers(self.encoder, state, tied)  # W u
        # end excerpt
        if self.match is not None:
            if batch.mentioned is None:
                raise ValueError("match features need turns encoded with entities, got none")
            logits = logits + self.match(state, batch.mentioned)
        return MemoryNetworkOutput(logits, tuple(readings), torch.stack(gates, dim=1) if gates else None)


# The variants -----------------------------------------------------------------------------------------------

Parts = tuple[Any, list[nn.Module]]


def _adjacent(config: NetworkConfig, generator: torch.Generator) -> Parts:
    return Adjacent(config.hops), [Residual()] * config.hops


def _layerwise(config: NetworkConfig, generator: torch.Generator) -> Parts:
    return Layerwise(config.hops), [Linear(config.width)] * config.hops


def _gated(config: NetworkConfig, generator: torch.Generator) -> Parts:
    return Layerwise(config.hops), [
        Gate(config.width, generator=generator, init_std=config.init_std) for _ in range(config.hops)
    ]


def _gate_shared(config: NetworkConfig, generator: torch.Generator) -> Parts:
    return Layerwise(config.hops), [
        Gate(config.width, generator=generator, init_std=config.init_std)
    ] * config.hops


def _gated_adjacent(config: NetworkConfig, generator: torch.Generator) -> Parts:
    return Adjacent(config.hops), [
        Gate(config.width, generator=generator, init_std=config.init_std) for _ in range(config.hops)
    ]


def _unified(config: NetworkConfig, generator: torch.Generator) -> Parts:
    tying = Unified(config.hops, config.width, generator=generator, init_std=config.init_std)
    return tying, [UnifiedStep(config.width)] * config.hops


NETWORKS: dict[str, Callable[[NetworkConfig, torch.Generator], Parts]] = {
    "n2n": _layerwise,
    "n2n-adjacent": _adjacent,
    "gn2n": _gated,
    "gn2n-shared": _gate_shared,
    "gn2n-adjacent": _gated_adjacent,
    "un2n": _unified,
}
"""Tying and steps of each variant; encoder, candidates and match features are the same for all."""


def build(config: NetworkConfig, task: EncodedTask, *, seed: int = 0) -> MemoryNetwork:
    """Put a network together for a task.

    Parameters
    ----------
    config
        Which network, how large.
    task
        Its vocabulary and candidates; encoded with types where the network has match features.
    seed
        Draws the first weights.
    """
    generator = torch.Generator().manual_seed(seed)
    tying, steps = NETWORKS[config.network](config, generator)
    encoder = BagOfWordsEncoder(
        len(task.vocabulary), tying.tables, config.width, generator=generator, init_std=config.init_std
    )
    match = None
    if config.match:
        match = Match(
            task.candidates, task.types, config.width, generator=generator, init_std=config.init_std
        )
    return MemoryNetwork(
        encoder=encoder,
        tying=tying,
        steps=steps,
        answers=Candidates(task.bags, tying.answers),
        match=match,
        slots=config.slots,
    )
