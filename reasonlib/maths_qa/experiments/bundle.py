"""Make the bundled weights again: a filler, a solver that starts from it, and a solver from scratch.

    reasonlib run maths_qa/bundle --scale paper     weights/{filler,pretrained,scratch}.safetensors

Both solvers take the same steps of fine-tuning on the same questions. A run at ``paper`` replaces the files;
at a smaller scale it only measures.
"""

from typing import Any

from reasonlib.maths_qa.experiments.pretraining import splits_of
from reasonlib.maths_qa.experiments.train import fill_accuracy, fine_tune, pretrain, recipe_of
from reasonlib.maths_qa.models.initialise import initialise_solver
from reasonlib.maths_qa.models.pretrained import WEIGHTS, save_model
from reasonlib.maths_qa.models.qa_mlm import MaskedModel
from reasonlib.maths_qa.models.transformer import Solver
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["make_bundle"]


def make_bundle(trial: Trial) -> Measured:
    """Train the three models and write them if the scale is ``paper``.

    Metrics
    -------
    ``mlm.<kind>`` of the filler; ``pretrained.accuracy`` and ``scratch.accuracy``, each also of every module.
    """
    settings = trial.settings
    recipe, config = recipe_of(settings)
    splits = splits_of(settings)
    filler = MaskedModel(config, seed=trial.seed).to(trial.device)
    stages = [pretrain(filler, splits.train, recipe, **trial.stage("filler").options)]
    planned = recipe.pre_steps + 2 * recipe.steps
    models: dict[str, Solver | MaskedModel] = {"filler": filler}
    metrics = fill_accuracy(filler, splits.test)
    if stages[0].stopped == "finished":
        for name, start in (("pretrained", "both"), ("scratch", "scratch")):
            solver = initialise_solver(Solver(config, seed=trial.seed).to(trial.device), filler, start)
            stages.append(fine_tune(solver, splits, recipe, **trial.stage(name).options))
            models[name] = solver
            if stages[-1].rows:
                last = stages[-1].rows[-1]
                metrics |= {f"{name}.{key}": last[key] for key in last if key.startswith("accuracy")}
    done = sum(stage.steps_done for stage in stages)
    if trial.scale == "paper" and done == planned:
        for name, model in models.items():
            metadata: dict[str, Any] = {
                key.removeprefix(f"{name}."): round(value, 4)
                for key, value in metrics.items()
                if key.startswith("mlm" if name == "filler" else f"{name}.")
            }
            path = WEIGHTS / f"{name}.safetensors"
            metadata |= {"seed": trial.seed, "tested": list(settings["tested"]), "train": len(splits.train)}
            save_model(model, path, modules=splits.train.modules, made=metadata)
    curves = {
        name: [{key: row[key] for key in row if key not in ("seconds", "lr")} for row in stage]
        for name, stage in zip(models, stages, strict=True)
    }
    return Measured(
        metrics=metrics,
        examples=len(splits.test),
        steps_done=done,
        steps_planned=planned,
        details={"curves": curves},
    )
