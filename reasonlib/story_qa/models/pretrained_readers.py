"""Fine-tuned encoders as folders of weights: the reader of stories, and one that marks its evidence."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from reasonlib.errors import UserError
from reasonlib.story_qa.models.bert import AnswerReader, load_encoder
from reasonlib.story_qa.models.evidence import EvidenceReader
from reasonlib.story_qa.models.hibert import SentenceReaderConfig
from reasonlib.training.checkpoints import save_weights
from reasonlib.training.vocabulary import Vocabulary
from reasonlib.training.weights import reading, save_bundle

__all__ = [
    "EVIDENCE",
    "HEAD",
    "READER",
    "WHOLE",
    "PretrainedEvidence",
    "PretrainedReader",
    "load_evidence",
    "load_reader",
    "save_evidence",
    "save_reader",
]

READER = Path(__file__).parents[1] / "weights" / "reader"
EVIDENCE = Path(__file__).parents[1] / "weights" / "evidence"

HEAD = "head.safetensors"
WHOLE = "reader.safetensors"
REINSTALL = "install the library again"
NO_READER = "train it: reasonlib run story_qa/bundle --row reader --scale paper"


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
    """A reader that marks its evidence, with what is needed to ask it.

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


def save_reader(
    model: AnswerReader,
    tokenizer: Any,
    answers: Vocabulary,
    folder: str | Path,
    made: Mapping[str, Any],
    half: bool = True,
) -> Path:
    """Write a fine-tuned encoder, its head and its answers as one folder, atomically.

    Parameters
    ----------
    model
        A trained model.
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
    with _draft(Path(folder), HEAD) as draft:
        model.encoder.config.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        save_weights(draft / "model.safetensors", model.encoder, half=half, metadata={"format": "pt"})
        save_bundle(
            draft / HEAD,
            model.answer,
            kind="answer reader",
            half=half,
            tokens=list(answers.tokens),
            made=dict(made),
        )
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
        By default where ``reasonlib run story_qa/bundle --row reader --scale paper`` writes it.

    Raises
    ------
    UserError
        If the folder is absent, damaged, or holds something else.
    """
    folder = READER if folder is None else Path(folder)
    remedy = NO_READER if folder == READER else "give the path that save_reader wrote"
    with reading(folder / HEAD, kind="answer reader", remedy=remedy) as bundle:
        encoder, tokenizer = load_encoder(folder)
        answers = Vocabulary(bundle["tokens"])
        model = AnswerReader(encoder, len(answers), dropout=0.0)
        bundle.fill(model.answer)
        return PretrainedReader(model.eval(), tokenizer, answers, bundle.get("made", {}))


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
    with _draft(Path(folder), WHOLE) as draft:
        model.encoder.config.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        save_bundle(
            draft / WHOLE,
            model,
            kind="evidence reader",
            half=half,
            config=asdict(model.config),
            tokens=list(answers.tokens),
            made=dict(made),
        )
    return Path(folder)


def load_evidence(folder: str | Path | None = None) -> PretrainedEvidence:
    """Read what `save_evidence` wrote, by default the bundled reader; raises what `load_reader` does."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    folder = EVIDENCE if folder is None else Path(folder)
    remedy = REINSTALL if folder == EVIDENCE else "give the path that save_evidence wrote"
    with reading(folder / WHOLE, kind="evidence reader", remedy=remedy) as bundle:
        try:
            config, tokenizer = AutoConfig.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
        except OSError as error:
            raise ValueError(str(error)) from error
        encoder = AutoModel.from_config(config)
        encoder.pooler = None  # unused, so not saved
        answers = Vocabulary(bundle["tokens"])
        model = EvidenceReader(encoder.float(), SentenceReaderConfig(**bundle["config"]))
        bundle.fill(model)
        if len(answers) != model.config.answers:
            raise ValueError(f"{len(answers)} answers for {model.config.answers} classes")
        return PretrainedEvidence(model, tokenizer, answers, bundle.get("made", {}))
