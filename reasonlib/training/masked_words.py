"""Words as tokens, and the masked words that an encoder is pre-trained on (Devlin et al. 2019, 3.1).

Axes: B texts, T tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

__all__ = ["SPECIALS", "UNSCORED", "mask_words", "word_tokenizer"]

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[SEPU]")
UNSCORED = -100  # label where nothing is predicted


def word_tokenizer(texts: Sequence[str]) -> Any:
    """Make a tokenizer whose tokens are the words of `texts`, split at spaces; others become ``[UNK]``.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = sorted({word for text in texts for word in text.lower().split()})
    ids = {token: number for number, token in enumerate([*SPECIALS, *words])}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = {f"{token[1:-1].lower()}_token": token for token in SPECIALS[:5]}
    fast_tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    fast_tokenizer.add_special_tokens({"additional_special_tokens": [SPECIALS[5]]})
    return fast_tokenizer


def mask_words(
    tokens: Int[Tensor, "B T"], *, words: int, share: float = 0.15, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Mask words by BERT's rule: of those asked for, 80 % become [MASK], 10 % a random word, 10 % stay.

    Parameters
    ----------
    tokens
        Ids; special tokens are never asked for.
    words
        Length of the tokenizer.
    share
        Probability that a word is asked for.
    generator
        Source of the random draws.

    Returns
    -------
    read, asked : (B, T)
        What the encoder reads, and the labels (-100 where it is not asked).
    """
    first = len(SPECIALS)
    selected = (torch.rand(tokens.shape, generator=generator) < share) & (tokens >= first)
    fate = torch.rand(tokens.shape, generator=generator)
    other = torch.randint(first, words, tokens.shape, generator=generator)
    read = torch.where(selected & (fate < 0.8), SPECIALS.index("[MASK]"), tokens)
    read = torch.where(selected & (fate >= 0.8) & (fate < 0.9), other, read)
    return read, torch.where(selected, tokens, UNSCORED)
