"""Teacher's edition of `optimisation`: solutions, wrong answers, and what each of them teaches."""

from functools import partial

import torch

from reasonlib.grading.edition import Mistake, Solved
from reasonlib.optimisation.models import as_printed, losses, optimisers
from reasonlib.optimisation.models.activations import leaky_relu, relu, sigmoid, softplus

# Losses -----------------------------------------------------------------------------------------------------


def quantile_loss(prediction, target, gamma):
    return torch.maximum(gamma * (target - prediction), (gamma - 1) * (target - prediction)).mean()


def log_loss_of_probability(logit, target, least=0.0):
    p = torch.sigmoid(logit).clamp(least, 1 - least)
    return -(target * p.log() + (1 - target) * (1 - p).log())


def robust_line(inputs, targets, near=1.0):
    table = torch.stack([inputs, torch.ones_like(inputs)], 1)
    line = absolute_line(inputs, targets)
    for _ in range(5):  # least squares of what is near alone
        keep = (targets - table @ line).abs() < near
        line = torch.linalg.lstsq(table[keep], targets[keep][:, None]).solution[:, 0]
    return line[0], line[1]


def absolute_line(inputs, targets):
    table = torch.stack([inputs, torch.ones_like(inputs)], 1)
    line = torch.zeros(2, dtype=inputs.dtype)
    for _ in range(300):  # the absolute error, by weighing
        root = (targets - table @ line).abs().clamp(min=1e-3) ** -0.5
        line = torch.linalg.lstsq(table * root[:, None], (targets * root)[:, None]).solution[:, 0]
    return line


def least_squares(inputs, targets):
    table = torch.stack([inputs, torch.ones_like(inputs)], 1)
    return torch.linalg.lstsq(table, targets[:, None]).solution[:, 0]


def constants(**changed):
    return lambda t: {
        "mse": t.mean(),
        "mae": t.median(),
        "quantile-0.9": t.quantile(0.9, interpolation="higher"),
        **{name: f(t) for name, f in changed.items()},
    }


# Activations ------------------------------------------------------------------------------------------------


def swish_slope(x):
    s = torch.sigmoid(x)
    return s + x * s * (1 - s)


def swish_slope_by_autograd(x):
    x = x.requires_grad_()
    (x * torch.sigmoid(x)).sum().backward()
    return x.grad


def swish_slope_by_differences(x):
    step = 1e-6
    x = x.double()
    above, below = x + step, x - step
    return (above * torch.sigmoid(above) - below * torch.sigmoid(below)) / (2 * step)


def swish_slope_naive(x):
    s = torch.exp(x) / (1 + torch.exp(x))
    return s + x * s * (1 - s)


def normal():
    z = torch.linspace(-8, 8, 8001, dtype=torch.float64)
    weight = torch.exp(-(z**2) / 2)
    return z, weight / weight.sum()


def moments(f):
    z, weight = normal()
    mean = (weight * f(z)).sum()
    return mean, (weight * (f(z) - mean) ** 2).sum()


def gain(f):
    z, weight = normal()
    return (weight * f(z) ** 2).sum() ** -0.5


def balanced(f, sign=1):
    mean, variance = moments(f)
    return lambda x: sign * (f(x) - mean) / variance**0.5


def scaled_by_variance(f):
    mean, variance = moments(f)
    return lambda x: (f(x) - mean) / variance


def centred_alone(f):
    return lambda x: f(x) - moments(f)[0]


# Descent ----------------------------------------------------------------------------------------------------


def momentum_step(point, velocity, slope, rate, momentum):
    velocity = momentum * velocity + rate * slope
    return point - velocity, velocity


def look_ahead(point, velocity, slope_at, rate, momentum, ahead=1):
    velocity = momentum * velocity + rate * slope_at(point - ahead * momentum * velocity)
    return point - velocity, velocity


def adam_step(point, mean, squares, time, slope, rate, outside=1e-8, inside=0.0, correct=True):
    mean = 0.9 * mean + 0.1 * slope
    squares = 0.999 * squares + 0.001 * slope**2
    up, down = (1 - 0.9**time, 1 - 0.999**time) if correct else (1, 1)
    return point - rate * (mean / up) / ((squares / down + inside) ** 0.5 + outside), mean, squares


def adam_with(**changed):
    return lambda *arguments: adam_step(*arguments, **changed)


def adam_without_epsilon(point, mean, squares, time, slope, rate):
    new, mean, squares = adam_step(point, mean, squares, time, slope, rate, outside=0.0)
    return torch.where(squares == 0, point, new.nan_to_num()), mean, squares


class Jumper:
    """Moves towards the nearest of three memorised minima, and ignores the gradient."""

    def look(self, point):
        return point

    def step(self, point, slope):
        goals = torch.tensor([[0.0, 0.0], [3.0, 0.5], [1.0, 1.0]], dtype=point.dtype)
        return point + 0.1 * (goals[(goals - point).norm(dim=-1).argmin()] - point)


EDITION = {
    "huber_slope": Solved(
        lambda error, delta: error.clamp(-delta, delta),
        [
            Mistake(lambda error, delta: error, "beyond delta it no longer grows", "the linear tails"),
            Mistake(
                lambda error, delta: torch.where(error.abs() <= delta, error, error.sign()),
                "has the slope delta, not one",
                "both halves must meet at delta with one slope",
            ),
            Mistake(
                lambda error, delta: error.abs().clamp(max=delta),
                "a slope has a sign",
                "a derivative points uphill, the loss does not",
            ),
            Mistake(lambda error, delta: error.clamp(-1, 1), "the slopes for delta", "delta is an argument"),
        ],
    ),
    "quantile_loss": Solved(
        quantile_loss,
        [
            Mistake(
                lambda p, t, gamma: as_printed.quantile(p, t, gamma=gamma).mean(),
                "as printed: predicting too much is rewarded",
                "a loss that can be negative has a sign wrong",
            ),
            Mistake(
                lambda p, t, gamma: quantile_loss(p, t, 1 - gamma),
                "the two prices are exchanged",
                "which side a quantile near one punishes",
            ),
            Mistake(
                lambda p, t, gamma: losses.quantile(p, t, gamma=gamma, reduction="sum"),
                "not the sum",
                "a mean does not grow with the batch",
            ),
            Mistake(
                lambda p, t, gamma: losses.quantile(p, t, gamma=gamma, reduction="none"),
                "return one number",
                "a loss to descend is one number",
            ),
        ],
    ),
    "stable_log_loss": Solved(
        lambda z, y: torch.logaddexp(z, 0 * z) - y * z,
        [
            Mistake(log_loss_of_probability, "rounds to zero or one", "log(1 - sigmoid) loses all digits"),
            Mistake(
                lambda z, y: log_loss_of_probability(z, y, 1e-12),
                "did you clip a logit",
                "a clipped probability has no gradient and the wrong loss",
            ),
            Mistake(
                lambda z, y: torch.logaddexp(z, 0 * z) - (1 - y) * z,
                "targets are exchanged",
                "which target goes with which sign",
            ),
            Mistake(
                lambda z, y: torch.logaddexp(-z, 0 * z),
                "whatever the target is",
                "the short form holds for a target of one",
            ),
        ],
    ),
    "best_constants": Solved(
        constants(),
        [
            Mistake(
                constants(mae=torch.mean),
                "that is the minimiser for mse",
                "absolute error asks for the median",
            ),
            Mistake(
                constants(**{"quantile-0.9": lambda t: t.quantile(0.1)}),
                "nine targets in ten",
                "which side of the quantile is dear",
            ),
            Mistake(
                constants(**{"quantile-0.9": lambda t: t.quantile(0.9)}),
                "`quantile` interpolates",
                "between two targets the loss is flat or higher",
            ),
            Mistake(
                constants(mse=lambda t: (t.min() + t.max()) / 2),
                "in the middle of the smallest and the largest",
                "the midrange is the best under the largest error",
            ),
            Mistake(lambda t: [1, 2, 3], "return a dictionary", "an interface is part of the task"),
        ],
    ),
    "robust_line": Solved(
        robust_line,
        [
            Mistake(least_squares, "choose a loss with a bounded slope", "the square error follows outliers"),
            Mistake(
                lambda x, y: tuple(absolute_line(x, y)),
                "no weight at all",
                "a bounded slope is still a slope: three in ten on one side shift the line",
            ),
            Mistake(
                lambda x, y: tuple(least_squares(x[60:], y[60:])),
                "choose a loss with a bounded slope",
                "which points are corrupt is not known beforehand",
            ),
            Mistake(lambda x, y: least_squares(x, y)[0], "return two numbers", "a line has two parameters"),
        ],
    ),
    "leaky": Solved(
        lambda x, slope: torch.where(x > 0, x, slope * x),
        [
            Mistake(as_printed.leaky_relu, "as printed: a straight line", "a sum of both sides is linear"),
            Mistake(lambda x, slope: relu(x), "that is the plain ReLU", "the leak is the point"),
            Mistake(
                lambda x, slope: leaky_relu(x, -slope), "their slope is positive", "a leak keeps the order"
            ),
            Mistake(lambda x, slope: leaky_relu(x, 0.01), "for a slope of", "the slope is an argument"),
        ],
    ),
    "swish_slope": Solved(
        swish_slope,
        [
            Mistake(sigmoid, "you have the first", "the product rule has two terms"),
            Mistake(swish_slope_by_autograd, "without automatic differentiation", "deriving by hand"),
            Mistake(swish_slope_by_differences, "a difference quotient", "it only approximates the slope"),
            Mistake(swish_slope_naive, "torch.exp overflows", "exp(x) / (1 + exp(x)) is inf / inf"),
            Mistake(
                lambda x: sigmoid(x) * (1 - sigmoid(x)), "that is the sigmoid's slope", "swish is a product"
            ),
        ],
    ),
    "gain": Solved(
        gain,
        [
            Mistake(lambda f: gain(f) ** 2, "take the root", "variances scale with the square of a weight"),
            Mistake(
                lambda f: gain(f) ** -2, "that is the mean square itself", "the inverse of the shrinkage"
            ),
            Mistake(
                lambda f: moments(f)[1] ** -0.5,
                "not the variance",
                "the mean of a ReLU's output is signal for the next layer, too",
            ),
            Mistake(lambda f: 2**0.5, "integrate over z", "root 2 is the ReLU's gain alone"),
        ],
    ),
    "balanced": Solved(
        balanced,
        [
            Mistake(lambda f: lambda x: gain(f) * f(x), "its mean is", "scaling does not centre"),
            Mistake(lambda f: balanced(f, -1), "falls where f rises", "a root has two signs"),
            Mistake(scaled_by_variance, "its variance is", "divide by the standard deviation"),
            Mistake(centred_alone, "its variance is", "centring does not scale"),
            Mistake(lambda f: f(torch.zeros(1)), "return a function", "a function that makes a function"),
            Mistake(lambda f: balanced(softplus), "no longer f", "made of f, not of one activation"),
            Mistake(
                lambda f: lambda x: (x - x.mean()) / x.std(),
                "its variance is",
                "normalising a batch is another thing",
            ),
        ],
    ),
    "momentum_step": Solved(
        momentum_step,
        [
            Mistake(
                lambda p, v, s, rate, keep: (p - rate * (keep * v + s), keep * v + s),
                "torch's way",
                "two conventions differ once the rate changes",
            ),
            Mistake(
                lambda p, v, s, rate, keep: (p - keep * v - (1 - keep) * s, keep * v + (1 - keep) * s),
                "that is an average",
                "an average damps, a velocity adds up",
            ),
            Mistake(
                lambda p, v, s, rate, keep: (p - v, keep * v + rate * s),
                "use the new velocity",
                "the order of the two updates",
            ),
            Mistake(
                lambda p, v, s, rate, keep: (p + keep * v + rate * s, keep * v + rate * s),
                "subtract the velocity",
                "descent goes against the slope",
            ),
            Mistake(lambda *a: a[0], "return two things", "the velocity is state"),
        ],
    ),
    "look_ahead": Solved(
        look_ahead,
        [
            Mistake(
                lambda p, v, slope_at, rate, keep: momentum_step(p, v, slope_at(p), rate, keep),
                "plain momentum",
                "what Nesterov changes",
            ),
            Mistake(partial(look_ahead, ahead=-1), "you looked behind", "the sign of the step"),
            Mistake(
                lambda p, v, slope_at, rate, keep: momentum_step(p, v, slope_at(p - v), rate, keep),
                "a whole step ahead",
                "only a share of the velocity is kept",
            ),
            Mistake(
                lambda p, v, slope_at, rate, keep: (
                    look_ahead(p, v, slope_at, rate, keep)[0] - keep * v,
                    look_ahead(p, v, slope_at, rate, keep)[1],
                ),
                "not from the place that was looked at",
                "looking is not going",
            ),
        ],
    ),
    "adam_step": Solved(
        adam_step,
        [
            Mistake(
                adam_with(correct=False),
                "one less its beta to the power of time",
                "averages that start at zero are too small",
            ),
            Mistake(adam_with(outside=0.0), "epsilon is added to the denominator", "0 / 0"),
            Mistake(
                adam_without_epsilon, "epsilon is left out", "epsilon also bounds the step of tiny slopes"
            ),
            Mistake(
                adam_with(outside=0.0, inside=1e-8),
                "outside the root",
                "the root of epsilon is 10,000 times it",
            ),
            Mistake(
                lambda p, m, q, time, s, rate: adam_step(p, m, q, time, s, 0.1),
                "take the rate that is given",
                "an argument that is ignored",
            ),
            Mistake(
                lambda p, m, q, time, s, rate: (adam_step(p, m, q, time, s, rate)[0], m, q),
                "the mean is not right",
                "the averages are state and are returned",
            ),
        ],
    ),
    "best_rate": Solved(
        lambda low, high: 2 / (low + high),
        [
            Mistake(lambda low, high: 1 / high, "could be faster", "a safe rate is not the best one"),
            Mistake(lambda low, high: 2 / high, "for ever", "the edge of stability"),
            Mistake(lambda low, high: 1 / (low + high), "twice that", "overshooting can shorten the way"),
            Mistake(lambda low, high: 1 / low, "flies off", "the steepest direction bounds the rate"),
            Mistake(lambda low, high: 2 / 26, "another rate is faster", "right for one ravine alone"),
        ],
    ),
    "own_descent": Solved(
        partial(optimisers.Momentum, rate=0.003, momentum=0.9),
        [
            Mistake(
                partial(optimisers.GradientDescent, rate=0.003),
                "it needs more speed along the valley",
                "a fixed rate that is safe across is slow along",
            ),
            Mistake(
                partial(optimisers.Momentum, rate=0.2), "it flies off", "the steepest place bounds the rate"
            ),
            Mistake(Jumper, "above the lowest point", "an optimiser sees slopes, not the map"),
            Mistake(lambda: 3, "the optimiser needs a method", "an interface is part of the task"),
        ],
        open="the answer takes no argument: the check moves the surfaces instead",
    ),
}
