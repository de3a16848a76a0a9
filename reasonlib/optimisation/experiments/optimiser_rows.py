"""The experiments on optimisers, row by row; what a row computes is in the modules beside it."""

from reasonlib.optimisation.experiments import batches, descent, optimisers, search
from reasonlib.optimisation.experiments.data import DATA
from reasonlib.optimisation.experiments.measures import row_name
from reasonlib.tracking.experiment import Experiment, by_scale, family, subset

__all__ = ["EXPERIMENTS"]

_on_digits = family("optimisation", data=subset(DATA, "digits"))

SEARCH = _on_digits(
    "search",
    "Weights found at random, by trying steps, and by following the gradient",
    {way: {"way": way} for way in ("random", "stepping", "each-weight", "gradient")},
    scales=by_scale(evaluations=(20, 300, 2000)),
    run=search.run_search,
)

BATCHES = _on_digits(
    "batches",
    "Gradient descent on all, on some and on single examples",
    {
        "batch": {"batch_size": 500, "falling": False, "rate": 0.1},
        "mini-batch": {"batch_size": 32, "falling": False, "rate": 0.1},
        "stochastic": {"batch_size": 1, "falling": False, "rate": 0.1},
        "mini-batch-falling": {"batch_size": 32, "falling": True, "rate": 0.1},
        "stochastic-falling": {"batch_size": 1, "falling": True, "rate": 0.1},
    },
    scales=by_scale(epochs=(1, 2, 10), rates=([0.1], [0.03, 0.3], [0.03, 0.3, 1.0]), budget=(0.01, 0.1, 0.3)),
    run=batches.run_batches,
)

CROWD = Experiment(
    name="optimisation/crowd",
    title="Gradient descent on all, on some and on single examples, of twenty thousand images",
    rows={
        "batch": {"batch_size": None},
        "mini-batch": {"batch_size": 32},
        "stochastic": {"batch_size": 1},
    },
    scales=by_scale(rates=([0.1], [0.03, 0.3], [0.01, 0.03, 0.1, 0.3, 1.0]), budget=(0.01, 0.1, 0.3)),
    data=subset(DATA, "moved-digits"),
    run=batches.run_crowd,
)

RATE = _on_digits(
    "rates",
    "Learning rates: too low, too high, in between, and decaying",
    {
        "low": {"rate": 0.001, "end": 0.001},
        "middle": {"rate": 0.3, "end": 0.3},
        "high": {"rate": 3.0, "end": 3.0},
        "falling": {"rate": 1.0, "end": 0.03},
    },
    scales=by_scale(epochs=(1, 8, 40)),
    run=optimisers.run_rates,
)

NETWORK = _on_digits(
    "networks",
    "Two hidden layers on digits, by optimiser, each at its best rate",
    {
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
    scales=by_scale(epochs=(1, 5, 20), rates=(1, 3, 5)),
    run=optimisers.run_network,
)

GROUND = subset(DATA, "saddle", "ravine", "beale", "rosenbrock", "bowl")
RACERS = ("gradient descent", "momentum", "Nesterov", "Adagrad", "Adadelta", "Adam")

RACE = Experiment(
    name="optimisation/race",
    title="Descent on surfaces, each optimiser at its best rate",
    rows={
        **{row_name(name): {"optimiser": name, "tune": name} for name in (*RACERS, "rootless Adagrad")},
        "momentum-same-rate": {"optimiser": "momentum", "tune": "gradient descent"},
    },
    scales=by_scale(starts=(2, 5, 20), steps=(20, 200, 500), choices=(2, 11, 21)),
    data=GROUND,
    run=descent.run_race,
)

RACE_AS_GIVEN = Experiment(
    name="optimisation/race-as-given",
    title="Descent on surfaces, all at a rate of 0.01, and Adadelta at its default",
    rows={
        row_name(name): {"optimiser": name, "rate": 1.0 if name == "Adadelta" else 0.01} for name in RACERS
    },
    scales=by_scale(starts=(2, 5, 20), steps=(20, 400, 2000)),
    data=GROUND,
    run=descent.run_race,
)

PITS = Experiment(
    name="optimisation/pits",
    title="The minimum that a descent reaches from random starts",
    rows={
        "gradient-descent": {"optimiser": "gradient descent", "rate": 0.05, "noise": None},
        "noisy": {"optimiser": "gradient descent", "rate": 0.05, "noise": 2.0},
        "momentum": {"optimiser": "momentum", "rate": 0.05, "noise": None},
        "Adam": {"optimiser": "Adam", "rate": 0.05, "noise": None},
    },
    scales=by_scale(starts=(10, 100, 400), steps=(20, 300, 500)),
    data=subset(DATA, "pits", "flat-and-sharp"),
    run=descent.run_pits,
)

RARE = Experiment(
    name="optimisation/rare",
    title="One informative batch in a hundred",
    rows={
        "Adam": {"optimiser": "Adam", "rate": 5.0},
        "AMSGrad": {"optimiser": "AMSGrad", "rate": 5.0},
        "gradient-descent": {"optimiser": "gradient descent", "rate": 0.05},
        "Adagrad": {"optimiser": "Adagrad", "rate": 5.0},
    },
    scales=by_scale(steps=(100, 3000, 10_000)),
    data=subset(DATA, "reddi"),
    run=descent.run_rare,
)

EXPERIMENTS = (SEARCH, BATCHES, CROWD, RATE, NETWORK, RACE, RACE_AS_GIVEN, PITS, RARE)
