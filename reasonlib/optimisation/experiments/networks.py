"""What the source says of activations and of optimisers in networks, tried on handwritten digits.

Each `run_...` measures one row of an experiment; see `reasonlib.optimisation.experiments`. Where rows are
compared, each has its own rate: the best of a list, chosen on examples that are not those of the test.

Axes: B examples, U units of a layer.
"""

import math
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from reasonlib.optimisation.models import optimisers
from reasonlib.optimisation.models.activations import ACTIVATIONS, Maxout
from reasonlib.optimisation.models.losses import cross_entropy
from reasonlib.optimisation.models.network import (
    Examples,
    Network,
    accuracy,
    digits,
    gradient,
    learn,
    minibatches,
    rates,
)
from reasonlib.tracking.experiment import Measured, Trial

__all__ = [
    "LEARNT",
    "METHODS",
    "derivatives",
    "gradient_norms",
    "idle_pieces",
    "moved_digits",
    "own_rate",
    "run_activation",
    "run_batches",
    "run_cost",
    "run_crowd",
    "run_depth",
    "run_dying",
    "run_network",
    "run_rates",
    "run_search",
    "search",
]

LEARNT = 0.1  # nats a picture: a training loss below this counts as learnt
LAST = 200  # steps at the end of a descent that are looked at one by one
NEVER = 1.0  # epochs added to all there were, where it was not learnt


def _first(history: Sequence[dict[str, float]], epochs: int) -> float:
    """Return the first epoch with a training loss below `LEARNT`."""
    return next((one["epoch"] for one in history if one["loss"] < LEARNT), epochs + NEVER)


@torch.no_grad()
def _loss(model: torch.nn.Module, examples: Examples) -> float:
    return float(cross_entropy(model(examples.inputs), examples.truths))


# Activations ------------------------------------------------------------------------------------------------


def derivatives(model: Network, inputs: Tensor) -> list[Tensor]:
    """Return the slope of each hidden unit for each example, (B, U) a layer; for maxout all are one."""
    slopes = []
    for number, (given, state) in enumerate(model.hidden(inputs)):
        if model.activation == "maxout":
            slopes.append(torch.ones_like(state))
            continue
        at = given.detach().requires_grad_()
        out = model.shapes[number](at) if model.activation == "PELU" else ACTIVATIONS[model.activation](at)
        slopes.append(torch.autograd.grad(out.sum(), at)[0])
    return slopes


def run_activation(trial: Trial) -> Measured:
    """Train a network with one activation, at the best of several rates."""
    given = trial.settings
    split = digits(seed=trial.seed)
    build = {"depth": given.get("depth", 3), "dropout": given.get("dropout", 0.0), "seed": trial.seed}
    tried = []
    for rate in given["rates"]:
        model = Network(given["activation"], **build)
        optimiser = optimisers.Momentum(rate=rate)
        history = learn(model, split.train, optimiser, epochs=given["epochs"], seed=trial.seed)
        tried.append((_loss(model, split.valid), rate, model, history))
    _, rate, model, history = min(tried, key=lambda one: math.inf if math.isnan(one[0]) else one[0])
    with torch.no_grad():
        states = [state for _, state in model.hidden(split.train.inputs)]
    flat = [slope.abs().amax(0) for slope in derivatives(model, split.train.inputs)]
    return Measured(
        metrics={
            "accuracy": accuracy(model, split.test),
            "epochs": min(_first(one[3], given["epochs"]) for one in tried),
            "gap": _loss(model, split.test) - _loss(model, split.train),
            "mean": sum(abs(float(state.mean())) for state in states) / len(states),
            "dead": float(torch.cat(flat).eq(0).float().mean()),
            "parameters": float(sum(weights.numel() for weights in model.parameters())),
            "rate": rate,
        },
        steps_done=len(history),
        steps_planned=len(history),
        details={"loss": [round(one["loss"], 5) for one in history]},
    )


def gradient_norms(model: Network, examples: Examples) -> list[float]:
    """Return the length of the loss's slope in what each layer's units are given, first layer first."""
    seen = model.hidden(examples.inputs)
    loss = cross_entropy(model.head(seen[-1][1]), examples.truths)
    return [float(slope.norm()) for slope in torch.autograd.grad(loss, [given for given, _ in seen])]


def run_depth(trial: Trial) -> Measured:
    """Send a gradient down a deep stack before training, then train the stack."""
    given = trial.settings
    split = digits(seed=trial.seed)
    build = {"depth": given["depth"], "scaled": given["scaled"], "seed": trial.seed}
    norms = gradient_norms(Network(given["activation"], **build), split.train)
    best, done = 0.0, 0
    for rate in given["rates"]:
        model = Network(given["activation"], **build)
        history = learn(
            model, split.train, optimisers.Momentum(rate=rate), epochs=given["epochs"], seed=trial.seed
        )
        done += len(history)
        best = max(best, accuracy(model, split.valid))
    return Measured(
        metrics={"reach": math.log10(max(norms[0], 1e-30) / norms[-1]), "accuracy": best},
        steps_done=done,
        steps_planned=done,
        details={"norms": norms},
    )


@torch.no_grad()
def idle_pieces(model: Network, inputs: Tensor) -> float:
    """Share of the pieces of a network's maxout units that win for no example: they get no gradient."""
    won, state = [], inputs
    for layer in model.layers:
        assert isinstance(layer, Maxout)
        pieces = layer.linear(state).unflatten(-1, (layer.units, layer.pieces))
        won.append((pieces == pieces.amax(-1, keepdim=True)).any(0).reshape(-1))
        state = pieces.amax(-1)
    return float(1 - torch.cat(won).float().mean())


def run_dying(trial: Trial) -> Measured:
    """Train with steps that are too large, and count the units that no example moves any more."""
    given = trial.settings
    split = digits(seed=trial.seed)
    model = Network(given["activation"], depth=2, seed=trial.seed)
    history = learn(
        model,
        split.train,
        optimisers.GradientDescent(rate=given["rate"]),
        epochs=given["epochs"],
        seed=trial.seed,
    )
    most = torch.cat([slope.abs().amax(0) for slope in derivatives(model, split.train.inputs)])
    metrics = {
        "dead": float(most.eq(0).float().mean()),
        "stuck": float((most < 1e-3).float().mean()),
        "accuracy": accuracy(model, split.test),
    }
    if given["activation"] == "maxout":
        metrics["idle"] = idle_pieces(model, split.train.inputs)
    return Measured(
        metrics=metrics,
        steps_done=len(history),
        steps_planned=len(history),
    )


TIMED: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "hard sigmoid": F.hardsigmoid,
    "tanh": torch.tanh,
    "hard tanh": F.hardtanh,
    "ReLU": torch.relu,
    "softplus": F.softplus,
    "ELU": F.elu,
    "swish": F.silu,
}


def run_cost(trial: Trial) -> Measured:
    """Time torch's own version of an activation on a hundred thousand numbers: the best of many tries."""
    given = trial.settings
    numbers = torch.randn(100_000, generator=torch.Generator().manual_seed(trial.seed))
    function = TIMED[given["activation"]]
    best = math.inf
    for _ in range(given["tries"]):
        start = time.perf_counter()
        function(numbers)
        best = min(best, time.perf_counter() - start)
    return Measured(
        metrics={"nanoseconds": 1e9 * best / len(numbers)},
        steps_done=given["tries"],
        steps_planned=given["tries"],
    )


# Optimisers in a network ------------------------------------------------------------------------------------

METHODS: dict[str, Callable[..., Any]] = {
    **optimisers.OPTIMISERS,
    "rootless Adagrad": optimisers.RootlessAdagrad,
    "AMSGrad": optimisers.AMSGrad,
    "AdamW": optimisers.AdamW,
}


def own_rate(optimiser: Any) -> float | None:
    """Return the middle of the rates that single weights have, where an optimiser gives each its own."""
    if isinstance(optimiser, optimisers.Adagrad):
        return float((optimiser.rate / torch.sqrt(torch.as_tensor(optimiser.squares) + 1e-8)).median())
    if isinstance(optimiser, optimisers.RootlessAdagrad):
        return float((optimiser.rate / (torch.as_tensor(optimiser.squares) + 1e-8)).median())
    if isinstance(optimiser, optimisers.Adadelta) and optimiser.steps is not None:
        ratio = (optimiser.steps + optimiser.epsilon) / (torch.as_tensor(optimiser.squares) + 1e-6)
        return float(ratio.sqrt().median())
    return None


def run_network(trial: Trial) -> Measured:
    """Train a small network with one optimiser at the best of several rates."""
    given = trial.settings
    split = digits(seed=trial.seed)
    low, high = given["between"]
    tried = []
    for rate in rates(low, high, given["rates"]):
        model = Network("ReLU", depth=2, seed=trial.seed)
        optimiser = METHODS[given["optimiser"]](rate=rate, **given.get("options", {}))
        seen: dict[int, float] = {}

        def look(number: int, optimiser: Any = optimiser, seen: dict[int, float] = seen) -> None:
            own = own_rate(optimiser)
            if own is not None:
                seen[number] = own

        history = learn(model, split.train, optimiser, epochs=given["epochs"], seed=trial.seed, on_step=look)
        tried.append((_loss(model, split.train), rate, model, history, seen))
    loss, rate, model, history, seen = min(tried, key=lambda one: math.inf if math.isnan(one[0]) else one[0])
    metrics = {
        "loss": loss,
        "log_loss": math.log10(max(loss, 1e-12)),
        "accuracy": accuracy(model, split.test),
        "epochs": min(_first(one[3], given["epochs"]) for one in tried),
        "rate": rate,
    }
    if seen:
        metrics["rate_left"] = seen[max(seen)] / seen[min(seen)]
        middle = history[len(history) // 2]["loss"]
        metrics["late_progress"] = (middle - history[-1]["loss"]) / middle
    return Measured(
        metrics=metrics,
        steps_done=len(history),
        steps_planned=len(history),
        details={
            "loss": [round(one["loss"], 6) for one in history],
            "own_rate": [seen[number] for number in sorted(seen)][:: max(1, len(seen) // 40)],
        },
    )


def run_rates(trial: Trial) -> Measured:
    """Train a small network at one rate, or at one that falls, and see where the loss ends."""
    given = trial.settings
    split = digits(seed=trial.seed)
    model = Network("ReLU", depth=2, seed=trial.seed)
    start, end = given["rate"], given["end"]
    planned = given["epochs"] * math.ceil(len(split.train.truths) / 32)

    def schedule(number: int) -> float:
        return start * (end / start) ** (number / max(1, planned - 1))

    optimiser = optimisers.GradientDescent(rate=start)
    history = learn(model, split.train, optimiser, epochs=given["epochs"], schedule=schedule, seed=trial.seed)
    loss = _loss(model, split.train)
    worst = math.log(10)  # of a network that says nothing
    return Measured(
        metrics={
            "loss": loss if math.isfinite(loss) else worst,
            "log_loss": math.log10(loss) if math.isfinite(loss) and loss > 0 else math.log10(worst),
            "epochs": _first(history, given["epochs"]),
            "accuracy": accuracy(model, split.test),
        },
        steps_done=len(history),
        steps_planned=len(history),
        details={"loss": [round(one["loss"], 6) for one in history]},
    )


# Batches ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _lowest(seed: int) -> float:
    """Return the lowest loss a linear classifier with a little decay can have on the training digits."""
    examples = digits(seed=seed).train
    model = Network("ReLU", depth=0, seed=seed).double()
    inputs = examples.inputs.double()
    descent = torch.optim.LBFGS(model.parameters(), max_iter=2000, tolerance_grad=1e-9, tolerance_change=0)

    def again() -> Tensor:
        descent.zero_grad()
        loss = _decayed(model, model(inputs), examples.truths)
        loss.backward()
        return loss

    descent.step(again)
    with torch.no_grad():
        return float(_decayed(model, model(inputs), examples.truths))


def _decayed(model: torch.nn.Module, logits: Tensor, truths: Tensor) -> Tensor:
    """Cross-entropy with a little decay, so that there is one lowest point."""
    square = torch.stack([(weights**2).sum() for weights in model.parameters()]).sum()
    return cross_entropy(logits, truths) + 0.005 * square


def run_batches(trial: Trial) -> Measured:
    """Train a linear classifier with the gradient of all, some or single examples."""
    given = trial.settings
    examples = digits(seed=trial.seed).train
    size = min(given["batch_size"], len(examples.truths))
    floor = _lowest(trial.seed)

    def whole(model: Network) -> float:
        with torch.no_grad():
            return float(_decayed(model, model(examples.inputs), examples.truths)) - floor

    def train(
        rate: float, epochs: int, falling: bool = False, watch: bool = False
    ) -> tuple[list[float], float]:
        model = Network("ReLU", depth=0, seed=trial.seed)
        gaps: list[float] = []
        steps = epochs * math.ceil(len(examples.truths) / size)
        often = max(1, steps // 1000)

        def look(number: int) -> None:  # now and then, and after each of the last steps
            if number % often == 0 or number > steps - LAST:
                gaps.append(whole(model))

        def schedule(number: int) -> float:
            return rate / (1 + 19 * number / steps) if falling else rate

        start = time.process_time()
        learn(
            model,
            examples,
            optimisers.GradientDescent(rate=rate),
            loss=lambda logits, truths: _decayed(model, logits, truths),
            batch_size=size,
            epochs=epochs,
            schedule=schedule,
            seed=trial.seed,
            on_step=look if watch else None,
        )
        seconds = time.process_time() - start
        return gaps or [whole(model)], seconds

    first = [train(rate, 1) for rate in given["rates"]]
    seconds = min(one[1] for one in first)
    gaps, _ = train(given["rate"], given["epochs"], given["falling"], watch=True)
    end = torch.tensor(gaps[-LAST:])
    timed = []
    if not given["falling"]:  # as many passes as the same time allows
        passes = max(1, round(given["budget"] / seconds))
        timed = [train(rate, passes)[0][-1] for rate in given["rates"]]
    model = Network("ReLU", depth=0, seed=trial.seed)
    true = gradient(model, _decayed(model, model(examples.inputs), examples.truths))
    draw = torch.Generator().manual_seed(trial.seed)
    apart = [
        float(((gradient(model, _decayed(model, model(x), y)) - true) ** 2).sum())
        for x, y in list(minibatches(examples, size, draw))[:200]
    ]
    steps = math.ceil(len(examples.truths) / size)
    metrics = {
        "after_one_pass": min(gap for (gap, *_), _ in first if math.isfinite(gap)),
        "gap": float(end.mean()),
        "uphill": float((end.diff() > 0).double().mean()) if len(end) > 1 else 0.0,
        "variance": sum(apart) / len(apart) / float((true**2).sum()),
        "pass_seconds": seconds,
        "update_seconds": seconds / steps,
        "held": float(size),
    }
    if timed:
        metrics["gap_in_time"] = min(gap for gap in timed if math.isfinite(gap))
    return Measured(
        metrics=metrics,
        steps_done=given["epochs"],
        steps_planned=given["epochs"],
        details={"gaps": [round(gap, 6) for gap in gaps[:: max(1, len(gaps) // 100)]]},
    )


@lru_cache(maxsize=16)
def moved_digits(seed: int, number: int = 800) -> Examples:
    """Return `number` digits, each at 25 positions, shifted by up to two pixels in each direction."""
    examples = digits(number, seed=seed).train
    pictures = F.pad(examples.inputs.unflatten(1, (8, 8)), (2, 2, 2, 2), value=float(examples.inputs.min()))
    places = [pictures[:, down : down + 8, right : right + 8] for down in range(5) for right in range(5)]
    return Examples(torch.cat(places).flatten(1), examples.truths.repeat(25))


def run_crowd(trial: Trial) -> Measured:
    """Train one hidden layer on many pictures for a given time, with all, some or one to a step."""
    given = trial.settings
    examples = moved_digits(trial.seed)
    size = given["batch_size"] or len(examples.truths)
    tried = []
    for rate in given["rates"]:
        model = Network("ReLU", depth=1, seed=trial.seed)
        weights = list(model.parameters())
        draw = torch.Generator().manual_seed(trial.seed)
        steps, end = 0, time.process_time() + given["budget"]
        while time.process_time() < end:
            for inputs, truths in minibatches(examples, size, draw):
                slopes = torch.autograd.grad(cross_entropy(model(inputs), truths), weights)
                with torch.no_grad():
                    for weight, slope in zip(weights, slopes, strict=True):
                        weight.sub_(rate * slope)
                steps += 1
                if time.process_time() >= end:
                    break
        loss = _loss(model, examples)
        tried.append((loss if math.isfinite(loss) else math.inf, rate, steps))
    loss, rate, steps = min(tried)
    return Measured(
        metrics={"loss_in_time": loss, "rate": rate, "updates": float(steps)}, steps_done=1, steps_planned=1
    )


# Without a slope --------------------------------------------------------------------------------------------


def search(
    way: str, examples: Examples, *, evaluations: int, seed: int = 0
) -> tuple[Network, list[tuple[int, float]]]:
    """Search the weights of a linear classifier by one of four methods, with a budget of loss evaluations.

    Parameters
    ----------
    way
        ``random`` (draw all weights anew), ``stepping`` (a step in a random direction, kept if it helps),
        ``each-weight`` (one weight up or down, kept if it helps) or ``gradient``, whose every step is counted
        as three looks: one forward and two backward.
    examples
        On all of which the loss is looked at.
    evaluations
        Looks at the loss.
    seed
        Of everything drawn.

    Returns
    -------
    model, trace
        The best classifier, and ``(looks so far, best loss so far)`` at each improvement.
    """
    ways = ("random", "stepping", "each-weight", "gradient")
    if way not in ways:
        raise ValueError(f"way must be one of {', '.join(ways)}, got {way!r}")
    draw = torch.Generator().manual_seed(seed)
    model = Network("ReLU", depth=0, seed=seed)
    weights = list(model.parameters())
    point = torch.nn.utils.parameters_to_vector(weights).detach()
    best, best_loss = point, _loss(model, examples)
    trace = [(1, best_loss)]
    looks = 1
    while looks < evaluations:
        if way == "gradient":
            slope = gradient(model, cross_entropy(model(examples.inputs), examples.truths))
            tried = best - 0.5 * slope
            looks += 3
        elif way == "random":
            tried = torch.randn(point.shape, generator=draw) / 8
            looks += 1
        elif way == "stepping":
            tried = best + 0.03 * torch.randn(point.shape, generator=draw)
            looks += 1
        else:
            tried = best.clone()
            chosen = int(torch.randint(len(point), (1,), generator=draw))
            tried[chosen] += 0.5 if torch.rand(1, generator=draw) < 0.5 else -0.5
            looks += 1
        torch.nn.utils.vector_to_parameters(tried, weights)
        loss = _loss(model, examples)
        if loss < best_loss:
            best, best_loss = tried, loss
            trace.append((looks, loss))
        elif way != "gradient":
            torch.nn.utils.vector_to_parameters(best, weights)
        else:
            break
    torch.nn.utils.vector_to_parameters(best, weights)
    return model, [*trace, (evaluations, best_loss)]


def run_search(trial: Trial) -> Measured:
    """Look for weights in one way and see what the best of them can do."""
    given = trial.settings
    split = digits(seed=trial.seed)
    model, trace = search(given["way"], split.train, evaluations=given["evaluations"], seed=trial.seed)
    return Measured(
        metrics={"loss": trace[-1][1], "accuracy": accuracy(model, split.test)},
        steps_done=given["evaluations"],
        steps_planned=given["evaluations"],
        details={"trace": [[looks, round(loss, 5)] for looks, loss in trace[:: max(1, len(trace) // 60)]]},
    )
