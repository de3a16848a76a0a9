"""Questions about simulated scenes, with labels that say which modality each needs.

::

    needs      kind       question                            answered by
    video      presence   which colour is there ?             the regions
               colour     what colour is the cube ?
               shape      what is red ?
               motion     where does the cube move ?
               push       what does the cube push ?
    subtitle   wish       what does anna want ?               the lines
               speaker    who fears the ring ?
    both       moment     what moves when anna speaks ?       the regions while a line is spoken
               meeting    what do most want that is large ?   the one thing in two sets of three
    text       opposite   what is the opposite of hot ?       the words alone

Of the answers to a ``presence`` question one occurs in the scene, of those to others all five, so that
without its modality a question is answered by chance, one in five; a ``meeting`` question one in three by
either modality alone. The dial `bias` gives objects their usual colour, shape and motion more often, so that
the words alone answer a share of these questions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from reasonlib.modality_alignment.data.example import LabelledBox, VideoQuestion
from reasonlib.modality_alignment.data.scene import (
    ACTORS,
    COLOURS,
    MOTIONS,
    SHAPES,
    Scene,
    SceneConfig,
    caption,
    draw_scene,
    most,
    regions_of,
    seconds_of,
    subtitles_of,
)

__all__ = ["KINDS", "SIMULATORS", "SimulatorConfig", "simulate"]

KINDS = {
    "presence": "video", "colour": "video", "shape": "video", "motion": "video", "push": "video",
    "wish": "subtitle", "speaker": "subtitle",
    "moment": "both", "meeting": "both",
    "opposite": "text",
}  # fmt: skip
"""What is asked, and which modality it needs."""

OPPOSITES = dict(
    zip(
        ("hot", "big", "old", "fast", "wet", "dark", "loud", "rich"),
        ("cold", "tiny", "new", "slow", "dry", "bright", "quiet", "poor"),
        strict=True,
    )
)
USUAL_COLOUR = dict(zip(SHAPES, COLOURS, strict=True))
USUAL_SHAPE = dict(zip(COLOURS, SHAPES, strict=True))
USUAL_MOTION = {shape: MOTIONS[number % len(MOTIONS)] for number, shape in enumerate(SHAPES)}


@dataclass(frozen=True, kw_only=True)
class SimulatorConfig:
    """What is asked, and how often the words give it away.

    Raises
    ------
    ValueError
        If there is no such kind, or `bias` is out of range.
    """

    kinds: tuple[str, ...] = tuple(KINDS)
    bias: float = 0.0  # share of colour, shape and motion questions whose answer is the usual one
    scene: SceneConfig = field(default_factory=SceneConfig)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", tuple(self.kinds))
        unknown = [kind for kind in self.kinds if kind not in KINDS]
        if unknown or not self.kinds:
            raise ValueError(f"kinds must be among {', '.join(KINDS)}, got {list(self.kinds)}")
        if not 0 <= self.bias <= 1:
            raise ValueError(f"bias must be from 0 to 1, got {self.bias}")


def simulate(count: int, *, seed: int, config: SimulatorConfig = SimulatorConfig()) -> list[VideoQuestion]:
    """Draw questions, each about a scene of its own; the kinds take turns.

    Parameters
    ----------
    count
        How many.
    seed
        Draws scenes and questions; question n does not depend on `count`.
    config
        What is asked.

    Examples
    --------
    >>> question = simulate(2, seed=0)[1]
    >>> question.question, question.answers[question.right], question.needs
    ('what colour is the ring ?', 'blue', 'video')
    """
    return [
        _question(config.kinds[number % len(config.kinds)], number, seed, config) for number in range(count)
    ]


def _question(kind: str, number: int, seed: int, config: SimulatorConfig) -> VideoQuestion:
    draw = np.random.default_rng((seed, number))
    scene = draw_scene(draw, same=kind == "meeting")
    while kind == "meeting" and len(scene.wished & scene.sized) != 1:
        scene = draw_scene(draw, same=True)
    slot = int(draw.integers(ACTORS))
    if draw.random() < config.bias:
        scene = _usual(scene, slot, kind)
    question, answer, candidates, slot = _ASK[kind](scene, slot, draw)
    answers = [candidates[index] for index in draw.permutation(len(candidates))]
    boxes = []
    frames = regions_of(scene, draw, config.scene)
    each = config.scene.frames_each
    if KINDS[kind] in ("video", "both"):
        words = {*question.split(), answer, scene.actors[slot].shape}
        boxes = [
            LabelledBox(frame=frame, label=region.label, box=region.box)
            for frame in range(slot * each, (slot + 1) * each)
            for region in frames[frame]
            if region.label in words
        ]
    return VideoQuestion(
        question=question,
        answers=tuple(answers),
        right=answers.index(answer),
        span=None if kind == "opposite" else seconds_of(slot, config.scene),
        boxes=tuple(boxes),
        frames=frames,
        captions=tuple(caption(scene, number // each) for number in range(len(frames))),
        subtitles=subtitles_of(scene, config.scene),
        needs=KINDS[kind],
        kind=kind,
        seconds=float(len(frames)),
        clip=f"scene-{seed}-{number}",
        identifier=f"{seed}-{number}",
    )


def _usual(scene: Scene, slot: int, kind: str) -> Scene:
    """Give the object that is asked about its usual colour, shape or motion; it swaps with whoever had it."""
    target = scene.actors[slot]
    usual = {
        "colour": USUAL_COLOUR[target.shape],
        "shape": USUAL_SHAPE[target.colour],
        "motion": USUAL_MOTION[target.shape],
    }
    if kind not in usual:
        return scene
    old, new = getattr(target, kind), usual[kind]
    swapped = {old: new, new: old}
    actors = []
    for actor in scene.actors:
        value: Any = getattr(actor, kind)
        actors.append(actor._replace(**{kind: swapped.get(value, value)}))
    return scene._replace(actors=tuple(actors))


Asked = tuple[str, str, Sequence[str], int]
"""Question, right answer, the five answers, and the slot that shows the answer."""


def _presence(scene: Scene, slot: int, draw: np.random.Generator) -> Asked:
    attribute, words = (("colour", COLOURS), ("shape", SHAPES))[int(draw.integers(2))]
    seen = [getattr(actor, attribute) for actor in scene.actors]
    absent = [word for word in words if word not in seen]
    chosen = [absent[number] for number in draw.permutation(len(absent))[: ACTORS - 1]]
    return f"which {attribute} is there ?", seen[slot], [seen[slot], *chosen], slot


def _colour(scene: Scene, slot: int, draw: np.random.Generator) -> Asked:
    actor = scene.actors[slot]
    return f"what colour is the {actor.shape} ?", actor.colour, [each.colour for each in scene.actors], slot


def _shape(scene: Scene, slot: int, draw: np.random.Generator) -> Asked:
    actor = scene.actors[slot]
    return f"what is {actor.colour} ?", actor.shape, _shapes(scene), slot


def _motion(scene: Scene, slot: int, draw: np.random.Generator) -> Asked:
    actor = scene.actors[slot]
    return f"where does the {actor.shape} move ?", actor.motion, MOTIONS, slot


def _push(scene: Scene, slot: int, draw: np.random.Generator) -> Asked:
    actor = scene.actors[slot]
    answers = ["nothing", *(shape for shape in _shapes(scene) if shape != actor.shape)]
    pushed = "nothing" if actor.pushes is None else scene.actors[actor.pushes].shape
    return f"what does the {actor.shape} push ?", pushed, answers, slot


def _wish(scene: Scene, slot: int, draw: np.random.Generator) -> Asked:
    line = scene.lines[slot]
    return f"what does {line.speaker} {line.verb} ?", line.shape, [each.shape for each in scene.lines], slot


def _speaker(scene: Scene, slot: int, draw: np.random.Generator) -> Asked:
    line = scene.lines[slot]
    return f"who {line.verb}s the {line.shape} ?", line.speaker, [each.speaker for each in scene.lines], slot


def _moment(scene: Scene, slot: int, draw: np.random.Generator) -> Asked:
    question = f"what moves when {scene.lines[slot].speaker} speaks ?"
    return question, scene.actors[slot].shape, _shapes(scene), slot


def _meeting(scene: Scene, slot: int, draw: np.random.Generator) -> Asked:
    verb = most(line.verb for line in scene.lines)
    size = most(actor.size for actor in scene.actors)
    (answer,) = scene.wished & scene.sized
    return f"what do most {verb} that is {size} ?", answer, _shapes(scene), scene.slot_of(answer)


def _opposite(scene: Scene, slot: int, draw: np.random.Generator) -> Asked:
    words = list(OPPOSITES)
    chosen = [words[number] for number in draw.permutation(len(words))[:ACTORS]]
    return (
        f"what is the opposite of {chosen[0]} ?",
        OPPOSITES[chosen[0]],
        [OPPOSITES[w] for w in chosen],
        slot,
    )


def _shapes(scene: Scene) -> list[str]:
    return [actor.shape for actor in scene.actors]


_ASK: dict[str, Callable[[Scene, int, np.random.Generator], Asked]] = {
    "presence": _presence, "colour": _colour, "shape": _shape, "motion": _motion, "push": _push,
    "wish": _wish, "speaker": _speaker, "moment": _moment, "meeting": _meeting, "opposite": _opposite,
}  # fmt: skip


def _offer(kinds: tuple[str, ...], questions: int, seed: int) -> list[VideoQuestion]:
    return simulate(questions, seed=seed, config=SimulatorConfig(kinds=kinds))


SIMULATORS: dict[str, Callable[[int, int], list[VideoQuestion]]] = {
    "questions": partial(_offer, tuple(KINDS)),
    **{
        need: partial(_offer, tuple(kind for kind in KINDS if KINDS[kind] == need))
        for need in ("video", "subtitle", "both", "text")
    },
}
"""Part to a function of the number of questions and a seed, for ``reasonlib data simulate``."""
