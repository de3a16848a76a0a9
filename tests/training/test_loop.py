"""The loop against PyTorch: settings, optimisers, random numbers, and what the caller is told."""

import json
import math
from dataclasses import asdict

import pytest
import torch
from torch import nn
from training.small import Rates, data, make, same, scripted, squares, train

from reasonlib import training
from reasonlib.training import OPTIMISERS, History, TrainingConfig, fit, make_optimiser, run, seeded


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"epochs": 1.5}, "epochs must be a whole number of at least 1, got 1.5"),
        ({"lr": 0}, "lr must be above 0 and finite, got 0"),
        ({"lr": math.nan}, "lr must be above 0 and finite, got nan"),
        ({"optimiser": "adan"}, "optimiser must be one of sgd, adam, .*, got 'adan'"),
        ({"schedule": "cosine"}, "schedule must be one of constant, linear, step, plateau, got 'cosine'"),
        ({"precision": "fp16"}, "precision must be one of no, bf16, got 'fp16'"),
        ({"momentum": 0.9}, "momentum is for sgd and rmsprop, got 0.9 with adam"),
        ({"optimiser": "sgd", "momentum": 1}, "momentum must be at least 0 and below 1, got 1"),
        ({"betas": (0.9, 1)}, "betas must be two numbers of at least 0 and below 1"),
        ({"weight_decay": -1}, "weight_decay must be at least 0, got -1"),
        ({"clip": 0}, "clip must be above 0 or None, got 0"),
        ({"warmup": -1}, "warmup must be a whole number of at least 0, got -1"),
        ({"step_every": 0}, "step_every must be a whole number of at least 1, got 0"),
        ({"factor": 1}, "factor must be between 0 and 1, got 1"),
        ({"patience": 0}, "patience must be a whole number of at least 1 or None, got 0"),
        ({"accumulate": 0}, "accumulate must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"minutes": -1}, "minutes must be at least 0 or None, got -1"),
    ],
)
def test_a_bad_setting_is_named_with_its_rule_and_value(options, message):
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**options)


def test_a_config_goes_through_json():
    config = TrainingConfig(lr=0.3, clip=40.0)
    assert TrainingConfig(**json.loads(json.dumps(asdict(config)))) == config


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "least"}, "mode must be one of max, min, got 'least'"),
        ({"monitor": "loss"}, "monitor 'loss' needs mode='min'"),
        ({"patience": 2}, "patience needs validate=, or monitor='loss' with mode='min'"),
        ({"schedule": "plateau"}, "schedule 'plateau' needs validate="),
        ({"restore_best": True}, "restore_best needs validate="),
        ({"save_every": 0}, "save_every must be at least 1 or None, got 0"),
        ({"save_seconds": -1}, "save_seconds must be at least 0 or None, got -1"),
        ({"steps_per_epoch": 0}, "steps_per_epoch must be at least 1 or None, got 0"),
        ({"loss": lambda m, b: m(b[0])}, r"loss must give a scalar, got shape \(8, 1\); take the mean"),
        ({"batches": lambda epoch: []}, r"batches\(0\) gave no batch"),
        ({"validate": lambda m: {"loss": 1.0}}, "validate must not give 'loss'.*call it 'valid_loss'"),
        (
            {"validate": lambda m: {"f1": 1.0}, "patience": 1},
            "monitor must be one of loss, f1, got 'accuracy'",
        ),
        ({"model": make().requires_grad_(False)}, "model must have a parameter that needs a gradient"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        train(**options)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_every_optimiser_is_that_of_torch(name):
    options = {"momentum": 0.5} if name in ("sgd", "rmsprop") else {}
    _, model = train(optimiser=name, epochs=9, lr=0.05, weight_decay=0.1, **options)
    reference = make()
    optimiser = OPTIMISERS[name](reference.parameters(), lr=0.05, weight_decay=0.1, **options)
    for _ in range(9):
        optimiser.zero_grad()
        squares(reference, data()).backward()
        optimiser.step()
    for a, b in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)
    assert not same(model, make())


def test_sparse_gradients_are_taken():
    with seeded(0):
        model = nn.EmbeddingBag(5, 1, sparse=True)
    before = model.weight.detach().clone()
    train(
        model, lambda epoch: [torch.tensor([[1, 2]])], loss=lambda m, b: m(b).sum(), optimiser="sgd", epochs=1
    )
    assert (model.weight != before).flatten().tolist() == [False, True, True, False, False]


def test_numbers_next_to_nothing_are_zero_while_it_trains():
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot count them as zero")
    torch.set_flush_denormal(False)
    least, model = torch.full((64,), torch.finfo(torch.float32).tiny), nn.Linear(1, 1)
    seen = []

    def loss(model, batch):
        seen.append(float((least / 2).max()))
        return model(batch).sum()

    config = TrainingConfig(epochs=2)
    fit(model, lambda epoch: [torch.ones(1, 1)], loss=loss, config=config)
    assert seen == [0.0, 0.0] and float((least / 2).min()) > 0
    try:
        torch.set_flush_denormal(True)
        fit(model, lambda epoch: [torch.ones(1, 1)], loss=loss, config=config)
        assert float((least / 2).max()) == 0  # as it was before
    finally:
        torch.set_flush_denormal(False)
    with pytest.raises(KeyError), training.denormals_flushed():
        raise KeyError
    assert float((least / 2).min()) > 0


def test_frozen_parameters_stay():
    model = make()
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    train(model, epochs=2, weight_decay=0.1)
    assert (
        torch.equal(model[0].weight, before)
        and len(make_optimiser(model, TrainingConfig()).param_groups[0]["params"]) == 2
    )


def test_several_batches_a_step_are_one_big_batch():
    x, y = data(11)
    parts = [(x[a:b], y[a:b]) for a, b in ((0, 5), (5, 6), (6, 9), (9, 11))]  # of unequal sizes
    whole = [(x[:9], y[:9]), (x[9:], y[9:])]
    options = {"epochs": 3, "lr": 0.1, "optimiser": "sgd", "clip": 0.5}
    history, model = train(None, lambda epoch: parts, accumulate=3, **options)
    reference, expected = train(None, lambda epoch: whole, **options)
    assert history.steps_done == history.steps_planned == reference.steps_done == 6
    assert history.column("loss") == pytest.approx(reference.column("loss"), abs=1e-6)
    for a, b in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=0)


def test_batches_weigh_what_their_loss_averages_over():
    parts = [torch.tensor([1.0]), torch.tensor([2.0, 3.0])]
    batches = lambda epoch: parts  # noqa: E731
    options = {
        "loss": lambda m, b: m.x * b.mean(),
        "optimiser": "sgd",
        "epochs": 1,
        "lr": 1.0,
        "accumulate": 2,
    }
    _, by_number = train(Rates(), batches, **options)
    _, alike = train(Rates(), batches, weight=lambda batch: 1.0, **options)
    assert by_number.x.item() == pytest.approx(-2.0) and alike.x.item() == pytest.approx(-1.75)


@pytest.mark.parametrize("most", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("odd", ["none", "nan", "inf", "zero", "double", "mixed"])
def test_clipping_gives_the_bits_of_torch_s_own_function(most, odd):
    def parameters():
        draw = torch.Generator().manual_seed(0)
        tensors = [torch.nn.Parameter(torch.zeros(shape)) for shape in ((3, 4), (5,), (2,))]
        if odd == "double":
            tensors = [torch.nn.Parameter(item.double()) for item in tensors]
        if odd == "mixed":
            tensors[1] = torch.nn.Parameter(tensors[1].detach().double())
        for tensor in tensors[:2]:
            gradient = torch.randn(tensor.shape, generator=draw).to(tensor.dtype)
            tensor.grad = gradient * (0.0 if odd == "zero" else 2.0)
        if odd in ("nan", "inf"):
            tensors[0].grad[0, 0] = float(odd)
        return tensors

    ours, theirs = parameters(), parameters()
    run._clip(ours, most)
    torch.nn.utils.clip_grad_norm_(theirs, most)
    for mine, right in zip(ours, theirs, strict=True):
        assert (mine.grad is None) == (right.grad is None)
        if mine.grad is not None:
            assert torch.equal(mine.grad.nan_to_num(nan=7.0), right.grad.nan_to_num(nan=7.0))
    run._clip([torch.nn.Parameter(torch.zeros(2))], most)  # nothing to clip


def test_clipping_bounds_the_norm_of_all_gradients_together():
    norms = []

    class Watch(torch.optim.SGD):
        def step(self, closure=None):
            grads = [p.grad for group in self.param_groups for p in group["params"]]
            norms.append(torch.stack([g.norm() for g in grads]).norm().item())

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(training.OPTIMISERS, "sgd", Watch)
        train(epochs=1, optimiser="sgd")
        train(epochs=1, optimiser="sgd", clip=0.25)
        train(epochs=1, optimiser="sgd", clip=40.0)
    free, clipped, wide = norms
    assert free > 1 and clipped == pytest.approx(0.25, rel=1e-4) and wide == free


def test_the_loss_of_a_row_is_the_mean_over_its_steps():
    values = iter([1.0, 2.0, 6.0, 10.0])
    history, _ = train(
        None,
        lambda epoch: [0, 1],
        loss=lambda m, b: next(values) + 0 * m[0].bias.sum(),
        epochs=2,
        steps_per_epoch=2,
    )
    assert history.column("loss") == [1.5, 8.0]


def test_nothing_waits_for_the_loss_within_an_epoch(monkeypatch):
    calls, item = [], torch.Tensor.item
    monkeypatch.setattr(torch.Tensor, "item", lambda self: calls.append(1) or item(self))
    train(None, lambda epoch: [data()] * 20, optimiser="sgd", epochs=2)
    assert len(calls) == 2


def test_the_same_seed_gives_the_same_bits_and_leaves_the_caller_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    _, model = train(make(dropout=0.5), seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(6)
    assert same(train(make(dropout=0.5), seed=1)[1], model)
    assert not same(train(make(dropout=0.5), seed=2)[1], model)


def test_batches_that_draw_depend_on_the_seed_and_the_epoch_alone():
    def orders(dropout, seed):
        seen = []

        def batches(epoch):
            order = torch.randperm(8)
            seen.append(order.tolist())
            yield tuple(tensor[order] for tensor in data())

        train(make(dropout=dropout), batches, epochs=3, seed=seed, steps_per_epoch=1)
        return seen

    assert orders(0.0, 1) == orders(0.5, 1) != orders(0.0, 2)
    assert len({tuple(order) for order in orders(0.0, 1)}) == 3


def test_the_caller_is_told_of_every_epoch():
    events = []
    history, _ = train(
        epochs=2,
        on_epoch_start=lambda epoch, rows: events.append((epoch, len(rows))),
        on_epoch=lambda row: events.append(row),
        validate=scripted([0.1, 0.2]),
    )
    assert events == [(0, 0), history[0], (1, 1), history[1]]
    assert list(history[0]) == ["epoch", "step", "seconds", "lr", "loss", "accuracy"]


def test_dropout_is_on_in_training_and_off_after():
    modes = []
    _, model = train(make(dropout=0.5), loss=lambda m, b: modes.append(m.training) or squares(m, b), epochs=2)
    assert modes == [True, True] and not model.training


def test_history_is_a_sequence_of_rows():
    history, _ = train(epochs=3)
    assert isinstance(history, History) and len(history) == 3 and list(history) == history.rows
    assert history.column("epoch") == [1, 2, 3] and history[-1]["step"] == 3
    assert history.frame() == history.rows and history.frame()[0] is not history.rows[0]
    assert history.summary() == "finished: 3 of 3 steps, 3 of 3 epochs"
    assert history.seconds == history[-1]["seconds"] > 0
    json.dumps(history.frame())
