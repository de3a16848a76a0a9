"""The loop, its schedules and rules, and weights on disk."""

import contextlib
import io
import itertools
import json
import math
import os
import sys
import types
from dataclasses import asdict

import pytest
import torch
from safetensors import safe_open
from torch import nn

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.training import (
    OPTIMISERS,
    History,
    TrainingConfig,
    device,
    fit,
    learning_rate,
    load_weights,
    loop,
    make_optimiser,
    parameter_count,
    save_weights,
    seeded,
    weights_metadata,
)


def squares(model, batch):
    return (model(batch[0]) - batch[1]).square().mean()


def data(count=8, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 3, generator=generator)
    return x, x.sum(1, keepdim=True)


def make(seed=0, dropout=0.0):
    with seeded(seed):
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(dropout), nn.Linear(4, 1))


def train(model=None, batches=None, *, loss=squares, **options):
    """Train on the same batch in every epoch, unless told otherwise; options of the config or of `fit`."""
    names = TrainingConfig.__dataclass_fields__
    config = TrainingConfig(**{k: v for k, v in options.items() if k in names})
    rest = {k: v for k, v in options.items() if k not in names}
    model = make() if model is None else model
    return fit(model, batches or (lambda epoch: [data()]), loss=loss, config=config, **rest), model


def same(model, other):
    return all(
        torch.equal(a, b)
        for a, b in zip(model.state_dict().values(), other.state_dict().values(), strict=True)
    )


class Rates(nn.Module):
    """One number whose gradient is 1: under plain SGD each step takes the learning rate off it."""

    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.zeros((), dtype=torch.float64))

    @classmethod
    def of(cls, steps_an_epoch=4, **options):
        seen = []

        def loss(model, batch):
            seen.append(model.x.item())
            return model.x * 1.0

        batches = lambda epoch: [torch.zeros(1)] * steps_an_epoch  # noqa: E731
        history, model = train(cls(), batches, loss=loss, optimiser="sgd", **options)
        seen.append(model.x.item())
        return [a - b for a, b in itertools.pairwise(seen)], history


# Configuration


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


# The loop against PyTorch


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
        made = [torch.nn.Parameter(torch.zeros(shape)) for shape in ((3, 4), (5,), (2,))]
        if odd == "double":
            made = [torch.nn.Parameter(one.double()) for one in made]
        if odd == "mixed":
            made[1] = torch.nn.Parameter(made[1].detach().double())
        for one in made[:2]:
            one.grad = torch.randn(one.shape, generator=draw).to(one.dtype) * (0.0 if odd == "zero" else 2.0)
        if odd in ("nan", "inf"):
            made[0].grad[0, 0] = float(odd)
        return made

    ours, theirs = parameters(), parameters()
    loop._clip(ours, most)
    torch.nn.utils.clip_grad_norm_(theirs, most)
    for mine, right in zip(ours, theirs, strict=True):
        assert (mine.grad is None) == (right.grad is None)
        if mine.grad is not None:
            assert torch.equal(mine.grad.nan_to_num(nan=7.0), right.grad.nan_to_num(nan=7.0))
    loop._clip([torch.nn.Parameter(torch.zeros(2))], most)  # nothing to clip


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


# Schedules


def torch_rates(scheduler, steps):
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(()))], lr=0.8)
    made = scheduler(optimiser)
    rates = []
    for _ in range(steps):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        made.step()
    return rates


@pytest.mark.parametrize("warmup", [0, 1, 5])
def test_linear_is_that_of_transformers(warmup):
    transformers = pytest.importorskip("transformers")
    expected = torch_rates(lambda o: transformers.get_linear_schedule_with_warmup(o, warmup, 12), 12)
    rates, history = Rates.of(epochs=3, lr=0.8, schedule="linear", warmup=warmup)
    assert rates == pytest.approx(expected, abs=1e-12)
    assert history.column("lr") == pytest.approx(expected[3::4], abs=1e-12)


def test_constant_with_warmup_is_that_of_transformers():
    transformers = pytest.importorskip("transformers")
    expected = torch_rates(lambda o: transformers.get_constant_schedule_with_warmup(o, 5), 12)
    assert Rates.of(epochs=3, lr=0.8, warmup=5)[0] == pytest.approx(expected, abs=1e-12)


def test_step_is_that_of_torch():
    expected = torch_rates(lambda o: torch.optim.lr_scheduler.StepLR(o, 2, gamma=0.3), 7)
    rates, _ = Rates.of(epochs=7, lr=0.8, schedule="step", step_every=2, factor=0.3)
    assert rates[::4] == pytest.approx(expected, abs=1e-12) and rates[::4] == pytest.approx(rates[3::4])


@pytest.mark.parametrize("mode", ["max", "min"])
@pytest.mark.parametrize("wait", [1, 2, 3])
def test_plateau_is_that_of_torch(mode, wait):
    scores = [0.1, 0.3, 0.2, 0.3, 0.1, 0.4, 0.4, 0.1, 0.1, 0.05, 0.5, 0.2, 0.2]
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(()))], lr=0.8)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, mode, factor=0.5, patience=wait - 1, threshold=0
    )
    expected = []
    for score in scores:
        expected.append(optimiser.param_groups[0]["lr"])
        plateau.step(score)
    said = iter(scores)
    rates, _ = Rates.of(
        1,
        epochs=len(scores),
        lr=0.8,
        schedule="plateau",
        step_every=wait,
        validate=lambda m: {"accuracy": next(said)},
        mode=mode,
    )
    assert rates == pytest.approx(expected, abs=1e-12) and rates[-1] < rates[0]


def test_a_linear_schedule_never_goes_below_zero():
    config = TrainingConfig(schedule="linear", warmup=3)
    assert learning_rate(config, 99, epoch=0, steps_planned=12) == 0
    assert learning_rate(config, 3, epoch=0, steps_planned=3) == 0


# Stopping


def scripted(scores, models=None):
    """A validation that gives prescribed scores, and keeps a copy of the model at each."""
    scores = iter(scores)

    def validate(model):
        assert not model.training and not torch.is_grad_enabled()
        if models is not None:
            models.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        return {"accuracy": next(scores)}

    return validate


def test_early_stopping_restores_the_best_weights():
    models = []
    history, model = train(validate=scripted([0.1, 0.5, 0.3, 0.5, 0.9], models), patience=2, epochs=9)
    assert (
        history.stopped == "early" and len(history) == history.steps_done == 4 and history.steps_planned == 9
    )
    assert history.best == history[1] and history.best["accuracy"] == 0.5
    assert all(torch.equal(tensor, models[1][name]) for name, tensor in model.state_dict().items())
    assert not torch.equal(models[1]["0.weight"], models[3]["0.weight"])
    assert "no longer improved: 4 of 9 steps, 4 of 9 epochs" in history.summary()


def test_the_least_can_be_the_best():
    history, _ = train(
        validate=scripted([0.5, 0.1, 0.3, 0.4]), monitor="accuracy", mode="min", patience=2, epochs=9
    )
    assert history.best["epoch"] == 2 and len(history) == 4


def test_the_training_loss_can_be_monitored():
    history, _ = train(monitor="loss", mode="min", patience=3, epochs=5, lr=1e-3)
    assert history.stopped == "finished" and history.best == history[-1]


@pytest.mark.parametrize(("restore", "kept"), [(None, 2), (False, 2), (True, 1)])
def test_without_patience_the_best_is_restored_on_demand(restore, kept):
    models = []
    history, model = train(validate=scripted([0.1, 0.5, 0.3], models), epochs=3, restore_best=restore)
    assert history.stopped == "finished" and history.best["epoch"] == 2
    assert all(torch.equal(tensor, models[kept][name]) for name, tensor in model.state_dict().items())


def test_a_score_that_is_no_number_is_never_the_best():
    history, _ = train(validate=scripted([math.nan, 0.2, math.nan]), epochs=3)
    assert history.best["epoch"] == 2


def test_a_loss_that_is_no_number_ends_the_run():
    history, _ = train(
        loss=lambda m, b: squares(m, b) * math.inf, validate=scripted([0.2, 0.3]), epochs=9, optimiser="sgd"
    )
    assert history.diverged and history.stopped == "early" and len(history) == 1 and history.best is None
    assert "no longer finite: 1 of 9 steps" in history.summary() and "lower lr" in history.summary()


def test_no_budget_still_does_one_step():
    history, model = train(None, lambda epoch: [data()] * 5, minutes=0)
    assert (history.stopped, history.steps_done, history.steps_planned, len(history)) == ("minutes", 1, 50, 0)
    assert history.summary().startswith("out of its minutes: 1 of 50 steps, 0 of 10 epochs; run it again")
    assert not model.training


def test_a_wide_budget_changes_nothing():
    history, model = train(minutes=60)
    assert history.stopped == "finished" and same(model, train()[1])


def test_epochs_may_differ_in_length():
    history, _ = train(None, lambda epoch: (data() for _ in range(3 - epoch)), epochs=3)
    assert [row["step"] for row in history] == [3, 5, 6] and history.steps_planned == history.steps_done == 6


# Random numbers


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


# Calls to the caller


def test_the_caller_is_told_of_every_epoch():
    told = []
    history, _ = train(
        epochs=2,
        on_epoch_start=lambda epoch, rows: told.append((epoch, len(rows))),
        on_epoch=lambda row: told.append(row),
        validate=scripted([0.1, 0.2]),
    )
    assert told == [(0, 0), history[0], (1, 1), history[1]]
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


# Devices and counts


def test_devices():
    assert device("cpu") == torch.device("cpu")
    assert device() == device("auto")
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match=r"there is no device 'cuda' here \(CUDA devices: 0\); use 'cpu'"):
            device("cuda")
    with pytest.raises(UserError, match="there is no device 'cuda:99' here"):
        device("cuda:99")
    for name in ("gpu", "meta", "vulkan"):
        with pytest.raises(
            UserError, match=f"device must be auto, cpu, cuda, cuda:0, ... or mps, got '{name}'"
        ):
            device(name)


def test_accelerate_can_force_the_cpu(monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_CPU", "True")
    assert device() == torch.device("cpu")


def test_bf16_needs_a_gpu():
    with pytest.raises(
        UserError, match="precision 'bf16' needs a CUDA GPU, and the model is on cpu; use precision 'no'"
    ):
        train(precision="bf16")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_bf16_on_a_gpu_trains_and_resumes(tmp_path):
    kinds = set()

    def loss(model, batch):
        out = model(batch[0])
        kinds.add((out.dtype, batch[0].device.type))
        return (out.float() - batch[1]).square().mean()

    options = {"loss": loss, "precision": "bf16", "lr": 0.05}
    with seeded(0):
        start = make(dropout=0.1).cuda()
    whole, _ = train(start, epochs=30, **options)
    assert kinds == {(torch.bfloat16, "cuda")} and whole[-1]["loss"] < whole[0]["loss"] / 2
    again = make(dropout=0.1).cuda()
    train(again, epochs=30, minutes=0, checkpoint=tmp_path, **options)
    history, _ = train(again, epochs=30, checkpoint=tmp_path, **options)
    assert history.resumed_from == 1
    assert history[-1]["loss"] == pytest.approx(whole[-1]["loss"], rel=0.05)


def test_shared_parameters_count_once():
    model = make()
    model[3].bias = model[0].bias
    assert parameter_count(model) == 12 + 4 + 4
    model[0].weight.requires_grad_(False)
    assert parameter_count(model, trainable=True) == 8


def test_the_seed_ends_with_its_block():
    state = torch.get_rng_state()
    with pytest.raises(KeyError), seeded(3):
        torch.rand(3)
        raise KeyError
    assert torch.equal(torch.get_rng_state(), state)


# Weights on disk


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5, 3)
        self.out = nn.Linear(3, 5)
        self.out.weight = self.words.weight
        self.register_buffer("ids", torch.arange(4))


def test_weights_come_back_bit_for_bit_and_tied_ones_are_stored_once(tmp_path):
    model = Tied()
    path = save_weights(tmp_path / "deep" / "model.safetensors", model, metadata={"epochs": 3, "by": "us"})
    weights = load_weights(path)
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert weights["words.weight"].data_ptr() == weights["out.weight"].data_ptr()
    assert weights_metadata(path) == {"epochs": "3", "by": "us"}
    with safe_open(path, framework="pt") as file:
        assert len(list(file.keys())) == 3
    assert os.listdir(path.parent) == ["model.safetensors"]


def test_weights_can_be_read_by_whoever_reads_other_files(tmp_path):
    (tmp_path / "other").write_text("")
    path = save_weights(tmp_path / "w", {"x": torch.ones(1)})
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_half_precision_is_half_the_size(tmp_path):
    model = nn.Linear(300, 300)
    sizes = [save_weights(tmp_path / f"{half}", model, half=half).stat().st_size for half in (False, True)]
    assert sizes[1] / sizes[0] == pytest.approx(0.5, abs=0.01)
    weights = load_weights(tmp_path / "True")
    assert weights["weight"].dtype == torch.float16
    other = nn.Linear(300, 300)
    other.load_state_dict(weights)
    torch.testing.assert_close(other.weight, model.weight, atol=1e-4, rtol=1e-3)
    assert load_weights(save_weights(tmp_path / "ids", Tied(), half=True))["ids"].dtype == torch.int64


def test_half_precision_refuses_what_it_cannot_hold(tmp_path):
    with pytest.raises(
        UserError, match="'x' has values that half precision cannot hold; save with half=False"
    ):
        save_weights(tmp_path / "x", {"x": torch.tensor([1e6])}, half=True)
    assert not (tmp_path / "x").exists()


def test_views_are_stored_alone(tmp_path):
    whole = torch.arange(12.0).view(3, 4)
    state = {
        "whole": whole,
        "row": whole[1],
        "column": whole[:, 1],
        "turned": whole.T,
        "empty": whole[:0],
        "end": whole[2:],
    }
    weights = load_weights(save_weights(tmp_path / "views", state))
    assert all(torch.equal(weights[name], tensor) for name, tensor in state.items())
    with pytest.raises(ValueError, match="weights must be tensors, got int for 'x'"):
        save_weights(tmp_path / "x", {"x": 1})


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = save_weights(tmp_path / "w", {"x": torch.ones(3)})

    def fail(source, target):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            save_weights(path, {"x": torch.zeros(3)})
    assert load_weights(path)["x"].tolist() == [1, 1, 1] and os.listdir(tmp_path) == ["w"]


@pytest.mark.parametrize("read", [load_weights, weights_metadata])
def test_weights_that_cannot_be_read_are_one_clear_line(tmp_path, read):
    with pytest.raises(UserError, match=r"there are no weights at .*none"):
        read(tmp_path / "none")
    path = save_weights(tmp_path / "w", {"x": torch.ones(30)})
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(UserError, match="is not a safetensors file or was cut short") as raised:
        read(path)
    assert "\n" not in str(raised.value)


# Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "progress", "shown"),
    [
        (io.StringIO, None, False),
        (io.StringIO, True, True),
        (Terminal, None, True),
        (Terminal, False, False),
    ],
)
def test_a_terminal_shows_a_bar_and_a_file_none(monkeypatch, stream, progress, shown):
    err = stream()
    monkeypatch.setattr(sys, "stderr", err)
    train(progress=progress, epochs=2, validate=scripted([0.25, 0.75]))
    assert bool(err.getvalue()) == shown
    if shown:
        assert "2/2" in err.getvalue() and "accuracy 0.75" in err.getvalue()


def test_a_notebook_shows_one_line_that_is_updated(monkeypatch):
    lines = []

    class Handle:
        def update(self, data, raw):
            lines[-1].append(data["text/plain"])

    def display(data, raw, display_id):
        lines.append([data["text/plain"]])
        return Handle()

    shell = types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    with contextlib.redirect_stderr(Terminal()) as err:
        train(epochs=3, validate=scripted([0.1, 0.2, 0.5]))
        train(epochs=3, progress=False)
    assert len(lines) == 1 and not err.getvalue()
    assert lines[0][0].startswith("░" * 24 + " 0 of 3 steps")
    assert lines[0][-1].startswith("█" * 24 + " 3 of 3 steps") and lines[0][-1].endswith("accuracy 0.5")


def test_the_loss_shown_is_the_mean_so_far():
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        train(
            Rates(), lambda epoch: [torch.zeros(1)], loss=lambda m, b: m.x * 0 + 0.5, epochs=1, progress=True
        )
    assert "loss 0.5" in err.getvalue()
