"""What each regulariser costs: a training step with it, as a ratio of one without."""

import statistics
import time

import torch

from reasonlib.head_diversity.experiments.language_model import prepare
from reasonlib.head_diversity.experiments.train import Recipe
from reasonlib.head_diversity.models.drophead import Drophead
from reasonlib.head_diversity.models.language_model import LanguageModel, prediction_loss
from reasonlib.head_diversity.models.regularisers import penalised_loss
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.settings import construct

__all__ = ["run_cost"]


def run_cost(trial: Trial) -> Measured:
    """Time training steps, forward and backward alone, in turn with and without the row's regularisers.

    Metrics
    -------
    ``seconds_ratio``: median over `repeats` steps of the time with, over the time without.
    """
    settings = trial.settings
    recipe = construct(Recipe, settings)
    model, (windows, _, _) = prepare(trial.data, settings, trial.seed)
    model.to(trial.device)
    batch = windows[: recipe.batch].to(trial.device)
    dropping, _ = prepare(trial.data, settings, trial.seed)
    Drophead(dropping.to(trial.device), recipe.drophead)

    def step(model: LanguageModel, recipe: Recipe) -> float:
        model.train()
        start = time.perf_counter()
        loss = penalised_loss(
            model, lambda: prediction_loss(model, batch), recipe.penalties, lambda name, part: None
        )
        loss.backward()
        if trial.device.startswith("cuda"):
            torch.cuda.synchronize()
        return time.perf_counter() - start

    plain = Recipe(batch=recipe.batch)
    ratios = [step(dropping, recipe) / step(model, plain) for _ in range(settings["repeats"] + 1)][1:]
    return Measured(metrics={"seconds_ratio": statistics.median(ratios)})
