"""How far a system does better on the examples it was trained on than on new ones.

The source says that multi-task learning regularises, so that a model does not overfit one task; it shows no
measurement.
"""

from reasonlib.multi_task.experiments import joint
from reasonlib.multi_task.experiments.train import recipe_of
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["run_overfitting"]


def run_overfitting(trial: Trial) -> Measured:
    """Train all tasks together or each by itself, and measure on training and on test examples.

    Metrics
    -------
    ``task.metric`` and ``mean`` on test, as in `run_joint`; ``train`` and ``gap``, the mean of the tasks' own
    metrics on the training examples, and how far it is above that on test; ``gap.task`` for each task.
    """
    recipe = recipe_of(trial.settings)
    splits = joint.load_family(trial.settings, seed=trial.seed)
    if trial.settings["joint"]:
        runs = [joint.joint_stage(trial, joint.train_joint)]
        systems = runs * len(splits)
    else:
        runs = systems = joint.train_singles(trial, recipe, splits)
    tested = joint.measure_all(systems, splits, recipe)
    learned = joint.measure_all(systems, [split._replace(test=split.train) for split in splits], recipe)
    gaps = {
        f"gap.{split.task.name}": learned[name] - tested[name]
        for split in splits
        for name in (f"{split.task.name}.{split.task.metric}",)
    }
    metrics = {**tested, "train": learned["mean"], "gap": learned["mean"] - tested["mean"], **gaps}
    details = {"test": {split.task.name: len(split.test) for split in splits}}
    return joint.joined(runs, metrics, details)
