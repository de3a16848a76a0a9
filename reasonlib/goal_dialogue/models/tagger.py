r"""Taggers: which word names a cuisine, a place, a restaurant? Its letters say, or its neighbours too.

::

    letters of a word      t h a i
                           BiLSTM over letters      last forward state, last backward state
                               |
                           vector of the word ------------> tag              `WordTagger`, the source's
                               |
    words of a sentence    with  thai  food
                           BiLSTM over words
                               |
                           vector of the word here -------> tag              `ContextTagger`, ours

A word's tag is one of the types of the knowledge base, or ``none``.

Source: Taraldsen and Vatne (2019), section 4.2.1, eq. 4.1-4.7.

Axes: S sentences, J words of the longest, W distinct words, L letters of the longest, H cells, T tags.
"""

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from reasonlib.arguments import check_at_least
from reasonlib.goal_dialogue.data.example import TYPES
from reasonlib.training import seeded
from reasonlib.training.batching import mask_of, pad

__all__ = [
    "CHARACTERS",
    "NONE",
    "TAGS",
    "ContextTagger",
    "EncodedCharacters",
    "Tagger",
    "TaggerConfig",
    "WordTagger",
    "encode_characters",
    "look_up",
    "lstm_step",
    "tag",
    "tag_counts",
]

TAGS = ("<pad>", "none", *TYPES)
"""The tags by number: 0 for padding and 1 for a word of no type, as the source numbers them."""

NONE = TAGS.index("none")

CHARACTERS = string.ascii_letters + string.digits + "_'-.:,#?!$<>&/"
"""The characters a tagger tells apart: the first has number 2, 0 is padding, 1 any other character."""

_NUMBER = {letter: number for number, letter in enumerate(CHARACTERS, start=2)}


class EncodedCharacters(NamedTuple):
    """Sentences as letters; every distinct word is spelled once.

    Attributes
    ----------
    letters : (W, L)
        Characters of each distinct word, 0 behind its end.
    lengths : (W,)
        Characters of each.
    words : (S, J)
        Row of `letters` for each word of each sentence.
    filled : (S, J)
        True where a sentence has a word.
    """

    letters: Int[Tensor, "W L"]
    lengths: Int[Tensor, " W"]
    words: Int[Tensor, "S J"]
    filled: Bool[Tensor, "S J"]


def encode_characters(sentences: Sequence[Sequence[str]]) -> EncodedCharacters:
    """Write sentences as letters.

    Parameters
    ----------
    sentences
        Words of each.

    Raises
    ------
    ValueError
        If there is no sentence, or one has no word, or a word no letter.

    Examples
    --------
    >>> encode_characters([["no", "thanks"], ["no"]]).words
    tensor([[0, 1],
            [0, 0]])
    """
    if not len(sentences) or not all(len(sentence) for sentence in sentences):
        raise ValueError("sentences must each hold at least one word, and there must be one")
    rows: dict[str, int] = {}
    words = [[rows.setdefault(word, len(rows)) for word in sentence] for sentence in sentences]
    if "" in rows:
        raise ValueError("words must have at least one letter, got ''")
    lengths = torch.tensor([len(word) for word in rows])
    letters = pad([[_NUMBER.get(letter, 1) for letter in word] for word in rows])
    return EncodedCharacters(letters, lengths, pad(words), mask_of([len(sentence) for sentence in sentences]))


@dataclass(frozen=True, kw_only=True)
class TaggerConfig:
    """Sizes of a tagger; the source gives none.

    Raises `ValueError` if a size is below 1.
    """

    letter: int = 16  # width of a letter's embedding
    width: int = 32  # H, cells of each direction over the letters of a word
    context: int = 32  # cells of each direction over the words of a sentence

    def __post_init__(self) -> None:
        check_at_least(self, 1, "letter", "width", "context")


def lstm_step(
    x: Float[Tensor, "B I"],
    state: tuple[Float[Tensor, "B H"], Float[Tensor, "B H"]],
    weights: Mapping[str, Tensor],
) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H"]]:
    r"""Run one LSTM cell for one step (eq. 4.1-4.7), written out to be read.

    .. math::
        f_t &= \sigma(W_f [h_{t-1}, x_t] + b_f) \\
        i_t &= \sigma(W_i [h_{t-1}, x_t] + b_i) \\
        \tilde C_t &= \tanh(W_c [h_{t-1}, x_t] + b_c) \\
        C_t &= C_{t-1} \odot f_t + i_t \odot \tilde C_t \\
        o_t &= \sigma(W_o [h_{t-1}, x_t] + b_o) \\
        h_t &= o_t \odot \tanh(C_t)

    Parameters
    ----------
    x : (B, I)
        This step's input.
    state : h and C, both (B, H)
        What the step before gave.
    weights
        ``W_f, W_i, W_c, W_o`` of shape (H, H + I) and ``b_f, b_i, b_c, b_o`` of shape (H,).

    Returns
    -------
    h, C : (B, H)

    Notes
    -----
    The source prints the one bias :math:`b_i` in eq. 4.3, 4.4 and 4.6. Cells in use, `torch.nn.LSTM` among
    them, have a bias for each gate; the printed equations are the case where three of them are equal. It also
    says that the entries of :math:`f_t` are zero or one; they lie between.
    """
    h, cell = state
    # excerpt: lstm
    joined = torch.cat([h, x], dim=1)  # (B, H + I)
    forget = torch.sigmoid(joined @ weights["W_f"].T + weights["b_f"])  # eq. 4.1
    kept = cell * forget  # eq. 4.2
    use = torch.sigmoid(joined @ weights["W_i"].T + weights["b_i"])  # eq. 4.3
    update = torch.tanh(joined @ weights["W_c"].T + weights["b_c"])  # eq. 4.4
    cell = kept + use * update  # eq. 4.5
    out = torch.sigmoid(joined @ weights["W_o"].T + weights["b_o"])  # eq. 4.6
    return out * torch.tanh(cell), cell  # eq. 4.7
    # end excerpt


class CharacterEncoder(nn.Module):
    """Read words letter by letter, from both ends; a word's vector is the two last states side by side.

    Parameters
    ----------
    config
        Widths of the letters and of the cells.
    """

    def __init__(self, config: TaggerConfig) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(CHARACTERS) + 2, config.letter, padding_idx=0)
        self.lstm = nn.LSTM(config.letter, config.width, batch_first=True, bidirectional=True)

    def forward(self, spelled: EncodedCharacters) -> Float[Tensor, "W 2H"]:
        """Give every distinct word its vector."""
        packed = pack_padded_sequence(
            self.letters(spelled.letters), spelled.lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        # excerpt: tagger
        # a word's vector: the last state of each direction
        _, (last, _) = self.lstm(packed)  # (2, W, H)
        return torch.cat([last[0], last[1]], dim=1)
        # end excerpt


class WordTagger(nn.Module):
    """Tag a word by its letters alone, as the source does.

    `config` gives its sizes, of which those of the context have no effect; `seed` draws its first weights.
    """

    def __init__(self, config: TaggerConfig | None = None, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config or TaggerConfig()
        with seeded(seed):
            self.reader = CharacterEncoder(self.config)
            self.tags = nn.Linear(2 * self.config.width, len(TAGS))

    def forward(self, spelled: EncodedCharacters) -> Float[Tensor, "S J T"]:
        """Score every tag for every word; a word has the same scores wherever it stands."""
        # excerpt: tagger
        # a score for each type, looked up for each word of a sentence
        return self.tags(self.reader(spelled).tanh())[spelled.words]
        # end excerpt


class ContextTagger(nn.Module):
    """Tag a word by its letters and by the words around it.

    `config` gives its sizes, `seed` draws its first weights.
    """

    def __init__(self, config: TaggerConfig | None = None, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config or TaggerConfig()
        with seeded(seed):
            self.reader = CharacterEncoder(self.config)
            self.sentence = nn.LSTM(
                2 * self.config.width, self.config.context, batch_first=True, bidirectional=True
            )
            self.tags = nn.Linear(2 * self.config.context, len(TAGS))

    def forward(self, spelled: EncodedCharacters) -> Float[Tensor, "S J T"]:
        """Score every tag for every word in its sentence."""
        words = self.reader(spelled).tanh()[spelled.words]  # (S, J, 2H)
        lengths = spelled.filled.sum(1).cpu()
        packed = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
        read, _ = pad_packed_sequence(self.sentence(packed)[0], batch_first=True)
        return self.tags(read)


Tagger = WordTagger | ContextTagger


def tag(
    tagger: Tagger, sentences: Iterable[Sequence[str]], *, batch_size: int = 512
) -> list[tuple[int, ...]]:
    """Tag every word of every sentence; each distinct sentence is read once.

    Parameters
    ----------
    tagger
        A trained tagger.
    sentences
        Words of each; a sentence without words gets no tags.
    batch_size
        Distinct sentences read at once.

    Returns
    -------
    list of tuple of int
        Numbers in `TAGS`, one for each word.
    """
    requested = [tuple(sentence) for sentence in sentences]
    distinct = sorted({sentence for sentence in requested if sentence}, key=lambda words: (len(words), words))
    device = tagger.tags.weight.device
    tags_of: dict[tuple[str, ...], tuple[int, ...]] = {(): ()}
    training = tagger.training
    tagger.eval()
    with torch.no_grad():
        for start in range(0, len(distinct), batch_size):
            chunk = distinct[start : start + batch_size]
            logits = tagger(EncodedCharacters(*(tensor.to(device) for tensor in encode_characters(chunk))))
            for sentence, numbers in zip(chunk, logits[..., 1:].argmax(-1).tolist(), strict=True):
                tags_of[sentence] = tuple(number + 1 for number in numbers[: len(sentence)])
    tagger.train(training)
    return [tags_of[sentence] for sentence in requested]


def look_up(types: Mapping[str, str], sentences: Iterable[Sequence[str]]) -> list[tuple[int, ...]]:
    """Tag by looking every word up, as hand-made match features do: the tags a perfect tagger would give.

    Parameters
    ----------
    types
        Entity to type, as `KnowledgeBase.types` gives.
    sentences
        Words of each.

    Examples
    --------
    >>> look_up({"italian": "cuisine"}, [["some", "italian", "food"]])
    [(1, 4, 1)]
    """
    numbers = {word: TAGS.index(kind) for word, kind in types.items()}
    return [tuple(numbers.get(word, NONE) for word in sentence) for sentence in sentences]


def tag_counts(tags: Sequence[Sequence[int]]) -> Float[Tensor, "S T"]:
    """Count the tags of each sentence, so that the sum of their embeddings is one product with T (eq. 4.8).

    Parameters
    ----------
    tags
        Numbers in `TAGS`, for each word of each sentence. Padding counts nothing.
    """
    counts = torch.zeros(len(tags), len(TAGS))
    for row, numbers in enumerate(tags):
        for number in numbers:
            counts[row, number] += 1
    counts[:, 0] = 0
    return counts
