"""Accuracy by what a question needs, overlap in time, and boxes, as the public evaluation defines them.

The definitions are those of ``eval/eval_tvqa_plus.py`` in jayleicn/TVQAplus (Lei et al. 2020), which follow
PASCAL VOC for boxes: integer boxes with an extra pixel, each annotated box matched once, mean of the
average precisions of all labels. On made-up predictions for the released validation annotations (803 labels,
32,682 boxes) both programs give the same numbers to 1e-12.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reasonlib.modality_alignment.data.example import NEEDS, Box, VideoQuestion

__all__ = ["Detection", "accuracy_by_need", "box_overlap", "mean_average_precision", "temporal_metrics",
           "temporal_overlap"]  # fmt: skip


def accuracy_by_need(questions: Sequence[VideoQuestion], chosen: Sequence[int]) -> dict[str, float]:
    """Return ``accuracy``, ``accuracy.<need>`` and ``accuracy.<need>.<kind>``: shares of right answers.

    Parameters
    ----------
    questions
        With labels.
    chosen
        Index of the chosen answer of each.
    """
    groups: dict[str, list[bool]] = {"accuracy": []}
    for question, answer in zip(questions, chosen, strict=True):
        names = ["accuracy"]
        if question.needs is not None:
            names += [f"accuracy.{question.needs}", f"accuracy.{question.needs}.{question.kind}"]
        for name in names:
            groups.setdefault(name, []).append(question.right == int(answer))
    order = {need: number for number, need in enumerate(NEEDS)}
    names = sorted(groups, key=lambda name: (order.get(f"{name}..".split(".")[1], -1), name))
    return {name: float(np.mean(groups[name])) for name in names}


def temporal_overlap(predicted: tuple[float, float], annotated: tuple[float, float]) -> float:
    """Return the intersection over union of two spans in seconds.

    As in the public evaluation, the union of spans that do not meet is the span around both.

    Examples
    --------
    >>> temporal_overlap((0.0, 4.0), (2.0, 6.0))
    0.3333333333333333
    """
    shared = max(0.0, min(predicted[1], annotated[1]) - max(predicted[0], annotated[0]))
    around = max(predicted[1], annotated[1]) - min(predicted[0], annotated[0])
    return shared / around if around else 0.0


def temporal_metrics(
    predicted: Sequence[tuple[tuple[float, float], int]], questions: Sequence[VideoQuestion]
) -> dict[str, float]:
    """Measure predicted moments and answers.

    Parameters
    ----------
    predicted
        Span in seconds and chosen answer of each question.
    questions
        With spans and labels.

    Returns
    -------
    dict
        ``accuracy``; ``overlap``, the mean intersection over union; ``recall@0.1`` to ``recall@0.9``, the
        share of spans that overlap at least so much; ``joint``, the share of questions with the right answer
        and an overlap of at least 0.5 (ASA).

    Raises
    ------
    ValueError
        If a question has no span.
    """
    overlaps, right = [], []
    for (span, answer), question in zip(predicted, questions, strict=True):
        if question.span is None:
            raise ValueError(f"question {question.identifier} must have a span")
        overlaps.append(temporal_overlap(span, question.span))
        right.append(answer == question.right)
    values, correct = np.array(overlaps), np.array(right)
    return {
        "accuracy": float(correct.mean()),
        "overlap": float(values.mean()),
        **{f"recall@{tenth / 10}": float((values >= tenth / 10).mean()) for tenth in range(1, 10)},
        "joint": float((correct & (values >= 0.5)).mean()),
    }


class Detection(NamedTuple):
    """A box with its label; the score, in any unit, orders the detections of a label."""

    label: str
    score: float
    box: Box


def box_overlap(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the intersection over union of boxes in pixels, (N, 4) and (M, 4) to (N, M).

    Right and bottom are the last pixels of a box and then one more, as in the public evaluation.
    """
    more = np.array([0, 0, 1, 1])
    first, second = first + more, second + more
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    sides = np.clip(high - low + 1, 0, None)
    shared = sides[..., 0] * sides[..., 1]
    areas = [(boxes[:, 2] - boxes[:, 0] + 1) * (boxes[:, 3] - boxes[:, 1] + 1) for boxes in (first, second)]
    return shared / (areas[0][:, None] + areas[1][None, :] - shared)


def mean_average_precision(
    predicted: Mapping[str, Sequence[Detection]],
    annotated: Mapping[str, Sequence[Detection]],
    *,
    labels: Sequence[str] | None = None,
    threshold: float = 0.5,
) -> dict[str, float]:
    """Return the average precision of each label under its name, and their mean under ``""``.

    Parameters
    ----------
    predicted, annotated
        Detections of each image, by its name. Images without an annotation that counts are left out.
    labels
        The labels that count; by default all.
    threshold
        Overlap from which a box counts as detected.
    """
    allowed = None if labels is None else set(labels)

    def counted(detections: Sequence[Detection]) -> list[Detection]:
        return [each for each in detections if allowed is None or each.label in allowed]

    matches: dict[str, list[tuple[float, bool]]] = {}
    counts: dict[str, int] = {}
    for image, annotations in annotated.items():
        truth = counted(annotations)
        if not truth:
            continue
        detected = counted(predicted.get(image, ()))
        for label in sorted({each.label for each in (*truth, *detected)}):
            boxes = np.array([each.box for each in truth if each.label == label], dtype=float).reshape(-1, 4)
            counts[label] = counts.get(label, 0) + len(boxes)
            detections = [each for each in detected if each.label == label]
            matches.setdefault(label, []).extend(_match(detections, boxes, threshold))
    precisions = {
        label: _average_precision(matches[label], count) for label, count in sorted(counts.items()) if count
    }
    mean = float(np.mean(list(precisions.values()))) if precisions else float("nan")
    return {"": mean, **precisions}


def _match(detections: Sequence[Detection], boxes: np.ndarray, threshold: float) -> list[tuple[float, bool]]:
    """Return score and success of the detections of one label in one image; a box is detected once."""
    ordered = sorted(detections, key=lambda each: each.score, reverse=True)
    if not ordered or not len(boxes):
        return [(each.score, False) for each in ordered]
    overlaps = box_overlap(np.array([each.box for each in ordered], dtype=float), boxes)
    taken: set[int] = set()
    results = []
    for each, row in zip(ordered, overlaps, strict=True):
        nearest = int(row.argmax())
        results.append((each.score, bool(row[nearest] >= threshold and nearest not in taken)))
        if row[nearest] >= threshold:
            taken.add(nearest)
    return results


def _average_precision(matches: Sequence[tuple[float, bool]], count: int) -> float:
    """Return the area under the precision-recall curve, each precision the best at that recall or beyond."""
    ordered = sorted(matches, key=lambda each: each[0], reverse=True)
    success = np.array([each[1] for each in ordered], dtype=float)
    hits = success.cumsum()
    precision = np.concatenate(([0.0], hits / np.arange(1, len(hits) + 1), [0.0]))
    recall = np.concatenate(([0.0], hits / count, [1.0]))
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float(((recall[1:] - recall[:-1]) * envelope[1:]).sum())
