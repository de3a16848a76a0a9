"""Ask the bundled models a question; ``reasonlib ask --topic maths_qa`` prints what this gives."""

import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from reasonlib.maths_qa.models import decoding
from reasonlib.maths_qa.models.pretrained import from_pretrained

__all__ = ["NEEDS_STORY", "Answer", "answer"]

NEEDS_STORY = False
"""The question says everything."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a model writes and where it looked.

    Attributes
    ----------
    text
        The answer.
    confidence
        Probability of the whole answer.
    sentences
        The S words of the question.
    weights : (1, S)
        Attention to each of them: summed over its characters, mean over those of the answer.
    look
        What a row of `weights` is.
    unit
        What a column of `weights` is.
    notes
        What to know before trusting the answer.
    """

    text: str
    confidence: float
    sentences: tuple[str, ...]
    weights: Float[np.ndarray, "1 S"]
    look: str = "attention"
    unit: str = "word"
    notes: tuple[str, ...] = ()


def answer(story: str, question: str, model: str | None = None) -> Answer:
    """Answer a question.

    Parameters
    ----------
    story
        Not read.
    question
        As the generator writes it, such as ``What is 3 + 4?``
    model
        ``pretrained`` (by default) or ``scratch``.

    Raises
    ------
    UserError
        If there is no such model, or the question is empty, too long or not printable ASCII.
    """
    bundled = from_pretrained(model or "pretrained")
    written = decoding.answer(bundled.model, question)
    looks = written.attention.mean(0).numpy()
    words = [(word.start(), word.end()) for word in re.finditer(r"\S+", question)]
    return Answer(
        text=written.text,
        confidence=written.probability,
        sentences=tuple(question[start:end] for start, end in words),
        weights=np.array([[looks[start:end].sum() for start, end in words]]),
        notes=(
            f"a small model, trained on {', '.join(bundled.modules)}; on a question of any other kind "
            "the answer is a guess, however probable",
        ),
    )
