r"""BERT in miniature: an encoder with its two pre-training heads, and two ways to read an answer from it.

Source: Devlin et al. (2019), "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding", sections 3 and 5.1. https://arxiv.org/abs/1810.04805

Axes: B pairs of texts, T tokens, D width, V words, L layers, H heads.

::

    [CLS] mary went to the [MASK] . [SEP] mary is in the garden . [SEP]     tokens
      0     0    0   0  0     0   .    0     1   1  1   1   1   .    1      segments
      |                       |
      |                       masked language model: garden
      next sentence prediction: does the second part continue the first?

Pre-training fills one encoder's weights from text without labels; fine-tuning goes on from them: an answer
to a question about a story, read at a hidden word or at [CLS], or whether a statement is true of the story.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from reasonlib.arguments import check_at_least
from reasonlib.nn import Encoded, Encoder, LearnedPositions, PostNorm, TransformerConfig, padding_mask
from reasonlib.training import seeded
from reasonlib.transformer.data.pairs import MASK, Pairs

__all__ = ["Bert", "BertConfig", "Classifier", "Cloze", "PretrainingOutput"]


# The encoder (section 3, "Model Architecture") --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """Sizes; the base model of the source has 12 layers, 12 heads, width 768 and 30,522 words.

    Raises `ValueError` if a size is below 1 or the width is no multiple of the heads.
    """

    vocabulary: int  # V
    longest: int = 96  # tokens in a pair
    layers: int = 2  # L
    width: int = 64  # D
    heads: int = 4  # H
    hidden: int = 256  # F
    dropout: float = 0.0  # 0.1 in the source; every story of pre-training is new

    def __post_init__(self) -> None:
        check_at_least(self, 1, "vocabulary", "longest", "layers", "width", "heads", "hidden")
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads={self.heads}, got {self.width}")


class PretrainingOutput(NamedTuple):
    """What the encoder gives with its two pre-training heads.

    Attributes
    ----------
    mlm_logits : (B, T, V)
        Logits of the word that stands, or should stand, at each token.
    nsp_logits : (B, 2)
        Logits of: the second text continues the first (0), it does not (1).
    encoded : Encoded
        States and attention of every layer.
    """

    mlm_logits: Float[Tensor, "B T V"]
    nsp_logits: Float[Tensor, "B 2"]
    encoded: Encoded


class Bert(nn.Module):
    """An encoder of token, segment and position embeddings, with the heads it is pre-trained by.

    Parameters
    ----------
    config : BertConfig
        Its sizes.
    seed : int
        Draws the first weights: normal, 0.02 at the source's width of 768 and wider the narrower the model.

    Notes
    -----
    The masked-word head is the source's: a linear map, GELU, a norm, and the table of embeddings once more.
    The norm stands after the sum (post-norm), with 1e-12 added to the variance.
    """

    def __init__(self, config: BertConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        width = config.width
        spread = 0.02 * math.sqrt(768 / width)
        with seeded(seed):
            self.words = nn.Embedding(config.vocabulary, width)
            self.segments = nn.Embedding(2, width)
            self.positions = LearnedPositions(config.longest, width)
            self.norm = nn.LayerNorm(width, eps=1e-12)
            self.dropout = nn.Dropout(config.dropout)
            self.encoder = Encoder(
                TransformerConfig(
                    layers=config.layers,
                    width=width,
                    heads=config.heads,
                    hidden=config.hidden,
                    dropout=config.dropout,
                    activation=functional.gelu,
                    residual=PostNorm,
                    eps=1e-12,
                )
            )
            self.pool = nn.Linear(width, width)
            self.follows = nn.Linear(width, 2)
            self.guess = nn.Linear(width, width)
            self.guess_norm = nn.LayerNorm(width, eps=1e-12)
            self.guess_bias = nn.Parameter(torch.zeros(config.vocabulary))
            for part in self.modules():
                if isinstance(part, nn.Linear | nn.Embedding):
                    nn.init.normal_(part.weight, 0.0, spread)
            nn.init.normal_(self.positions.table, 0.0, spread)

    def encode(self, pairs: Pairs) -> Encoded:
        """Read pairs of texts."""
        longest = pairs.tokens.shape[1]
        if longest > self.config.longest:
            raise ValueError(f"a pair must have at most {self.config.longest} tokens, got {longest}")
        # excerpt: embeddings
        # of the word, of its segment (first or second part) and of its position
        x = (
            self.words(pairs.tokens)
            + self.segments(pairs.segments)  # first or second part
            + self.positions(longest)
        )
        # end excerpt
        return self.encoder(self.dropout(self.norm(x)), padding_mask(pairs.tokens))

    def summary(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        """What stands at [CLS], as the heads over whole pairs read it: ``tanh(W c + b)``."""
        # excerpt: summary
        return torch.tanh(self.pool(encoded.output[:, 0]))  # [CLS] is the first token
        # end excerpt

    def guesses(self, states: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
        """Score every word at the states given."""
        # excerpt: guesses
        inner = self.guess_norm(functional.gelu(self.guess(states)))
        # compared with the embedding of every word
        return inner @ self.words.weight.T + self.guess_bias
        # end excerpt

    def forward(self, pairs: Pairs) -> PretrainingOutput:
        """Read pairs, guess every word, and whether the texts belong together."""
        encoded = self.encode(pairs)
        return PretrainingOutput(self.guesses(encoded.output), self.follows(self.summary(encoded)), encoded)


# Fine-tuning ------------------------------------------------------------------------------------------------


class Classifier(nn.Module):
    """An encoder and one layer more over [CLS] (section 3.2).

    Parameters
    ----------
    bert : Bert
        Pre-trained or not; trained on.
    classes : int
        How many.
    seed : int
        Draws the new layer.
    """

    def __init__(self, bert: Bert, classes: int, *, seed: int = 0) -> None:
        super().__init__()
        self.bert = bert
        with seeded(seed):
            self.answer = nn.Linear(bert.config.width, classes)
            nn.init.normal_(self.answer.weight, 0.0, 0.02)

    def forward(self, pairs: Pairs) -> Float[Tensor, "B classes"]:
        """Score every class."""
        return self.answer(self.bert.summary(self.bert.encode(pairs)))


class Cloze(nn.Module):
    """An encoder that answers by filling a gap, with the head it was pre-trained by: no new layer at all.

    Parameters
    ----------
    bert : Bert
        Pre-trained or not; trained on. Each pair has one [MASK].

    Notes
    -----
    A task as a gap (Schick and Schütze 2021). What pre-training has learned about words stands at the words,
    not at [CLS]; an answer read there starts from it.
    """

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, pairs: Pairs) -> Float[Tensor, "B V"]:
        """Score every word for the gap."""
        return self.bert.guesses(self.bert.encode(pairs).output[pairs.tokens == MASK])


def attention_weights(model: Bert, pairs: Pairs) -> Float[Tensor, "L B H T T"]:
    """Give where every head of every layer looks, from the one code path that the model computes with."""
    with torch.no_grad():
        return torch.stack([layer.weights for layer in model.encode(pairs).attention])
