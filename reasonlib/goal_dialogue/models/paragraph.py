r"""Paragraph vectors in place of bags of words: DbowN2N (Taraldsen and Vatne 2019, section 4.1).

PV-DBOW (Le and Mikolov 2014) gives sentence s a vector :math:`v_s` and word w a vector :math:`o_w`, and
learns both so that the words of the sentence are likelier than words drawn at random (negative sampling):

.. math:: \max_{v, o} \sum_s \sum_{w \in s} \Big[ \log \sigma(v_s \cdot o_w)
          + \sum_{n \sim \text{noise}} \log \sigma(-v_s \cdot o_n) \Big]

A sentence never seen gets its vector by *inference*: the same steps, with all :math:`o_w` held fixed. Words
that were not in training are passed over, so a sentence is as well understood as its known words.

::

    training sentences --PV-DBOW--> o_w             trained first, apart
    every sentence, o_w --inference--> one vector   key, value and query of every hop: no A, B, C
                                          |
                                    memory network --W--> score of each candidate     only W and H are learned

The vectors are those of `gensim <https://radimrehurek.com/gensim/>`_.

Axes: B turns, S memory slots, U sentences, X distinct texts, D width of a vector, K hops.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import torch
from gensim.models.doc2vec import Doc2Vec, TaggedDocument, train_document_dbow  # type: ignore[import-untyped]
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor, nn

from reasonlib.arguments import check_at_least
from reasonlib.goal_dialogue.data.bags import Bags
from reasonlib.goal_dialogue.data.encoding import EncodedTask
from reasonlib.goal_dialogue.data.text_index import TextIndex
from reasonlib.goal_dialogue.models.hop_updates import Linear, Residual
from reasonlib.goal_dialogue.models.keytags import SeparateAnswerTables
from reasonlib.goal_dialogue.models.match_features import Match
from reasonlib.goal_dialogue.models.memory_network import MemoryNetwork, NetworkConfig
from reasonlib.goal_dialogue.models.tying import Memories, TiedMemory

__all__ = [
    "ParagraphConfig",
    "ParagraphEncoder",
    "ParagraphVectors",
    "SingleVectorTying",
    "build_paragraphs",
    "distinct_sentences",
    "stable_hash",
    "train_paragraph_vectors",
]

# Vectors ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ParagraphConfig:
    """How paragraph vectors are trained and inferred.

    Raises `ValueError` if a number is below 1.
    """

    width: int = 100  # D; the source began at 20 and ended here
    epochs: int = 100  # passes over the training sentences, apart from the memory network
    inference: int = 50  # passes over a sentence to infer its vector; the source gives no number
    negative: int = 5  # words drawn at random for each word of a sentence

    def __post_init__(self) -> None:
        check_at_least(self, 1, "width", "epochs", "inference", "negative")


class ParagraphVectors:
    """Vectors of sentences, inferred once each.

    Parameters
    ----------
    model
        Trained by `train_paragraph_vectors`.
    config
        How to infer.
    seed
        Draws each sentence's first vector and its noise words, together with the sentence itself.

    Notes
    -----
    The source infers every occurrence of a sentence anew, so that the same sentence has slightly different
    vectors, and hopes that this noise helps the network to generalise. Here a sentence has one vector;
    `repeated` shows the noise.
    """

    def __init__(self, model: Doc2Vec, config: ParagraphConfig, *, seed: int = 0) -> None:
        self.model = model
        self.config = config
        self.seed = seed
        self._found: dict[tuple[str, ...], Float[ndarray, " D"]] = {}

    def __call__(self, sentences: Iterable[Sequence[str]]) -> Float[ndarray, "U D"]:
        """Give each sentence, split into words, its vector."""
        rows = []
        for sentence in sentences:
            words = tuple(sentence)
            if words not in self._found:
                self._found[words] = self._infer(words, self.seed)
            rows.append(self._found[words])
        return np.stack(rows) if rows else np.zeros((0, self.config.width), dtype=np.float32)

    def repeated(self, sentence: Sequence[str], times: int) -> Float[ndarray, "times D"]:
        """Infer one sentence again and again, each time with other noise, as the source does.

        Raises
        ------
        ValueError
            If `times` is below 1.
        """
        if times < 1:
            raise ValueError(f"times must be at least 1, got {times}")
        return np.stack([self._infer(tuple(sentence), self.seed + number) for number in range(times)])

    def _infer(self, words: tuple[str, ...], seed: int) -> Float[ndarray, " D"]:
        """Infer a vector that depends on the words and the seed, and on nothing that came before.

        This is the loop of gensim's ``infer_vector``, which draws the first vector from Python's `hash` of
        the sentence, another in every process, and its noise words from one stream for all sentences.
        """
        model = self.model
        generator = np.random.RandomState((crc32(" ".join(words).encode()) + seed) % 2**32)
        vector = ((generator.random_sample((1, self.config.width)) - 0.5) / self.config.width).astype(
            np.float32
        )
        model.random = generator
        work = np.zeros(model.layer1_size, dtype=np.float32)
        free = np.ones(1, dtype=np.float32)
        for rate in np.linspace(model.alpha, model.min_alpha, self.config.inference):
            train_document_dbow(
                model,
                list(words),
                [0],
                float(rate),
                work,
                learn_words=False,
                learn_hidden=False,
                doctag_vectors=vector,
                doctags_lockf=free,
            )
        return vector[0]


def train_paragraph_vectors(
    sentences: Iterable[Sequence[str]], config: ParagraphConfig | None = None, *, seed: int = 0
) -> ParagraphVectors:
    """Train PV-DBOW on the distinct sentences of a corpus.

    Parameters
    ----------
    sentences
        Split into words. A sentence that comes again is passed over: dialogues repeat a few of theirs
        thousands of times.
    config
        Width and passes.
    seed
        Draws the first vectors, the noise words and which words are read.

    Raises
    ------
    ValueError
        If there is no sentence with a word in it.
    """
    config = config or ParagraphConfig()
    distinct = sorted({tuple(sentence) for sentence in sentences} - {()})
    if not distinct:
        raise ValueError("sentences must hold at least one with a word in it, got none")
    # excerpt: paragraph vectors
    model = Doc2Vec(
        vector_size=config.width,
        dm=0,  # PV-DBOW, not PV-DM
        min_count=1,
        sample=0,
        negative=config.negative,  # words drawn at random, for each real one
        epochs=config.epochs,
        seed=seed,
        workers=1,
        hashfxn=stable_hash,
    )
    # end excerpt
    documents = [TaggedDocument(list(sentence), [number]) for number, sentence in enumerate(distinct)]
    # excerpt: paragraph vectors
    model.build_vocab(documents)
    model.train(documents, total_examples=model.corpus_count, epochs=model.epochs)
    # end excerpt
    return ParagraphVectors(model, config, seed=seed)


def stable_hash(text: str) -> int:
    """Hash a word alike in every process, which Python's own `hash` does not."""
    return crc32(text.encode())


# The network ------------------------------------------------------------------------------------------------


class ParagraphEncoder(nn.Module):
    """A sentence is its paragraph vector, which nothing trains any more.

    Parameters
    ----------
    vectors : (X, D)
        Of every text.
    """

    vectors: Tensor

    def __init__(self, vectors: Float[ndarray, "X D"]) -> None:
        super().__init__()
        self.register_buffer("vectors", torch.as_tensor(vectors, dtype=torch.float), persistent=False)

    def extend(self, vectors: Float[ndarray, "more D"]) -> None:
        """Take the vectors of further texts."""
        self.vectors = torch.cat([self.vectors, torch.as_tensor(vectors).to(self.vectors)])

    def forward(self, sentences: Bags, tables: Iterable[int]) -> tuple[Float[Tensor, "U D"], ...]:
        """Look sentences up; every table is the same."""
        vectors = self.vectors[sentences.text]
        return tuple(vectors for _ in tables)


class SingleVectorTying(nn.Module):
    """Query, keys and values of all hops are the one vector that a sentence has: A, B and C are gone."""

    def __init__(self, hops: int) -> None:
        super().__init__()
        self.hops = hops
        self.tables, self.query, self.memory, self.answers = 1, 0, (0,), (0,)

    def forward(
        self, question: Float[Tensor, "B D"], memory: Memories, filled: Bool[Tensor, "B S"]
    ) -> TiedMemory:
        """Hand it out."""
        return TiedMemory(question, memory * self.hops, memory * self.hops)


def distinct_sentences(task: EncodedTask, *, marks: bool = True) -> list[list[str]]:
    """List the distinct sentences of a task's training dialogues, split into words.

    Parameters
    ----------
    task
        From `encoding.encode_split`; task 6's for the source's external corpus.
    marks
        As in `build_paragraphs`.
    """
    turns = TextIndex(task.vocabulary, marks=marks).of_turns(task.train)
    return [text.split() for text in turns.texts]


def build_paragraphs(
    config: NetworkConfig,
    task: EncodedTask,
    vectors: ParagraphVectors,
    *,
    marks: bool = True,
    mapped: bool = True,
    seed: int = 0,
) -> tuple[MemoryNetwork, EncodedTask, TextIndex]:
    """Put a memory network together whose sentences are paragraph vectors (figure 4.2).

    Parameters
    ----------
    config
        Hops, slots and match features. The width is that of the vectors, and there is one way to tie.
    task
        From `encoding.encode_split`; with types where the network has match features.
    vectors
        Trained on `distinct_sentences` of this task, or of another.
    marks
        Let a sentence's speaker and turn be words of it, as they are of its bag elsewhere.
    mapped
        Learn the map H between hops, beside the output matrix W.
    seed
        Draws the first weights.

    Returns
    -------
    MemoryNetwork, EncodedTask, TextIndex
        As of `keytags.build_keytags`; the encoder knows the vector of every text of the task.
    """
    texts = TextIndex(task.vocabulary, marks=marks)
    task = texts.of_task(task)
    encoder = ParagraphEncoder(vectors(text.split() for text in texts.numbers))
    texts.met = lambda new: encoder.extend(vectors(text.split() for text in new))
    width = vectors.config.width
    generator = torch.Generator().manual_seed(seed)
    match = None
    if config.match:
        match = Match(task.candidates, task.types, width, generator=generator, init_std=config.init_std)
    model = MemoryNetwork(
        encoder=encoder,
        tying=SingleVectorTying(config.hops),
        steps=[Linear(width) if mapped else Residual()] * config.hops,
        answers=SeparateAnswerTables(
            task.bags, len(task.vocabulary), width, generator=generator, init_std=config.init_std
        ),
        match=match,
        slots=config.slots,
    )
    return model, task, texts
