"""Train a small model on one family of arithmetic, and ask it questions that differ in one property.

::

    draw_probes --> fit(Solver) --> curve on the validation part
                         '--> answers to each probe, once, at the end
"""

from reasonlib.maths_qa.data.probes import draw_probes
from reasonlib.maths_qa.experiments.train import fine_tune, recipe_of, score
from reasonlib.maths_qa.models.transformer import Solver
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training import parameter_count

__all__ = ["run_probes"]


def run_probes(trial: Trial) -> Measured:
    """Train from scratch, then measure exact match on each probe of `reasonlib.maths_qa.data.probes`.

    Metrics
    -------
    ``valid``: exact match on new questions of the kind that was trained on; settings are chosen by it.
    ``<property>.<value>``: on the questions of one probe, such as ``carry.3``.
    """
    settings = trial.settings
    recipe, config = recipe_of(settings)
    sizes = {part: settings[part] for part in ("train", "valid", "test")}
    splits = draw_probes(settings["family"], **sizes)
    solver = Solver(config, seed=trial.seed).to(trial.device)
    history = fine_tune(solver, splits._replace(test=splits.valid), recipe, **trial.options)
    shares = score(solver, splits.test)
    metrics = {
        "valid": score(solver, splits.valid)["accuracy"],
        **{name: shares[f"accuracy.{name}"] for name in splits.test.modules},
    }
    return measured(
        history,
        metrics,
        curve=("step", "loss", "accuracy"),
        examples={name: sizes["valid" if name == "valid" else "test"] for name in metrics},
        details={"parameters": parameter_count(solver), "leaks": splits.leaks},
    )
