"""The shared layers: any encoder of `transformers`, or the small one that is bundled with the library.

The bundled encoder has ALBERT's shape and was pre-trained here by masked words on simulated sentences
(`pretrain`). It reads the words of sentences alone, never a label.
"""

from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reasonlib.training.encoders import load_pretrained

__all__ = ["BUNDLED", "SharedEncoder", "load_encoder", "sentence_positions", "word_masks"]

BUNDLED = Path(__file__).parent.parent / "weights" / "encoder"


def load_encoder(name: str | Path | None = None) -> tuple[Any, Any]:
    """Load an encoder and its tokenizer.

    Parameters
    ----------
    name
        A name on the Hugging Face hub (``bert-base-uncased``), or a folder, see `load_pretrained`; None for
        the bundled one.
    """
    return load_pretrained(BUNDLED if name is None else name)


class SharedEncoder(nn.Module):
    """The lexicon and Transformer encoder that all tasks share (source, figure 1).

    Parameters
    ----------
    encoder
        A `transformers` encoder. Where its configuration has ``restart_positions``, as the bundled one's,
        both sentences count their positions from 1; see `sentence_positions`.
    half
        Whether matrices are multiplied in bfloat16; weights and states stay in float32.
    """

    def __init__(self, encoder: Any, *, half: bool = False) -> None:
        super().__init__()
        self.encoder: Any = encoder
        self.half_products = half
        self.segments = getattr(encoder.config, "type_vocab_size", 0) > 1  # RoBERTa has one segment only
        self.restart = bool(getattr(encoder.config, "restart_positions", False))

    @property
    def width(self) -> int:
        """D, the width of a state."""
        return int(self.encoder.config.hidden_size)

    def forward(
        self, tokens: Int[Tensor, "B T"], segments: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        """Encode rows of tokens; the state of the first token, ``[CLS]``, stands for the row."""
        further = {"token_type_ids": segments} if self.segments else {}
        if self.restart:
            further["position_ids"] = sentence_positions(segments, mask)
        with torch.autocast(tokens.device.type, torch.bfloat16, enabled=self.half_products):
            states = self.encoder(input_ids=tokens, attention_mask=mask.long(), **further)
        return states.last_hidden_state.float()


def sentence_positions(segments: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Number the tokens of each sentence: ``[CLS]`` is 0, and the first word of either sentence is 1.

    Words that play the same part in two sentences then have like positions, which a small encoder learns to
    compare soon.

    Examples
    --------
    >>> segments = torch.tensor([[0, 0, 0, 0, 1, 1, 0]])  # [CLS] a b [SEP] c [SEP] [PAD]
    >>> sentence_positions(segments, torch.tensor([[1, 1, 1, 1, 1, 1, 0]]).bool()).tolist()
    [[0, 1, 2, 3, 1, 2, 6]]
    """
    places = torch.arange(segments.shape[1], device=segments.device)
    first = (mask & (segments == 0)).sum(1, keepdim=True)  # tokens of the first sentence
    return torch.where(segments == 1, places - first + 1, places)


def word_masks(
    segments: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
) -> tuple[Bool[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Mark the words of the first and of the second sentence: no ``[CLS]``, no ``[SEP]``, no padding.

    Examples
    --------
    >>> segments = torch.tensor([[0, 0, 0, 0, 1, 1, 0]])  # [CLS] a b [SEP] c [SEP] [PAD]
    >>> first, second = word_masks(segments, torch.tensor([[1, 1, 1, 1, 1, 1, 0]]).bool())
    >>> first.int().tolist(), second.int().tolist()
    ([[0, 1, 1, 0, 0, 0, 0]], [[0, 0, 0, 0, 1, 0, 0]])
    """
    same = mask[:, 1:] & (segments[:, 1:] == segments[:, :-1])  # as the token that follows
    words = mask & torch.cat([same, torch.zeros_like(mask[:, :1])], 1)  # a segment's last token is [SEP]
    words[:, 0] = False  # [CLS]
    return words & (segments == 0), words & (segments == 1)
