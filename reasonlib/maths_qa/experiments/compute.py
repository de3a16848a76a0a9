"""How long a step of QA-MLM takes beside a step of fine-tuning, and how fast answers are written."""

import time
from collections.abc import Callable

import numpy as np
import torch

from reasonlib.maths_qa.data.encoding import join
from reasonlib.maths_qa.data.masking import mask_pairs
from reasonlib.maths_qa.experiments.cost import relative_cost
from reasonlib.maths_qa.experiments.pretraining import splits_of
from reasonlib.maths_qa.experiments.train import recipe_of
from reasonlib.maths_qa.models.qa_mlm import MaskedModel, masked_loss
from reasonlib.maths_qa.models.transformer import Solver, answer_loss
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training.nested import to_device

__all__ = ["run_compute"]


def run_compute(trial: Trial) -> Measured:
    """Time steps of both kinds in turn, on the same questions.

    Metrics
    -------
    ``seconds_ratio``: a step of QA-MLM over a step of fine-tuning, median of the pairs. ``counted_ratio``:
    the same of the counted multiplications, of the mean question and answer. ``padded_ratio``: of a question
    and an answer as long as the limits.
    """
    settings = trial.settings
    recipe, config = recipe_of(settings)
    splits = splits_of(settings)
    models = Solver(config, seed=trial.seed), MaskedModel(config, seed=trial.seed)
    device = torch.device(trial.device)
    solver, filler = (model.to(device) for model in models)
    optimisers = [torch.optim.Adam(model.parameters(), recipe.lr) for model in (solver, filler)]
    draw = np.random.default_rng(trial.seed)
    generator = torch.Generator().manual_seed(trial.seed)
    ratios, seconds = [], []
    for repeat in range(settings["repeats"] + 1):
        batch = splits.train.batch(draw.integers(len(splits.train), size=recipe.batch))
        masked = to_device(mask_pairs(join(batch), generator=generator), device)
        batch = batch.to(device)

        def tune(batch=batch) -> torch.Tensor:
            return answer_loss(solver, batch)

        def fill(masked=masked) -> torch.Tensor:
            return masked_loss(filler, masked)  # type: ignore[arg-type]

        tuning, filling = (
            _step(loss, optimiser, device) for loss, optimiser in zip((tune, fill), optimisers, strict=True)
        )
        if repeat:  # the first warms up
            ratios.append(filling / tuning)
            seconds.append(tuning)
    lengths = splits.train.bounds[1:] - splits.train.bounds[:-1]
    question, answer = float(lengths[::2].mean()), float(lengths[1::2].mean()) + 1
    return Measured(
        metrics={
            "seconds_ratio": float(np.median(ratios)),
            "counted_ratio": relative_cost(config, question, answer),
            "padded_ratio": relative_cost(config, 160, 31),
        },
        steps_done=len(ratios),
        steps_planned=settings["repeats"],
        details={"ratios": ratios, "fine_tuning_seconds": seconds, "question": question, "answer": answer},
    )


def _step(loss: Callable[[], torch.Tensor], optimiser: torch.optim.Optimizer, device: torch.device) -> float:
    """Return the seconds of one optimiser step."""
    start = time.perf_counter()
    optimiser.zero_grad()
    loss().backward()
    optimiser.step()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start
