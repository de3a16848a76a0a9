"""How much of CKA is the batch: the plain estimate of pairs that have nothing in common (beyond the source).

The source holds that CKA is reliable in a mini-batch (section 5.1.1). The plain estimate grows as the batch
shrinks, whatever the pairs are; the debiased one does not.
"""

import torch

from reasonlib.modality_alignment.data.datasets import load_points
from reasonlib.modality_alignment.experiments.points import PointsRecipe, measure_pairs, train_encoders
from reasonlib.nn.similarity import cka
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.settings import construct

__all__ = ["run_batch_bias"]

BATCHES = 20  # of which the mean is taken


@torch.no_grad()
def run_batch_bias(trial: Trial) -> Measured:
    """Train encoders with batches of a size, and measure CKA of such batches in several ways.

    Metrics
    -------
    ``pairs`` and ``strangers``
        Mean CKA of training batches, with their pairs, and with the rows of one side shuffled; each also
        ``.debiased``.
    ``held_out.*``
        `measure_pairs` on pairs that training did not see.
    """
    settings = trial.settings
    batches = -(-settings["pairs"] // settings["batch_size"])  # of one epoch
    epochs = max(1, round(settings["steps"] / batches))
    recipe = construct(PointsRecipe, settings, epochs=epochs, measured=1)
    points, held_out = load_points(
        trial.data, pairs=settings["pairs"], held_out=settings["held_out"], seed=trial.seed
    )
    with torch.enable_grad():
        trained = train_encoders(points, recipe, **trial.options)
    a, b = trained.model(*points)
    generator = torch.Generator().manual_seed(trial.seed)
    size = min(recipe.batch_size, len(a))
    metrics: dict[str, float] = {}
    for name in ("pairs", "strangers"):
        for ending, debiased in (("", False), (".debiased", True)):
            values = []
            for _ in range(BATCHES):
                rows = torch.randperm(len(a), generator=generator)[:size]
                others = rows if name == "pairs" else rows[torch.randperm(size, generator=generator)]
                values.append(cka(a[rows], b[others], debiased=debiased))
            metrics[name + ending] = float(torch.stack(values).mean())
    measured = measure_pairs(trained.model, held_out)
    metrics |= {f"held_out.{name}": value for name, value in measured.items()}
    return Measured(
        metrics=metrics, steps_done=trained.history.steps_done, steps_planned=trained.history.steps_planned
    )
