"""Read TVQA and TVQA+ as they are released: annotations, subtitles and features.

::

    annotations   tvqa_val.jsonl (one question a line), tvqa_plus_val.json (a list, with boxes)
    subtitles     tvqa_preprocessed_subtitles.jsonl (one clip a line)
    features      HDF5, one array (frames, D) or (frames, regions, D) a clip; needs the package h5py

Regions with boxes are read by `reasonlib.modality_alignment.data.regions`, from features (regions, D).

Only the annotations of the validation part of TVQA+ are available without an agreement; subtitles, features
and the training parts cannot be fetched.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reasonlib import data
from reasonlib.data import Corpus
from reasonlib.errors import DataError, UserError
from reasonlib.modality_alignment.data.example import (
    ANSWERS,
    PICTURE,
    LabelledBox,
    Region,
    Subtitle,
    VideoQuestion,
)

__all__ = ["CORPORA", "FPS", "read", "read_annotations", "read_features", "read_subtitles"]

_COMMIT = "d2dc7211732cfd31fe1a5416432003551b63f5df"

CORPORA: dict[str, Corpus] = {
    "tvqa-plus": Corpus(
        name="tvqa-plus",
        url=f"https://github.com/jayleicn/TVQAplus/archive/{_COMMIT}.zip",
        sha256=None,
        size=None,
        licence="MIT",
        citation="lei2020tvqaplus",
        folder=f"TVQAplus-{_COMMIT}/eval/data",
        aliases=("tvqa",),
        files=("tvqa_plus_val.json",),
    )
}

FPS = 3  # frames a second; TVQA+ numbers its annotated frames by it, from 1
MOST_FRAMES = 300  # a longer clip has features for only this many of its frames


def read(part: str = "valid", *, folder: Path | None = None) -> list[VideoQuestion]:
    """Read the annotations of TVQA+ from this machine.

    Parameters
    ----------
    part
        ``valid``, the only part that is available.
    folder
        Where ``tvqa_plus_val.json`` lies; by default where `reasonlib.data.locate` finds it.

    Raises
    ------
    ValueError
        If there is no such part.
    DataError
        If the file is not on this machine, or damaged.
    """
    if part != "valid":
        raise ValueError(f"part must be valid, the only one that can be had, got {part!r}")
    return read_annotations(
        (data.locate(CORPORA["tvqa-plus"]) if folder is None else folder) / "tvqa_plus_val.json"
    )


def read_annotations(
    path: Path,
    *,
    subtitles: Mapping[str, tuple[Subtitle, ...]] | None = None,
    features: Mapping[str, np.ndarray] | None = None,
) -> list[VideoQuestion]:
    """Read a file of questions, of TVQA (``.jsonl``) or TVQA+ (``.json``).

    Parameters
    ----------
    path
        The file.
    subtitles, features
        Of clips by name, as `read_subtitles` and `read_features` give them; by default none.

    Raises
    ------
    DataError
        If the file is missing or a question is malformed. Names the file and the question.
    """
    questions = []
    for number, entry in _entries(path):
        try:
            questions.append(_question(entry, subtitles or {}, features or {}))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}, question {number}: {error!r}; get the file again") from error
    return questions


def _entries(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number, from 1, and content of each entry."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be read; get the annotations of TVQA or TVQA+") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: no text in UTF-8; get the file again") from error
    try:
        entries = (
            [json.loads(line) for line in text.splitlines() if line.strip()]
            if path.suffix == ".jsonl"
            else json.loads(text)
        )
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: no JSON ({error}); get the file again") from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DataError(f"{path}: must hold a list of entries; get the file again")
    yield from enumerate(entries, start=1)


def _question(
    entry: Mapping[str, Any],
    subtitles: Mapping[str, tuple[Subtitle, ...]],
    features: Mapping[str, np.ndarray],
) -> VideoQuestion:
    clip = entry["vid_name"]
    frames = _frames(features[clip]) if clip in features else ()
    lines = subtitles.get(clip, ())
    span = _span(entry.get("ts"))
    return VideoQuestion(
        question=_text(entry["q"]),
        answers=tuple(_text(entry[f"a{number}"]) for number in range(ANSWERS)),
        right=int(entry["answer_idx"]) if "answer_idx" in entry else None,
        span=span,
        boxes=tuple(_boxes(entry.get("bbox", {}))),
        frames=frames,
        subtitles=lines,
        seconds=_seconds(len(frames), [*(line.end for line in lines), *(span or ())]),
        clip=clip,
        identifier=str(entry["qid"]),
    )


def _seconds(frames: int, ends: Sequence[float]) -> float:
    """Return the length of a clip: that of its frames if all are there, else as far as anything reaches."""
    shown = frames / FPS
    return shown if 0 < frames < MOST_FRAMES else max([shown, *ends])


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"must be text, got {given!r}")
    return given


def _span(given: str | list[float] | None) -> tuple[float, float] | None:
    """Read a moment, ``"76.01-84.2"`` in TVQA and a pair in TVQA+; None where it is unknown."""
    if given is None or given == "nan-nan":
        return None
    start, end = given.split("-") if isinstance(given, str) else given
    return float(start), float(end)


def _boxes(given: Mapping[str, list[Mapping[str, Any]]]) -> Iterator[LabelledBox]:
    """Read boxes by frame, counted from 0; labels in small letters, as in the public evaluation."""
    for frame, boxes in sorted(given.items(), key=lambda item: int(item[0])):
        for box in boxes:
            if int(frame) < 1:
                raise ValueError(f"frames are numbered from 1, got {frame}")
            label = _text(box["label"]).replace("\u2019", "'").replace("\u2018", "'").lower()
            left, top = float(box["left"]), float(box["top"])
            corners = (left, top, left + float(box["width"]), top + float(box["height"]))
            yield LabelledBox(frame=int(frame) - 1, label=label, box=corners)


def _frames(features: np.ndarray) -> tuple[tuple[Region, ...], ...]:
    """Make regions of features: one of the whole picture where a frame has one vector."""
    if features.ndim not in (2, 3):
        raise ValueError(f"features must be (frames, D) or (frames, regions, D), got {features.shape}")
    whole = (0.0, 0.0, float(PICTURE[0]), float(PICTURE[1]))
    regions = features[:, None] if features.ndim == 2 else features
    return tuple(
        tuple(Region(label="", box=whole, features=vector.astype(np.float32)) for vector in frame)
        for frame in regions
    )


def read_subtitles(path: Path) -> dict[str, tuple[Subtitle, ...]]:
    """Read the subtitles of clips by name.

    A line of the file is ``{"vid_name": ..., "sub": [{"text": ..., "start": ..., "end": ...}, ...]}``. A text
    such as ``Penny : Hi`` names its speaker.

    Raises
    ------
    DataError
        If the file is missing or a clip is malformed.
    """
    clips = {}
    for number, entry in _entries(path):
        try:
            clips[entry["vid_name"]] = tuple(_line(line) for line in entry["sub"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}, clip {number}: {error!r}; get the file again") from error
    return clips


def _line(line: Mapping[str, Any]) -> Subtitle:
    speaker, colon, text = _text(line["text"]).partition(":")
    named = bool(colon) and len(speaker.split()) <= 2
    return Subtitle(
        start=float(line["start"]),
        end=float(line["end"]),
        speaker=speaker.strip() if named else "",
        text=text.strip() if named else line["text"].strip(),
    )


def read_features(path: Path, clips: list[str]) -> dict[str, np.ndarray]:
    """Read the features of clips from an HDF5 file: (frames, D), (frames, regions, D) or (regions, D).

    Raises
    ------
    UserError
        If the package h5py is not installed.
    DataError
        If the file is missing or no HDF5 file, or has no such clip.
    """
    try:
        import h5py
    except ImportError as error:
        raise UserError(
            "features of TVQA are HDF5, which needs the package h5py: pip install h5py"
        ) from error
    if not path.is_file():
        raise DataError(f"{path}: missing; get the features of TVQA or TVQA+")
    try:
        opened = h5py.File(path, "r")
    except OSError as error:
        raise DataError(f"{path}: no HDF5 file; get the features of TVQA or TVQA+ again") from error
    with opened as file:
        absent = [clip for clip in clips if clip not in file]
        if absent:
            raise DataError(f"{path}: has no clip {absent[0]!r}")
        return {clip: np.asarray(file[clip]) for clip in clips}
