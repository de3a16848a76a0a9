"""Search for the weights of a classifier with and without its gradient."""

import torch

from reasonlib.arguments import check_choice
from reasonlib.optimisation.experiments.measures import mean_loss
from reasonlib.optimisation.models.losses import cross_entropy
from reasonlib.optimisation.models.network import Examples, Network, accuracy, digits, gradient
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["run_search", "search"]


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
    check_choice("way", way, ways)
    draw = torch.Generator().manual_seed(seed)
    model = Network("ReLU", depth=0, seed=seed)
    weights = list(model.parameters())
    point = torch.nn.utils.parameters_to_vector(weights).detach()
    best, best_loss = point, mean_loss(model, examples)
    trace = [(1, best_loss)]
    calls = 1
    while calls < evaluations:
        if way == "gradient":
            slope = gradient(model, cross_entropy(model(examples.inputs), examples.truths))
            candidate = best - 0.5 * slope
            calls += 3
        elif way == "random":
            candidate = torch.randn(point.shape, generator=draw) / 8
            calls += 1
        elif way == "stepping":
            candidate = best + 0.03 * torch.randn(point.shape, generator=draw)
            calls += 1
        else:
            candidate = best.clone()
            chosen = int(torch.randint(len(point), (1,), generator=draw))
            candidate[chosen] += 0.5 if torch.rand(1, generator=draw) < 0.5 else -0.5
            calls += 1
        torch.nn.utils.vector_to_parameters(candidate, weights)
        loss = mean_loss(model, examples)
        if loss < best_loss:
            best, best_loss = candidate, loss
            trace.append((calls, loss))
        elif way != "gradient":
            torch.nn.utils.vector_to_parameters(best, weights)
        else:
            break
    torch.nn.utils.vector_to_parameters(best, weights)
    return model, [*trace, (evaluations, best_loss)]


def run_search(trial: Trial) -> Measured:
    """Look for weights in one way and see what the best of them can do."""
    settings = trial.settings
    split = digits(seed=trial.seed)
    model, trace = search(settings["way"], split.train, evaluations=settings["evaluations"], seed=trial.seed)
    return Measured(
        metrics={"loss": trace[-1][1], "accuracy": accuracy(model, split.test)},
        steps_done=settings["evaluations"],
        steps_planned=settings["evaluations"],
        details={"trace": [[looks, round(loss, 5)] for looks, loss in trace[:: max(1, len(trace) // 60)]]},
    )
