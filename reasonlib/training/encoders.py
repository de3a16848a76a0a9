"""Encoders of `transformers`: a small one with random weights, and any pre-trained one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from reasonlib import training
from reasonlib.nn.positions import sinusoidal_positions

__all__ = ["EncoderConfig", "load_without_pooler", "small_encoder"]


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """Sizes of a small encoder of ALBERT's shape: one layer's weights serve all layers.

    Raises
    ------
    ValueError
        If `width` is no multiple of `heads`.
    """

    layers: int = 3  # L; ALBERT-base has 12
    heads: int = 4  # H; 12
    width: int = 64  # D; 768
    embedding: int = 64  # E; 128
    inner: int = 128  # of the feed-forward layer; 3072
    longest: int = 512  # positions

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads, got {self.width} and {self.heads}")


def small_encoder(config: EncoderConfig, words: int, *, seed: int = 0, masked: bool = False) -> Any:
    """Make a small ALBERT with random weights.

    Parameters
    ----------
    config
        Sizes.
    words
        Length of the tokenizer.
    seed
        Draws the weights.
    masked
        Whether to add the head that predicts masked words.
    """
    from transformers import AlbertConfig, AlbertForMaskedLM, AlbertModel

    settings = AlbertConfig(
        vocab_size=words,
        embedding_size=config.embedding,
        hidden_size=config.width,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=config.inner,
        max_position_embeddings=config.longest,
        initializer_range=0.07,  # 0.02 is for width 768; small weights would be slow to start
        hidden_act="gelu_pytorch_tanh",  # ALBERT's gelu_new, computed in one pass
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        classifier_dropout_prob=0.0,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
    )
    with training.seeded(seed):
        made: Any = AlbertForMaskedLM(settings) if masked else AlbertModel(settings, add_pooling_layer=False)
    table = (made.albert if masked else made).embeddings.position_embeddings.weight
    with torch.no_grad():  # learned from here on; from random ones a small encoder finds its neighbours late
        table.copy_(0.1 * sinusoidal_positions(*table.shape))
    return made


def load_without_pooler(auto: Any, name: str | Path) -> Any:
    """Load an encoder in float32; leave out the pooling layer, which nothing here uses, where it has one."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return auto.from_pretrained(name, dtype=torch.float32, add_pooling_layer=False)
    except TypeError:  # this kind of encoder has none to leave out
        return auto.from_pretrained(name, dtype=torch.float32)
    finally:
        if shown:
            logging.enable_progress_bar()
