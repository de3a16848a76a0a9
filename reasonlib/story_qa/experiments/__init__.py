"""All experiments of this topic by name; each module of this package holds one family of rows."""

from reasonlib.story_qa.data.datasets import DATA
from reasonlib.story_qa.experiments.baselines import BASELINES
from reasonlib.story_qa.experiments.bundle import BUNDLE
from reasonlib.story_qa.experiments.evidence import EVIDENCE
from reasonlib.story_qa.experiments.finetune import BERT
from reasonlib.story_qa.experiments.hibert import HIBERT
from reasonlib.story_qa.experiments.memory import JOINT, RATE, RECIPE
from reasonlib.story_qa.experiments.peer import PEER, PEER_JOINT
from reasonlib.story_qa.experiments.per_task import PER_TASK
from reasonlib.story_qa.experiments.simulator_fit import SIMULATOR_FIT
from reasonlib.tracking.experiment import named

__all__ = ["DATA", "EXPERIMENTS"]

EXPERIMENTS = named(
    JOINT,
    RATE,
    RECIPE,
    PER_TASK,
    PEER,
    PEER_JOINT,
    BASELINES,
    BERT,
    HIBERT,
    EVIDENCE,
    SIMULATOR_FIT,
    BUNDLE,
)
