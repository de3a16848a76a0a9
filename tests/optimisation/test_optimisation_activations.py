"""Activations: equal to torch's in value and slope, stable, and with the properties the chapter names."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import gradcheck

from reasonlib.optimisation.models import activations, as_printed
from reasonlib.optimisation.models.activations import ACTIVATIONS, PELU, Maxout

X = torch.cat([torch.linspace(-12, 12, 241), torch.tensor([1e-4, -1e-4, 300.0, -300.0])]).double()
TORCH = {
    "sigmoid": torch.sigmoid,
    "hard sigmoid": lambda x: F.hardsigmoid(3 * x),
    "tanh": torch.tanh,
    "hard tanh": F.hardtanh,
    "softsign": F.softsign,
    "ReLU": F.relu,
    "leaky ReLU": F.leaky_relu,
    "softplus": F.softplus,
    "ELU": F.elu,
    "swish": F.silu,
}
CORNERS = {"hard sigmoid": (-1, 1), "hard tanh": (-1, 1), "HardELiSH": (-1, 1)}  # no slope there


def slope(function, x):
    leaf = x.clone().requires_grad_()
    return torch.autograd.grad(function(leaf).sum(), leaf)[0]


def away(name, x=X):
    return x[[all(abs(float(value) - corner) > 1e-6 for corner in CORNERS.get(name, ())) for value in x]]


@pytest.mark.parametrize("name", TORCH)
def test_equal_to_torch(name):
    torch.testing.assert_close(ACTIVATIONS[name](X), TORCH[name](X), atol=1e-8, rtol=1e-8)
    x = away(name)
    torch.testing.assert_close(slope(ACTIVATIONS[name], x), slope(TORCH[name], x), atol=1e-8, rtol=1e-7)


@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - set(TORCH)))
def test_slopes_where_torch_has_no_such_function(name):
    x = away(name, X[::9].clone())
    x = x[x.abs() > 1e-3]
    assert gradcheck(ACTIVATIONS[name], (x.requires_grad_(),))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_finite_everywhere_in_single_precision(name):
    x = torch.tensor([-1e4, -89.0, -1e-30, 0.0, 1e-30, 89.0, 1e4])
    assert ACTIVATIONS[name](x).isfinite().all()
    assert slope(ACTIVATIONS[name], x).isfinite().all()


def test_softmax_is_torchs_and_does_not_overflow():
    scores = torch.tensor([[1e4, 0.0, -1e4], [1.0, 2.0, 3.0]])
    torch.testing.assert_close(activations.softmax(scores), scores.softmax(-1))
    torch.testing.assert_close(activations.softmax(scores, 0), scores.softmax(0))
    torch.testing.assert_close(activations.log_softmax(scores), scores.log_softmax(-1))
    assert as_printed.softmax(scores)[0].isnan().any()
    assert gradcheck(activations.softmax, (scores[1:].double().requires_grad_(),))


def test_the_formulas_of_the_docstrings():
    s = X.sigmoid()
    torch.testing.assert_close(slope(activations.sigmoid, X), s * (1 - s))
    torch.testing.assert_close(slope(activations.silu, X), activations.dsilu(X))
    torch.testing.assert_close(slope(activations.dsilu, X), s * (1 - s) * (2 + X * (1 - 2 * s)))
    torch.testing.assert_close(slope(activations.softplus, X), s)
    torch.testing.assert_close(activations.tanh(X), 2 * (2 * X).sigmoid() - 1)
    fine = torch.linspace(-10, 10, 20001).double()
    assert activations.swish(fine).min() == pytest.approx(-0.278, abs=1e-3)
    assert fine[activations.swish(fine).argmin()] == pytest.approx(-1.278, abs=1e-3)
    assert activations.dsilu(fine).max() == pytest.approx(1.1, abs=1e-3)
    zero = torch.tensor([0.0]).double()
    for function in (activations.elish, activations.hard_elish):
        assert slope(function, zero) == slope(function, zero - 1e-9).round(decimals=6) == 0.5


def test_pelu_meets_at_zero_and_learns_its_shape():
    a, b = torch.tensor(1.7).double(), torch.tensor(0.6).double()
    sides = torch.tensor([-1e-7, 1e-7]).double()
    left, right = slope(lambda x: activations.pelu(x, a, b), sides).tolist()
    assert left == pytest.approx(right, abs=1e-5)
    assert slope(lambda x: as_printed.pelu(x, 1.7, 0.6, 1.0), sides).diff().abs() > 1
    torch.testing.assert_close(activations.pelu(X), F.elu(X))
    unit = PELU()
    goal = activations.pelu(X.float()[X < 4], 0.5, 2.0)
    descent = torch.optim.Adam(unit.parameters(), lr=0.05)
    for _ in range(300):
        descent.zero_grad()
        ((unit(X.float()[X < 4]) - goal) ** 2).mean().backward()
        descent.step()
    assert (float(unit.a.detach()), float(unit.b.detach())) == (
        pytest.approx(0.5, abs=0.02),
        pytest.approx(2.0, abs=0.1),
    )


def test_pelu_and_maxout_gradients():
    x = X[::7].clone().requires_grad_()
    a = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
    b = torch.tensor(0.6, dtype=torch.float64, requires_grad=True)
    assert gradcheck(activations.pelu, (x, a, b))
    layer = Maxout(4, 3).double()
    assert gradcheck(
        layer, (torch.randn(5, 4, generator=torch.Generator().manual_seed(1)).double().requires_grad_(),)
    )


def test_maxout_is_the_largest_piece_and_can_be_a_ramp():
    layer = Maxout(4, 3, pieces=2)
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
    weight, bias = layer.linear.weight, layer.linear.bias
    pieces = [x @ weight[piece::2].T + bias[piece::2] for piece in (0, 1)]
    torch.testing.assert_close(layer(x), torch.maximum(*pieces))
    with torch.no_grad():
        weight[1::2], bias[1::2] = 0.0, 0.0
    plain = nn.Linear(4, 3)
    plain.weight, plain.bias = nn.Parameter(weight[0::2]), nn.Parameter(bias[0::2])
    torch.testing.assert_close(layer(x), F.relu(plain(x)))
    count = [sum(p.numel() for p in module.parameters()) for module in (layer, plain)]
    assert count[0] == 2 * count[1]


def test_what_the_source_prints_differs():
    x = torch.linspace(-3, 3, 61)
    assert as_printed.leaky_relu(x).diff().std() < 1e-6  # a straight line
    assert as_printed.hard_tanh(x).isnan().sum() == (x.abs() <= 1).sum()
    assert as_printed.tanh(torch.tensor([100.0])).isnan()
    assert as_printed.softplus(torch.tensor([100.0])).isinf()
    sides = torch.tensor([-1e-6, 1e-6])
    assert as_printed.elu(sides, alpha=0.5).diff() == pytest.approx(0.5, abs=1e-5)
    assert activations.elu(sides, alpha=0.5).diff() == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Maxout(2, 2, pieces=1), "pieces must be at least 2, got 1"),
        (lambda: PELU(least=0), "least must be above 0, got 0"),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()
