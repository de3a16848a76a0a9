"""How good translations are: exact sentences, BLEU, chrF, and whether the right one is the likelier.

BLEU and chrF are sacrebleu's (Post 2018), with the signature that says how they were counted.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["CorpusScore", "bleu", "bootstrap", "chrf", "sentence_accuracy"]


class CorpusScore(NamedTuple):
    """A score of a set of translations.

    Attributes
    ----------
    score
        0 to 100.
    signature
        How it was counted.
    margin
        Half the width of its 95 % interval over test sentences, by bootstrap; 0 if none was drawn.
    """

    score: float
    signature: str
    margin: float = 0.0


def sentence_accuracy(translations: Sequence[str], references: Sequence[str]) -> float:
    """Return the share of translations that equal their reference.

    Examples
    --------
    >>> sentence_accuracy(["ro veko esto .", "a"], ["ro veko esto .", "b"])
    0.5
    """
    _check(translations, references)
    return sum(a == b for a, b in zip(translations, references, strict=True)) / len(references)


def bleu(
    translations: Sequence[str], references: Sequence[str], *, tokenize: str = "13a", samples: int = 0
) -> CorpusScore:
    """Return the corpus BLEU.

    Parameters
    ----------
    translations, references
        Detokenised text, one of each a sentence.
    tokenize
        sacrebleu's tokenizer; ``"none"`` for text that is words and blanks.
    samples
        Test sets drawn for the interval (Koehn 2004); 0 for none.
    """
    from sacrebleu.metrics import BLEU

    _check(translations, references)
    return _corpus_score(BLEU(tokenize=tokenize, force=tokenize == "none"), translations, references, samples)


def chrf(translations: Sequence[str], references: Sequence[str], *, samples: int = 0) -> CorpusScore:
    """Return the character n-gram F-score (Popovic 2015); see `bleu`.

    Examples
    --------
    >>> round(chrf(["a", ""], ["a", "b"], samples=20).score, 1)  # some drawn test sets score 0
    55.6
    """
    from sacrebleu.metrics import CHRF

    class Floats(CHRF):
        """sacrebleu takes the mean of drawn scores, which fails where some are its own zero, not NumPy's."""

        def _compute_f_score(self, statistics: list[int]) -> float:
            return float(super()._compute_f_score(statistics))

    _check(translations, references)
    return _corpus_score(Floats(), translations, references, samples)


def _corpus_score(
    metric: Any, translations: Sequence[str], references: Sequence[str], samples: int
) -> CorpusScore:
    drawn = samples or 1
    result = metric.corpus_score(list(translations), [list(references)], n_bootstrap=drawn)
    margin = float(result._ci) if drawn > 1 else 0.0
    return CorpusScore(result.score, str(metric.get_signature()), margin)


def bootstrap(
    translations: Sequence[str],
    references: Sequence[str],
    *,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return an interval of sentence accuracy over test sentences, by drawing the test set again.

    Parameters
    ----------
    translations, references
        One of each a sentence.
    samples, seed
        How many test sets are drawn, and the seed of the draws.
    level
        Share of the drawn scores inside the interval.
    """
    _check(translations, references)
    if not 0 < level < 1 or samples < 1:
        raise ValueError(f"level must be between 0 and 1 and samples at least 1, got {level} and {samples}")
    right = np.array([a == b for a, b in zip(translations, references, strict=True)])
    draw = np.random.default_rng(seed)
    scores = right[draw.integers(len(right), size=(samples, len(right)))].mean(1)
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _check(translations: Sequence[str], references: Sequence[str]) -> None:
    if not references or len(translations) != len(references):
        raise ValueError(
            f"there must be a reference for each translation, got {len(translations)} translations and "
            f"{len(references)} references"
        )
