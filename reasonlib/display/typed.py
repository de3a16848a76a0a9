"""Text as people type it: other quotation marks, emoji, other scripts, one wrong letter in a known word.

The models of this library read small Latin letters. What a person types is brought to them in one way,
wherever it was typed: at the command line, in a notebook or from Python.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Readable", "nearest", "one_off", "readable"]

_MARKS = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "–": " - ", "—": " - ", "。": ". "})
_PLAIN = "o O l L d D d D i ae Ae oe Oe ss th Th".split()
_LETTERS = str.maketrans(dict(zip("øØłŁđĐðÐıæÆœŒßþÞ", _PLAIN, strict=True)))


@dataclass(frozen=True, kw_only=True)
class Readable:
    """A text in Latin letters.

    Attributes
    ----------
    text
        What can be read.
    symbols
        Emoji and other symbols that were left out, each once.
    foreign
        Words in other scripts that were left out, each once.
    """

    text: str
    symbols: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()


def readable(text: str) -> Readable:
    """Bring a text to Latin letters without accents, plain quotation marks and plain punctuation.

    >>> readable("Where’s Zoë’s milk 🥛？")
    Readable(text="Where's Zoe's milk ?", symbols=('🥛',), foreign=())
    >>> readable("玛丽去了花园。Mary left.").foreign
    ('玛丽去了花园',)
    """
    plain = unicodedata.normalize("NFKC", text.translate(_MARKS)).translate(_MARKS | _LETTERS)
    plain = "".join(
        character
        for character in unicodedata.normalize("NFKD", plain)
        if unicodedata.category(character) not in ("Mn", "Cf", "Cs", "Co", "Cn")
    )
    symbols = [character for character in plain if _is_symbol(character)]
    plain = "".join(" " if _is_symbol(character) else character for character in plain)
    foreign = re.findall(r"[^\W\d_a-zA-Z]+", plain)
    plain = re.sub(r"[^\W\d_a-zA-Z]+", " ", plain)
    return Readable(
        text="\n".join(" ".join(line.split()) for line in plain.split("\n")),
        symbols=tuple(dict.fromkeys(symbols)),
        foreign=tuple(dict.fromkeys(foreign)),
    )


def _is_symbol(character: str) -> bool:
    return unicodedata.category(character) in ("So", "Sk") and ord(character) > 127


def nearest(word: str, names: Iterable[str], *, shortest: int = 4) -> str:
    """Return the one name that is one letter away from a word; empty if there is none, or several.

    >>> nearest("tokio", ["tokyo", "rome"])
    'tokyo'
    """
    if len(word) < shortest or not word.isalpha():
        return ""
    near = [name for name in dict.fromkeys(names) if len(name) >= shortest and one_off(word, name)]
    return near[0] if len(near) == 1 else ""


def one_off(word: str, name: str) -> bool:
    """Whether one letter differs, is missing or is too many, or two neighbours are exchanged."""
    if len(word) == len(name):
        wrong = [index for index in range(len(word)) if word[index] != name[index]]
        if len(wrong) == 1:
            return True
        if len(wrong) != 2 or wrong[1] != wrong[0] + 1:
            return False
        return word[wrong[0]] == name[wrong[1]] and word[wrong[1]] == name[wrong[0]]
    short, long = sorted((word, name), key=len)
    return len(long) - len(short) == 1 and any(
        long[:index] + long[index + 1 :] == short for index in range(len(long))
    )
