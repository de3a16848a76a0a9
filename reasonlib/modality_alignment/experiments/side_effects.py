"""What a step on one batch does to the pairs outside it (figure 5.1).

The source holds that a step which brings the pairs of a batch closer drives others apart where the two
modalities have different geometries, and that alignment reduces this.
"""

from copy import deepcopy

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from reasonlib.modality_alignment.data.datasets import load_points
from reasonlib.modality_alignment.data.points import PairedPoints
from reasonlib.modality_alignment.experiments.points import PointsRecipe, train_encoders
from reasonlib.modality_alignment.models.encoders import PairedEncoders
from reasonlib.modality_alignment.models.objectives import ALIGNMENTS, cosine
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.settings import construct

__all__ = ["change_of_cosines", "run_side_effects"]

STEPS = 20  # of which the mean is taken, each from the same trained encoders
LENGTH = 0.1  # of a step, over all weights; a step of Adam with a rate of 0.001 is about as long


def change_of_cosines(
    model: PairedEncoders, points: PairedPoints, rows: Int[Tensor, " M"], recipe: PointsRecipe
) -> Float[Tensor, " N"]:
    """Take a step of gradient descent on some pairs, and return how the cosine of every pair changes.

    The model stays as it is.

    Parameters
    ----------
    model
        Trained encoders.
    points
        All N pairs.
    rows
        The M pairs of the batch.
    recipe
        Gives the loss: that of `train_encoders` after the warm-up.
    """
    stepped = deepcopy(model)
    embedded = stepped(points.a[rows], points.b[rows])
    alignment = ALIGNMENTS[recipe.alignment](*embedded)
    weights = list(stepped.parameters())
    gradients = torch.autograd.grad(-cosine(*embedded) - recipe.weight * alignment, weights)
    with torch.no_grad():
        norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
        for weight, gradient in zip(weights, gradients, strict=True):
            weight -= LENGTH / norm * gradient  # type: ignore[misc]
        before, after = (functional.cosine_similarity(*each(*points)) for each in (model, stepped))
    return after - before


def run_side_effects(trial: Trial) -> Measured:
    """Train encoders, then take single steps on batches of training pairs.

    Metrics
    -------
    ``harmed``, the share of pairs outside the batch whose cosine similarity a step lowers; ``outside`` and
    ``inside``, the mean change of the cosine similarity of pairs outside the batch and of those in it. Means
    over 20 steps.
    """
    settings = trial.settings
    recipe = construct(PointsRecipe, settings, measured=1)
    points, _ = load_points(
        trial.data, pairs=settings["pairs"], held_out=settings["held_out"], seed=trial.seed
    )
    trained = train_encoders(points, recipe, **trial.options)
    generator = torch.Generator().manual_seed(trial.seed)
    measured = []
    for _ in range(STEPS):
        rows = torch.randperm(len(points.a), generator=generator)[: recipe.batch_size]
        changes = change_of_cosines(trained.model, points, rows, recipe)
        outside = torch.ones_like(changes, dtype=torch.bool)
        outside[rows] = False
        measured.append(
            torch.stack(
                ((changes[outside] < 0).float().mean(), changes[outside].mean(), changes[rows].mean())
            )
        )
    means = torch.stack(measured).mean(0).tolist()
    return Measured(
        metrics=dict(zip(("harmed", "outside", "inside"), means, strict=True)),
        steps_done=trained.history.steps_done,
        steps_planned=trained.history.steps_planned,
    )
