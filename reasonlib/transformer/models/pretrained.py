"""The bundled pre-trained encoder, with its vocabulary and how it was trained.

::

    weights/encoder.safetensors   half precision; sizes, words and making as metadata
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch

from reasonlib.errors import UserError
from reasonlib.training.vocabulary import Vocabulary
from reasonlib.training.weights import reading, save_bundle
from reasonlib.transformer.data.pairs import MASK, pack
from reasonlib.transformer.models.bert import Bert, BertConfig, PretrainingOutput

__all__ = [
    "ENCODER",
    "Guess",
    "Inspection",
    "PretrainedEncoder",
    "from_pretrained",
    "inspect_text",
    "load_encoder",
    "save_encoder",
    "split",
]

ENCODER = Path(__file__).parents[1] / "weights" / "encoder.safetensors"
KIND = "story encoder"


class PretrainedEncoder(NamedTuple):
    """An encoder in float32 on the CPU, the words it knows, and how it was trained and measured."""

    model: Bert
    vocabulary: Vocabulary
    made: Mapping[str, Any]


class Guess(NamedTuple):
    """What could stand at a hidden word: its position, and the likeliest words with their probabilities."""

    position: int
    words: tuple[tuple[str, float], ...]


class Inspection(NamedTuple):
    """What the encoder makes of a text.

    Attributes
    ----------
    tokens
        Words and marks as it read them, T of them.
    weights : (L, H, T, T)
        Where each head of each layer looks: row the looking token, column the one looked at.
    guesses
        One for each ``[MASK]``.
    follows
        Probability that the second text continues the first; None for a single text.
    """

    tokens: tuple[str, ...]
    weights: torch.Tensor
    guesses: tuple[Guess, ...]
    follows: float | None


def save_encoder(
    model: Bert, vocabulary: Vocabulary, path: str | Path, made: Mapping[str, Any], *, half: bool = True
) -> Path:
    """Write an encoder with its words as one safetensors file, atomically.

    Parameters
    ----------
    model
        Pre-trained.
    vocabulary
        Its words, in the order of its table.
    path
        The file.
    made
        How it was trained: anything JSON can hold.
    half
        Store 16 bits a number.
    """
    if len(vocabulary) != model.config.vocabulary:
        raise ValueError(
            f"vocabulary must have the model's {model.config.vocabulary} words, got {len(vocabulary)}"
        )
    return save_bundle(
        path,
        model,
        kind=KIND,
        half=half,
        config=asdict(model.config),
        tokens=list(vocabulary.tokens),
        made=dict(made),
    )


def from_pretrained(name: str | Path = "encoder") -> PretrainedEncoder:
    """Load a trained model: ``"encoder"``, which is bundled, or a file that `save_encoder` wrote.

    >>> from_pretrained("encoder").model.config.layers
    3
    """
    return load_encoder(None if name == "encoder" else name)


def load_encoder(path: str | Path | None = None) -> PretrainedEncoder:
    """Read what `save_encoder` wrote; by default the bundled encoder.

    Raises
    ------
    UserError
        If the file is absent, damaged, or holds something else.
    """
    path = ENCODER if path is None else Path(path)
    remedy = "install the library again" if path == ENCODER else "give the path that save_encoder wrote"
    with reading(path, kind=KIND, remedy=remedy) as bundle:
        model = Bert(BertConfig(**bundle["config"]))
        vocabulary = Vocabulary(bundle["tokens"])
        bundle.fill(model)
        if len(vocabulary) != model.config.vocabulary:
            raise ValueError(f"{len(vocabulary)} words for {model.config.vocabulary} rows")
        return PretrainedEncoder(model, vocabulary, bundle["made"])


def split(text: str) -> tuple[str, ...]:
    """Cut a sentence as the encoder's words are cut; ``[MASK]`` or ``_`` is a hidden word.

    >>> split("Mary went to the _.")
    ('mary', 'went', 'to', 'the', '[MASK]', '.')
    """
    text = text.replace("[MASK]", "_")
    for mark in ".?!,_":
        text = text.replace(mark, f" {mark} ")
    return tuple("[MASK]" if word == "_" else word for word in text.lower().split())


def inspect_text(
    encoder: PretrainedEncoder, first: str | Sequence[str], second: str | Sequence[str] = ""
) -> Inspection:
    """Show a text, or two, to the encoder: where its heads look, and what it guesses at hidden words.

    Parameters
    ----------
    encoder
        From `load_encoder`.
    first, second
        Text, cut by `split`, or words.

    Raises
    ------
    UserError
        If there is no text, or more than the encoder can read.
    """
    first_words, second_words = (
        split(text) if isinstance(text, str) else tuple(text) for text in (first, second)
    )
    if not first_words:
        raise UserError("the text must not be empty")
    pairs = pack([(first_words, second_words)], encoder.vocabulary)
    longest = encoder.model.config.longest
    if pairs.tokens.shape[1] > longest:
        raise UserError(f"the text must have at most {longest} tokens, got {pairs.tokens.shape[1]}")
    with torch.no_grad():
        output: PretrainingOutput = encoder.model(pairs)
    guesses = []
    for position in (pairs.tokens[0] == MASK).nonzero().flatten().tolist():
        shares, ids = output.mlm_logits[0, position].softmax(-1).topk(5)
        words = encoder.vocabulary.decode(ids.tolist())
        guesses.append(Guess(position, tuple(zip(words, shares.tolist(), strict=True))))
    return Inspection(
        tuple(encoder.vocabulary.decode(pairs.tokens[0].tolist())),
        torch.stack([layer.weights[0] for layer in output.encoded.attention]),
        tuple(guesses),
        float(output.nsp_logits[0].softmax(-1)[0]) if second_words else None,
    )
