"""The data sets of the experiments by name, with their kinds.

::

    random-pairs    two clouds, paired at random (section 5.3.1); the source prints neither its Gaussian nor
                    its mixture, so that ours stand in
    shared-cause    the same clouds, whose pairs have nine tenths of their variance in common
    simulated       questions about simulated scenes
    tvqa-plus       the released annotations of the validation part of TVQA+
"""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from reasonlib.arguments import check_choice
from reasonlib.modality_alignment.data.curriculum import PHASES
from reasonlib.modality_alignment.data.encoding import Batch, build_vocabulary, encode
from reasonlib.modality_alignment.data.example import VideoQuestion
from reasonlib.modality_alignment.data.points import PairedPoints, PointsConfig, draw_points
from reasonlib.modality_alignment.data.scene import SceneConfig
from reasonlib.modality_alignment.data.simulator import KINDS, SimulatorConfig, simulate
from reasonlib.training.vocabulary import Vocabulary

__all__ = ["DATA", "QuestionSet", "load_points", "load_questions"]

DATA = {
    "random-pairs": "stand-in",
    "shared-cause": "stand-in",
    "simulated": "stand-in",
    "tvqa-plus": "released",
}
"""The sets by name and kind."""

SHARED = {"random-pairs": 0.0, "shared-cause": 0.9}
"""Share of the variance that the points of a pair have in common."""

_SEEDS = {"train": 1, "valid": 2, "test": 3}
_FIRST_PHASE = 100  # its seed; the next phase has the next


class QuestionSet(NamedTuple):
    """Encoded questions of one part, and where they came from.

    Attributes
    ----------
    questions
        As drawn or read.
    batch
        The same as tensors.
    """

    questions: tuple[VideoQuestion, ...]
    batch: Batch

    def __len__(self) -> int:
        return len(self.questions)


def load_points(data: str, *, pairs: int, held_out: int, seed: int) -> tuple[PairedPoints, PairedPoints]:
    """Draw training pairs and held-out pairs of a set.

    Raises
    ------
    ValueError
        If there is no such set.
    """
    check_choice("data", data, SHARED)
    config = PointsConfig(pairs=pairs, held_out=held_out, shared=SHARED[data])
    return draw_points(config, seed=seed)


@lru_cache(maxsize=4)
def load_questions(
    *,
    train: int,
    valid: int,
    test: int,
    kinds: tuple[str, ...] = tuple(KINDS),
    bias: float = 0.0,
    frames_each: int = 1,
    features: int = 32,
    noise: float = 0.05,
    curriculum: float = 0.0,
    taught: tuple[str, ...] = (),
) -> tuple[Vocabulary, dict[str, QuestionSet]]:
    """Simulate questions; a second call gives the same objects.

    Parameters
    ----------
    train, valid, test
        How many of each part.
    kinds, bias
        As in `SimulatorConfig`.
    frames_each, features, noise
        As in `SceneConfig`.
    curriculum
        Questions of all `PHASES` together, as a multiple of `train`; they are parts of their own, ``phase-0``
        and so on.
    taught
        The needs of questions that the phases ask; all if there are none. A system that sees the video alone
        learns nothing from questions about subtitles.

    Returns
    -------
    tuple
        The vocabulary of the training part and the phases, and the parts by name.
    """
    scene = SceneConfig(frames_each=frames_each, features=features, noise=noise)
    config = SimulatorConfig(kinds=kinds, bias=bias, scene=scene)
    counts = {"train": train, "valid": valid, "test": test}
    drawn = {part: tuple(simulate(count, seed=_SEEDS[part], config=config)) for part, count in counts.items()}
    learnt = drawn["train"]
    for number, phase in enumerate(PHASES if curriculum else ()):
        count = round(curriculum * phase.share * train)
        phase_kinds = tuple(kind for kind in phase.kinds or kinds if not taught or KINDS[kind] in taught)
        if not phase_kinds:
            continue
        phase_config = replace(config, kinds=phase_kinds)
        drawn[f"phase-{number}"] = tuple(simulate(count, seed=_FIRST_PHASE + number, config=phase_config))
        learnt += drawn[f"phase-{number}"]
    vocabulary = build_vocabulary(learnt)
    return vocabulary, {
        part: QuestionSet(questions, encode(questions, vocabulary)) for part, questions in drawn.items()
    }
