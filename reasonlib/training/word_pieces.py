"""Tokenizers whose tokens are pieces of words, learned from the training texts alone."""

from collections.abc import Iterable
from typing import Any

from reasonlib.training.masked_words import SPECIALS

__all__ = ["word_pieces"]


def word_pieces(texts: Iterable[str], size: int, *, punctuation: bool = True) -> Any:
    """Learn a tokenizer of lower-case pieces of words by byte-pair encoding; ``▁`` begins a word.

    The trainer of WordPiece gives other pieces in every run, so that no run could be repeated or resumed.

    Parameters
    ----------
    texts
        Sentences.
    size
        Pieces at most, special tokens included.
    punctuation
        Whether punctuation marks are words of their own; if not, words are split at spaces alone, and
        decoding gives back the text in lower case.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", fuse_unk=True))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    words = pre_tokenizers.BertPreTokenizer() if punctuation else pre_tokenizers.WhitespaceSplit()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(SPECIALS), show_progress=False)
    tokenizer.train_from_iterator(sorted(set(texts)), trainer)
    names = {f"{token[1:-1].lower()}_token": token for token in SPECIALS[:5]}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
