"""The experiments on losses, row by row; what a row computes is in the modules beside it."""

from reasonlib.optimisation.experiments import curves, losses
from reasonlib.optimisation.experiments.data import DATA
from reasonlib.optimisation.experiments.measures import row_name
from reasonlib.tracking.experiment import Experiment, by_scale, family, subset

__all__ = ["EXPERIMENTS"]

_computed = family("optimisation", scales=by_scale(), deterministic=True)

WORKED = _computed(
    "worked",
    "The cross-entropy of single predictions, and eq. 2.2 of the same",
    {
        "sure-and-wrong": {"p": [0.99, 0.01], "right": 1},
        "undecided": {"p": [0.5, 0.5], "right": 1},
        "three-classes": {"p": [0.7, 0.2, 0.1], "right": 0},
    },
    data=subset(DATA, "worked"),
    run=losses.run_worked,
)

LOSS_CURVES = _computed(
    "loss-curves",
    "Regression losses over the axes of figures 2.6 to 2.10",
    {
        **{loss: {"loss": loss, "label": 100.0, "reach": 9900.0, "delta": 1.0} for loss in ("mse", "mae")},
        **{
            f"huber-{delta:g}": {"loss": "huber", "label": 0.0, "reach": 50.0, "delta": delta}
            for delta in (0.1, 1.0, 10.0)
        },
        "log-cosh": {"loss": "log-cosh", "label": 0.0, "reach": 10.0, "delta": 1.0},
    },
    data=subset(DATA, "curves"),
    run=curves.run_loss_curve,
)

ACTIVATION_CURVES = _computed(
    "activation-curves",
    "Activation functions over the axes of figures 2.15 and 2.16",
    {name: {"activation": name} for name in ("tanh", "elish", "hard-elish")},
    data=subset(DATA, "curves"),
    run=curves.run_activation_curve,
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

_line = family("optimisation", scales=by_scale(steps=(30, 200, 600)))

OUTLIERS = _line(
    "outliers",
    "The effect of a tenth of corrupted targets on a fitted line",
    {loss: {"loss": loss, "share": 0.1, "size": 10.0} for loss in ("mse", "mae", "huber", "log-cosh")},
    data=subset(DATA, "diabetes"),
    run=losses.run_outliers,
)

SKEWED = _line(
    "skewed",
    "Targets of which 95 in 100 are equal",
    {
        **{loss: {"loss": loss} for loss in ("mse", "mae", "log-cosh")},
        "huber": {"loss": "huber", "delta": 0.1},  # in thousands
        "huber-tight": {"loss": "huber", "delta": 0.02},
        "huber-wide": {"loss": "huber", "delta": 0.5},
    },
    data=subset(DATA, "skewed"),
    run=losses.run_skewed,
)

INTERVALS = _line(
    "intervals",
    "An interval for nine targets in ten where the noise grows",
    {"quantiles": {"by": "quantiles"}, "spread": {"by": "spread"}, "as-printed": {"by": "printed"}},
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
