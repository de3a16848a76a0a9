"""Cosines of random vectors, by their number of dimensions: what a penalty on cosines starts from.

The expectation of the absolute cosine of two standard normal vectors is about sqrt(2 / (pi D)).
"""

import torch
from torch.nn import functional

from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["run_random_vectors"]


def run_random_vectors(trial: Trial) -> Measured:
    """Draw pairs of standard normal vectors.

    Metrics
    -------
    ``cosine``, mean over pairs of its absolute value.
    """
    settings = trial.settings
    generator = torch.Generator().manual_seed(trial.seed)
    x, y = torch.randn(2, settings["pairs"], settings["width"], generator=generator, dtype=torch.float64)
    return Measured(metrics={"cosine": float(functional.cosine_similarity(x, y).abs().mean())})
