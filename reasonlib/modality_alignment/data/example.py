"""What the simulator and the readers of released files both give: a question about a video clip.

A clip is a list of frames with regions, and subtitles with times. Boxes are (left, top, right, bottom) in
pixels of a picture of 640 x 360, as in TVQA+; times are seconds from the start of the clip.
"""

from dataclasses import dataclass, field

import numpy as np

__all__ = ["ANSWERS", "NEEDS", "PICTURE", "Box", "LabelledBox", "Region", "Subtitle", "VideoQuestion"]

ANSWERS = 5  # candidate answers of a question
NEEDS = ("video", "subtitle", "both", "text")
"""What a question needs beside itself and its answers; ``text`` needs nothing else."""

PICTURE = (640, 360)  # width and height in pixels

Box = tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class Region:
    """A detected region of a frame.

    Attributes
    ----------
    label
        What a detector calls it.
    box
        Left, top, right, bottom in pixels.
    features
        Of a detector, (D,); two regions are equal if label and box are.
    """

    label: str
    box: Box
    features: np.ndarray = field(repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Subtitle:
    """What one person says, and when.

    Attributes
    ----------
    start, end
        Seconds.
    speaker, text
        The speaker is empty where a subtitle names none.
    """

    start: float
    end: float
    speaker: str
    text: str


@dataclass(frozen=True, kw_only=True)
class LabelledBox:
    """Where something that a question or its answer names is seen: frame (counted from 0), label, box."""

    frame: int
    label: str
    box: Box


@dataclass(frozen=True, kw_only=True)
class VideoQuestion:
    """A question about a clip with five candidate answers.

    Attributes
    ----------
    question, answers
        Words separated by spaces; five answers.
    right
        Index of the right answer; None where labels are not released.
    span
        Start and end in seconds of the moment that shows the answer; None if there is none.
    boxes
        What the question and the right answer name, in the frames that are annotated.
    frames
        Regions of each frame; empty where no features are at hand.
    captions
        A description of each frame; empty where nobody wrote one.
    subtitles
        In the order of time.
    needs
        One of `NEEDS`; None for real questions, of which nobody knows it.
    kind
        What is asked, such as ``colour``; empty for real questions.
    seconds
        Length of the clip in seconds; a frame lasts ``seconds / len(frames)``.
    clip, identifier
        Name of the clip and of the question.
    """

    question: str
    answers: tuple[str, ...]
    right: int | None
    span: tuple[float, float] | None = None
    boxes: tuple[LabelledBox, ...] = ()
    frames: tuple[tuple[Region, ...], ...] = ()
    captions: tuple[str, ...] = ()
    subtitles: tuple[Subtitle, ...] = ()
    needs: str | None = None
    kind: str = ""
    seconds: float = 0.0
    clip: str = ""
    identifier: str = ""

    def __post_init__(self) -> None:
        if len(self.answers) != ANSWERS:
            raise ValueError(f"answers must be {ANSWERS}, got {len(self.answers)}")
        if self.right is not None and not 0 <= self.right < ANSWERS:
            raise ValueError(f"right must be from 0 to {ANSWERS - 1}, got {self.right}")
        if self.needs is not None and self.needs not in NEEDS:
            raise ValueError(f"needs must be one of {', '.join(NEEDS)}, got {self.needs!r}")
        if self.span is not None and not 0 <= self.span[0] <= self.span[1]:
            raise ValueError(f"span must be a start and a later end in seconds, got {self.span}")
