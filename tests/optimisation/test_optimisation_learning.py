"""The loop: torch's own training step for step, the same again, and what a linear stack cannot learn."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from reasonlib.optimisation.experiments.activations import derivatives, gradient_norms, idle_pieces
from reasonlib.optimisation.experiments.search import search
from reasonlib.optimisation.models import network, optimisers
from reasonlib.optimisation.models.activations import ACTIVATIONS
from reasonlib.optimisation.models.network import Examples, Network, accuracy, digits, gain, learn


def test_digits_are_split_once_and_for_all():
    split = digits()
    assert [len(part.truths) for part in split] == [500, 300, 997]
    assert split.train.inputs.shape == (500, 64)
    repeated, other = digits(seed=0), digits(seed=1)
    assert split.train.inputs.equal(repeated.train.inputs)
    assert not split.train.inputs.equal(other.train.inputs)
    whole = torch.cat([part.inputs for part in split]).sum(1).sort().values
    torch.testing.assert_close(whole, torch.cat([part.inputs for part in other]).sum(1).sort().values)


def compare_with_torch(ours, theirs, train, size, *, depth, width):
    """Compare two equal networks, one trained by torch's optimiser; return the sizes of the batches."""
    model, twin = (Network("tanh", depth=depth, width=width, seed=3) for _ in range(2))
    learn(model, train, ours, batch_size=size, epochs=2, seed=5)
    draw, descent, sizes = torch.Generator().manual_seed(5), theirs(twin.parameters()), set()
    for _ in range(2):
        for inputs, truths in network.minibatches(train, size, draw):
            sizes.add(len(truths))
            descent.zero_grad()
            F.cross_entropy(twin(inputs), truths).backward()
            descent.step()
    for parameter, expected in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(parameter, expected, rtol=1e-4, atol=1e-5)
    return sizes


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda: optimisers.Momentum(rate=0.05), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
        (lambda: optimisers.Adam(rate=0.01), lambda p: torch.optim.Adam(p, lr=0.01)),
    ],
)
def test_a_network_is_trained_as_torch_trains_it(ours, theirs):
    compare_with_torch(ours(), theirs, digits().train, 32, depth=2, width=16)


@pytest.mark.parametrize("size", [40, 8, 1], ids=["batch", "mini-batch", "stochastic"])
def test_batch_mini_batch_and_stochastic_descent_are_torchs(size):
    ours, train = optimisers.GradientDescent(rate=0.05), digits(40, 30).train
    sizes = compare_with_torch(ours, lambda p: torch.optim.SGD(p, lr=0.05), train, size, depth=1, width=8)
    assert sizes == {size}


def test_the_same_seed_gives_the_same_network_and_dropout_too():
    train = digits(60, 30).train
    states = []
    for seed in (1, 1, 2):
        model = Network("ReLU", depth=1, width=8, dropout=0.3, seed=seed)
        before = torch.get_rng_state()
        learn(model, train, optimisers.Adam(), epochs=2, seed=seed)
        assert torch.get_rng_state().equal(before)
        states.append(torch.cat([weights.reshape(-1) for weights in model.parameters()]))
    assert states[0].equal(states[1])
    assert not states[0].equal(states[2])


def test_nesterov_trains_a_network_from_where_it_stands():
    train = digits(60, 30).train
    model, twin = (Network("tanh", depth=1, width=8, seed=1) for _ in range(2))
    optimiser = optimisers.Nesterov(rate=0.05)
    learn(model, train, optimiser, batch_size=60, epochs=5)
    learn(twin, train, optimisers.TorchNesterov(rate=0.05), batch_size=60, epochs=5)
    point = torch.cat([weights.detach().reshape(-1) for weights in model.parameters()])
    ahead = torch.cat([weights.detach().reshape(-1) for weights in twin.parameters()])
    torch.testing.assert_close(optimiser.look(point), ahead, rtol=1e-4, atol=1e-5)


def test_a_nonlinear_network_learns_what_a_linear_one_cannot():
    draw = torch.Generator().manual_seed(0)
    inputs = 2 * torch.rand(400, 2, generator=draw) - 1
    ring = Examples(inputs, (inputs.norm(dim=1) < 0.7).long())
    scores = {}
    for name, depth in (("tanh", 1), ("ReLU", 1), ("maxout", 1), ("linear", 0)):
        model = Network("tanh" if name == "linear" else name, inputs=2, width=16, depth=depth, classes=2)
        learn(model, ring, optimisers.Adam(rate=0.02), epochs=30)
        scores[name] = accuracy(model, ring)
    assert min(scores["tanh"], scores["ReLU"], scores["maxout"]) > 0.93
    assert scores["linear"] < 0.75


def test_gains():
    assert gain("ReLU") == pytest.approx(2**0.5, rel=1e-3)
    z = torch.randn(200_000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    pieces = z.view(2, -1)
    assert ((gain("maxout") * pieces.amax(0)) ** 2).mean() == pytest.approx(1.0, abs=0.02)
    for name in ("sigmoid", "tanh", "swish", "HardELiSH"):
        assert ((gain(name) * ACTIVATIONS[name](z)) ** 2).mean() == pytest.approx(1.0, abs=0.02)


def test_a_gradient_fades_in_sigmoids_and_not_in_scaled_ramps():
    train = digits().train
    reach = {}
    for name in ("sigmoid", "ReLU"):
        norms = gradient_norms(Network(name, depth=12, seed=0), train)
        assert len(norms) == 12
        reach[name] = norms[0] / norms[-1]
    assert reach["sigmoid"] < 1e-3
    assert 0.1 < reach["ReLU"] < 10


def test_dead_units_and_idle_pieces_are_seen():
    inputs = digits(60, 30).train.inputs
    model = Network("ReLU", depth=1, width=8)
    with torch.no_grad():
        model.layers[0].bias[:3] = -100.0
    assert [slope.amax(0).eq(0).sum().item() for slope in derivatives(model, inputs)] == [3]
    rival = Network("maxout", depth=1, width=8)
    with torch.no_grad():
        rival.layers[0].linear.bias[0] = -100.0
    assert idle_pieces(rival, inputs) >= 1 / 16
    assert all(slope.eq(1).all() for slope in derivatives(rival, inputs))


def test_a_search_never_gets_worse_and_the_slope_is_best():
    train = digits(100, 30).train
    ends = {}
    for way in ("random", "stepping", "each-weight", "gradient"):
        model, trace = search(way, train, evaluations=90, seed=2)
        best = [loss for _, loss in trace]
        assert best == sorted(best, reverse=True)
        assert F.cross_entropy(model(train.inputs), train.truths).item() == pytest.approx(best[-1], rel=1e-5)
        ends[way] = best[-1]
    assert min(ends, key=lambda way: ends[way]) == "gradient"


def test_training_ends_where_the_loss_is_no_number():
    history = learn(Network("ReLU", depth=2), digits().train, optimisers.GradientDescent(rate=1e30), epochs=5)
    assert len(history) < 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Network("gelu"), "activation must be one of sigmoid"),
        (lambda: Network("ReLU", depth=-1), "depth must be at least 0, got -1"),
        (lambda: digits(1797, 0), "must leave some of 1797 for the test"),
        (
            lambda: learn(nn.Linear(2, 2), digits().train, optimisers.Adam(), batch_size=0),
            "at least 1, got 0 and 10",
        ),
        (lambda: search("luck", digits().train, evaluations=2), "way must be one of random"),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()
