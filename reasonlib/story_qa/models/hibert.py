r"""A BERT that reads sentences: one encoder for the words of a sentence, one for the sentences of a story.

Source: HIBERT (Zhang, Wei and Zhou 2019), section 3.1, which reads documents for summaries in this way.
https://arxiv.org/abs/1905.06566

::

    every distinct sentence once                        every question with its story, S + 1 vectors

    [CLS] where is mary ?         --> s_q  ---------->  [s_q, s_1 (latest), s_2, ..., s_S]
    [CLS] mary moved to the ...   --> s_1               + age of each, counted back from the question
    [CLS] john went to the ...    --> s_2               document layer, run N times
               sentence encoder                          |
                                                        answer: from the question's vector

The sentence encoder is any `transformers` encoder (see `bert.load_encoder`); a sentence's vector is that of
its [CLS]. A story of bAbI tells the same few sentences again and again, so that encoding each distinct
sentence of a batch once leaves a small part of the work of reading the story word by word.

The document layers share their weights, as in ALBERT (Lan et al. 2020) and in the Universal Transformer
(Dehghani et al. 2019), which adds positions and the number of the step before every one of them, as is
done here.

Axes: B questions, S sentences, U distinct sentences, T tokens, D width, A answers, N steps, H heads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from reasonlib import training
from reasonlib.arguments import check_at_least
from reasonlib.nn.positions import sinusoidal_positions
from reasonlib.nn.transformer import EncoderLayer, PreNorm, TransformerConfig, initialise
from reasonlib.story_qa.data.encoding import Batch

__all__ = [
    "SentenceReader",
    "SentenceReaderConfig",
    "SentenceReaderOutput",
    "encode_by_length",
    "keep_layers",
    "reinitialise",
]


GROUPS = 4  # of sentences of like length, encoded one after another: less padding


def encode_by_length(
    encode: Callable[[Tensor, Tensor], Tensor], tokens: Int[Tensor, "U T"]
) -> Float[Tensor, "U D"]:
    """Encode sentences in groups of like length, and return their vectors in the order given.

    Parameters
    ----------
    encode
        Gives vectors (G, D) for the tokens of a group (G, t), cut to its longest sentence, and their mask,
        which is False at padding.
    tokens
        Padded with 0.
    """
    lengths = (tokens != 0).sum(1)
    order = lengths.argsort(stable=True)
    vectors = []
    for rows in order.chunk(GROUPS):
        group = tokens[rows, : int(lengths[rows[-1]])]
        vectors.append(encode(group, group != 0))
    return torch.cat(vectors)[order.argsort()]


# The model --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SentenceReaderConfig:
    """Sizes of the document level; its width D is the sentence encoder's.

    Raises `ValueError` if a size is out of range.
    """

    answers: int  # A
    steps: int = 4  # N
    shared: bool = True  # one layer, run N times; else N layers
    heads: int = 4  # H
    hidden: int = 128  # width between the two maps of the feed-forward part
    slots: int = 130  # S at most; older sentences are forgotten

    def __post_init__(self) -> None:
        check_at_least(self, 2, "answers")
        check_at_least(self, 1, "steps", "heads", "hidden", "slots")


class SentenceReaderOutput(NamedTuple):
    """What the reader makes of a batch.

    Attributes
    ----------
    logits : (B, A)
        Scores of the answer classes.
    hidden : (B, S + 1, D)
        The last vectors of the question (first) and of the sentences, latest first.
    attention : (B, N, H, S + 1, S + 1) or None
        Every head's weights at every step, if they were asked for.
    """

    logits: Float[Tensor, "B A"]
    hidden: Float[Tensor, "B S+1 D"]
    attention: Float[Tensor, "B N H S+1 S+1"] | None


class SentenceReader(nn.Module):
    r"""Encode sentences by their words and stories by their sentences, and answer from the question's vector.

    .. math::
        h^0_i &= s_i + e_{\text{kind}(i)} \\
        h^{n+1} &= \mathrm{Layer}\left(h^n_i + a_i + t_n\right)_i \\
        \hat a &= \mathrm{softmax}(W\, \mathrm{LayerNorm}(h^N_0) + b)

    :math:`s_i` is the sentence encoder's [CLS], :math:`a_i` the vector of age i (the question is 0, the
    latest sentence 1), :math:`t_n` that of step n.

    Parameters
    ----------
    encoder
        A `transformers` encoder for single sentences.
    config
        Sizes of the document level.
    seed
        Draws the first weights of the document level.

    Raises
    ------
    ValueError
        If the encoder's width is no multiple of the heads.
    """

    def __init__(self, encoder: Any, config: SentenceReaderConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        width = encoder.config.hidden_size
        sizes = TransformerConfig(
            layers=1 if config.shared else config.steps,
            width=width,
            heads=config.heads,
            hidden=config.hidden,
            dropout=0.0,
            activation=functional.gelu,
            residual=PreNorm,
        )
        with training.seeded(seed):
            self.layers = nn.ModuleList(EncoderLayer(sizes) for _ in range(sizes.layers))
            initialise(self.layers)
            self.ages = nn.Parameter(0.3 * sinusoidal_positions(config.slots + 1, width))
            self.step = nn.Parameter(0.02 * torch.randn(config.steps, width))
            self.kind = nn.Parameter(0.1 * torch.randn(2, width))  # question, sentence
            self.end = nn.LayerNorm(width)
            self.answer = nn.Linear(width, config.answers)

    def sentences(self, tokens: Int[Tensor, "U T"]) -> Float[Tensor, "U D"]:
        """Encode each sentence by itself: the vector of its [CLS]."""

        def encode(group: Tensor, mask: Tensor) -> Tensor:
            return self.encoder(input_ids=group, attention_mask=mask.long()).last_hidden_state[:, 0]

        return encode_by_length(encode, tokens)

    def forward(self, batch: Batch, *, attention: bool = False) -> SentenceReaderOutput:
        """Score every answer; `attention` also returns where each sentence looked at every step.

        Parameters
        ----------
        batch
            From an `encode_sentences` set, with at most ``config.slots`` sentences a story.
        attention
            Whether to keep the weights.
        """
        # excerpt: read sentences
        places = torch.cat([batch.question[:, None], batch.story], dim=1)  # (B, S + 1)
        mask = torch.cat(  # True where there is a sentence
            [batch.filled.new_ones(len(places), 1), batch.filled], dim=1
        )
        kinds = self.kind[  # 0: the question, 1: a sentence
            (torch.arange(places.shape[1], device=places.device) > 0).long()
        ]
        # encode each distinct sentence once, then look up its vector
        hidden = functional.embedding(places, self.sentences(batch.sentences)) + kinds
        ages = self.ages[: places.shape[1]]
        weights = []
        for number in range(self.config.steps):
            layer = self.layers[0 if self.config.shared else number]
            hidden, attn = layer(hidden + ages + self.step[number], mask[:, None])
            if attention:
                weights.append(attn.weights)
        logits = self.answer(self.end(hidden[:, 0]))  # vector 0: the question
        # end excerpt
        return SentenceReaderOutput(logits, hidden, torch.stack(weights, dim=1) if attention else None)


def keep_layers(encoder: Any, layers: int) -> Any:
    """Keep the embeddings and the first layers of a BERT, in place: single sentences need few.

    Raises
    ------
    ValueError
        If the encoder has fewer.
    """
    if not 1 <= layers <= len(encoder.encoder.layer):
        raise ValueError(f"layers must be between 1 and {len(encoder.encoder.layer)}, got {layers}")
    encoder.encoder.layer = encoder.encoder.layer[:layers]
    encoder.config.num_hidden_layers = layers
    encoder.pooler = None  # not used, and a weight that gets no gradient
    return encoder


def reinitialise(encoder: Any, *, seed: int = 0, init_std: float = 0.1) -> Any:
    """Make an encoder of the same size with random weights.

    Parameters
    ----------
    encoder
        Any `transformers` encoder.
    seed
        Draws the weights.
    init_std
        Their standard deviation. BERT's 0.02 is for a width of 768; a narrow encoder starts faster with more.
    """
    config = type(encoder.config).from_dict({**encoder.config.to_dict(), "initializer_range": init_std})
    with training.seeded(seed):
        reinitialised = type(encoder)(config)
    reinitialised.pooler = None
    return reinitialised
