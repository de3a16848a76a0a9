"""All experiments of this topic by name; each module of this package holds one family of rows."""

from reasonlib.tracking.experiment import named
from reasonlib.transformer.data.datasets import DATA
from reasonlib.transformer.experiments.attention import COST, SATURATION
from reasonlib.transformer.experiments.bundle import BUNDLE
from reasonlib.transformer.experiments.decoding import DECODING
from reasonlib.transformer.experiments.finetune import FINE_TUNING
from reasonlib.transformer.experiments.parts import NORM, PARTS, POSITIONS
from reasonlib.transformer.experiments.pretrain import PRETRAINING
from reasonlib.transformer.experiments.tokenising import TOKENISING

__all__ = ["DATA", "EXPERIMENTS"]

EXPERIMENTS = named(
    SATURATION,
    PARTS,
    POSITIONS,
    NORM,
    COST,
    DECODING,
    TOKENISING,
    PRETRAINING,
    FINE_TUNING,
    BUNDLE,
)
