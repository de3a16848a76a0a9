"""A small encoder for real text, pre-trained here on the training texts alone: it saw no label.

Available sentence encoders are often trained on sentence pairs, paraphrases and inference among them.
Beside one of those, this encoder shows what a task gains from other tasks and not from such pairs.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

from reasonlib import training
from reasonlib.multi_task.data.simulator import Text
from reasonlib.multi_task.models.pretrain import PretrainingConfig, pretrain
from reasonlib.training.encoders import EncoderConfig, small_encoder
from reasonlib.training.word_pieces import word_pieces

__all__ = ["OwnEncoder", "own_encoder"]


class OwnEncoder(NamedTuple):
    """A pre-trained encoder with its head for masked words, on the CPU, its tokenizer, and what happened."""

    masked: Any
    tokenizer: Any
    history: training.History


def own_encoder(
    texts: Sequence[Text],
    *,
    pieces: int,
    passes: int,
    width: int,
    layers: int = 3,
    lr: float = 1e-3,
    batch: int = 32,
    device: str = "cpu",
    **options: Unpack[training.RunOptions],
) -> OwnEncoder:
    """Pre-train a small encoder by masked words, and by whether two sentences belong together.

    Parameters
    ----------
    texts
        Unlabelled sentences and pairs.
    pieces
        Size of the vocabulary.
    passes
        How often each text is read.
    width, layers
        D and L.
    lr, batch
        Learning rate, and texts in a mini-batch.
    device
        Where to train.
    **options
        Of the run, see `RunOptions`; the seed draws the weights and the order.
    """
    sentences = [sentence for text in texts for sentence in (text.first, text.second) if sentence]
    tokenizer = word_pieces(sentences, pieces)
    sizes = EncoderConfig(width=width, layers=layers, embedding=width, inner=2 * width, longest=128)
    model = small_encoder(sizes, len(tokenizer), seed=options.get("seed", 0), masked=True)
    model.config.restart_positions = True  # see `sentence_positions`
    history = pretrain(
        model.to(device),
        tokenizer,
        texts,
        PretrainingConfig(epochs=passes, lr=lr, batch=batch),
        **options,
    )
    return OwnEncoder(model.cpu(), tokenizer, history)
