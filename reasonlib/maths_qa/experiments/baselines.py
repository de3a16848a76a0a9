"""What a Transformer must beat: the most frequent answer, computer algebra, an LSTM with attention."""

from reasonlib.maths_qa.experiments.pretraining import splits_of
from reasonlib.maths_qa.experiments.train import accuracies, fine_tune, recipe_of
from reasonlib.maths_qa.models.lstm import LSTMSolver
from reasonlib.maths_qa.models.most_frequent import most_frequent
from reasonlib.maths_qa.models.symbolic import solve
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.training import parameter_count

__all__ = ["run_baseline"]


def run_baseline(trial: Trial) -> Measured:
    """Measure one baseline: ``accuracy`` and ``accuracy.<module>``, and how they are on harder questions."""
    settings = trial.settings
    splits = splits_of(settings)
    if settings["system"] != "lstm":
        metrics: dict[str, float] = {}
        for name, problems in (("accuracy", splits.test), ("extrapolation", splits.extrapolation)):
            if problems is None:
                continue
            if settings["system"] == "symbolic":
                written = [solve(problems.question(item)) for item in range(len(problems))]
            else:
                written = most_frequent(splits.train, problems)
            shares = accuracies(written, problems)
            metrics |= {key.replace("accuracy", name, 1): share for key, share in shares.items()}
        return Measured(metrics=metrics, examples=len(splits.test), steps_done=1, steps_planned=1)
    recipe, _ = recipe_of(settings)
    model = LSTMSolver(settings["lstm_width"], seed=trial.seed).to(trial.device)
    history = fine_tune(model, splits, recipe, **trial.options)
    last = history.rows[-1] if history.rows else {}
    return Measured(
        metrics={name: last[name] for name in last if name.startswith(("accuracy", "extrapolation"))},
        examples=len(splits.test),
        steps_done=history.steps_done,
        steps_planned=history.steps_planned,
        stopped=history.stopped,
        details={"parameters": parameter_count(model)},
    )
