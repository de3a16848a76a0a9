r"""Word2Vec as the start of a memory network's word tables (Taraldsen, Vatne 2019, 4.1.1, 5.3.2).

The vectors of `gensim <https://radimrehurek.com/gensim/>`_, learned by guessing words from their neighbours
in the training dialogues, take the place of the small random numbers that all tables start from; then all
is trained as ever.

Axes: D width.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from gensim.models.word2vec import Word2Vec  # type: ignore[import-untyped]
from jaxtyping import Float
from numpy import ndarray

from reasonlib.goal_dialogue.models.memory_network import BagOfWordsEncoder, MemoryNetwork
from reasonlib.goal_dialogue.models.paragraph import stable_hash
from reasonlib.training.vocabulary import Vocabulary

__all__ = ["initialise_word_tables", "train_word2vec"]


def train_word2vec(
    sentences: Iterable[Sequence[str]],
    width: int,
    *,
    skip_gram: bool = False,
    window: int = 5,
    epochs: int = 100,
    seed: int = 0,
) -> dict[str, Float[ndarray, " D"]]:
    """Train Word2Vec on the distinct sentences of a corpus.

    Parameters
    ----------
    sentences
        Split into words.
    width
        D.
    skip_gram
        Guess the neighbours from the word; else the word from its neighbours (CBOW). The source shows both
        and does not say which it used.
    window
        Neighbours on each side.
    epochs
        Passes over the sentences.
    seed
        Draws the first vectors and the noise words.

    Raises
    ------
    ValueError
        If there is no sentence with a word in it, or a number is below 1.
    """
    for name, value in (("width", width), ("window", window), ("epochs", epochs)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    distinct = sorted({tuple(sentence) for sentence in sentences} - {()})
    if not distinct:
        raise ValueError("sentences must hold at least one with a word in it, got none")
    model = Word2Vec(
        [list(sentence) for sentence in distinct],
        vector_size=width,
        sg=int(skip_gram),
        window=window,
        min_count=1,
        sample=0,
        epochs=epochs,
        seed=seed,
        workers=1,
        hashfxn=stable_hash,
    )
    return {word: model.wv[word].copy() for word in sorted(model.wv.key_to_index)}


def initialise_word_tables(
    model: MemoryNetwork,
    vocabulary: Vocabulary,
    vectors: Mapping[str, Float[ndarray, " D"]],
    *,
    init_std: float | None = None,
) -> int:
    """Put word vectors into every table of a memory network, in place.

    Parameters
    ----------
    model
        Its encoder is a `BagOfWordsEncoder`, as wide as the vectors. Words without a vector keep their random
        start.
    vocabulary
        Of the model.
    vectors
        Word to vector.
    init_std
        Scale the vectors to this standard deviation. By default they keep their own length, which is many
        times that of the random start: the first attention of the network is then all but decided.

    Returns
    -------
    int
        How many words of the vocabulary have a vector.

    Raises
    ------
    ValueError
        If the model has no word tables, or the vectors are not as wide as they.
    """
    encoder = model.encoder
    if not isinstance(encoder, BagOfWordsEncoder):
        raise ValueError(f"model must embed bags of words, got an encoder {type(encoder).__name__}")
    covered = [(row, word) for row, word in enumerate(vocabulary.tokens) if word in vectors]
    if not covered:
        return 0
    values = torch.from_numpy(np.stack([vectors[word] for _, word in covered]).astype(np.float32))
    if values.shape[1] != encoder.tables[0].shape[1]:
        raise ValueError(
            f"vectors must be {encoder.tables[0].shape[1]} wide as the model's, got {values.shape[1]}"
        )
    if init_std is not None:
        values = values * (init_std / values.std())
    rows = torch.tensor([row for row, _ in covered])
    with torch.no_grad():
        for table in encoder.tables:
            table[rows] = values.to(table)
    return len(covered)
