"""Schedules of the learning rate, and when training stops."""

import math

import pytest
import torch
from torch import nn
from training.small import Rates, data, same, scripted, squares, train

from reasonlib.training import TrainingConfig, learning_rate


def torch_rates(scheduler, steps):
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(()))], lr=0.8)
    instance = scheduler(optimiser)
    rates = []
    for _ in range(steps):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        instance.step()
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
    remaining_scores = iter(scores)
    rates, _ = Rates.of(
        1,
        epochs=len(scores),
        lr=0.8,
        schedule="plateau",
        step_every=wait,
        validate=lambda m: {"accuracy": next(remaining_scores)},
        mode=mode,
    )
    assert rates == pytest.approx(expected, abs=1e-12) and rates[-1] < rates[0]


def test_a_linear_schedule_never_goes_below_zero():
    config = TrainingConfig(schedule="linear", warmup=3)
    assert learning_rate(config, 99, epoch=0, steps_planned=12) == 0
    assert learning_rate(config, 3, epoch=0, steps_planned=3) == 0


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
