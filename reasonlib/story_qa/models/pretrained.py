"""Trained models that travel with the library, each with the words it knows and how it was made.

::

    weights/memory.safetensors   a memory network: its tables, and as metadata its sizes, words and encoding
    weights/encoder/             a pre-trained encoder (see `bert.load_encoder`)
    weights/evidence/            a reader of sentences that marks what it needs, with its tokenizer: what
                                 ``reasonlib ask --model bert`` answers with
    weights/reader/              the encoder fine-tuned on stories: encoder, tokenizer, head.safetensors; it
                                 does not travel, and is made by
                                 ``reasonlib run story_qa/ship --row reader --scale paper``
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from reasonlib.errors import UserError
from reasonlib.story_qa.data.bags import ENCODINGS
from reasonlib.story_qa.models.bert import AnswerReader, load_encoder
from reasonlib.story_qa.models.evidence import EvidenceReader
from reasonlib.story_qa.models.hibert import SentenceReaderConfig
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork
from reasonlib.training.checkpoints import load_weights, save_weights, weights_metadata
from reasonlib.training.vocabulary import Vocabulary

__all__ = [
    "EVIDENCE",
    "MEMORY",
    "READER",
    "PretrainedEvidence",
    "PretrainedMemory",
    "PretrainedReader",
    "load_evidence",
    "load_memory",
    "load_reader",
    "save_evidence",
    "save_memory",
    "save_reader",
]

MEMORY = Path(__file__).parents[1] / "weights" / "memory.safetensors"
READER = Path(__file__).parents[1] / "weights" / "reader"
EVIDENCE = Path(__file__).parents[1] / "weights" / "evidence"

HEAD = "head.safetensors"
WHOLE = "reader.safetensors"


class PretrainedMemory(NamedTuple):
    """A memory network with what is needed to ask it.

    Attributes
    ----------
    model
        In float32, on the CPU.
    vocabulary
        The words it knows; its answers are among them.
    encoding
        ``"position"`` or ``"bag"`` (see `tensors.sentence_bags`).
    made
        How it was trained.
    """

    model: MemoryNetwork
    vocabulary: Vocabulary
    encoding: str
    made: Mapping[str, Any]


class PretrainedReader(NamedTuple):
    """A fine-tuned encoder with what is needed to ask it.

    Attributes
    ----------
    model
        In float32, on the CPU, without dropout.
    tokenizer
        Of the encoder.
    answers
        The answer of each class.
    made
        How it was trained.
    """

    model: AnswerReader
    tokenizer: Any
    answers: Vocabulary
    made: Mapping[str, Any]


class PretrainedEvidence(NamedTuple):
    """A reader that marks the sentences it needs, with what is needed to ask it.

    Attributes
    ----------
    model
        In float32, on the CPU.
    tokenizer
        Of its sentence encoder.
    answers
        The answer of each class.
    made
        How it was trained.
    """

    model: EvidenceReader
    tokenizer: Any
    answers: Vocabulary
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
    """Write a memory network with its words as one safetensors file: whole, or not at all.

    Parameters
    ----------
    model
        Trained.
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
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding must be one of {', '.join(ENCODINGS)}, got {encoding!r}")
    about = {
        "kind": "reasonlib memory network",
        "config": asdict(model.config),
        "tokens": list(vocabulary.tokens),
        "encoding": encoding,
        "made": dict(made),
    }
    return save_weights(path, model, half=half, metadata=about)


def load_memory(path: str | Path | None = None) -> PretrainedMemory:
    """Read what `save_memory` wrote.

    Parameters
    ----------
    path
        The file; by default the memory network that ships with this library.

    Raises
    ------
    UserError
        If the file is absent, damaged, or holds something else.
    """
    path = MEMORY if path is None else Path(path)
    about, tensors = _read(path, "memory network", "save_memory")
    try:
        vocabulary = Vocabulary(about["tokens"])
        model = MemoryNetwork(MemoryConfig(**about["config"]))
        if about["encoding"] not in ENCODINGS:
            raise ValueError(f"encoding {about['encoding']!r}")
        _fill(model, tensors)
        if len(vocabulary) != model.config.vocabulary:
            raise ValueError(f"{len(vocabulary)} words for {model.config.vocabulary} rows")
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: a damaged memory network ({_line(error)}); make it again") from error
    return PretrainedMemory(model.eval(), vocabulary, about["encoding"], about.get("made", {}))


def save_reader(
    model: AnswerReader,
    tokenizer: Any,
    answers: Vocabulary,
    folder: str | Path,
    made: Mapping[str, Any],
    half: bool = True,
) -> Path:
    """Write a fine-tuned encoder, its head and its answers as one folder: whole, or not at all.

    Parameters
    ----------
    model
        Trained.
    tokenizer
        Of its encoder.
    answers
        The answer of each class.
    folder
        Where to; a reader already there is replaced.
    made
        How it was trained: anything JSON can hold.
    half
        Store 16 bits a number.

    Returns
    -------
    Path
        The folder written.

    Raises
    ------
    ValueError
        If there is not one answer for each class.
    UserError
        If there is a folder that holds something else.
    """
    if len(answers) != model.answer.out_features:
        raise ValueError(
            f"answers must name the model's {model.answer.out_features} classes, got {len(answers)}"
        )
    about = {"kind": "reasonlib answer reader", "tokens": list(answers.tokens), "made": dict(made)}
    with _draft(Path(folder), HEAD) as draft:
        model.encoder.config.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        save_weights(draft / "model.safetensors", model.encoder, half=half, metadata={"format": "pt"})
        save_weights(draft / HEAD, model.answer, half=half, metadata=about)
    return Path(folder)


@contextmanager
def _draft(folder: Path, holds: str) -> Iterator[Path]:
    """Give a folder to write into, which becomes `folder` when all is written, and is thrown away otherwise.

    Raises
    ------
    UserError
        If there is a folder already that does not hold the file `holds`.
    """
    if folder.exists() and not (folder / holds).is_file() and any(folder.iterdir()):
        raise UserError(f"{folder} holds something else; choose another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        draft.chmod(0o755)
        yield draft
        old = draft.with_name(f"{draft.name}.old")
        if folder.exists():
            os.replace(folder, old)
        os.replace(draft, folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def load_reader(folder: str | Path | None = None) -> PretrainedReader:
    """Read what `save_reader` wrote.

    Parameters
    ----------
    folder
        By default where ``reasonlib run story_qa/ship --row reader --scale paper`` writes it.

    Raises
    ------
    UserError
        If the folder is absent, damaged, or holds something else.
    """
    folder = READER if folder is None else Path(folder)
    about, tensors = _read(folder / HEAD, "answer reader", "save_reader")
    encoder, tokenizer = load_encoder(folder)
    try:
        answers = Vocabulary(about["tokens"])
        model = AnswerReader(encoder, len(answers), dropout=0.0)
        _fill(model.answer, tensors)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder}: a damaged reader ({_line(error)}); make it again") from error
    return PretrainedReader(model.eval(), tokenizer, answers, about.get("made", {}))


def save_evidence(
    model: EvidenceReader,
    tokenizer: Any,
    answers: Vocabulary,
    folder: str | Path,
    made: Mapping[str, Any],
    half: bool = True,
) -> Path:
    """Write a reader that marks what it needs as one folder; the arguments are those of `save_reader`."""
    if len(answers) != model.config.answers:
        raise ValueError(f"answers must name the model's {model.config.answers} classes, got {len(answers)}")
    about = {
        "kind": "reasonlib evidence reader",
        "config": asdict(model.config),
        "tokens": list(answers.tokens),
        "made": dict(made),
    }
    with _draft(Path(folder), WHOLE) as draft:
        model.encoder.config.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        save_weights(draft / WHOLE, model, half=half, metadata=about)
    return Path(folder)


def load_evidence(folder: str | Path | None = None) -> PretrainedEvidence:
    """Read what `save_evidence` wrote.

    Parameters
    ----------
    folder
        By default the reader that ships with this library.

    Raises
    ------
    UserError
        If the folder is absent, damaged, or holds something else.
    """
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    folder = EVIDENCE if folder is None else Path(folder)
    about, tensors = _read(folder / WHOLE, "evidence reader", "save_evidence")
    try:
        encoder = AutoModel.from_config(AutoConfig.from_pretrained(folder))
        encoder.pooler = None  # not used, so not kept
        answers = Vocabulary(about["tokens"])
        model = EvidenceReader(encoder.float(), SentenceReaderConfig(**about["config"]))
        _fill(model, tensors)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        if len(answers) != model.config.answers:
            raise ValueError(f"{len(answers)} answers for {model.config.answers} classes")
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder}: a damaged reader ({_line(error)}); make it again") from error
    return PretrainedEvidence(model.eval(), tokenizer, answers, about.get("made", {}))


def _read(path: Path, kind: str, writer: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read weights and their metadata, and see that they are of the kind wanted."""
    if not path.is_file():
        remedy = f"give the path that {writer} wrote"
        if path == MEMORY or path.parent == EVIDENCE:
            remedy = "install the library again"
        elif path.parent == READER:
            remedy = "make it: reasonlib run story_qa/ship --row reader --scale paper"
        raise UserError(f"there is no {kind} at {path}; {remedy}")
    about: dict[str, Any] = dict(weights_metadata(path))
    if about.get("kind") != f"reasonlib {kind}":
        raise UserError(f"{path}: holds no {kind}; give the path that {writer} wrote")
    try:
        about |= {name: json.loads(about[name]) for name in ("config", "tokens", "made") if name in about}
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: its metadata is damaged ({error}); make it again") from error
    return about, load_weights(path)


def _fill(model: Any, tensors: Mapping[str, Tensor]) -> None:
    """Put tensors into a model, each into its place."""
    try:
        model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    except RuntimeError as error:
        raise ValueError(_line(error, -1)) from error


def _line(error: Exception, number: int = 0) -> str:
    """Give one line of an error's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[number].strip()
