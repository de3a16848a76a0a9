"""Characters as numbers: every printable ASCII character, and four marks.

By hand: ``encode("2+2")`` is ``[22, 15, 22]``, because ``"2"`` is the 19th printable character after the
space, and ids 0 to 3 are marks.
"""

from collections.abc import Iterable

from reasonlib.errors import UserError

__all__ = [
    "CHARACTERS",
    "END",
    "FIRST",
    "MASK",
    "PAD",
    "SIZE",
    "START",
    "TOKENS",
    "decode",
    "encode",
    "kind_of",
]

PAD, START, END, MASK = 0, 1, 2, 3
FIRST = 4  # id of the first character

CHARACTERS = "".join(chr(code) for code in range(32, 127))
"""The 95 printable ASCII characters, as many as Saxton et al. (2019), section 4, use."""

TOKENS = ("<pad>", "[SOS]", "[EOS]", "[MASK]", *CHARACTERS)
SIZE = len(TOKENS)  # V


def encode(text: str) -> list[int]:
    """Return the id of each character.

    Raises
    ------
    UserError
        If a character is not printable ASCII.
    """
    ids = [ord(character) - 32 + FIRST for character in text]
    for character, number in zip(text, ids, strict=True):
        if not FIRST <= number < SIZE:
            raise UserError(f"{character!r} in {text!r} is no printable ASCII character")
    return ids


def decode(ids: Iterable[int]) -> str:
    """Return the text of ids; marks are left out.

    >>> decode(encode("x**2"))
    'x**2'
    """
    return "".join(TOKENS[number] for number in ids if number >= FIRST)


def kind_of(character: str) -> str:
    """Say whether a character is a ``number``, an ``alphabet`` or one of the ``symbols`` (table 5.1).

    >>> [kind_of(character) for character in "7x*"]
    ['number', 'alphabet', 'symbols']
    """
    if character.isdigit():
        return "number"
    return "alphabet" if character.isalpha() else "symbols"
