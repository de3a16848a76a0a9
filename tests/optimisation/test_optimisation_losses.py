"""Losses: equal to torch's in value and slope, stable, and each asks for its own statistic."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck

from reasonlib.optimisation.models import as_printed, losses

DRAW = torch.Generator().manual_seed(4)
SCORES = 4 * torch.randn(40, generator=DRAW, dtype=torch.float64)
TARGETS = 4 * torch.randn(40, generator=DRAW, dtype=torch.float64)
YES = (torch.rand(40, generator=DRAW) < 0.5).double()
LOGITS = 3 * torch.randn(12, 5, generator=DRAW, dtype=torch.float64)
CLASSES = torch.randint(5, (12,), generator=DRAW)

PAIRS = {
    "mse": (losses.mse, F.mse_loss, TARGETS),
    "mae": (losses.mae, F.l1_loss, TARGETS),
    "huber": (
        lambda p, t, **o: losses.huber(p, t, delta=1.7, **o),
        lambda p, t, **o: F.huber_loss(p, t, delta=1.7, **o),
        TARGETS,
    ),
    "log loss": (losses.log_loss, F.binary_cross_entropy_with_logits, YES),
    "focal without focus": (
        lambda p, t, **o: losses.focal(p, t, gamma=0.0, **o),
        F.binary_cross_entropy_with_logits,
        YES,
    ),
}


def value_and_slope(function, scores, *arguments, **options):
    leaf = scores.clone().requires_grad_()
    value = function(leaf, *arguments, **options)
    return value, torch.autograd.grad(value.sum(), leaf)[0]


@pytest.mark.parametrize("reduction", losses.REDUCTIONS)
@pytest.mark.parametrize("name", PAIRS)
def test_equal_to_torch(name, reduction):
    ours, theirs, target = PAIRS[name]
    for actual, expected in zip(
        value_and_slope(ours, SCORES, target, reduction=reduction),
        value_and_slope(theirs, SCORES, target, reduction=reduction),
        strict=True,
    ):
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("reduction", losses.REDUCTIONS)
def test_cross_entropy_is_torchs(reduction):
    for actual, expected in zip(
        value_and_slope(losses.cross_entropy, LOGITS, CLASSES, reduction=reduction),
        value_and_slope(F.cross_entropy, LOGITS, CLASSES, reduction=reduction),
        strict=True,
    ):
        torch.testing.assert_close(actual, expected)


def test_kl_hinge_and_margin_are_torchs():
    p, q = LOGITS.softmax(1), LOGITS.flip(0).softmax(1)
    expected = F.kl_div(q.log(), p, reduction="none").sum(1)
    torch.testing.assert_close(losses.kl_divergence(p, q, reduction="none"), expected)
    sides = 2 * YES - 1
    torch.testing.assert_close(
        losses.hinge(SCORES, sides), F.margin_ranking_loss(SCORES, 0 * SCORES, sides, margin=1.0)
    )


def test_slopes_where_torch_has_no_such_loss():
    leaf = SCORES[:8].clone().requires_grad_()
    goal, sides, yes = TARGETS[:8], 2 * YES[:8] - 1, YES[:8]
    for function in (
        lambda x: losses.log_cosh(x, goal),
        lambda x: losses.quantile(x, goal, gamma=0.8),
        lambda x: losses.hinge(x, sides),
        lambda x: losses.focal(x, yes, gamma=2.0, alpha=0.25),
        lambda x: losses.mbe(x, goal),
        lambda x: losses.kl_divergence(goal.softmax(0), x.softmax(0)),
    ):
        assert gradcheck(function, (leaf,))


def test_focal_is_the_published_formula():
    p = SCORES.sigmoid()
    right = torch.where(YES == 1, p, 1 - p)
    weight = torch.where(YES == 1, 0.25, 0.75)
    expected = -weight * (1 - right) ** 2 * right.log()
    torch.testing.assert_close(losses.focal(SCORES, YES, alpha=0.25, reduction="none"), expected)


def test_log_cosh_keeps_its_digits_and_its_range():
    error = torch.tensor([1e-4, 0.3, 0.999, 1.001, 5.0, 1e4])
    ours = losses.log_cosh(error, 0 * error, reduction="none")
    exact = [math.log(math.cosh(value)) if value < 100 else value - math.log(2) for value in error.tolist()]
    torch.testing.assert_close(ours, torch.tensor(exact), rtol=1e-5, atol=0)
    assert as_printed.log_cosh(error, 0 * error)[-1].isinf()


@pytest.mark.parametrize("size", [1e3, -1e3])
def test_large_scores_stay_finite(size):
    scores, target = torch.tensor([size]), torch.tensor([1.0])
    for function in (losses.log_loss, losses.focal, losses.huber, losses.log_cosh, losses.hinge):
        for tensor in value_and_slope(function, scores, target):
            assert tensor.isfinite().all()
    assert losses.cross_entropy(torch.tensor([[size, 0.0]]), torch.tensor([0])).isfinite()


def best_constant(loss):
    """The number on a fine grid with the lowest mean loss over 101 skewed targets."""
    targets = (torch.linspace(0, 1, 101, dtype=torch.float64) ** 3 * 10).repeat(1)
    grid = torch.linspace(0, 10, 2001, dtype=torch.float64)
    means = torch.stack([loss(torch.full_like(targets, constant), targets) for constant in grid.tolist()])
    return float(grid[means.argmin()]), targets


@pytest.mark.parametrize(
    ("loss", "statistic"),
    [
        (losses.mse, torch.mean),
        (losses.mae, torch.median),
        (lambda p, t: losses.quantile(p, t, gamma=0.9), lambda t: t.quantile(0.9)),
        (lambda p, t: losses.quantile(p, t, gamma=0.1), lambda t: t.quantile(0.1)),
    ],
)
def test_each_loss_asks_for_its_own_statistic(loss, statistic):
    best, targets = best_constant(loss)
    assert best == pytest.approx(float(statistic(targets)), abs=0.02)


def test_special_cases():
    torch.testing.assert_close(losses.quantile(SCORES, TARGETS, gamma=0.5), losses.mae(SCORES, TARGETS) / 2)
    torch.testing.assert_close(losses.huber(SCORES, TARGETS, delta=1e3), losses.mse(SCORES, TARGETS) / 2)
    pair = torch.stack([0 * SCORES, SCORES], 1)
    torch.testing.assert_close(losses.cross_entropy(pair, YES.long()), losses.log_loss(SCORES, YES))
    torch.testing.assert_close(losses.mbe(SCORES, TARGETS), SCORES.mean() - TARGETS.mean())


def test_what_the_source_prints_differs():
    p, truth = LOGITS.softmax(1), F.one_hot(CLASSES, 5).double()
    right = losses.cross_entropy(LOGITS, CLASSES, reduction="none")
    assert ((as_printed.cross_entropy(p, truth) - right).abs() > 0.01).all()
    two = LOGITS[:, :2].softmax(1)
    pick = F.one_hot(CLASSES % 2, 2).double()
    torch.testing.assert_close(
        as_printed.cross_entropy(two, pick),
        losses.cross_entropy(LOGITS[:, :2], CLASSES % 2, reduction="none"),
    )
    far = torch.tensor([1e6, -1e6])
    assert as_printed.quantile(far, 0 * far, gamma=0.5).tolist() == [-5e5, 5e5]
    sure = torch.tensor([0.99])
    assert as_printed.focal(sure, torch.ones(1)) > 100 * losses.focal(sure.logit(), torch.ones(1))
    assert as_printed.difference(torch.tensor(-5.0), torch.tensor(0.0)) == -5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: losses.mse(SCORES, TARGETS[:, None]), "one shape, got"),
        (lambda: losses.mse(SCORES, TARGETS, reduction="average"), "reduction must be one of mean"),
        (lambda: losses.huber(SCORES, TARGETS, delta=0), "delta must be above 0, got 0"),
        (lambda: losses.quantile(SCORES, TARGETS, gamma=1), "gamma must be between 0 and 1, got 1"),
        (lambda: losses.focal(SCORES, YES, gamma=-1), "gamma must be at least 0, got -1"),
        (lambda: losses.focal(SCORES, YES, alpha=2), "alpha must be between 0 and 1, got 2"),
        (lambda: losses.cross_entropy(SCORES, CLASSES), r"logits must be \(B, N\)"),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()
