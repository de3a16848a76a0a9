"""Encoders of `transformers`: a small one with random weights, and any pre-trained one."""

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.nn.positions import sinusoidal_positions

__all__ = ["EncoderConfig", "load_pretrained", "save_small_encoder", "small_encoder"]


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
        model: Any = AlbertForMaskedLM(settings) if masked else AlbertModel(settings, add_pooling_layer=False)
    table = (model.albert if masked else model).embeddings.position_embeddings.weight
    with torch.no_grad():  # learned from here on; from random ones a small encoder finds its neighbours late
        table.copy_(0.1 * sinusoidal_positions(*table.shape))
    return model


def save_small_encoder(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write what a small encoder with the head for masked words has learned, without the head.

    The folder, in half precision and with the tokenizer, is one that `load_pretrained` reads.
    """
    copy.deepcopy(model.albert).half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def load_pretrained(name: str | Path, *, pooler: bool = False) -> tuple[Any, Any]:
    """Load an encoder in float32, and its tokenizer.

    Parameters
    ----------
    name
        A name on the Hugging Face hub (``albert-large-v2``), or a folder that holds ``config.json``, weights
        and tokenizer files. A folder in ``REASONLIB_DATA`` that has the last part of a hub name is preferred
        to the hub.
    pooler
        Whether to keep the pooling layer, where the encoder has one.

    Raises
    ------
    UserError
        If there is no such folder, the hub cannot be reached, or what is there is no encoder.
    """
    from transformers import AutoModel, AutoTokenizer

    advice = "give a folder with config.json, weights and tokenizer, or a name on the Hugging Face hub"
    source = _near(name)
    if source.is_absolute() and not source.is_dir():
        raise UserError(f"{source}: there is no such folder; {advice}")
    try:
        with _without_progress():
            tokenizer = AutoTokenizer.from_pretrained(str(source))
            encoder = _load(AutoModel, str(source), pooler=pooler)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{source}: no encoder could be loaded ({reason}); {advice} while online") from error
    return encoder, tokenizer


def _near(name: str | Path) -> Path:
    """Return the folder in ``REASONLIB_DATA`` that a name stands for, or the name."""
    folder = os.environ.get("REASONLIB_DATA")
    if folder and not Path(name).is_absolute() and (Path(folder) / Path(name).name / "config.json").is_file():
        return Path(folder) / Path(name).name
    return Path(name)


def _load(auto: Any, source: str, *, pooler: bool) -> Any:
    if pooler:
        return auto.from_pretrained(source, dtype=torch.float32)
    try:
        return auto.from_pretrained(source, dtype=torch.float32, add_pooling_layer=False)
    except TypeError:  # this kind of encoder has none to leave out
        return auto.from_pretrained(source, dtype=torch.float32)


@contextmanager
def _without_progress() -> Iterator[None]:
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
