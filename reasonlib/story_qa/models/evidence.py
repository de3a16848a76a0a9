r"""A reader that answers and marks the sentences it needed; labels of these sentences supervise the marks.

Source: Yang et al. (2018), "HotpotQA", section 5, whose reader learns to mark supporting sentences while it
learns to answer. https://arxiv.org/abs/1809.09600

::

    every sentence                      the story                                  what is learned

    s_i = [CLS] of BERT          -->    document layer, run N times      -->       answer, from the question
        + its words, each by place        looks first at what is alike,            needed or not, from every
          (position encoding)             and how far away it stands               sentence's vector

The sentence encoder and the shared document layer are those of `hibert`. Three things are new: the mark of
every sentence, sentence vectors in which words can still be told apart, and attention that begins as a
comparison (Trockman and Kolter 2023, https://arxiv.org/abs/2305.09828).

The labels of needed sentences are used in training alone. To answer, the reader is given no more than a story
and a question.

Axes: B questions, S sentences, U distinct sentences, T tokens, D width, A answers, N steps, H heads.
"""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.nn.attention import MultiHeadAttention
from reasonlib.nn.positions import sinusoidal_positions
from reasonlib.nn.transformer import FeedForward, initialise
from reasonlib.story_qa.data.encoding import Batch
from reasonlib.story_qa.models.hibert import SentenceReaderConfig, encode_by_length

__all__ = ["ComparingLayer", "EvidenceReader", "EvidenceReaderOutput"]

LONGEST = 64  # tokens of a sentence that have a place of their own


# The model --------------------------------------------------------------------------------------------------


class ComparingLayer(nn.Module):
    r"""A pre-norm encoder layer whose attention begins as a comparison, and knows who stands where.

    .. math:: w_{ij} = \mathrm{softmax}_j \left( \frac{(W_Q x_i)^\top W_K x_j}{\sqrt{D / H}}
                        + r_{i - j} \right), \quad j \ne i

    At the start W_Q = W_K is a rotation times `sharpness`, so that vectors which share a word look at each
    other, and the output map turns back what the values turned: a share `carry` of what was looked at is
    added. `r` is learned for each distance and head, and starts at zero (Raffel et al. 2020). No vector looks
    at itself: it would always be the most alike.

    Parameters
    ----------
    width, heads, hidden
        D, H and the width between the two maps of the feed-forward part.
    slots
        Sentences at most.
    sharpness, carry
        Of the first attention.
    """

    def __init__(
        self, width: int, heads: int, hidden: int, slots: int, *, sharpness: float = 1.4, carry: float = 0.3
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, heads)
        self.feed_forward = FeedForward(width, hidden, functional.gelu)
        self.before_attention, self.before_feeding = nn.LayerNorm(width), nn.LayerNorm(width)
        self.distance = nn.Parameter(torch.zeros(heads, 2 * slots + 1))
        initialise(self)
        with torch.no_grad():
            # excerpt: comparing start
            # queries and keys start equal: vectors that are alike match
            nn.init.orthogonal_(self.attention.query.weight, gain=sharpness)
            self.attention.key.weight.copy_(self.attention.query.weight)
            nn.init.orthogonal_(self.attention.value.weight)
            self.attention.output.weight.copy_(carry * self.attention.value.weight.T)
            # end excerpt

    def bias(self, filled: Bool[Tensor, "B T"]) -> Float[Tensor, "B H T T"]:
        """Score each distance; what is hidden gets less than any score can make good, empty slots least."""
        positions = torch.arange(filled.shape[1], device=filled.device)
        offsets = positions[:, None] - positions + self.distance.shape[1] // 2
        bias = self.distance[:, offsets].masked_fill(
            torch.eye(len(positions), device=filled.device) > 0, -1e8
        )
        return bias.masked_fill(~filled[:, None, None], -1e9)  # so that a question alone looks at itself

    def forward(
        self, x: Float[Tensor, "B T D"], bias: Float[Tensor, "B H T T"]
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B H T T"]]:
        """Return the new vectors, and where each head of each vector looked."""
        # excerpt: comparing layer
        inner = self.before_attention(x)
        projected = self.attention.project(inner, inner)  # keys and values
        query = self.attention.split(self.attention.query(inner))  # (B, H, T, C)
        scores = query @ projected.keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
        weights = (scores + bias).softmax(-1)  # the bias hides a sentence from itself
        x = x + self.attention.output(  # (B, H, T, C) -> (B, T, D)
            (weights @ projected.values).transpose(1, 2).flatten(2)
        )
        return x + self.feed_forward(self.before_feeding(x)), weights
        # end excerpt


class EvidenceReaderOutput(NamedTuple):
    """What the reader makes of a batch.

    Attributes
    ----------
    logits : (B, A)
        Score of every answer class.
    needed : (B, S)
        Log-odds that a sentence is needed, latest first; means nothing where a slot is empty.
    attention : (B, N, H, S + 1, S + 1) or None
        Every head's weights at every step, if they were asked for; the question comes first.
    """

    logits: Float[Tensor, "B A"]
    needed: Float[Tensor, "B S"]
    attention: Float[Tensor, "B N H S+1 S+1"] | None


class EvidenceReader(nn.Module):
    r"""Encode sentences and stories, answer from the question's vector, mark from the sentences' vectors.

    .. math::
        s_i &= \mathrm{BERT}(w_i)_{\text{[CLS]}} + \mathrm{LayerNorm}\Big(\sum_j f_j \circ e_{ij}\Big) \\
        h^{n+1} &= \mathrm{Layer}(h^n + a + t_n), \quad h^0_i = s_i + e_{\text{kind}(i)} \\
        \hat a &= \mathrm{softmax}(W\, \mathrm{LayerNorm}(h^N_0) + b), \quad
        m_i = \sigma(v^\top \mathrm{LayerNorm}(h^N_i) + c)

    :math:`e_{ij}` is the embedding of word j of sentence i, and :math:`f_j` a learned vector for place j, the
    position encoding of memory networks set free; :math:`m_i` is the chance that sentence i is needed.

    Parameters
    ----------
    encoder
        A `transformers` encoder for single sentences.
    config
        Sizes of the document level; its layer is always shared.
    seed
        Draws the first weights of all but the encoder.
    """

    def __init__(self, encoder: Any, config: SentenceReaderConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        width = encoder.config.hidden_size
        with training.seeded(seed):
            self.layer = ComparingLayer(width, config.heads, config.hidden, config.slots)
            self.places = nn.Parameter(0.25 + 0.4 * torch.randn(LONGEST, width))
            self.spelt = nn.LayerNorm(width)
            self.ages = nn.Parameter(0.3 * sinusoidal_positions(config.slots + 1, width))
            self.step = nn.Parameter(0.02 * torch.randn(config.steps, width))
            self.kind = nn.Parameter(0.1 * torch.randn(2, width))  # question, sentence
            self.end = nn.LayerNorm(width)
            self.answer = nn.Linear(width, config.answers)
            self.mark = nn.Linear(width, 1)

    def sentences(self, tokens: Int[Tensor, "U T"]) -> Float[Tensor, "U D"]:
        """Encode each sentence by itself: its [CLS], and the sum of its words, each weighed by its place."""

        def encode(group: Tensor, mask: Tensor) -> Tensor:
            read = self.encoder(input_ids=group, attention_mask=mask.long()).last_hidden_state[:, 0]
            words = self.encoder.embeddings(input_ids=group)[:, :LONGEST] * mask[:, :LONGEST, None]
            return read + self.spelt((words * self.places[: words.shape[1]]).sum(1))

        return encode_by_length(encode, tokens)

    def forward(self, batch: Batch, *, attention: bool = False) -> EvidenceReaderOutput:
        """Score every answer and every sentence; the parameters are those of `SentenceReader.forward`."""
        places = torch.cat([batch.question[:, None], batch.story], dim=1)  # (B, S + 1)
        mask = torch.cat([batch.filled.new_ones(len(places), 1), batch.filled], dim=1)
        kinds = self.kind[(torch.arange(places.shape[1], device=places.device) > 0).long()]
        hidden = functional.embedding(places, self.sentences(batch.sentences)) + kinds
        ages, bias = self.ages[: places.shape[1]], self.layer.bias(mask)
        kept = []
        for number in range(self.config.steps):
            hidden, weights = self.layer(hidden + ages + self.step[number], bias)
            if attention:
                kept.append(weights)
        normed = self.end(hidden)
        attention_weights = torch.stack(kept, dim=1) if attention else None
        return EvidenceReaderOutput(
            self.answer(normed[:, 0]), self.mark(normed[:, 1:]).squeeze(-1), attention_weights
        )
