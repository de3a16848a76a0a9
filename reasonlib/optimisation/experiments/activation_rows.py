"""The experiments on activations, row by row; what a row computes is in the modules beside it."""

from reasonlib.optimisation.experiments import activations
from reasonlib.optimisation.experiments.data import DATA
from reasonlib.optimisation.experiments.measures import row_name
from reasonlib.optimisation.models.activations import ACTIVATIONS
from reasonlib.tracking.experiment import Experiment, by_scale, family, subset

__all__ = ["EXPERIMENTS"]

NAMES = (*ACTIVATIONS, "maxout")
RATES = (0.01, 0.03, 0.1, 0.3)

_on_digits = family("optimisation", data=subset(DATA, "digits"))

ACTIVATION = _on_digits(
    "activations",
    "Three hidden layers on digits, by activation, each at its best rate",
    {
        **{row_name(name): {"activation": name} for name in NAMES},
        "ReLU-dropout": {"activation": "ReLU", "dropout": 0.3},
    },
    scales=by_scale(epochs=(1, 6, 12), rates=([0.1], [0.03, 0.3], list(RATES))),
    run=activations.run_activation,
)

OVERFITTING = _on_digits(
    "overfitting",
    "The same networks, trained until they have memorised their five hundred digits",
    {
        "sigmoid": {"activation": "sigmoid", "rates": [0.03, 0.1, 0.3]},
        "softplus": {"activation": "softplus", "rates": [0.03, 0.1, 0.3]},
        "ReLU": {"activation": "ReLU", "rates": [0.003, 0.01, 0.03]},
        "ReLU-dropout": {"activation": "ReLU", "dropout": 0.3, "rates": [0.003, 0.01, 0.03]},
    },
    scales=by_scale(epochs=(1, 20, 80)),
    run=activations.run_activation,
)

DEEP = ("sigmoid", "tanh", "softsign", "ReLU", "leaky ReLU", "softplus", "ELU", "swish", "ELiSH", "maxout")

DEPTH = _on_digits(
    "depth",
    "The share of the gradient that reaches the bottom of a deep stack",
    {
        **{row_name(name): {"activation": name, "scaled": True} for name in DEEP},
        **{f"{row_name(name)}-plain": {"activation": name, "scaled": False} for name in DEEP},
    },
    scales=by_scale(depth=(4, 15, 15), epochs=(1, 2, 10), rates=([0.03], [0.01], [0.003, 0.01])),
    run=activations.run_depth,
)

DEEPER = _on_digits(
    "deep",
    "Fifteen hidden layers on digits, by activation, each at its best rate",
    {name: {"activation": name, "depth": 15} for name in ("ReLU", "swish")},
    scales=by_scale(epochs=(1, 5, 40), rates=([0.003], [0.003, 0.01], [0.003, 0.01, 0.03])),
    run=activations.run_activation,
)

DYING = _on_digits(
    "dying",
    "Dead units after steps that were too large",
    {
        **{
            row_name(name): {"activation": name, "rate": 2.0}
            for name in ("ReLU", "leaky ReLU", "softplus", "ELU", "swish", "HardELiSH", "sigmoid", "tanh")
        },
        "ReLU-half": {"activation": "ReLU", "rate": 0.5},
        "maxout-half": {"activation": "maxout", "rate": 0.5},
    },
    scales=by_scale(epochs=(1, 5, 20)),
    run=activations.run_dying,
)

COST = Experiment(
    name="optimisation/cost",
    title="Time of an activation function on this machine",
    rows={row_name(name): {"activation": name} for name in activations.TIMED},
    scales=by_scale(tries=(3, 50, 500)),
    data=subset(DATA, "normal"),
    run=activations.run_cost,
    paired=False,
)

EXPERIMENTS = (ACTIVATION, OVERFITTING, DEPTH, DEEPER, DYING, COST)
