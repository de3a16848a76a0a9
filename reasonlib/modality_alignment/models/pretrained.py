"""The trained model that is bundled with the library, and how to ask it.

::

    weights/tvqa-abc.safetensors   TVQA_abc with subtitles and regions, trained on simulated questions

Half precision; sizes, words and how it was made as metadata.
"""

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from reasonlib.modality_alignment.data.encoding import encode
from reasonlib.modality_alignment.data.example import VideoQuestion
from reasonlib.modality_alignment.models.tvqa_abc import TVQA_abc, TVQAConfig
from reasonlib.training.vocabulary import Vocabulary
from reasonlib.training.weights import find_weights, reading, save_bundle

__all__ = ["BUNDLED", "Answer", "BundledAnswerer", "answer", "from_pretrained", "save_model"]

WEIGHTS = Path(__file__).parents[1] / "weights"
BUNDLED = ("tvqa-abc",)
KIND = "answerer of video questions"


class BundledAnswerer(NamedTuple):
    """A system in float32 on the CPU, its words, and how it was trained and measured."""

    model: TVQA_abc
    vocabulary: Vocabulary
    made: Mapping[str, Any]


class Answer(NamedTuple):
    """An answer, and what the model looked at.

    Attributes
    ----------
    chosen
        Index of the answer.
    probabilities
        Of the five answers.
    scores
        Of the five answers, by stream; the logits are their sum.
    peaks
        By stream, the share of the units of the chosen answer whose largest state is at each position: words
        of the subtitles, or regions in the order of frames.
    """

    chosen: int
    probabilities: tuple[float, ...]
    scores: Mapping[str, tuple[float, ...]]
    peaks: Mapping[str, tuple[float, ...]]


def save_model(model: TVQA_abc, path: Path, *, vocabulary: Vocabulary, made: Mapping[str, Any]) -> Path:
    """Write a model as one safetensors file, atomically and in half precision."""
    words = list(vocabulary.tokens)
    return save_bundle(path, model, kind=KIND, settings=asdict(model.config), words=words, made=dict(made))


@lru_cache(maxsize=2)
def from_pretrained(name: str | Path = "tvqa-abc") -> BundledAnswerer:
    """Load a trained system.

    Parameters
    ----------
    name
        One of `BUNDLED`, or a file that `save_model` wrote.

    Raises
    ------
    UserError
        If there is no such system, or its file is damaged or holds something else.
    """
    with reading(find_weights(name, WEIGHTS, BUNDLED), kind=KIND) as bundle:
        model = TVQA_abc(TVQAConfig(**bundle["settings"]))
        bundle.fill(model)
        return BundledAnswerer(model, Vocabulary(bundle["words"]), bundle["made"])


@torch.no_grad()
def answer(bundled: BundledAnswerer, question: VideoQuestion) -> Answer:
    """Answer one question.

    Raises
    ------
    ValueError
        If the regions have another number of features than the model reads.
    """
    batch = encode([question], bundled.vocabulary)
    if batch.regions.shape[-1] != bundled.model.config.features:
        raise ValueError(
            f"regions must have {bundled.model.config.features} features, got {batch.regions.shape[-1]}"
        )
    answered = bundled.model(batch)
    chosen = int(answered.logits[0].argmax())
    return Answer(
        chosen,
        tuple(answered.logits[0].softmax(0).tolist()),
        {name: tuple(stream.scores[0].tolist()) for name, stream in answered.streams.items()},
        {
            name: tuple(stream.peaks[0, chosen][stream.mask[0]].tolist())
            for name, stream in answered.streams.items()
        },
    )
