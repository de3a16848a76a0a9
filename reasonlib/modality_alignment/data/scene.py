"""Short scenes: five coloured objects act one after the other, and five people speak.

::

    frame      0    1  |  2    3  |  4    5  |  6    7  |  8    9
    acts       red cube|  blue ..                                     moves, and may push another object
    speaks     anna    |  ben     |  ...                              "anna : i want the ring"

What is said has nothing to do with what is seen, so that neither modality answers the other's questions.
A region's features are a fixed random projection of its true attributes, plus noise: they speak another
language than the words.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from reasonlib.arguments import check_at_least
from reasonlib.modality_alignment.data.example import PICTURE, Box, Region, Subtitle

__all__ = [
    "COLOURS", "MOTIONS", "NAMES", "SHAPES", "SIZES", "VERBS",
    "Actor", "Line", "Scene", "SceneConfig", "caption", "draw_scene", "regions_of", "seconds_of",
    "subtitles_of",
]  # fmt: skip

SHAPES = ("cube", "ball", "cone", "ring", "star", "disc", "cross", "bowl", "arch", "drum")
COLOURS = ("red", "blue", "green", "yellow", "black", "white", "pink", "brown", "orange", "grey")
SIZES = ("small", "large")
MOTIONS = ("left", "right", "up", "down", "around")
NAMES = ("anna", "ben", "carl", "dora", "emil", "fay", "gus", "hana")
VERBS = ("want", "fear")

ACTORS = 5  # as many as answers, so that no answer can be excluded by looking at what there is
_EDGE = {"small": 60.0, "large": 110.0}  # of a box, in pixels
_COLUMNS = {word: number for number, word in enumerate((*SHAPES, *COLOURS, *SIZES, *MOTIONS))}
_STEPS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}


@dataclass(frozen=True, kw_only=True)
class SceneConfig:
    """How scenes are seen; units in brackets.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    frames_each: int = 2  # frames while one object acts [1 second each]
    features: int = 48  # D, of a region
    noise: float = 0.1  # standard deviation of the noise in each feature
    camera: int = 0  # seed of the projection: the same for train, valid and test

    def __post_init__(self) -> None:
        check_at_least(self, 1, "frames_each", "features")
        check_at_least(self, 0, "noise", "camera")


class Actor(NamedTuple):
    """An object and what it does: the number of the object that it pushes, None for none."""

    shape: str
    colour: str
    size: str
    motion: str
    pushes: int | None


class Line(NamedTuple):
    """A line of the subtitles: who speaks, ``want`` or ``fear``, and the shape."""

    speaker: str
    verb: str
    shape: str


class Scene(NamedTuple):
    """Five objects in the order in which they act, and five lines; line k is spoken while object k acts."""

    actors: tuple[Actor, ...]
    lines: tuple[Line, ...]

    def slot_of(self, shape: str) -> int:
        """Return when the object of a shape acts."""
        return next(slot for slot, actor in enumerate(self.actors) if actor.shape == shape)

    @property
    def wished(self) -> set[str]:
        """The shapes with the verb of three of the lines."""
        verb = most(line.verb for line in self.lines)
        return {line.shape for line in self.lines if line.verb == verb}

    @property
    def sized(self) -> set[str]:
        """The shapes with the size of three of the objects."""
        size = most(actor.size for actor in self.actors)
        return {actor.shape for actor in self.actors if actor.size == size}


def most(values: Iterable[str]) -> str:
    """Return the commonest of some words."""
    words = list(values)
    return max(sorted(set(words)), key=words.count)


def _choose(draw: np.random.Generator, words: tuple[str, ...]) -> list[str]:
    return [words[number] for number in draw.permutation(len(words))[:ACTORS]]


def _split(draw: np.random.Generator, words: tuple[str, str]) -> list[str]:
    """Return one word three times and the other twice, in random order."""
    first, second = draw.permutation(2)
    pool = [words[first]] * 3 + [words[second]] * 2
    return [pool[number] for number in draw.permutation(ACTORS)]


def draw_scene(draw: np.random.Generator, *, same: bool = False) -> Scene:
    """Draw a scene: shapes, colours, motions and speakers all differ, nothing depends on anything else.

    Parameters
    ----------
    draw
        Draws it.
    same
        Whether the lines are about the shapes of the scene, and not about five of all shapes.
    """
    shapes, colours = _choose(draw, SHAPES), _choose(draw, COLOURS)
    motions, sizes = _choose(draw, MOTIONS), _split(draw, SIZES)
    actors = []
    for slot in range(ACTORS):
        others: list[int | None] = [None, *(other for other in range(ACTORS) if other != slot)]
        pushes = others[int(draw.integers(ACTORS))]
        actors.append(Actor(shapes[slot], colours[slot], sizes[slot], motions[slot], pushes))
    speakers, verbs = _choose(draw, NAMES), _split(draw, VERBS)
    spoken = [shapes[number] for number in draw.permutation(ACTORS)] if same else _choose(draw, SHAPES)
    lines = [Line(*line) for line in zip(speakers, verbs, spoken, strict=True)]
    return Scene(tuple(actors), tuple(lines))


@lru_cache(maxsize=8)
def _projection(features: int, camera: int) -> np.ndarray:
    """Return the matrix from attributes to features, (A, D), of standard normal numbers."""
    return np.random.default_rng(camera).standard_normal((len(_COLUMNS) + 3, features))


def _attributes(actor: Actor, *, acts: bool, box: Box) -> np.ndarray:
    """Return the true attributes of a region: one-hot shape, colour, size and motion, whether it acts, place.

    An object that is pushed has no motion of its own.
    """
    vector = np.zeros(len(_COLUMNS) + 3)
    vector[[_COLUMNS[actor.shape], _COLUMNS[actor.colour], _COLUMNS[actor.size]]] = 1
    if acts:
        vector[[_COLUMNS[actor.motion], -3]] = 1
    vector[-2:] = box[0] / PICTURE[0], box[1] / PICTURE[1]
    return vector


def _box(actor: Actor, start: tuple[float, float], progress: float) -> Box:
    """Return where an object is after a share of its motion."""
    edge = _EDGE[actor.size]
    if actor.motion == "around":
        dx, dy = 40 * np.cos(2 * np.pi * progress), 40 * np.sin(2 * np.pi * progress)
    else:
        dx, dy = (80 * progress * step for step in _STEPS[actor.motion])
    left, top = start[0] + dx, start[1] + dy
    return tuple(round(float(number), 1) for number in (left, top, left + edge, top + edge))  # type: ignore[return-value]


def regions_of(
    scene: Scene, draw: np.random.Generator, config: SceneConfig
) -> tuple[tuple[Region, ...], ...]:
    """Render a scene: the regions of each frame, first the object that acts, then the one it pushes."""
    seen: list[list[tuple[Actor, bool, Box]]] = []
    for actor in scene.actors:
        start = (draw.uniform(140, 380), draw.uniform(100, 150))
        for step in range(config.frames_each):
            box = _box(actor, start, step / config.frames_each)
            seen.append([(actor, True, box)])
            if actor.pushes is not None:
                pushed = scene.actors[actor.pushes]
                edge = _EDGE[pushed.size]
                seen[-1].append((pushed, False, (box[2], box[1], box[2] + edge, box[1] + edge)))
    true = np.array([_attributes(actor, acts=acts, box=box) for frame in seen for actor, acts, box in frame])
    noise = config.noise * draw.standard_normal((len(true), config.features))
    features = iter(
        np.round(true @ _projection(config.features, config.camera) + noise, 4).astype(np.float32)
    )
    return tuple(
        tuple(Region(label=actor.shape, box=box, features=next(features)) for actor, _, box in frame)
        for frame in seen
    )


def seconds_of(slot: int, config: SceneConfig) -> tuple[float, float]:
    """Return start and end of a slot in seconds."""
    return float(slot * config.frames_each), float((slot + 1) * config.frames_each)


def subtitles_of(scene: Scene, config: SceneConfig) -> tuple[Subtitle, ...]:
    """Return the five lines with their times."""
    lines = []
    for slot, line in enumerate(scene.lines):
        start, end = seconds_of(slot, config)
        text = f"i {line.verb} the {line.shape}"
        lines.append(Subtitle(start=start, end=end, speaker=line.speaker, text=text))
    return tuple(lines)


def caption(scene: Scene, slot: int) -> str:
    """Describe what an object does, such as ``large red cube moves left and pushes ball``."""
    actor = scene.actors[slot]
    pushed = "nothing" if actor.pushes is None else scene.actors[actor.pushes].shape
    return f"{actor.size} {actor.colour} {actor.shape} moves {actor.motion} and pushes {pushed}"
