"""Read what a detector found in the clips of TVQA and TVQA+: regions with boxes and features, and concepts.

::

    boxes      tvqa_bbt_frcn_vg_hq_20_100.json, of STAGE's features
               {clip: {"boxes": [[[left, top, right, bottom], ...], ...], "counts": [20, ...],
                       "object": [["man", ...], ...]}}, one entry a frame
    features   tvqa_bbt_bottom_up_pool5_hq_20_100_pca.h5: {clip: array (regions of all frames, 300)}
    lengths    frm_cnt_cache.json: {clip: frames}
    concepts   det_visual_concepts_hq.pickle of TVQA, as JSON: {clip: ["blue shirt , man", ...]}, one a frame

    corpus.read_annotations ---------------------------------------------.
    corpus.read_features --> read_regions --> regions, and read_lengths --+-> with_regions --> encoding.encode

Clips have 3 frames a second, the first of which is frame 1 of the annotations. A clip of more than 300 frames
has detections, and annotated boxes, in 300 frames at equal distances. The formats are those that
``tvqa_dataset.py`` reads in jayleicn/TVQAplus and jayleicn/TVQA. None of these files can be fetched here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from reasonlib.errors import DataError
from reasonlib.modality_alignment.data.corpus import FPS, MOST_FRAMES
from reasonlib.modality_alignment.data.example import PICTURE, Region, VideoQuestion

__all__ = ["Frames", "read_concepts", "read_lengths", "read_regions", "with_concepts", "with_regions"]

Frames = tuple[tuple[Region, ...], ...]
"""The regions of each frame of a clip."""

EVERY = 6  # STAGE reads every sixth frame, one in two seconds
MOST_REGIONS = 25  # of a frame that STAGE reads; a detector gives the surest first
_SLACK = 2  # pixels by which a box may leave the picture, as rounded boxes do


def read_regions(
    path: Path,
    features: Mapping[str, np.ndarray],
    *,
    most: int = MOST_REGIONS,
    picture: tuple[float, float] = PICTURE,
) -> dict[str, Frames]:
    """Read the regions of all frames of some clips.

    Parameters
    ----------
    path
        The file of boxes.
    features
        Of the clips that are wanted, by name, as `corpus.read_features` gives them: (regions, D), with the
        regions of all frames one after the other.
    most
        Regions of a frame at most; the first are kept.
    picture
        Width and height, in pixels, of the pictures that the detector saw. Boxes are scaled to those of the
        annotations, 640 x 360.

    Raises
    ------
    DataError
        If the file is missing or damaged, lacks a clip, or does not fit the features. Names the file and the
        clip.
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}")
    detected = _read_json(path, "the boxes of the regions")
    clips = {}
    for clip, vectors in features.items():
        if clip not in detected:
            raise DataError(f"{path}: has no clip {clip!r}")
        try:
            clips[clip] = tuple(_frames(detected[clip], vectors, most, picture))
        except (KeyError, TypeError, ValueError) as error:
            reason = f"has no {error}" if isinstance(error, KeyError) else error
            raise DataError(f"{path}, clip {clip!r}: {reason}; get the file again") from error
    return clips


def _read_json(path: Path, content: str) -> dict[str, Any]:
    try:
        loaded = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read; get {content}") from error
    except ValueError as error:  # also what is no text in UTF-8
        raise DataError(f"{path}: no JSON ({error}); get {content} again") from error
    if not isinstance(loaded, dict):
        raise DataError(f"{path}: must hold an entry for each clip; get {content} again")
    return loaded


def _frames(
    entry: Mapping[str, Any], vectors: np.ndarray, most: int, picture: tuple[float, float]
) -> Iterator[tuple[Region, ...]]:
    """Yield the regions of each frame of a clip."""
    boxes, labels, counts = (list(entry[name]) for name in ("boxes", "object", "counts"))
    if not len(boxes) == len(labels) == len(counts):
        raise ValueError(f"has boxes of {len(boxes)} frames, names of {len(labels)}, counts of {len(counts)}")
    if vectors.ndim != 2 or len(vectors) != sum(counts):
        raise ValueError(f"features must be ({sum(counts)} regions, D), got {vectors.shape}")
    start = 0
    for number, (corners, names, count) in enumerate(zip(boxes, labels, counts, strict=True), start=1):
        if not len(corners) == len(names) == count:
            raise ValueError(
                f"frame {number} has {count} regions, but {len(corners)} boxes and {len(names)} names"
            )
        scaled = _scaled(corners[:most], picture, number)
        yield tuple(
            Region(label=str(name), box=tuple(box), features=vector)
            for name, box, vector in zip(names, scaled.tolist(), vectors[start:], strict=False)
        )
        start += count


def _scaled(corners: Sequence[Sequence[float]], picture: tuple[float, float], frame: int) -> np.ndarray:
    """Check boxes and bring them to the size of the annotations' pictures, (R, 4)."""
    size = np.array([*picture, *picture], dtype=float)
    boxes = np.array(corners, dtype=float).reshape(len(corners), 4)
    within = np.isfinite(boxes) & (boxes >= -_SLACK) & (boxes <= size + _SLACK)
    wrong = ~(within.all(1) & (boxes[:, :2] <= boxes[:, 2:]).all(1))
    if wrong.any():
        box = boxes[wrong][0].tolist()
        raise ValueError(
            f"a box must be left, top, right, bottom in a picture of {picture[0]} x {picture[1]},"
            f" got {box} in frame {frame}"
        )
    return boxes * np.array([*PICTURE, *PICTURE]) / size


def read_lengths(path: Path) -> dict[str, int]:
    """Read how many frames each clip has, at 3 a second.

    Raises
    ------
    DataError
        If the file is missing or damaged.
    """
    lengths = _read_json(path, "the numbers of frames")
    for clip, frames in lengths.items():
        if not isinstance(frames, int) or frames < 1:
            raise DataError(f"{path}, clip {clip!r}: must have at least one frame, got {frames!r}")
    return lengths


def with_regions(
    questions: Sequence[VideoQuestion],
    regions: Mapping[str, Frames],
    *,
    lengths: Mapping[str, int] | None = None,
    every: int = EVERY,
) -> list[VideoQuestion]:
    """Return questions with the regions of their clips.

    Parameters
    ----------
    questions
        As `corpus.read_annotations` gives them.
    regions
        Of clips by name, as `read_regions` gives them.
    lengths
        Frames of clips by name, as `read_lengths` gives them; needed for clips of more than 300 frames.
    every
        Keep every n-th frame, for this n. As in the public code of STAGE, these are the annotated frames and
        others at the same spacing; annotated boxes stay with their frame, under its new number.

    Raises
    ------
    DataError
        If a clip has no regions, or regions of too few or too many frames.

    Notes
    -----
    Boxes that are annotated beyond the last frame are left out, as in the public code. At the defaults a
    question of TVQA+ takes up to 1.5 MB as tensors, so that the training part takes about 30 GB of memory, as
    much as in the public code.
    """
    if every < 1:
        raise ValueError(f"every must be at least 1, got {every}")
    return [_with_frames(each, _frames_of(each, regions, lengths), lengths, every) for each in questions]


def _frames_of(
    question: VideoQuestion, regions: Mapping[str, Frames], lengths: Mapping[str, int] | None
) -> Frames:
    frames = regions.get(question.clip, ())
    if not frames:
        raise DataError(f"question {question.identifier}: clip {question.clip!r} has no regions")
    if lengths is None and len(frames) >= MOST_FRAMES:
        raise DataError(f"clip {question.clip!r} has {MOST_FRAMES} frames or more: give the lengths of clips")
    if lengths is not None:
        if question.clip not in lengths:
            raise DataError(f"question {question.identifier}: clip {question.clip!r} has no length")
        expected = min(lengths[question.clip], MOST_FRAMES)
        if len(frames) != expected:
            raise DataError(
                f"clip {question.clip!r} must have regions of {expected} frames, got {len(frames)};"
                " get the boxes of the regions again"
            )
    return frames


def _with_frames(
    question: VideoQuestion, frames: Frames, lengths: Mapping[str, int] | None, every: int
) -> VideoQuestion:
    total = len(frames) if lengths is None else lengths[question.clip]
    first = question.boxes[0].frame % every if question.boxes else 0
    shown = frames[first::every] or frames[-1:]
    boxes = tuple(
        replace(box, frame=(box.frame - first) // every)
        for box in question.boxes
        if box.frame % every == first and box.frame < len(frames)
    )
    seconds = len(shown) * every * total / len(frames) / FPS
    return replace(question, frames=shown, boxes=boxes, seconds=seconds)


def read_concepts(path: Path) -> dict[str, str]:
    """Read the visual concepts of clips by name: the words of all pairs such as ``blue shirt``.

    As in the public code of TVQA, a pair counts once in a clip, where it is first seen.

    Parameters
    ----------
    path
        The released file as JSON. It is released as a pickle, which could run code and is not read here.

    Raises
    ------
    DataError
        If the file is missing or damaged, or still a pickle. Names the file, and the clip if there is one.
    """
    if path.suffix in (".pickle", ".pkl"):
        raise DataError(
            f"{path}: a pickle can run code and is not read; if you trust it, write it as JSON: "
            "json.dump(pickle.load(open(path, 'rb'), encoding='latin1'), open('concepts.json', 'w'))"
        )
    loaded = _read_json(path, "the visual concepts of TVQA")
    concepts = {}
    for clip, frames in loaded.items():
        if not isinstance(frames, list) or not all(isinstance(frame, str) for frame in frames):
            raise DataError(f"{path}, clip {clip!r}: must have a text for each frame; get the file again")
        pairs = (pair.strip() for frame in frames for pair in frame.lower().split(","))
        concepts[clip] = " ".join(dict.fromkeys(pair for pair in pairs if pair))
    return concepts


def with_concepts(questions: Sequence[VideoQuestion], concepts: Mapping[str, str]) -> list[VideoQuestion]:
    """Return questions with the concepts of their clips as one caption, which ``captions`` streams read.

    Raises
    ------
    DataError
        If a clip has no concepts.
    """
    absent = [each.clip for each in questions if each.clip not in concepts]
    if absent:
        raise DataError(f"clip {absent[0]!r} has no visual concepts")
    return [replace(each, captions=(concepts[each.clip],)) for each in questions]
