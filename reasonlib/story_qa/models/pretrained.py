"""Trained models of this topic: bundled with the library, or saved by the functions here.

::

    weights/memory.safetensors   a memory network: its tables, and as metadata its sizes, words and encoding
    weights/encoder/             a pre-trained encoder (see `bert.load_encoder`)
    weights/evidence/            a reader of sentences that marks its evidence, with its tokenizer: the model
                                 of ``reasonlib ask --model bert``
    weights/reader/              the encoder fine-tuned on stories: encoder, tokenizer, head.safetensors; not
                                 bundled: ``reasonlib run story_qa/bundle --row reader`` trains it
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from reasonlib.arguments import check_choice
from reasonlib.errors import UserError
from reasonlib.story_qa.data.bags import ENCODINGS
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork
from reasonlib.story_qa.models.pretrained_readers import (
    EVIDENCE,
    HEAD,
    READER,
    WHOLE,
    PretrainedEvidence,
    PretrainedReader,
    load_evidence,
    load_reader,
    save_evidence,
    save_reader,
)
from reasonlib.training.vocabulary import Vocabulary
from reasonlib.training.weights import reading, save_bundle

__all__ = [
    "BUNDLED",
    "EVIDENCE",
    "MEMORY",
    "READER",
    "PretrainedEvidence",
    "PretrainedMemory",
    "PretrainedReader",
    "from_pretrained",
    "load_evidence",
    "load_memory",
    "load_reader",
    "save_evidence",
    "save_memory",
    "save_reader",
]

MEMORY = Path(__file__).parents[1] / "weights" / "memory.safetensors"
REINSTALL = "install the library again"
BUNDLED = ("memory", "evidence")


def from_pretrained(name: str | Path = "memory") -> Any:
    """Load a trained model with what is needed to ask it.

    Parameters
    ----------
    name
        ``"memory"`` or ``"evidence"``, which are bundled with the library; or what `save_memory`,
        `save_evidence` or `save_reader` wrote.

    Returns
    -------
    PretrainedMemory, PretrainedEvidence or PretrainedReader
        In evaluation mode, in float32, on the CPU.

    Raises
    ------
    UserError
        If there is no such model, or its files are damaged.

    Examples
    --------
    >>> from_pretrained("memory").model.config.hops
    3
    """
    if name == "memory":
        return load_memory()
    if name == "evidence":
        return load_evidence()
    path = Path(name)
    if path.is_file():
        return load_memory(path)
    if (path / WHOLE).is_file():
        return load_evidence(path)
    if (path / HEAD).is_file():
        return load_reader(path)
    raise UserError(f"there is no trained model {str(name)!r}; take one of {', '.join(BUNDLED)}, or a path")


class PretrainedMemory(NamedTuple):
    """A memory network with what is needed to ask it.

    Attributes
    ----------
    model
        In float32, on the CPU.
    vocabulary
        The words it knows; its answers are among them.
    encoding
        ``"position"`` or ``"bag"`` (see `data.bags.sentence_bags`).
    made
        How it was trained.
    """

    model: MemoryNetwork
    vocabulary: Vocabulary
    encoding: str
    made: Mapping[str, Any]


def save_memory(
    model: MemoryNetwork,
    vocabulary: Vocabulary,
    path: str | Path,
    made: Mapping[str, Any],
    half: bool = True,
    *,
    encoding: str = "position",
) -> Path:
    """Write a memory network with its words as one safetensors file, atomically.

    Parameters
    ----------
    model
        A trained model.
    vocabulary
        The words of its tables, in their order.
    path
        The file.
    made
        How it was trained: anything JSON can hold.
    half
        Store 16 bits a number.
    encoding
        How its sentences were encoded in training.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    ValueError
        If the vocabulary is not the model's or the encoding is unknown.
    """
    if len(vocabulary) != model.config.vocabulary:
        raise ValueError(
            f"vocabulary must have the model's {model.config.vocabulary} words, got {len(vocabulary)}"
        )
    check_choice("encoding", encoding, ENCODINGS)
    return save_bundle(
        path,
        model,
        kind="memory network",
        half=half,
        config=asdict(model.config),
        tokens=list(vocabulary.tokens),
        encoding=encoding,
        made=dict(made),
    )


def load_memory(path: str | Path | None = None) -> PretrainedMemory:
    """Read what `save_memory` wrote.

    Parameters
    ----------
    path
        The file; by default the bundled memory network.

    Raises
    ------
    UserError
        If the file is absent, damaged, or holds something else.
    """
    path = MEMORY if path is None else Path(path)
    remedy = REINSTALL if path == MEMORY else "give the path that save_memory wrote"
    with reading(path, kind="memory network", remedy=remedy) as bundle:
        vocabulary = Vocabulary(bundle["tokens"])
        model = MemoryNetwork(MemoryConfig(**bundle["config"]))
        if bundle["encoding"] not in ENCODINGS:
            raise ValueError(f"encoding {bundle['encoding']!r}")
        bundle.fill(model)
        if len(vocabulary) != model.config.vocabulary:
            raise ValueError(f"{len(vocabulary)} words for {model.config.vocabulary} rows")
        return PretrainedMemory(model, vocabulary, bundle["encoding"], bundle.get("made", {}))
