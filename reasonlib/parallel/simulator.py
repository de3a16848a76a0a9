"""Documents in two small languages, in which a known share of sentences cannot be translated alone.

A document is built from segments: a sentence that mentions something, ``distance - 1`` sentences that mention
nothing of that kind, and a sentence that leaves it out. Free sentences fill the rest::

    good evening , kid .            bon vecher , detko .
    mary hid the old lamp .         marja lo kandel veko kashia .     <- mentions lamp, of class o
    snow fell outside .             fori nev padu .
    it was heavy .                  ro peso esto .                    <- pronoun, distance 2

The same seed gives the same documents on every machine.
"""

import math
from dataclasses import dataclass

import numpy as np

from reasonlib.arguments import check_at_least
from reasonlib.parallel.example import KINDS, Deciding, Document, SentencePair
from reasonlib.parallel.grammar import DEPENDENT, FREE, Mention, Sentence
from reasonlib.parallel.lexicon import CLASSES, NAMES, POLITENESS, TRANSITIVE

__all__ = ["SimulatorConfig", "simulate"]

_MENTIONS = {
    "pronoun": ("transitive", "copula", "both"),
    "subject": ("transitive", "intransitive"),
    "verb": ("transitive",),
    "formality": ("greeting", "addressed"),
}
"""Kind to the free sentences that may begin a segment of it."""

_WITHOUT = {
    "pronoun": ("intransitive", "scene", "greeting"),
    "subject": ("copula", "scene", "greeting"),
    "verb": ("intransitive", "copula", "scene", "greeting"),
    "formality": ("transitive", "intransitive", "copula", "scene", "both"),
}
"""Kind to the free sentences that mention nothing of it."""


@dataclass(frozen=True, kw_only=True)
class SimulatorConfig:
    """Rates and distances of the simulated documents.

    Raises `ValueError` if a number is out of range, a kind is unknown, or there is no room for that
    many helpful sentences.
    """

    sentences: int = 10  # of a document
    helpful: float = 0.3  # share of sentences that need their context; exact over whole documents
    distance: tuple[int, int] = (1, 2)  # nearest and farthest sentence that decides, in sentences back
    kinds: tuple[str, ...] = KINDS  # what sentences leave to their context

    def __post_init__(self) -> None:
        object.__setattr__(self, "distance", tuple(self.distance))
        object.__setattr__(self, "kinds", tuple(self.kinds))
        check_at_least(self, 1, "sentences")
        if not 0 <= self.helpful < 1:
            raise ValueError(f"helpful must be at least 0 and below 1, got {self.helpful}")
        if len(self.distance) != 2 or not 1 <= self.distance[0] <= self.distance[1]:
            raise ValueError(f"distance must be nearest and farthest, each at least 1, got {self.distance}")
        if not self.kinds or set(self.kinds) - set(KINDS):
            raise ValueError(f"kinds must be some of {', '.join(KINDS)}, got {self.kinds}")
        most = self.sentences // (1 + self.distance[1])
        if math.ceil(round(self.sentences * self.helpful, 9)) > most:
            raise ValueError(
                f"helpful must be at most {most / self.sentences:.3g}: {self.sentences} sentences "
                f"hold {most} segments of {1 + self.distance[1]}; got {self.helpful}"
            )


def simulate(documents: int, *, seed: int, config: SimulatorConfig | None = None) -> list[Document]:
    """Draw documents.

    Parameters
    ----------
    documents
        How many.
    seed
        Of the draws: the same seed gives the same documents.
    config
        Rates and distances.

    Raises
    ------
    ValueError
        If there are to be no documents.

    Examples
    --------
    >>> document = simulate(1, seed=3)[0]
    >>> [pair.decides.kind for pair in document.pairs if pair.helpful]
    ['pronoun', 'verb', 'subject']
    """
    if documents < 1:
        raise ValueError(f"documents must be at least 1, got {documents}")
    config = config or SimulatorConfig()
    draw = np.random.default_rng(seed)
    return [Document(tuple(_pairs(config, draw)), f"simulated-{number}") for number in range(documents)]


def _pairs(config: SimulatorConfig, draw: np.random.Generator) -> list[SentencePair]:
    """Draw one document: segments in random order with free sentences before, between and after them."""
    exact = round(config.sentences * config.helpful, 9)
    segments = int(exact) + int(draw.random() < exact % 1)
    nearest, farthest = config.distance
    distances = [int(draw.integers(nearest, farthest + 1)) for _ in range(segments)]
    spare = config.sentences - sum(distances) - segments
    before = np.bincount(draw.integers(segments + 1, size=spare), minlength=segments + 1)
    pairs: list[SentencePair] = []
    for free, distance in zip(before, [*distances, 0], strict=True):
        pairs += [_free(tuple(FREE), draw)[0] for _ in range(free)]
        if distance:
            pairs += _segment(config.kinds[int(draw.integers(len(config.kinds)))], distance, draw)
    return pairs


def _free(names: tuple[str, ...], draw: np.random.Generator) -> tuple[SentencePair, Sentence]:
    sentence = FREE[names[int(draw.integers(len(names)))]](draw)
    return SentencePair(sentence.source, sentence.target, helpful=False), sentence


def _segment(kind: str, distance: int, draw: np.random.Generator) -> list[SentencePair]:
    """Draw a sentence that mentions something, what stands between, and the sentence that leaves it out."""
    first, mentioning = _free(_MENTIONS[kind], draw)
    given = mentioning.mentions[kind]
    between = [_free(_WITHOUT[kind], draw)[0] for _ in range(distance - 1)]
    # The same draws with another value give the same sentence in another context.
    seed = int(draw.integers(2**32))
    sentence = DEPENDENT[kind](given, np.random.default_rng(seed))
    others = [value for value in _values(kind) if value != given.value]
    other = Mention("", others[int(draw.integers(len(others)))])
    contrast = DEPENDENT[kind](other, np.random.default_rng(seed)).target
    deciding = Deciding(kind, sentence.deciding, given.word, distance, contrast)
    return [first, *between, SentencePair(sentence.source, sentence.target, True, deciding)]


def _values(kind: str) -> tuple[str, ...]:
    """Return what the context can decide between."""
    if kind == "pronoun":
        return CLASSES
    if kind == "subject":
        return tuple(sorted({value for _, value in NAMES.values()}))
    return tuple(TRANSITIVE.values()) if kind == "verb" else tuple(POLITENESS)
