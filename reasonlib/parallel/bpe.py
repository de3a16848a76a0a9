"""Byte-pair encoding of parallel text, learned on its training part alone.

Learned and applied by `tokenizers <https://huggingface.co/docs/tokenizers>`_ on bytes: nothing is lost.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from reasonlib.errors import DataError

__all__ = ["Subwords"]


class Subwords:
    """Text to pieces of words and back.

    Parameters
    ----------
    tokenizer
        With the special tokens first.
    specials
        How many special tokens there are; `decode` leaves them out.
    """

    def __init__(self, tokenizer: Tokenizer, specials: int) -> None:
        self.tokenizer = tokenizer
        self.specials = specials

    @classmethod
    def learn(cls, texts: Iterable[str], *, size: int = 16_000, specials: Sequence[str]) -> "Subwords":
        """Learn the pieces of texts.

        Parameters
        ----------
        texts
            Of the training part, both languages.
        size
            Pieces at most, specials included; the source has about 16,000.
        specials
            Tokens with the ids 0, 1, ...

        Raises
        ------
        ValueError
            If there is no room for the 256 bytes.
        """
        if size < 256 + len(specials):
            raise ValueError(f"size must be at least {256 + len(specials)}, got {size}")
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=list(specials),
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer, len(specials))

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; specials are left out."""
        return self.tokenizer.decode([number for number in ids if number >= self.specials]).strip()

    def save(self, path: Path) -> None:
        """Write the pieces as JSON."""
        path.write_text(self.tokenizer.to_str(), encoding="utf-8")

    @classmethod
    def load(cls, path: Path, *, specials: int) -> "Subwords":
        """Read what `save` wrote.

        Raises
        ------
        DataError
            If the file is absent or no tokenizer.
        """
        try:
            return cls(Tokenizer.from_str(path.read_text(encoding="utf-8")), specials)
        except OSError as error:
            raise DataError(f"{path}: cannot read the pieces ({error.strerror or error})") from error
        except Exception as error:  # tokenizers raises a bare Exception
            raise DataError(f"{path}: no tokenizer ({error})") from None
