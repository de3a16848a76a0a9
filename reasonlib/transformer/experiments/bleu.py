r"""BLEU: how many runs of words a translation shares with a reference (Papineni et al. 2002).

``BLEU = 100 * brevity * exp(mean_n log precision_n)`` for n = 1 to 4. `bleu_from_counts` is that
formula; `corpus_bleu` calls `sacrebleu <https://pypi.org/project/sacrebleu>`_, whose score is the one to
report (Post 2018), and names how it counted.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Bleu", "bleu_from_counts", "brevity", "corpus_bleu", "ngrams", "precision"]


class Bleu(NamedTuple):
    """A score and what it is made of.

    Attributes
    ----------
    score
        0 to 100.
    precisions
        Share of n-grams found in the reference, n = 1 to 4; 0 to 1.
    brevity
        The penalty for being short; 1 for none.
    signature
        How it was counted.
    """

    score: float
    precisions: tuple[float, ...]
    brevity: float
    signature: str


def ngrams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """Count runs of n words.

    >>> ngrams("the cat the cat".split(), 2)[("the", "cat")]
    2
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    return Counter(tuple(words[position : position + n]) for position in range(len(words) - n + 1))


def precision(
    written: Sequence[Sequence[str]], references: Sequence[Sequence[str]], n: int
) -> tuple[int, int]:
    """Count n-grams that the reference has too, each at most as often as it stands there, and all n-grams.

    >>> precision(["the the the the the the the".split()], ["the cat is on the mat".split()], 1)
    (2, 7)
    """
    matches = total = 0
    for ours, theirs in zip(written, references, strict=True):
        counts, reference_counts = ngrams(ours, n), ngrams(theirs, n)
        matches += sum(min(count, reference_counts[gram]) for gram, count in counts.items())
        total += sum(counts.values())
    return matches, total


def brevity(written: int, reference: int) -> float:
    """Penalise a translation shorter than its reference: ``exp(1 - reference / written)``, in words.

    >>> brevity(10, 8), round(brevity(8, 10), 4)
    (1.0, 0.7788)
    """
    if written >= reference:
        return 1.0
    return math.exp(1 - reference / written) if written else 0.0


def bleu_from_counts(
    written: Sequence[Sequence[str]], references: Sequence[Sequence[str]], *, most: int = 4
) -> Bleu:
    """Score translations by the formula, over the whole corpus, one reference each and nothing smoothed.

    Parameters
    ----------
    written, references
        Translations and what they should be, in words.
    most
        Longest n-grams counted.

    Examples
    --------
    >>> bleu_from_counts([["a", "b", "c", "d", "e"]], [["a", "b", "c", "d", "e"]]).score
    100.0
    """
    _check(written, references)
    # excerpt: bleu
    # of each length n: n-grams shared with the reference, and all n-grams written
    counts = [precision(written, references, n) for n in range(1, most + 1)]
    shares = tuple(matches / total if total else 0.0 for matches, total in counts)
    short = brevity(sum(map(len, written)), sum(map(len, references)))
    # the geometric mean of the shares
    mean = math.exp(sum(map(math.log, shares)) / most) if min(shares) > 0 else 0.0
    # end excerpt
    return Bleu(100 * short * mean, shares, short, f"n 1 to {most}, one reference, case kept, not smoothed")


def corpus_bleu(
    written: Sequence[Sequence[str]], references: Sequence[Sequence[str]], *, smooth: str = "exp"
) -> Bleu:
    """Score translations with sacrebleu.

    Parameters
    ----------
    written, references
        Translations and what they should be, in words; they are joined by blanks and not split anew.
    smooth
        ``"exp"``, sacrebleu's own choice, or ``"none"``: only matters where no 4-gram is shared.
    """
    from sacrebleu.metrics import BLEU

    _check(written, references)
    metric: Any = BLEU(tokenize="none", smooth_method=smooth, force=True)
    score = metric.corpus_score(
        [" ".join(item) for item in written], [[" ".join(item) for item in references]]
    )
    return Bleu(
        score.score,
        tuple(share / 100 for share in score.precisions),
        score.bp,
        metric.get_signature().format(short=True),
    )


def _check(written: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> None:
    if not written or len(written) != len(references):
        raise ValueError(
            f"there must be one reference a translation, got {len(written)} and {len(references)}"
        )
    if any(isinstance(item, str) for item in (*written, *references)):
        raise ValueError("translations and references must be lists of words, got a plain string")
