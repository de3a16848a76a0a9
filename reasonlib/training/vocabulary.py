"""Words to numbers and back.

A model reads integers. A vocabulary gives each distinct token one id, in an order that depends only on
the counts of the tokens, so that two machines which read the same text get the same ids.

By hand: ``["a", "b", "a"]`` with the specials ``<pad>``, ``<unk>`` becomes
``<pad>`` 0, ``<unk>`` 1, ``a`` 2 (seen twice), ``b`` 3 (seen once).
"""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from reasonlib.errors import DataError

__all__ = ["PAD", "UNKNOWN", "Vocabulary"]

PAD = "<pad>"
UNKNOWN = "<unk>"


class Vocabulary:
    """A fixed list of tokens; the id of a token is its place in the list.

    Parameters
    ----------
    tokens
        All tokens in the order of their ids, without repetition. The first is the padding token.

    Raises
    ------
    ValueError
        If a token is repeated, is not a string, or if there are no tokens.

    Examples
    --------
    >>> vocabulary = Vocabulary.build([["mary", "went", "home"], ["mary", "slept"]])
    >>> vocabulary.encode(["mary", "flew", "home"])
    [2, 1, 3]
    >>> vocabulary.decode([2, 1, 3])
    ['mary', '<unk>', 'home']
    >>> len(vocabulary), "went" in vocabulary
    (6, True)
    """

    __slots__ = ("_ids", "tokens")

    tokens: tuple[str, ...]

    def __init__(self, tokens: Sequence[str]) -> None:
        if isinstance(tokens, str):
            raise ValueError(f"tokens must be a sequence of strings, got the one string {tokens!r}")
        self.tokens = tuple(tokens)
        if not self.tokens:
            raise ValueError("tokens must hold at least the padding token, got none")
        ids: dict[str, int] = {}
        for index, token in enumerate(self.tokens):
            if not isinstance(token, str):
                raise ValueError(f"tokens must be strings, got {token!r} at place {index}")
            if token in ids:
                raise ValueError(f"tokens must be distinct, got {token!r} at places {ids[token]} and {index}")
            ids[token] = index
        self._ids = ids

    @classmethod
    def build(
        cls,
        sequences: Iterable[Iterable[str]],
        *,
        specials: Sequence[str] = (PAD, UNKNOWN),
        minimum: int = 1,
    ) -> "Vocabulary":
        """Collect the tokens of many sequences.

        Parameters
        ----------
        sequences
            Any iterable of tokenised texts; read once.
        specials
            Tokens that come first, in this order. The first is the padding token (id 0).
        minimum
            How often a token must occur to get an id of its own.

        Returns
        -------
        Vocabulary
            The specials, then the tokens by falling count; equal counts in alphabetical order.

        Raises
        ------
        ValueError
            If a sequence is a plain string (its letters would become the tokens) or `minimum` is below 1.
        """
        if minimum < 1:
            raise ValueError(f"minimum must be at least 1, got {minimum}")
        counts: Counter[str] = Counter()
        for sequence in sequences:
            if isinstance(sequence, str):
                raise ValueError(f"sequences must hold lists of tokens, got the plain string {sequence!r}")
            counts.update(sequence)
        for token in specials:
            counts.pop(token, None)
        kept = [token for token, count in counts.items() if count >= minimum]
        return cls([*specials, *sorted(kept, key=lambda token: (-counts[token], token))])

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Give the id of every token; an unseen token gets the id of ``<unk>``.

        Raises
        ------
        ValueError
            If a token is unseen and the vocabulary has no ``<unk>``, or if `tokens` is a plain string.
        """
        if isinstance(tokens, str):
            raise ValueError(f"tokens must be a list of tokens, got the plain string {tokens!r}")
        unknown = self._ids.get(UNKNOWN)
        if unknown is None:
            return [self.id_of(token) for token in tokens]
        return [self._ids.get(token, unknown) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Give the token of every id, padding included.

        Raises
        ------
        ValueError
            If an id is not in the vocabulary.
        """
        return [self.token_of(int(number)) for number in ids]

    def id_of(self, token: str) -> int:
        """Give the id of a token that must be known.

        Raises
        ------
        ValueError
            If the token is not in the vocabulary.
        """
        try:
            return self._ids[token]
        except KeyError:
            raise ValueError(f"token must be one of the {len(self)} known ones, got {token!r}") from None

    def token_of(self, number: int) -> str:
        """Give the token of one id.

        Raises
        ------
        ValueError
            If the id is not in the vocabulary.
        """
        if not 0 <= number < len(self.tokens):
            raise ValueError(f"id must be between 0 and {len(self) - 1}, got {number}")
        return self.tokens[number]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the tokens as JSON; a file already there is replaced in one step or not at all.

        Returns
        -------
        Path
            The file written. Equal vocabularies give equal bytes.
        """
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"tokens": self.tokens}, ensure_ascii=False, indent=1) + "\n"
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return path

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Vocabulary":
        """Read what `save` wrote.

        Raises
        ------
        DataError
            If the file is absent or is not a vocabulary.
        """
        path = Path(path)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            reason = error.strerror or error
            raise DataError(f"{path}: cannot read the vocabulary ({reason}); save one there first") from error
        except json.JSONDecodeError as error:
            raise DataError(
                f"{path}, line {error.lineno}: not a vocabulary in JSON ({error.msg}); save it again"
            ) from error
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: not UTF-8 text, so not a vocabulary; save it again") from error
        if not isinstance(content, dict) or not isinstance(content.get("tokens"), list):
            raise DataError(f'{path}: not a vocabulary (no list "tokens"); save it again')
        try:
            return cls(content["tokens"])
        except ValueError as error:
            raise DataError(f"{path}: not a vocabulary ({error}); save it again") from error

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self.tokens)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.tokens == other.tokens

    def __hash__(self) -> int:
        return hash(self.tokens)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens)"
