"""Optimisers: torch's step for step, the two ways to write momentum, and what each equation promises."""

import math

import pytest
import torch

from reasonlib.optimisation.models import as_printed, optimisers
from reasonlib.optimisation.models.optimisers import OPTIMISERS
from reasonlib.optimisation.models.surfaces import SURFACES, Surface, hills, minimise, ravine

STEPS = 60
TORCH = {
    "gradient descent": (
        lambda: optimisers.GradientDescent(rate=0.002),
        lambda p: torch.optim.SGD(p, lr=0.002),
    ),
    "momentum": (
        lambda: optimisers.Momentum(rate=0.001, momentum=0.9),
        lambda p: torch.optim.SGD(p, lr=0.001, momentum=0.9),
    ),
    "torch's momentum": (
        lambda: optimisers.TorchMomentum(rate=0.001, momentum=0.9),
        lambda p: torch.optim.SGD(p, lr=0.001, momentum=0.9),
    ),
    "torch's Nesterov": (
        lambda: optimisers.TorchNesterov(rate=0.001, momentum=0.9),
        lambda p: torch.optim.SGD(p, lr=0.001, momentum=0.9, nesterov=True),
    ),
    "torch's Adagrad": (
        lambda: optimisers.TorchAdagrad(rate=0.1),
        lambda p: torch.optim.Adagrad(p, lr=0.1),
    ),
    "Adadelta": (lambda: optimisers.Adadelta(), lambda p: torch.optim.Adadelta(p)),
    "Adam": (lambda: optimisers.Adam(rate=0.05), lambda p: torch.optim.Adam(p, lr=0.05)),
    "AMSGrad": (
        lambda: optimisers.AMSGrad(rate=0.05),
        lambda p: torch.optim.Adam(p, lr=0.05, amsgrad=True),
    ),
    "AdamW": (
        lambda: optimisers.AdamW(rate=0.05, decay=0.1),
        lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.1),
    ),
}


def torchs_path(surface, make, steps=STEPS, rates=None):
    point = torch.nn.Parameter(torch.tensor(surface.start, dtype=torch.float64))
    descent = make([point])
    walked = [point.detach().clone()]
    for number in range(steps):
        if rates is not None:
            descent.param_groups[0]["lr"] = rates(number)
        descent.zero_grad()
        surface.value(point).backward()
        descent.step()
        walked.append(point.detach().clone())
    return torch.stack(walked)


@pytest.mark.parametrize("name", TORCH)
@pytest.mark.parametrize("surface", ["beale", "ravine"])
def test_equal_to_torch_step_for_step(name, surface):
    ours, theirs = TORCH[name]
    ground = SURFACES[surface]
    walked = minimise(ground, ours(), steps=STEPS)
    torch.testing.assert_close(walked.points, torchs_path(ground, theirs), rtol=1e-9, atol=1e-9)


def test_nesterov_looks_where_torch_walks():
    ground = SURFACES["beale"]
    ahead, current = optimisers.Nesterov(rate=0.001), torch.tensor(ground.start, dtype=torch.float64)
    points = []
    for _ in range(STEPS):
        points.append(ahead.look(current))
        current = ahead.step(current, ground.gradient(points[-1]))
    points.append(ahead.look(current))
    torch.testing.assert_close(torch.stack(points), torchs_path(ground, TORCH["torch's Nesterov"][1]))


def test_momentum_written_both_ways_differs_once_the_rate_changes():
    def halving(number):
        return 0.02 if number < 10 else 0.002

    ground = ravine()
    source = minimise(ground, optimisers.Momentum(), steps=20, schedule=halving).points
    torchs = minimise(ground, optimisers.TorchMomentum(), steps=20, schedule=halving).points
    torch.testing.assert_close(source[:11], torchs[:11])
    assert (source[11] - torchs[11]).norm() > 0.01
    expected = torchs_path(ground, lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9), 20, halving)
    torch.testing.assert_close(torchs, expected)


def test_adagrad_differs_from_torchs_by_where_epsilon_stands():
    near, far = optimisers.Adagrad(epsilon=1e-8), optimisers.TorchAdagrad(epsilon=1e-4)
    point, tiny, large = torch.zeros(1).double(), torch.full((1,), 1e-6).double(), torch.ones(1).double()
    assert near.step(point, large) == pytest.approx(float(far.step(point, large)), rel=1e-3)
    near, far = optimisers.Adagrad(epsilon=1e-8), optimisers.TorchAdagrad(epsilon=1e-4)
    assert near.step(point, tiny) == pytest.approx(-0.01 * 0.01, rel=1e-2)
    assert far.step(point, tiny) == pytest.approx(-0.01 * 0.0099, rel=1e-2)


def test_adagrad_falls_as_a_square_root_on_an_even_slope():
    descent = optimisers.Adagrad(rate=1.0)
    point = torch.zeros(1).double()
    for number in range(1, 101):
        moved = descent.step(point, torch.full((1,), 7.0).double())
        assert float(point - moved) == pytest.approx(1 / math.sqrt(number), rel=1e-6)
        point = moved


def test_first_steps():
    zero, slope = torch.zeros(2).double(), torch.tensor([3.0, -200.0]).double()
    adam = optimisers.Adam(rate=0.1).step(zero, slope)
    torch.testing.assert_close(adam, torch.tensor([-0.1, 0.1]).double(), rtol=1e-6, atol=0)
    adadelta = optimisers.Adadelta(decay=0.9, epsilon=1e-6).step(zero, slope)
    expected = math.sqrt(1e-6 / 0.1)
    torch.testing.assert_close(adadelta.abs(), torch.full((2,), expected).double(), rtol=1e-4, atol=0)


def test_adam_as_printed_breaks_on_a_gradient_of_zero():
    slope = torch.tensor([0.0, 1.0])
    assert as_printed.AdamWithoutEpsilon().step(torch.zeros(2), slope).isnan().tolist() == [True, False]
    assert optimisers.Adam().step(torch.zeros(2), slope).isfinite().all()


def test_adam_of_squares_walks_one_way_up_and_down():
    for sign in (1.0, -1.0):
        slope = torch.tensor([sign * 0.5]).double()
        assert as_printed.AdamOfSquares(rate=0.1).step(torch.zeros(1).double(), slope) < 0
        assert (optimisers.Adam(rate=0.1).step(torch.zeros(1).double(), slope) * sign) < 0


def test_adadelta_as_printed_never_moves():
    ground = SURFACES["ravine"]
    stays = minimise(ground, as_printed.AdadeltaWithoutEpsilon(), steps=20).points
    assert (stays == stays[0]).all()
    assert (minimise(ground, optimisers.Adadelta(), steps=20).points[-1] != stays[0]).all()


@pytest.mark.parametrize("name", SURFACES)
def test_the_slope_of_a_surface_is_its_derivative(name):
    surface = SURFACES[name]
    point = torch.randn(9, 2, generator=torch.Generator().manual_seed(2)).double().requires_grad_()
    (slope,) = torch.autograd.grad(surface.value(point).sum(), point)
    torch.testing.assert_close(surface.gradient(point.detach()), slope)
    if surface.minimum is not None:
        lowest = torch.tensor(surface.minimum).double()
        assert surface.gradient(lowest).abs().max() < 1e-12
        assert (surface.grid(41)[2] >= surface.value(lowest) - 1e-12).all()


def test_a_walk_goes_down_and_is_the_same_again():
    for name, make in OPTIMISERS.items():
        path = minimise(SURFACES["two-pits"], make(), steps=30)
        repeated = minimise(SURFACES["two-pits"], make(), steps=30)
        assert path.points.equal(repeated.points), name
        assert path.values[-1] < path.values[0], name
        assert path.points.shape == (31, 2)
        assert path.gradients.shape == (30, 2)
    noisy = [
        minimise(
            ravine(),
            OPTIMISERS["momentum"](),
            steps=9,
            noise=0.1,
            generator=torch.Generator().manual_seed(seed),
        ).points
        for seed in (1, 1, 2)
    ]
    assert noisy[0].equal(noisy[1])
    assert not noisy[0].equal(noisy[2])


def test_only_momentum_and_the_adaptive_leave_the_ridge_of_a_saddle_soon():
    ground = SURFACES["saddle"]
    left = {
        name: bool(
            (minimise(ground, make(rate=1.0 if name == "Adadelta" else 0.01), steps=150).values < -1).any()
        )
        for name, make in OPTIMISERS.items()
    }
    assert left["momentum"] and left["Adam"] and left["Adadelta"] and not left["gradient descent"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: optimisers.GradientDescent(rate=0), "rate must be above 0 and finite, got 0"),
        (lambda: optimisers.Momentum(momentum=1), "momentum must be at least 0 and below 1, got 1"),
        (lambda: optimisers.Adam(betas=(0.9, 1.0)), "beta2 must be at least 0 and below 1"),
        (lambda: optimisers.AdamW(decay=-1), "decay must be at least 0, got -1"),
        (lambda: minimise(ravine(), optimisers.Adam(), steps=0), "steps must be at least 1, got 0"),
        (lambda: minimise(ravine(), optimisers.Adam(), noise=1.0), "comes with a generator"),
        (lambda: ravine(0), "steepness must be above 0, got 0"),
        (lambda: hills([(0, 0)], [1.0], []), "equally many, got 1, 1 and 0"),
        (lambda: hills([(0, 0)], [1.0], [0.0]), "widths must be above 0, got 0"),
        (lambda: hills([], [], [], bowl=-1), "bowl must be at least 0, got -1"),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_surface_without_hills_is_a_bowl():
    bowl = hills([], [], [], bowl=2.0)
    assert isinstance(bowl, Surface)
    point = torch.tensor([[3.0, 4.0]]).double()
    assert bowl.value(point) == 25
    assert bowl.gradient(point).tolist() == [[6.0, 8.0]]
