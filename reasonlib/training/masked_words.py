"""Words as tokens, and the masked words that an encoder is pre-trained on (Devlin et al. 2019, 3.1).

Axes: B texts, T tokens, V words.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

__all__ = ["SPECIALS", "UNSCORED", "mask_tokens", "word_tokenizer"]

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


def mask_tokens(
    tokens: Int[Tensor, "B T"],
    *,
    words: int,
    first: int = len(SPECIALS),
    mask: int = SPECIALS.index("[MASK]"),
    share: float = 0.15,
    rule: tuple[float, float, float] = (0.8, 0.1, 0.1),
    generator: torch.Generator | None = None,
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Hide words by BERT's 80/10/10 rule (section 3.1, task 1, and appendix A.1).

    Of all words, `share` are asked for. Of those, a part of `rule` each becomes [MASK], becomes a random
    word, and stays as it is: whatever word the encoder sees, it may be asked whether it is the right one.

    Parameters
    ----------
    tokens
        Ids.
    words
        V, the special tokens included.
    first
        Id of the first word; those below are special tokens and are never hidden.
    mask
        Id of [MASK].
    share
        Probability that a word is asked for.
    rule
        Shares of [MASK], of random words and of words that stay; they sum to one.
    generator
        Source of the random draws.

    Returns
    -------
    seen, labels : (B, T)
        What the encoder reads, and what it must say: `UNSCORED` where nothing is asked.

    Raises
    ------
    ValueError
        If `share` is not between 0 and 1, or `rule` is not three shares that sum to one.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, got {share}")
    if len(rule) != 3 or min(rule) < 0 or abs(sum(rule) - 1) > 1e-9:
        raise ValueError(f"rule must be three shares that sum to 1, got {rule}")
    # excerpt: masking
    selected = (  # 15 in 100 words; ids below `first` are special tokens
        torch.rand(tokens.shape, generator=generator) < share
    ) & (tokens >= first)
    fate = torch.rand(tokens.shape, generator=generator)  # what becomes of each
    other = torch.randint(first, words, tokens.shape, generator=generator)
    # eight in ten become [MASK]
    seen = torch.where(selected & (fate < rule[0]), mask, tokens)
    # one in ten becomes another word; the rest stay
    seen = torch.where(
        selected & (fate >= rule[0]) & (fate < rule[0] + rule[1]),
        other,
        seen,
    )
    # end excerpt
    return seen, torch.where(selected, tokens, UNSCORED)
