"""How biased CKA is where examples are few: two independent clouds of points, whose similarity is nothing.

The expectation of plain linear CKA between independent Gaussian clouds in D dimensions is about D / (N + D).
"""

import torch

from reasonlib.nn import cka, svcca
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["run_small_samples"]


def run_small_samples(trial: Trial) -> Measured:
    """Draw pairs of independent clouds and compare them.

    Metrics
    -------
    ``cka``, ``cka_debiased`` and ``svcca``, mean over `draws` pairs; ``cka_rbf`` and ``cka_rbf_debiased``
    up to 256 examples.
    """
    settings = trial.settings
    draws, count, width = settings["draws"], settings["count"], settings["width"]
    generator = torch.Generator().manual_seed(trial.seed)
    x, y = torch.randn(2, draws, count, width, generator=generator, dtype=torch.float64)
    metrics = {
        f"cka{'_rbf' * (kernel == 'rbf')}{'_debiased' * debiased}": float(
            cka(x, y, kernel, debiased=debiased).mean()
        )
        for kernel in (("linear", "rbf") if count <= 256 else ("linear",))
        for debiased in (False, True)
    }
    similarity = [float(svcca(first, second).mean()) for first, second in zip(x, y, strict=True)]
    return Measured(metrics={**metrics, "svcca": sum(similarity) / draws}, examples=draws)
