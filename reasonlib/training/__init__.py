"""Training: one loop for every system, batches, vocabularies, checkpoints."""

from reasonlib.training.checkpoints import load_weights, save_weights, weights_metadata
from reasonlib.training.config import TrainingConfig
from reasonlib.training.devices import best_precision, denormals_flushed, device, parameter_count, seeded
from reasonlib.training.history import History
from reasonlib.training.loop import fit
from reasonlib.training.nested import batch_weight, map_tensors, split_batch, to_device
from reasonlib.training.optimisers import OPTIMISERS, learning_rate, make_optimiser
from reasonlib.training.recipes import ADAMW_LINEAR, RunOptions, divide_steps, fit_recipe, training_config

__all__ = [
    "ADAMW_LINEAR",
    "OPTIMISERS",
    "History",
    "RunOptions",
    "TrainingConfig",
    "batch_weight",
    "best_precision",
    "denormals_flushed",
    "device",
    "divide_steps",
    "fit",
    "fit_recipe",
    "learning_rate",
    "load_weights",
    "make_optimiser",
    "map_tensors",
    "parameter_count",
    "save_weights",
    "seeded",
    "split_batch",
    "to_device",
    "training_config",
    "weights_metadata",
]
