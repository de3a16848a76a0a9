"""Three ways to cut one text: characters, words, and pieces of words (byte-pair encoding).

Sources: Sennrich et al. (2016), "Neural Machine Translation of Rare Words with Subword Units" (BPE);
Yun (2022), chapter 2, "Tokenization" (what each way costs). https://arxiv.org/abs/1508.07909

::

    the lighthouse    characters   t h e _ l i g h t h o u s e     few tokens to know, long sequences
                      words        the [UNK]                       short, but what was never seen is lost
                      pieces       the_ light house_               in between, and nothing is lost

Pieces are learned with `tokenizers <https://huggingface.co/docs/tokenizers>`_; `merges` does the same by
hand on a few words, to be read.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from reasonlib.errors import DataError

__all__ = ["Cut", "Cutter", "Text", "characters", "measure", "merges", "news", "pieces", "stories", "words"]

UNKNOWN = "[UNK]"


class Text(NamedTuple):
    """A text to learn from and one to be measured on, in lower-case words.

    Attributes
    ----------
    name
        Of the text.
    train, held_out
        Words, running.
    """

    name: str
    train: tuple[str, ...]
    held_out: tuple[str, ...]


@lru_cache(maxsize=1)
def news() -> Text:
    """Read 300 news items of 2000 and 2001, about 60,000 words; every fifth item is held out.

    The Lee background corpus, as `gensim` brings it along for its own tests.

    Raises
    ------
    DataError
        If this installation of gensim came without it.
    """
    from gensim.test.utils import datapath  # type: ignore[import-untyped]

    path = Path(datapath("lee_background.cor"))
    try:
        items = path.read_text(encoding="utf-8").lower().splitlines()
    except OSError as error:
        raise DataError(f"{path}: cannot be read; install gensim again, or use stories()") from error
    train: list[str] = []
    held_out: list[str] = []
    for number, item in enumerate(items):
        (held_out if number % 5 == 4 else train).extend(_split(item))
    return Text("news", tuple(train), tuple(held_out))


@lru_cache(maxsize=4)
def stories(number: int = 2000, seed: int = 0) -> Text:
    """Tell stories of the small world; the held ones are others of the same world, with no new word."""
    from reasonlib.transformer.data.stories import simulate_stories

    def words_of(seed: int) -> tuple[str, ...]:
        results = simulate_stories(number, seed=seed)
        return tuple(word for story in results for word in story.words)

    return Text("stories", words_of(2 * seed), words_of(2 * seed + 1))


def _split(text: str) -> list[str]:
    """Cut at blanks, and marks from words.

    >>> _split("don't stop, bill.")
    ["don't", 'stop', ',', 'bill', '.']
    """
    return re.findall(r"[^\W_]+(?:['-][^\W_]+)*|[^\w\s]", text)


@dataclass(frozen=True)
class Cutter:
    """A way to cut words into tokens.

    Attributes
    ----------
    name
        What it is called.
    vocabulary
        Number of tokens it knows, the unknown one not counted.
    cut
        From words to tokens; `UNKNOWN` for what it does not know.
    """

    name: str
    vocabulary: int
    cut: Callable[[Sequence[str]], list[str]]


def characters(train: Iterable[str]) -> Cutter:
    """Know every character of the text, and the blank between words.

    >>> characters(["ab", "ba"]).cut(["abc"])
    ['a', 'b', '[UNK]', '_']
    """
    alphabet = {letter for word in set(train) for letter in word}

    def cut(words: Sequence[str]) -> list[str]:
        return [
            letter if letter in alphabet or letter == "_" else UNKNOWN
            for word in words
            for letter in f"{word}_"
        ]

    return Cutter("characters", len(alphabet) + 1, cut)


def words(train: Iterable[str], *, most: int | None = None) -> Cutter:
    """Know the words of the text, or only the most frequent.

    >>> words(["mary", "went", "mary"], most=1).cut(["mary", "went"])
    ['mary', '[UNK]']
    """
    if most is not None and most < 1:
        raise ValueError(f"most must be at least 1, got {most}")
    counts = Counter(train)
    ordered = sorted(counts, key=lambda word: (-counts[word], word))[:most]
    vocabulary = frozenset(ordered)
    return Cutter(
        "words", len(vocabulary), lambda text: [word if word in vocabulary else UNKNOWN for word in text]
    )


def pieces(train: Iterable[str], *, vocabulary: int) -> Cutter:
    """Learn byte-pair encoding: start from characters, join the most frequent pair, again and again.

    Parameters
    ----------
    train
        Words.
    vocabulary
        The number of tokens wanted, including characters; a small text may not have enough pairs to merge.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    if vocabulary < 1:
        raise ValueError(f"vocabulary must be at least 1, got {vocabulary}")
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN, end_of_word_suffix="_"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer: Any = trainers.BpeTrainer(
        vocab_size=vocabulary + 1, special_tokens=[UNKNOWN], end_of_word_suffix="_", show_progress=False
    )
    tokenizer.train_from_iterator([" ".join(train)], trainer)

    def cut(text: Sequence[str]) -> list[str]:
        return tokenizer.encode(" ".join(text)).tokens

    return Cutter("pieces", tokenizer.get_vocab_size() - 1, cut)


def merges(train: Iterable[str], number: int) -> list[tuple[str, str]]:
    """Learn byte-pair encoding by hand, slowly: the pairs joined, in order.

    Each step counts every two neighbouring pieces over all words and joins the most frequent two (of equally
    frequent ones the first in the alphabet), as in algorithm 1 of the source.

    >>> merges(["low", "low", "lower", "newest", "newest", "widest"], 3)
    [('e', 's'), ('es', 't'), ('est', '_')]
    """
    if number < 1:
        raise ValueError(f"number must be at least 1, got {number}")
    splits = {(*word, "_"): count for word, count in Counter(train).items()}
    joined = []
    for _ in range(number):
        pairs: Counter[tuple[str, str]] = Counter()
        for parts, count in splits.items():
            for pair in pairwise(parts):
                pairs[pair] += count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        joined.append(best)
        together: Counter[tuple[str, ...]] = Counter()
        for parts, count in splits.items():
            together[_join(parts, best)] += count
        splits = dict(together)
    return joined


def _join(parts: Sequence[str], pair: tuple[str, str]) -> tuple[str, ...]:
    results: list[str] = []
    position = 0
    while position < len(parts):
        if tuple(parts[position : position + 2]) == pair:
            results.append(pair[0] + pair[1])
            position += 2
        else:
            results.append(parts[position])
            position += 1
    return tuple(results)


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What a way of cutting makes of held-out text.

    Attributes
    ----------
    name, vocabulary
        Of the `Cutter`.
    length
        Tokens a word of the held-out text, on average.
    unknown
        Share of its tokens that are unknown.
    words_lost
        Share of its words with something unknown in them.
    """

    name: str
    vocabulary: int
    length: float
    unknown: float
    words_lost: float


def measure(cutter: Cutter, held_out: Sequence[str]) -> Cut:
    """Cut held-out words and count."""
    if not held_out:
        raise ValueError("held_out must have at least one word, got none")
    counts = Counter(held_out)
    tokens = unknown = lost = 0
    for word, count in counts.items():
        cut = cutter.cut([word])
        tokens += count * len(cut)
        unknown += count * cut.count(UNKNOWN)
        lost += count * (UNKNOWN in cut)
    return Cut(
        name=cutter.name,
        vocabulary=cutter.vocabulary,
        length=tokens / len(held_out),
        unknown=unknown / tokens,
        words_lost=lost / len(held_out),
    )
