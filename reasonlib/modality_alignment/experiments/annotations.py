"""What the annotations of TVQA+ allow without its videos: answers by the words alone, and spans by guess.

Neither features nor subtitles are available, so no system of the source can be measured on them.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from reasonlib.data import version_if_here
from reasonlib.modality_alignment.data.corpus import CORPORA, read
from reasonlib.modality_alignment.data.example import VideoQuestion
from reasonlib.modality_alignment.data.metrics import temporal_metrics
from reasonlib.modality_alignment.data.simulator import simulate
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["RULES", "annotations_version", "run_annotations"]


def _words(text: str) -> set[str]:
    return set(text.lower().split())


def _longest(question: VideoQuestion) -> int:
    return int(np.argmax([len(answer.split()) for answer in question.answers]))


def _shortest(question: VideoQuestion) -> int:
    return int(np.argmin([len(answer.split()) for answer in question.answers]))


def _overlapping(question: VideoQuestion) -> int:
    words = _words(question.question)
    return int(np.argmax([len(words & _words(a)) / max(1, len(_words(a))) for a in question.answers]))


def _typical(question: VideoQuestion) -> int:
    """Choose the answer that shares most words with the other four."""
    sets = [_words(answer) for answer in question.answers]
    shared = [
        sum(len(each & other) / max(1, len(each | other)) for other in sets if other is not each)
        for each in sets
    ]
    return int(np.argmax(shared))


RULES: Mapping[str, Callable[[VideoQuestion], int]] = {
    "first": lambda question: 0,
    "longest": _longest,
    "shortest": _shortest,
    "word-overlap": _overlapping,
    "most-typical": _typical,
}
"""Rules that read the question and its answers alone."""


def annotations_version(data: str) -> str | None:
    """Name the state of the file that is read; None where it is not on this machine."""
    return version_if_here(CORPORA["tvqa-plus"]) if data == "tvqa-plus" else None


def run_annotations(trial: Trial) -> Measured:
    """Answer by a rule, and guess the same moment everywhere: from the median start to the median end.

    Only one part is released, so the medians are those of the questions that are then measured.

    Metrics
    -------
    Those of `temporal_metrics`; ``questions``, how many there are; ``seconds.span``, the mean length of a
    moment.
    """
    if trial.data == "simulated":  # the same run, on questions that every machine has
        questions: Sequence[VideoQuestion] = [q for q in simulate(50, seed=3) if q.span is not None]
    else:
        questions = [question for question in read() if question.span is not None]
    spans = np.array([question.span for question in questions])
    guess = (float(np.median(spans[:, 0])), float(np.median(spans[:, 1])))
    rule = RULES[trial.settings["rule"]]
    metrics = temporal_metrics([(guess, rule(question)) for question in questions], questions)
    metrics["questions"] = len(questions)
    metrics["seconds.span"] = float((spans[:, 1] - spans[:, 0]).mean())
    return Measured(metrics=metrics, steps_done=1, steps_planned=1, examples=len(questions))
