"""From video questions to tensors: words to ids, regions to one padded array.

Axes: B questions, 5 answers, T words, F frames, R regions of a frame, W words said during a frame,
D features of a region.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from reasonlib.modality_alignment.data.example import Box, Subtitle, VideoQuestion
from reasonlib.training.batching import pad
from reasonlib.training.vocabulary import PAD, UNKNOWN, Vocabulary

__all__ = ["END", "START", "Batch", "build_vocabulary", "encode", "select"]

START, END = 2, 3  # ids of the words that begin and end a caption
SHOWN = 0.5  # intersection over union from which a region shows what an annotated box surrounds


@dataclass(frozen=True)
class Batch:
    """Questions as tensors; id 0 is padding. A whole data set is one such object.

    Attributes
    ----------
    question : (B, T)
    answers : (B, 5, T)
    joined : (B, 5, T)
        Question and answer, one after the other.
    subtitle, captions : (B, T)
        The words of all lines, and of all captions of different frames.
    subtitle_frames, caption_frames : (B, F, W)
        The same words by the frames that they belong to.
    frame_mask : (B, F)
        Which frames a clip has; a question without frames counts as one frame.
    regions : (B, F, R, D)
    region_mask : (B, F, R)
    right : (B,)
        Index of the right answer; -1 without label.
    span : (B, 2)
        First and last frame of the moment; -1 without one.
    grounding : (B, T, F, R)
        Whether a word of the question with the right answer names a region: the word is in the label of an
        annotated box, whose intersection over union with the region is at least 0.5.
    warming : bool
        Whether this step of training only aligns.
    """

    question: Int[Tensor, "B T"]
    answers: Int[Tensor, "B 5 T"]
    joined: Int[Tensor, "B 5 T"]
    subtitle: Int[Tensor, "B T"]
    subtitle_frames: Int[Tensor, "B F W"]
    captions: Int[Tensor, "B T"]
    caption_frames: Int[Tensor, "B F W"]
    frame_mask: Bool[Tensor, "B F"]
    regions: Float[Tensor, "B F R D"]
    region_mask: Bool[Tensor, "B F R"]
    right: Int[Tensor, " B"]
    span: Int[Tensor, "B 2"]
    grounding: Bool[Tensor, "B T F R"]
    warming: bool = False

    def __len__(self) -> int:
        return len(self.question)


def select(batch: Batch, items: Sequence[int] | Tensor, *, warming: bool = False) -> Batch:
    """Return some questions of a batch, by their numbers."""
    index = torch.as_tensor(items, dtype=torch.long)
    parts = {name: value[index] for name, value in vars(batch).items() if isinstance(value, Tensor)}
    return replace(batch, **parts, warming=warming)


def build_vocabulary(questions: Sequence[VideoQuestion], *, minimum: int = 1) -> Vocabulary:
    """Collect the words of questions, answers, subtitles and captions."""
    texts = (
        _words(text)
        for each in questions
        for text in (each.question, *each.answers, *each.captions, *(_said(line) for line in each.subtitles))
    )
    return Vocabulary.build(texts, specials=(PAD, UNKNOWN, "<s>", "</s>"), minimum=minimum)


def _words(text: str) -> list[str]:
    """Split a text into lower-case words and punctuation; ``'s`` is a word, as in the public code."""
    return re.findall(r"<\w+>|'?\w+|[^\w\s]", text.lower())


def _said(line: Subtitle) -> str:
    return f"{line.speaker} {line.text}".strip()


def encode(
    questions: Sequence[VideoQuestion],
    vocabulary: Vocabulary,
    captions: Sequence[Sequence[str]] | None = None,
) -> Batch:
    """Turn questions into tensors.

    Parameters
    ----------
    questions
        All with the same number of features; the number of frames may differ.
    vocabulary
        Words that it lacks become ``<unk>``.
    captions
        Captions of the frames of each question, such as those of a captioner; by default the question's own.

    Raises
    ------
    ValueError
        If there are no questions.
    """
    if not questions:
        raise ValueError("questions must hold at least one question, got none")
    ids = vocabulary.encode
    frames = max(1, max(len(each.frames) for each in questions))
    described = [each.captions for each in questions] if captions is None else captions
    subtitles = [[ids(_words(_said(line))) for line in each.subtitles] for each in questions]
    spoken = [_by_frame(each, lines, frames) for each, lines in zip(questions, subtitles, strict=True)]
    worded = [[ids(_words(text)) for text in texts] for texts in described]
    question_ids = [ids(_words(each.question)) for each in questions]
    answers = [[ids(_words(answer)) for answer in each.answers] for each in questions]
    joined = _nested([[[*q, *a] for a in five] for q, five in zip(question_ids, answers, strict=True)])
    regions, mask = _regions(questions, frames)
    return Batch(
        question=_padded(question_ids),
        answers=_nested(answers),
        joined=joined,
        subtitle=_padded([[*chain(*lines)] for lines in subtitles]),
        subtitle_frames=_nested(spoken),
        captions=_padded(
            [[*chain(*(t for n, t in enumerate(texts) if t not in texts[:n]))] for texts in worded]
        ),
        caption_frames=_nested([[*texts, *[[]] * (frames - len(texts))] for texts in worded]),
        frame_mask=torch.arange(frames) < torch.tensor([[max(1, len(each.frames))] for each in questions]),
        regions=regions,
        region_mask=mask,
        right=torch.tensor([-1 if each.right is None else each.right for each in questions]),
        span=torch.tensor([_frames_of(each) for each in questions]),
        grounding=_grounding(questions, joined, vocabulary, mask),
    )


def _padded(rows: Sequence[Sequence[int]]) -> Int[Tensor, "B T"]:
    """Pad to the longest row, and to one word where all are empty."""
    padded = pad(rows)
    return padded if padded.shape[1] else torch.zeros(len(rows), 1, dtype=torch.long)


def _nested(rows: Sequence[Sequence[Sequence[int]]]) -> Int[Tensor, "B N T"]:
    """Pad equally many rows of each question."""
    return _padded([row for each in rows for row in each]).view(len(rows), len(rows[0]), -1)


def _by_frame(question: VideoQuestion, lines: Sequence[list[int]], frames: int) -> list[list[int]]:
    """Return the words of the lines that are spoken during each frame."""
    lasts = question.seconds / max(1, len(question.frames))
    return [
        [
            word
            for line, ids in zip(question.subtitles, lines, strict=True)
            if line.start < (frame + 1) * lasts and line.end > frame * lasts
            for word in ids
        ]
        for frame in range(frames)
    ]


def _frames_of(question: VideoQuestion) -> tuple[int, int]:
    """Return the first and the last frame of the moment."""
    if question.span is None or not question.frames:
        return -1, -1
    rate = len(question.frames) / question.seconds
    first = min(int(question.span[0] * rate), len(question.frames) - 1)
    last = min(max(first, int(np.ceil(question.span[1] * rate)) - 1), len(question.frames) - 1)
    return first, last


def _regions(
    questions: Sequence[VideoQuestion], frames: int
) -> tuple[Float[Tensor, "B F R D"], Bool[Tensor, "B F R"]]:
    most = max([1, *(len(frame) for each in questions for frame in each.frames)])
    sizes = {len(r.features) for each in questions for frame in each.frames for r in frame} or {1}
    if len(sizes) > 1:
        raise ValueError(f"all regions must have equally many features, got {sorted(sizes)}")
    regions = np.zeros((len(questions), frames, most, sizes.pop()), dtype=np.float32)
    mask = np.zeros(regions.shape[:3], dtype=bool)
    for row, each in enumerate(questions):
        for column, frame in enumerate(each.frames):
            for number, region in enumerate(frame):
                regions[row, column, number] = region.features
                mask[row, column, number] = True
    return torch.from_numpy(regions), torch.from_numpy(mask)


def _grounding(
    questions: Sequence[VideoQuestion],
    joined: Int[Tensor, "B 5 T"],
    vocabulary: Vocabulary,
    mask: Bool[Tensor, "B F R"],
) -> Bool[Tensor, "B T F R"]:
    """Mark the regions that show what is annotated, for each known word of the annotation's label."""
    grounding = torch.zeros(len(questions), joined.shape[2], *mask.shape[1:], dtype=torch.bool)
    for row, each in enumerate(questions):
        if each.right is None:
            continue
        for annotated in each.boxes:
            if annotated.frame >= len(each.frames):
                continue
            label = vocabulary.encode([word for word in _words(annotated.label) if word in vocabulary])
            words = torch.isin(joined[row, each.right], torch.tensor(label, dtype=torch.long))
            regions = np.array([region.box for region in each.frames[annotated.frame]]).reshape(-1, 4)
            shown = torch.from_numpy(_shown(annotated.box, regions))
            grounding[row, :, annotated.frame, : len(regions)] |= words.unsqueeze(1) & shown
    return grounding


def _shown(box: Box, regions: np.ndarray) -> np.ndarray:
    """Return which regions, (R, 4), overlap with a box by half, as the public code of STAGE counts pixels."""
    sides = np.minimum(box[2:], regions[:, 2:]) - np.maximum(box[:2], regions[:, :2])
    shared = np.where((sides > 0).all(1), (sides + 1).prod(1), 0)
    area = (box[2] - box[0]) * (box[3] - box[1])
    union = area + (regions[:, 2:] - regions[:, :2]).prod(1) - shared
    return (shared > 0) & (shared >= SHOWN * union)
