"""How good translations are: exact sentences, BLEU, chrF, and whether the right one is the likelier.

BLEU and chrF are sacrebleu's (Post 2018), with the signature that says how they were counted.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["CorpusScore", "bleu", "bootstrap", "chrf", "sentence_accuracy"]


class CorpusScore(NamedTuple):
    """A score from 0 to 100 and how it was counted."""

    score: float
    signature: str


def sentence_accuracy(translations: Sequence[str], references: Sequence[str]) -> float:
    """Return the share of translations that equal their reference.

    Examples
    --------
    >>> sentence_accuracy(["ro veko esto .", "a"], ["ro veko esto .", "b"])
    0.5
    """
    _check(translations, references)
    return sum(a == b for a, b in zip(translations, references, strict=True)) / len(references)


def bleu(translations: Sequence[str], references: Sequence[str], *, tokenize: str = "13a") -> CorpusScore:
    """Return the corpus BLEU of detokenised text; ``tokenize="none"`` for text that is words and blanks."""
    from sacrebleu.metrics import BLEU

    _check(translations, references)
    metric: Any = BLEU(tokenize=tokenize, force=tokenize == "none")
    score = metric.corpus_score(list(translations), [list(references)]).score
    return CorpusScore(score, str(metric.get_signature()))


def chrf(translations: Sequence[str], references: Sequence[str]) -> CorpusScore:
    """Return the character n-gram F-score."""
    from sacrebleu.metrics import CHRF

    _check(translations, references)
    metric: Any = CHRF()
    score = metric.corpus_score(list(translations), [list(references)]).score
    return CorpusScore(score, str(metric.get_signature()))


def bootstrap(
    translations: Sequence[str],
    references: Sequence[str],
    *,
    metric: Any = sentence_accuracy,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return an interval of a metric over test sentences, by drawing the test set again (Koehn 2004).

    Parameters
    ----------
    translations, references
        One of each a sentence.
    metric
        Called on both; returns a number or a `CorpusScore`.
    samples, seed
        How many test sets are drawn, and the seed of the draws.
    level
        Share of the drawn scores inside the interval.
    """
    _check(translations, references)
    if not 0 < level < 1 or samples < 1:
        raise ValueError(f"level must be between 0 and 1 and samples at least 1, got {level} and {samples}")
    draw, scores = np.random.default_rng(seed), []
    for _ in range(samples):
        chosen = draw.integers(len(references), size=len(references))
        score = metric([translations[i] for i in chosen], [references[i] for i in chosen])
        scores.append(score.score if isinstance(score, CorpusScore) else float(score))
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _check(translations: Sequence[str], references: Sequence[str]) -> None:
    if not references or len(translations) != len(references):
        raise ValueError(
            f"there must be a reference for each translation, got {len(translations)} translations and "
            f"{len(references)} references"
        )
