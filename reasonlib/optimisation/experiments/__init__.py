"""What the source says of losses, activations and optimisers, as experiments.

The source measures nothing of its own and names no data for most of its sentences. What stands here in their
place is ours: digits (moved by a pixel or two where many are wanted), patients and tumours that come with
scikit-learn, and inputs that we made up.
"""

from typing import Any

from reasonlib.optimisation.experiments import (
    activations,
    batches,
    curves,
    descent,
    losses,
    optimisers,
    search,
)
from reasonlib.optimisation.models.activations import ACTIVATIONS
from reasonlib.tracking.experiment import Experiment, subset

__all__ = ["DATA", "EXPERIMENTS"]

DATA = {
    "worked": "regenerated",  # the probabilities that the source prints
    "curves": "regenerated",  # the axes of the source's figures
    "number": "stand-in",
    "diabetes": "stand-in",
    "skewed": "stand-in",  # the source has the share of targets at 1000, not what the others are
    "widening": "stand-in",
    "tumours": "stand-in",
    "digits": "stand-in",
    "moved-digits": "stand-in",
    "normal": "stand-in",
    "saddle": "regenerated",  # x² - y², the caption of figure 2.18
    "ravine": "stand-in",  # of the other surfaces the source prints no formula
    "beale": "stand-in",
    "rosenbrock": "stand-in",
    "bowl": "stand-in",
    "pits": "stand-in",
    "flat-and-sharp": "stand-in",
    "reddi": "regenerated",  # the problem of Reddi et al. 2018, section 3
}


def _experiment(word: str, **given: Any) -> Experiment:
    return Experiment(name=f"optimisation/{word}", **given)


def _row(name: str) -> str:
    return name.replace(" ", "-")


# Losses -----------------------------------------------------------------------------------------------------

WORKED = _experiment(
    "worked",
    title="The cross-entropy of single predictions, and eq. 2.2 of the same",
    rows={
        "sure-and-wrong": {"p": [0.99, 0.01], "right": 1},
        "undecided": {"p": [0.5, 0.5], "right": 1},
        "three-classes": {"p": [0.7, 0.2, 0.1], "right": 0},
    },
    scales={"smoke": {}, "quick": {}, "paper": {}},
    data=subset(DATA, "worked"),
    run=losses.run_worked,
    deterministic=True,
)

LOSS_CURVES = _experiment(
    "loss-curves",
    title="Regression losses over the axes of figures 2.6 to 2.10",
    rows={
        **{loss: {"loss": loss, "label": 100.0, "reach": 9900.0, "delta": 1.0} for loss in ("mse", "mae")},
        **{
            f"huber-{delta:g}": {"loss": "huber", "label": 0.0, "reach": 50.0, "delta": delta}
            for delta in (0.1, 1.0, 10.0)
        },
        "log-cosh": {"loss": "log-cosh", "label": 0.0, "reach": 10.0, "delta": 1.0},
    },
    scales={"smoke": {}, "quick": {}, "paper": {}},
    data=subset(DATA, "curves"),
    run=curves.run_loss_curve,
    deterministic=True,
)

ACTIVATION_CURVES = _experiment(
    "activation-curves",
    title="Activation functions over the axes of figures 2.15 and 2.16",
    rows={name: {"activation": name} for name in ("tanh", "elish", "hard-elish")},
    scales={"smoke": {}, "quick": {}, "paper": {}},
    data=subset(DATA, "curves"),
    run=curves.run_activation_curve,
    deterministic=True,
)

APPROACH = _experiment(
    "approach",
    title="Gradient descent on a single number at a fixed rate",
    rows={
        **{
            loss: {"loss": loss, "target": 100.0, "distance": 10.0, "rate": 0.3}
            for loss in ("mse", "mae", "huber", "log-cosh")
        },
        "giant-steps": {"loss": "mae", "target": 100.0, "distance": 10.0, "rate": 20.0},
    },
    scales={"smoke": {"steps": 60}, "quick": {"steps": 200}, "paper": {"steps": 1000}},
    data=subset(DATA, "number"),
    run=losses.run_approach,
)

OUTLIERS = _experiment(
    "outliers",
    title="The effect of a tenth of corrupted targets on a fitted line",
    rows={loss: {"loss": loss, "share": 0.1, "size": 10.0} for loss in ("mse", "mae", "huber", "log-cosh")},
    scales={"smoke": {"steps": 30}, "quick": {"steps": 200}, "paper": {"steps": 600}},
    data=subset(DATA, "diabetes"),
    run=losses.run_outliers,
)

SKEWED = _experiment(
    "skewed",
    title="Targets of which 95 in 100 are equal",
    rows={
        **{loss: {"loss": loss} for loss in ("mse", "mae", "log-cosh")},
        "huber": {"loss": "huber", "delta": 0.1},  # in thousands
        "huber-tight": {"loss": "huber", "delta": 0.02},
        "huber-wide": {"loss": "huber", "delta": 0.5},
    },
    scales={"smoke": {"steps": 30}, "quick": {"steps": 200}, "paper": {"steps": 600}},
    data=subset(DATA, "skewed"),
    run=losses.run_skewed,
)

INTERVALS = _experiment(
    "intervals",
    title="An interval for nine targets in ten where the noise grows",
    rows={
        "quantiles": {"by": "quantiles"},
        "spread": {"by": "spread"},
        "as-printed": {"by": "printed"},
    },
    scales={"smoke": {"steps": 30}, "quick": {"steps": 200}, "paper": {"steps": 600}},
    data=subset(DATA, "widening"),
    run=losses.run_intervals,
)

MARGIN = _experiment(
    "margin",
    title="A line between two classes: margin, logarithm or square",
    rows={_row(loss): {"loss": loss} for loss in ("hinge", "log loss", "mse")},
    scales={"smoke": {"steps": 30}, "quick": {"steps": 200}, "paper": {"steps": 1000}},
    data=subset(DATA, "tumours"),
    run=losses.run_margin,
)

IMBALANCE = _experiment(
    "imbalance",
    title="Fifteen eights among eight hundred digits, found by focal losses",
    rows={
        "log-loss": {"gamma": 0.0, "alpha": None, "positives": 15},
        "gamma-0.5": {"gamma": 0.5, "alpha": None, "positives": 15},
        "gamma-1": {"gamma": 1.0, "alpha": None, "positives": 15},
        "gamma-2": {"gamma": 2.0, "alpha": None, "positives": 15},
        "gamma-5": {"gamma": 5.0, "alpha": None, "positives": 15},
        "gamma-2-balanced": {"gamma": 2.0, "alpha": 0.75, "positives": 15},
    },
    scales={"smoke": {"epochs": 1}, "quick": {"epochs": 6}, "paper": {"epochs": 20}},
    data=subset(DATA, "digits"),
    run=losses.run_imbalance,
)

# Activations ------------------------------------------------------------------------------------------------

NAMES = (*ACTIVATIONS, "maxout")
RATES = (0.01, 0.03, 0.1, 0.3)

ACTIVATION = _experiment(
    "activations",
    title="Three hidden layers on digits, by activation, each at its best rate",
    rows={
        **{_row(name): {"activation": name} for name in NAMES},
        "ReLU-dropout": {"activation": "ReLU", "dropout": 0.3},
    },
    scales={
        "smoke": {"epochs": 1, "rates": [0.1]},
        "quick": {"epochs": 6, "rates": [0.03, 0.3]},
        "paper": {"epochs": 12, "rates": list(RATES)},
    },
    data=subset(DATA, "digits"),
    run=activations.run_activation,
)

OVERFITTING = _experiment(
    "overfitting",
    title="The same networks, trained until they have memorised their five hundred digits",
    rows={
        "sigmoid": {"activation": "sigmoid", "rates": [0.03, 0.1, 0.3]},
        "softplus": {"activation": "softplus", "rates": [0.03, 0.1, 0.3]},
        "ReLU": {"activation": "ReLU", "rates": [0.003, 0.01, 0.03]},
        "ReLU-dropout": {"activation": "ReLU", "dropout": 0.3, "rates": [0.003, 0.01, 0.03]},
    },
    scales={"smoke": {"epochs": 1}, "quick": {"epochs": 20}, "paper": {"epochs": 80}},
    data=subset(DATA, "digits"),
    run=activations.run_activation,
)

DEEP = ("sigmoid", "tanh", "softsign", "ReLU", "leaky ReLU", "softplus", "ELU", "swish", "ELiSH", "maxout")

DEPTH = _experiment(
    "depth",
    title="The share of the gradient that reaches the bottom of a deep stack",
    rows={
        **{_row(name): {"activation": name, "scaled": True} for name in DEEP},
        **{f"{_row(name)}-plain": {"activation": name, "scaled": False} for name in DEEP},
    },
    scales={
        "smoke": {"depth": 4, "epochs": 1, "rates": [0.03]},
        "quick": {"depth": 15, "epochs": 2, "rates": [0.01]},
        "paper": {"depth": 15, "epochs": 10, "rates": [0.003, 0.01]},
    },
    data=subset(DATA, "digits"),
    run=activations.run_depth,
)

DEEPER = _experiment(
    "deep",
    title="Fifteen hidden layers on digits, by activation, each at its best rate",
    rows={name: {"activation": name, "depth": 15} for name in ("ReLU", "swish")},
    scales={
        "smoke": {"epochs": 1, "rates": [0.003]},
        "quick": {"epochs": 5, "rates": [0.003, 0.01]},
        "paper": {"epochs": 40, "rates": [0.003, 0.01, 0.03]},
    },
    data=subset(DATA, "digits"),
    run=activations.run_activation,
)

DYING = _experiment(
    "dying",
    title="Dead units after steps that were too large",
    rows={
        **{
            _row(name): {"activation": name, "rate": 2.0}
            for name in ("ReLU", "leaky ReLU", "softplus", "ELU", "swish", "HardELiSH", "sigmoid", "tanh")
        },
        "ReLU-half": {"activation": "ReLU", "rate": 0.5},
        "maxout-half": {"activation": "maxout", "rate": 0.5},
    },
    scales={"smoke": {"epochs": 1}, "quick": {"epochs": 5}, "paper": {"epochs": 20}},
    data=subset(DATA, "digits"),
    run=activations.run_dying,
)

COST = _experiment(
    "cost",
    title="Time of an activation function on this machine",
    rows={_row(name): {"activation": name} for name in activations.TIMED},
    scales={"smoke": {"tries": 3}, "quick": {"tries": 50}, "paper": {"tries": 500}},
    data=subset(DATA, "normal"),
    run=activations.run_cost,
)

# Optimisers -------------------------------------------------------------------------------------------------

SEARCH = _experiment(
    "search",
    title="Weights found at random, by trying steps, and by following the gradient",
    rows={way: {"way": way} for way in ("random", "stepping", "each-weight", "gradient")},
    scales={"smoke": {"evaluations": 20}, "quick": {"evaluations": 300}, "paper": {"evaluations": 2000}},
    data=subset(DATA, "digits"),
    run=search.run_search,
)

BATCHES = _experiment(
    "batches",
    title="Gradient descent on all, on some and on single examples",
    rows={
        "batch": {"batch_size": 500, "falling": False, "rate": 0.1},
        "mini-batch": {"batch_size": 32, "falling": False, "rate": 0.1},
        "stochastic": {"batch_size": 1, "falling": False, "rate": 0.1},
        "mini-batch-falling": {"batch_size": 32, "falling": True, "rate": 0.1},
        "stochastic-falling": {"batch_size": 1, "falling": True, "rate": 0.1},
    },
    scales={
        "smoke": {"epochs": 1, "rates": [0.1], "budget": 0.01},
        "quick": {"epochs": 2, "rates": [0.03, 0.3], "budget": 0.1},
        "paper": {"epochs": 10, "rates": [0.03, 0.3, 1.0], "budget": 0.3},
    },
    data=subset(DATA, "digits"),
    run=batches.run_batches,
)

CROWD = _experiment(
    "crowd",
    title="Gradient descent on all, on some and on single examples, of twenty thousand images",
    rows={
        "batch": {"batch_size": None},
        "mini-batch": {"batch_size": 32},
        "stochastic": {"batch_size": 1},
    },
    scales={
        "smoke": {"rates": [0.1], "budget": 0.01},
        "quick": {"rates": [0.03, 0.3], "budget": 0.1},
        "paper": {"rates": [0.01, 0.03, 0.1, 0.3, 1.0], "budget": 0.3},
    },
    data=subset(DATA, "moved-digits"),
    run=batches.run_crowd,
)

RATE = _experiment(
    "rates",
    title="Learning rates: too low, too high, in between, and decaying",
    rows={
        "low": {"rate": 0.001, "end": 0.001},
        "middle": {"rate": 0.3, "end": 0.3},
        "high": {"rate": 3.0, "end": 3.0},
        "falling": {"rate": 1.0, "end": 0.03},
    },
    scales={"smoke": {"epochs": 1}, "quick": {"epochs": 8}, "paper": {"epochs": 40}},
    data=subset(DATA, "digits"),
    run=optimisers.run_rates,
)

NETWORK = _experiment(
    "networks",
    title="Two hidden layers on digits, by optimiser, each at its best rate",
    rows={
        "gradient-descent": {"optimiser": "gradient descent", "between": [0.03, 3.0]},
        "momentum": {"optimiser": "momentum", "between": [0.003, 0.3]},
        "Nesterov": {"optimiser": "Nesterov", "between": [0.003, 0.3]},
        "Adagrad": {"optimiser": "Adagrad", "between": [0.001, 0.3]},
        "rootless-Adagrad": {"optimiser": "rootless Adagrad", "between": [1e-6, 1.0]},
        "Adadelta": {"optimiser": "Adadelta", "between": [0.1, 10.0]},
        "Adadelta-as-given": {"optimiser": "Adadelta", "between": [1.0, 1.0]},  # its paper has no rate
        "Adam": {"optimiser": "Adam", "between": [0.0003, 0.03]},
        "AMSGrad": {"optimiser": "AMSGrad", "between": [0.0003, 0.03]},
        "AdamW": {"optimiser": "AdamW", "between": [0.0003, 0.03], "options": {"decay": 1.0}},
    },
    scales={
        "smoke": {"epochs": 1, "rates": 1},
        "quick": {"epochs": 5, "rates": 3},
        "paper": {"epochs": 20, "rates": 5},
    },
    data=subset(DATA, "digits"),
    run=optimisers.run_network,
)

GROUND = subset(DATA, "saddle", "ravine", "beale", "rosenbrock", "bowl")
RACERS = ("gradient descent", "momentum", "Nesterov", "Adagrad", "Adadelta", "Adam")

RACE = _experiment(
    "race",
    title="Descent on surfaces, each optimiser at its best rate",
    rows={
        **{_row(name): {"optimiser": name, "tune": name} for name in (*RACERS, "rootless Adagrad")},
        "momentum-same-rate": {"optimiser": "momentum", "tune": "gradient descent"},
    },
    scales={
        "smoke": {"starts": 2, "steps": 20, "choices": 2},
        "quick": {"starts": 5, "steps": 200, "choices": 11},
        "paper": {"starts": 20, "steps": 500, "choices": 21},
    },
    data=GROUND,
    run=descent.run_race,
)

RACE_AS_GIVEN = _experiment(
    "race-as-given",
    title="Descent on surfaces, all at a rate of 0.01, and Adadelta at its default",
    rows={_row(name): {"optimiser": name, "rate": 1.0 if name == "Adadelta" else 0.01} for name in RACERS},
    scales={
        "smoke": {"starts": 2, "steps": 20},
        "quick": {"starts": 5, "steps": 400},
        "paper": {"starts": 20, "steps": 2000},
    },
    data=GROUND,
    run=descent.run_race,
)

PITS = _experiment(
    "pits",
    title="The minimum that a descent reaches from random starts",
    rows={
        "gradient-descent": {"optimiser": "gradient descent", "rate": 0.05, "noise": None},
        "noisy": {"optimiser": "gradient descent", "rate": 0.05, "noise": 2.0},
        "momentum": {"optimiser": "momentum", "rate": 0.05, "noise": None},
        "Adam": {"optimiser": "Adam", "rate": 0.05, "noise": None},
    },
    scales={
        "smoke": {"starts": 10, "steps": 20},
        "quick": {"starts": 100, "steps": 300},
        "paper": {"starts": 400, "steps": 500},
    },
    data=subset(DATA, "pits", "flat-and-sharp"),
    run=descent.run_pits,
)

RARE = _experiment(
    "rare",
    title="One informative batch in a hundred",
    rows={
        "Adam": {"optimiser": "Adam", "rate": 5.0},
        "AMSGrad": {"optimiser": "AMSGrad", "rate": 5.0},
        "gradient-descent": {"optimiser": "gradient descent", "rate": 0.05},
        "Adagrad": {"optimiser": "Adagrad", "rate": 5.0},
    },
    scales={"smoke": {"steps": 100}, "quick": {"steps": 3000}, "paper": {"steps": 10_000}},
    data=subset(DATA, "reddi"),
    run=descent.run_rare,
)

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        WORKED,
        LOSS_CURVES,
        ACTIVATION_CURVES,
        APPROACH,
        OUTLIERS,
        SKEWED,
        INTERVALS,
        MARGIN,
        IMBALANCE,
        ACTIVATION,
        OVERFITTING,
        DEPTH,
        DEEPER,
        DYING,
        COST,
        SEARCH,
        BATCHES,
        CROWD,
        RATE,
        NETWORK,
        RACE,
        RACE_AS_GIVEN,
        PITS,
        RARE,
    )
}
