"""From scratch, or from a pre-trained encoder: one trial of tables 5.1 and 5.2.

::

    row       QA-MLM      fine-tuning       measured
    scratch   -           twice the steps   at equal steps, at equal compute, at its end
    encoder   pre_steps   steps             at its end
    both      pre_steps   steps             at its end
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reasonlib.maths_qa.data.datasets import LEVELS, Splits, load
from reasonlib.maths_qa.experiments.cost import relative_cost
from reasonlib.maths_qa.experiments.train import Recipe, fill_accuracy, fine_tune, pretrain, recipe_of
from reasonlib.maths_qa.models.initialise import initialise_solver
from reasonlib.maths_qa.models.qa_mlm import MaskedModel
from reasonlib.maths_qa.models.transformer import Solver
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training import History, parameter_count

__all__ = ["run_pretraining", "splits_of"]


def splits_of(settings: Mapping[str, Any]) -> Splits:
    """Return the questions that settings describe."""
    return load(
        "mathematics",
        modules=tuple(settings["modules"]),
        train=settings["train"],
        valid=settings["valid"],
        test=settings["test"],
        extrapolation=settings.get("extrapolation", 0),
        levels=tuple(settings.get("levels", LEVELS)),
        tested=tuple(settings.get("tested", ("interpolate",))),
    )


class Filler(NamedTuple):
    """A model that was trained by QA-MLM, and what happened."""

    model: MaskedModel
    history: History


def pretrain_filler(stage: Trial) -> Filler:
    """Train a model by QA-MLM: the first stage of all rows that differ in fine-tuning alone."""
    recipe, config = recipe_of(stage.settings)
    model = MaskedModel(config, seed=stage.seed).to(stage.device)
    return Filler(model, pretrain(model, splits_of(stage.settings).train, recipe, **stage.options))


def _pretrained(trial: Trial) -> Filler:
    fine_tuning = ("start", "continued")
    settings = {name: value for name, value in trial.settings.items() if name not in fine_tuning}
    settings["steps"] = settings["pre_steps"]  # of the other stage, and so without meaning
    return trial.shared_stage("pretraining", pretrain_filler, settings)


def run_pretraining(trial: Trial) -> Measured:
    """Pre-train or not, fine-tune, and measure.

    Metrics
    -------
    ``accuracy``, ``accuracy.<module>``, ``extrapolation``: exact match on the tests, after `steps` steps of
    fine-tuning; ``extrapolation.known_words``: of the harder questions whose words training has, too.
    ``accuracy.equal_compute``: after as much computation as the pre-trained rows take in both
    stages. ``accuracy.double``: from scratch, after twice the steps. ``early``, ``early.<module>``: after a
    quarter of the steps, where the curve has that step. ``modules_above_90``: modules with an exact match of
    0.9 or more. ``mlm.<kind>``: share of the hidden characters that QA-MLM guesses. ``relative_cost``: of a
    step of QA-MLM, beside a step of fine-tuning.
    """
    settings = trial.settings
    recipe, config = recipe_of(settings)
    splits = splits_of(settings)
    lengths = splits.train.bounds[1:] - splits.train.bounds[:-1]
    ratio = relative_cost(config, float(lengths[::2].mean()), float(lengths[1::2].mean()) + 1)
    metrics: dict[str, float] = {"relative_cost": ratio}
    stages: list[History] = []
    pretrained = None
    if recipe.start != "scratch":
        pretrained, filling = _pretrained(trial)
        stages.append(filling)
        if stages[0].stopped != "finished":  # what is fine-tuned starts from the end of this stage alone
            planned = stages[0].steps_planned + recipe.steps
            return Measured(metrics=metrics, steps_done=stages[0].steps_done, steps_planned=planned)
        metrics |= fill_accuracy(pretrained, splits.test)
        if splits.extrapolation is not None:
            harder = fill_accuracy(pretrained, splits.extrapolation)
            metrics |= {f"{name}.extrapolation": value for name, value in harder.items()}
    solver = initialise_solver(Solver(config, seed=trial.seed).to(trial.device), pretrained, recipe.start)
    # What starts from scratch goes on: for as long as pre-training would have taken, and to twice the steps.
    equal, last = recipe.steps, recipe.steps
    if pretrained is None and settings.get("continued", True):
        equal += recipe.every * round(ratio * recipe.pre_steps / recipe.every)
        last = max(equal, 2 * recipe.steps)
    stages.append(fine_tune(solver, splits, recipe, steps=last, **trial.stage("answers").options))
    rows = stages[-1].rows
    metrics |= _read_curve(rows, recipe, equal=equal, modules=splits.test.modules)
    first, *further = stages
    return measured(
        first,
        metrics,
        further=further,
        examples=len(splits.test),
        details={
            "curve": [{name: row[name] for name in row if name not in ("seconds", "lr")} for row in rows],
            "filling": [row["loss"] for row in first] if pretrained is not None else [],
            "parameters": parameter_count(solver),
            "leaks": splits.leaks,
        },
    )


def _read_curve(
    rows: Sequence[Mapping[str, float]], recipe: Recipe, *, equal: int, modules: Sequence[str]
) -> dict[str, float]:
    """Return the metrics at the steps that tables speak of; `equal` is the one at equal compute."""
    metrics: dict[str, float] = {}
    for row in rows:
        if row["step"] == recipe.steps // 4:
            early = {f"early.{module}": row[f"accuracy.{module}"] for module in modules}
            metrics |= {"early": row["accuracy"], **early}
        if row["step"] == recipe.steps:
            metrics |= {name: row[name] for name in row if name.startswith(("accuracy", "extrapolation"))}
            metrics["modules_above_90"] = sum(row[f"accuracy.{module}"] >= 0.9 for module in modules)
        if row["step"] == equal:
            metrics["accuracy.equal_compute"] = row["accuracy"]
        if row["step"] == 2 * recipe.steps:
            metrics["accuracy.double"] = row["accuracy"]
    return metrics
