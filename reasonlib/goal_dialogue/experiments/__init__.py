"""The experiments of goal-oriented dialogue, one family of rows a module."""

from reasonlib.goal_dialogue.experiments.baselines import BASELINES
from reasonlib.goal_dialogue.experiments.bundle import BUNDLE, BUNDLE_COPYING
from reasonlib.goal_dialogue.experiments.ceiling import CEILING
from reasonlib.goal_dialogue.experiments.copying import COPYING, SPEAKING
from reasonlib.goal_dialogue.experiments.memory_networks import NETWORKS, TUNING
from reasonlib.goal_dialogue.experiments.oov_validation import OOV_VALIDATION
from reasonlib.goal_dialogue.experiments.restarts import RESTARTS
from reasonlib.goal_dialogue.experiments.sentence_encoders import (
    ADVICE,
    KEY_TAGS,
    PARAGRAPH_TUNING,
    PARAGRAPHS,
    SWAPPED,
    TAG_VARIANTS,
    WORD2VEC,
)
from reasonlib.goal_dialogue.experiments.taggers import TAGGERS
from reasonlib.goal_dialogue.experiments.tasks import DATA
from reasonlib.tracking.experiment import named

__all__ = ["DATA", "EXPERIMENTS"]

EXPERIMENTS = named(
    NETWORKS,
    OOV_VALIDATION,
    BASELINES,
    TUNING,
    KEY_TAGS,
    TAGGERS,
    TAG_VARIANTS,
    SWAPPED,
    PARAGRAPHS,
    PARAGRAPH_TUNING,
    RESTARTS,
    WORD2VEC,
    COPYING,
    SPEAKING,
    CEILING,
    ADVICE,
    BUNDLE,
    BUNDLE_COPYING,
)
