r"""A memory network that copies names; it knows a name by the words around its mentions.

::

    sentences, names removed     --> memory hops --> u --+--> template   p(t) = softmax(T u)
                                                         |
                                                         +--> gaps       q_g = s_g + U u
                                                                              |
    mentions of a name n --> sum over its windows --> d_n -----> dot ----> p_g(n) = softmax(q_g d_n)

A name has no embedding. Its description is the sum over its mentions, and a mention encodes the words around
it, how many turns ago it was and, from the second round on, the descriptions of the names in its window:

.. math::
    c_i^{r+1} &= \mathrm{ReLU}\Big(a_{\mathrm{age}(i)} + \sum_{|o| \le R} W_o\, x_{i+o}^{r} \Big), \qquad
    x_j^r = e_{w_j} + d_{n_j}^{\,r} \\
    d_n^{\,r} &= \sum_{i:\,n_i = n} c_i^r, \qquad d_n^{\,0} = 0, \qquad
    p_g(n) = \mathrm{softmax}_n \Big( \sum_{i:\,n_i = n} q_g^\top c_i \Big) \\
    p(\text{response}) &= \sum_{(t,\, n_1 \dots n_K)} p(t) \prod_k p_{t,k}(n_k)

All names share one word vector e; words that are no names have d = 0. A name's score is a sum over its
mentions, so the contribution of each mention can be read off. The last sum runs over the derivations of the
response (see `templates`); there is hardly ever more than one.

Every part is trained on dialogues and their responses alone. Renaming the names of a dialogue changes no
number, so out-of-vocabulary names are exactly as hard as those of the training set.

Facts reach the network through the names they are about: windows of facts describe names, and the memory that
the hops read holds what was said.

Sources: hops, Sukhbaatar et al. (2015); choosing among the places of an input, Vinyals et al. (2015); names
without a meaning of their own, Hermann et al. (2015); a description gathered over a text, Kobayashi et al.
(2016).

Axes: B turns, S memory slots, U sentences, V words, D width, M mentions, W = 2R + 1 words in a window,
G windows, E names (0 stands for none), T templates, Q gaps of all templates, A ways to say a response, K gaps
in one, C responses.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.goal_dialogue.data.mentions import Batch
from reasonlib.nn.memory import Reading, read_shared

__all__ = ["CopyConfig", "CopyNetwork", "CopyNetworkOutput"]


@dataclass(frozen=True, kw_only=True)
class CopyConfig:
    """Sizes of a copying network.

    Raises `ValueError` if a size is out of range.
    """

    vocabulary: int  # V
    gaps: tuple[int, ...]  # of each template
    width: int = 64  # D
    hops: int = 3
    slots: int = 50  # S; the latest sentences kept
    radius: int = 3  # R; with 0 a mention has no context
    rounds: int = 2  # with 1 a mention ignores the names in its window
    max_age: int = 40  # turns back that have a vector each; with 1 recency is ignored
    # entities of the training data that get a learned vector each, in place of their context
    name_embeddings: int = 0
    init_std: float = 0.1  # standard deviation of the first weights

    def __post_init__(self) -> None:
        object.__setattr__(self, "gaps", tuple(self.gaps))
        least = {
            "vocabulary": 2,
            "width": 1,
            "hops": 1,
            "slots": 1,
            "radius": 0,
            "rounds": 1,
            "max_age": 1,
            "name_embeddings": 0,
        }
        for name, value in least.items():
            if getattr(self, name) < value:
                raise ValueError(f"{name} must be at least {value}, got {getattr(self, name)}")
        if not self.gaps or min(self.gaps) < 0:
            raise ValueError(f"gaps must be a number of at least 0 for each template, got {self.gaps}")


class CopyNetworkOutput(NamedTuple):
    """What the network would say, and why.

    Attributes
    ----------
    templates : (B, T)
        Log-probability of each template (nats).
    names : (B, Q, E)
        Log-probability of each name in each gap (nats), the gaps of all templates one after another. Names
        not heard, and 0, have the lowest finite number.
    asked : (B, Q, D)
        What each gap looks for, ``q``.
    mentions : (B, M, D)
        What each mention says of its name after the last round, ``c``; zeros where there is none.
    readings
        What each hop read, its weights over the memory slots among it.
    """

    templates: Float[Tensor, "B T"]
    names: Float[Tensor, "B Q E"]
    asked: Float[Tensor, "B Q D"]
    mentions: Float[Tensor, "B M D"]
    readings: tuple[Reading, ...]

    @property
    def evidence(self) -> Float[Tensor, "B Q M"]:
        """What each mention adds to its name's score in each gap."""
        return self.asked @ self.mentions.transpose(1, 2)


class CopyNetwork(nn.Module):
    """Choose a template by what was said, fill its gaps by what is known of the names.

    `config` gives its sizes, `seed` draws its first weights.
    """

    first: Tensor
    gaps: Tensor

    def __init__(self, config: CopyConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        generator = torch.Generator().manual_seed(seed)

        def table(*shape: int, init_std: float = config.init_std) -> nn.Parameter:
            return nn.Parameter(torch.randn(shape, generator=generator) * init_std)

        width = config.width
        self.sentence = table(3, config.vocabulary, width)  # of questions, keys, values
        self.slot = table(2, config.slots, width)  # what a slot adds to its key and its value
        self.template = nn.Parameter(torch.zeros(len(config.gaps), width))  # T
        self.word = table(config.vocabulary, width)  # e
        self.offset = table(2 * config.radius + 1, width, width, init_std=width**-0.5)  # W
        self.age = table(config.max_age, width)  # a
        self.gap = table(sum(config.gaps), width)  # s
        self.ask = nn.Parameter(torch.zeros(width, width))  # U
        self.name_embeddings = (
            table(config.name_embeddings + 1, width, init_std=1.0) if config.name_embeddings else None
        )
        gaps = torch.tensor(config.gaps)
        self.register_buffer("gaps", gaps, persistent=False)
        self.register_buffer(
            "first", gaps.cumsum(0) - gaps, persistent=False
        )  # number of a template's first gap

    def listen(self, batch: Batch) -> tuple[Float[Tensor, "B D"], tuple[Reading, ...]]:
        """Read what was said, hop by hop, starting from what the user just said."""
        question, keys, values = batch.sentences @ self.sentence  # (U, D) each
        slots = batch.memory.shape[1]
        state, readings = question[batch.question], []
        for _ in range(self.config.hops):
            reading = read_shared(
                state,
                keys,
                values,
                batch.memory,
                batch.filled,
                key_time=self.slot[0, :slots],
                value_time=self.slot[1, :slots],
            )
            state = state + reading.output
            readings.append(reading)
        return state, tuple(readings)

    def describe(self, batch: Batch) -> tuple[Float[Tensor, "B E D"], Float[Tensor, "B M D"]]:
        """Gather, round by round, what the mentions of each name say of it; return both, ``d`` and ``c``."""
        if self.name_embeddings is not None:
            return self.name_embeddings[batch.identity], self.name_embeddings.new_zeros(
                *batch.name.shape, self.config.width
            )
        words = functional.embedding(batch.windows, self.word) * (batch.windows > 0).unsqueeze(
            -1
        )  # (G, W, D)
        # excerpt: describe
        # the words around each mention, and how many turns ago it was, (B, M, D)
        around = torch.einsum("gwd,wde->ge", words, self.offset)[batch.window]
        around = around + self.age[batch.age.clamp(max=self.config.max_age - 1)]
        # end excerpt
        mentioned = (batch.name > 0).unsqueeze(-1)
        index = batch.name.unsqueeze(-1).expand_as(around)
        nothing = around.new_zeros(*batch.heard.shape, self.config.width)
        described = mentions = nothing
        # excerpt: describe
        for round_number in range(self.config.rounds):
            content = (
                around  # and, from the second round on, the names in the window
                if round_number == 0
                else around + self._beside(batch, described)
            )
            mentions = content.relu() * mentioned
            described = nothing.scatter_add(1, index, mentions)  # sum over mentions
        return described, mentions
        # end excerpt

    def _beside(self, batch: Batch, described: Float[Tensor, "B E D"]) -> Float[Tensor, "B M D"]:
        """Sum over the names in each window what is known of them, each moved by its offset's matrix."""
        total = described.new_zeros(*batch.name.shape, self.config.width)
        for offset, move in enumerate(self.offset):
            row, mention = batch.beside[:, :, offset].nonzero(as_tuple=True)  # few windows hold another name
            if len(row):
                near = described[row, batch.beside[row, mention, offset]] @ move
                total = total.index_put((row, mention), near, accumulate=True)
        return total

    def forward(self, batch: Batch) -> CopyNetworkOutput:
        """Give a distribution over templates, and over the heard names for every gap."""
        state, readings = self.listen(batch)
        described, mentions = self.describe(batch)
        # excerpt: point
        query = self.gap + (state @ self.ask).unsqueeze(1)  # (B, Q, D)
        scores = query @ described.transpose(1, 2)  # (B, Q, E)
        # end excerpt
        lowest = torch.finfo(scores.dtype).min
        names = scores.masked_fill(~batch.heard.unsqueeze(1), lowest).log_softmax(-1)
        return CopyNetworkOutput(
            (state @ self.template.T).log_softmax(-1),
            names.masked_fill(~batch.heard.unsqueeze(1), lowest),
            query,
            mentions,
            readings,
        )

    def likelihood(
        self, spoken: CopyNetworkOutput, template: Int[Tensor, "B C A"], fillers: Int[Tensor, "B C A K"]
    ) -> Float[Tensor, "B C"]:
        """Log-probability (nats) of responses, each given by all the ways to say it.

        Parameters
        ----------
        spoken
            From `forward`.
        template
            Template of each way; -1 where there are fewer ways.
        fillers
            Number of the name in each gap; 0, or a name not heard, makes a way impossible.

        Returns
        -------
        (B, C)
            The lowest finite number for a response that cannot be said.
        """
        lowest = torch.finfo(spoken.templates.dtype).min
        flat = template.clamp(min=0).flatten(1)  # (B, C A)
        total = spoken.templates.gather(1, flat)
        possible = template.flatten(1) >= 0
        names = spoken.names.flatten(1)  # (B, Q E)
        for position, filler in enumerate(fillers.flatten(1, 2).unbind(-1)):
            has_gap = position < self.gaps[flat]
            gap = torch.where(has_gap, self.first[flat] + position, 0)
            name_scores = names.gather(1, gap * spoken.names.shape[2] + filler) if names.shape[1] else total
            possible = possible & (~has_gap | (name_scores > lowest))
            total = total + torch.where(has_gap & possible, name_scores, 0.0)
        return (
            total.masked_fill(~possible, lowest)
            .unflatten(1, template.shape[1:])
            .logsumexp(-1)
            .clamp(min=lowest)
        )
