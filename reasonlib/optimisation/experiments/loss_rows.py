"""The experiments on losses, row by row; what a row computes is in the modules beside it."""

from reasonlib.optimisation.experiments import curves, losses
from reasonlib.optimisation.experiments.data import DATA
from reasonlib.optimisation.experiments.measures import row_name
from reasonlib.tracking.experiment import Experiment, by_scale, subset

__all__ = ["EXPERIMENTS"]

WORKED = Experiment(
    name="optimisation/worked",
    title="The cross-entropy of single predictions, and eq. 2.2 of the same",
    rows={
        "sure-and-wrong": {"p": [0.99, 0.01], "right": 1},
        "undecided": {"p": [0.5, 0.5], "right": 1},
        "three-classes": {"p": [0.7, 0.2, 0.1], "right": 0},
    },
    scales=by_scale(),
    data=subset(DATA, "worked"),
    run=losses.run_worked,
    deterministic=True,
)

LOSS_CURVES = Experiment(
    name="optimisation/loss-curves",
    title="Regression losses over the axes of figures 2.6 to 2.10",
    rows={
        **{loss: {"loss": loss, "label": 100.0, "reach": 9900.0, "delta": 1.0} for loss in ("mse", "mae")},
        **{
            f"huber-{delta:g}": {"loss": "huber", "label": 0.0, "reach": 50.0, "delta": delta}
            for delta in (0.1, 1.0, 10.0)
        },
        "log-cosh": {"loss": "log-cosh", "label": 0.0, "reach": 10.0, "delta": 1.0},
    },
    scales=by_scale(),
    data=subset(DATA, "curves"),
    run=curves.run_loss_curve,
    deterministic=True,
)

ACTIVATION_CURVES = Experiment(
    name="optimisation/activation-curves",
    title="Activation functions over the axes of figures 2.15 and 2.16",
    rows={name: {"activation": name} for name in ("tanh", "elish", "hard-elish")},
    scales=by_scale(),
    data=subset(DATA, "curves"),
    run=curves.run_activation_curve,
    deterministic=True,
)

APPROACH = Experiment(
    name="optimisation/approach",
    title="Gradient descent on a single number at a fixed rate",
    rows={
        **{
            loss: {"loss": loss, "target": 100.0, "distance": 10.0, "rate": 0.3}
            for loss in ("mse", "mae", "huber", "log-cosh")
        },
        "giant-steps": {"loss": "mae", "target": 100.0, "distance": 10.0, "rate": 20.0},
    },
    scales=by_scale(steps=(60, 200, 1000)),
    data=subset(DATA, "number"),
    run=losses.run_approach,
)

OUTLIERS = Experiment(
    name="optimisation/outliers",
    title="The effect of a tenth of corrupted targets on a fitted line",
    rows={loss: {"loss": loss, "share": 0.1, "size": 10.0} for loss in ("mse", "mae", "huber", "log-cosh")},
    scales=by_scale(steps=(30, 200, 600)),
    data=subset(DATA, "diabetes"),
    run=losses.run_outliers,
)

SKEWED = Experiment(
    name="optimisation/skewed",
    title="Targets of which 95 in 100 are equal",
    rows={
        **{loss: {"loss": loss} for loss in ("mse", "mae", "log-cosh")},
        "huber": {"loss": "huber", "delta": 0.1},  # in thousands
        "huber-tight": {"loss": "huber", "delta": 0.02},
        "huber-wide": {"loss": "huber", "delta": 0.5},
    },
    scales=by_scale(steps=(30, 200, 600)),
    data=subset(DATA, "skewed"),
    run=losses.run_skewed,
)

INTERVALS = Experiment(
    name="optimisation/intervals",
    title="An interval for nine targets in ten where the noise grows",
    rows={"quantiles": {"by": "quantiles"}, "spread": {"by": "spread"}, "as-printed": {"by": "printed"}},
    scales=by_scale(steps=(30, 200, 600)),
    data=subset(DATA, "widening"),
    run=losses.run_intervals,
)

MARGIN = Experiment(
    name="optimisation/margin",
    title="A line between two classes: margin, logarithm or square",
    rows={row_name(loss): {"loss": loss} for loss in ("hinge", "log loss", "mse")},
    scales=by_scale(steps=(30, 200, 1000)),
    data=subset(DATA, "tumours"),
    run=losses.run_margin,
)

IMBALANCE = Experiment(
    name="optimisation/imbalance",
    title="Fifteen eights among eight hundred digits, found by focal losses",
    rows={
        "log-loss": {"gamma": 0.0, "alpha": None, "positives": 15},
        "gamma-0.5": {"gamma": 0.5, "alpha": None, "positives": 15},
        "gamma-1": {"gamma": 1.0, "alpha": None, "positives": 15},
        "gamma-2": {"gamma": 2.0, "alpha": None, "positives": 15},
        "gamma-5": {"gamma": 5.0, "alpha": None, "positives": 15},
        "gamma-2-balanced": {"gamma": 2.0, "alpha": 0.75, "positives": 15},
    },
    scales=by_scale(epochs=(1, 6, 20)),
    data=subset(DATA, "digits"),
    run=losses.run_imbalance,
)

EXPERIMENTS = (
    WORKED,
    LOSS_CURVES,
    ACTIVATION_CURVES,
    APPROACH,
    OUTLIERS,
    SKEWED,
    INTERVALS,
    MARGIN,
    IMBALANCE,
)
