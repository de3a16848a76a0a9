"""Training: one loop for every system, batches, vocabularies, checkpoints."""

from reasonlib.training.checkpoints import load_weights, save_weights, weights_metadata
from reasonlib.training.loop import (
    OPTIMISERS,
    History,
    TrainingConfig,
    batch_weight,
    denormals_flushed,
    device,
    fit,
    learning_rate,
    make_optimiser,
    parameter_count,
    seeded,
    split_batch,
)

__all__ = [
    "OPTIMISERS",
    "History",
    "TrainingConfig",
    "batch_weight",
    "denormals_flushed",
    "device",
    "fit",
    "learning_rate",
    "load_weights",
    "make_optimiser",
    "parameter_count",
    "save_weights",
    "seeded",
    "split_batch",
    "weights_metadata",
]
