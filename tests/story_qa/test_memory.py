"""A memory network learns what its parts let it learn, the same way each time, stopped or not."""

from functools import partial

import numpy as np
import pytest
import torch
from killing import rows, same, train_until_killed, weights
from torch.nn import functional

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.story_qa.data.encoding import build_vocabulary, encode
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.experiments.memory import Recipe, accuracy, learn
from reasonlib.story_qa.experiments.metrics import predict
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork
from reasonlib.training import recipes
from reasonlib.training.batching import LengthBuckets


def sets(task, count, encoding="position"):
    """Training and test questions of one task."""
    parts = simulate(task, count, seed=1), simulate(task, 200, seed=2)
    vocabulary = build_vocabulary([*parts[0], *parts[1]])
    return [encode(part, vocabulary, encoding) for part in parts]


def network(stories, seed=0, **sizes):
    return MemoryNetwork(MemoryConfig(vocabulary=len(stories.vocabulary), **sizes), seed=seed)


# It learns, and its ablation does not


def reached(task, *, encoding="position", epochs, lr, **sizes):
    """Train on a thousand questions of one task and measure on unseen ones."""
    train, test = sets(task, 1000, encoding)
    model = network(train, **{"width": 20, "hops": 1, "slots": 20, **sizes})
    recipe = Recipe(epochs=epochs, lr=lr, optimiser="adam", summed=False, schedule="linear")
    learn(model, train, recipe, progress=False)
    return accuracy(model, test)["accuracy"]


def test_who_moved_last_needs_the_age_of_a_sentence():
    assert reached(1, epochs=20, lr=0.03) > 0.95
    assert reached(1, epochs=20, lr=0.03, temporal=False) < 0.8


def test_a_deduction_of_two_steps_needs_more_than_one_hop():
    assert reached(15, hops=3, epochs=40, lr=0.02, temporal=False) > 0.9
    assert reached(15, hops=1, epochs=40, lr=0.02, temporal=False) < 0.7


def test_who_stands_north_of_whom_needs_the_order_of_words():
    assert reached(4, epochs=25, lr=0.03) > 0.8
    assert reached(4, epochs=25, lr=0.03, encoding="bag") < 0.75


# The recipe


@pytest.fixture(scope="module")
def small():
    return sets(1, 80)


SMALL = {"width": 8, "hops": 2, "slots": 6}


def trained(small, recipe, *, seed=0, first=0, **options):
    model = network(small[0], first, **SMALL)
    history = learn(model, small[0], recipe, seed=seed, progress=False, **options)
    return model, history


def test_the_recipe_of_the_source_step_by_step(small):
    """Beside a plain loop: SGD on the sum of the batch's losses, gradients clipped at a norm."""
    recipe = Recipe(epochs=3, batch_size=16, lr=0.02, clip=0.5, halve_every=2, noise=0.0)
    model, history = trained(small, recipe, seed=5)
    other = network(small[0], 0, **SMALL)
    buckets = LengthBuckets(np.minimum(small[0].lengths, 6).tolist(), batch_size=16, seed=5)
    clipped = 0
    for epoch in range(3):
        losses = []
        for items in buckets.plan(epoch):
            batch = small[0].batch(items, slots=6)
            loss = functional.cross_entropy(other(batch).logits, batch.answer, reduction="sum")
            other.zero_grad()
            loss.backward()
            norm = torch.cat([p.grad.flatten() for p in other.parameters()]).norm()
            clipped += int(norm > 0.5)
            with torch.no_grad():
                for parameter in other.parameters():
                    scale = min(1.0, 0.5 / norm.item())
                    parameter -= (0.02 if epoch < 2 else 0.01) * scale * parameter.grad
            losses.append(loss.item())
        assert history[epoch]["loss"] == pytest.approx(np.mean(losses), rel=1e-4)
    assert 0 < clipped
    for name, tensor in other.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], tensor, atol=1e-5, rtol=1e-4)


def test_a_mean_and_a_sum_differ_by_the_rate_alone(small):
    summed = trained(small, Recipe(epochs=2, batch_size=16, lr=0.01, clip=1.6))[0]
    mean = trained(small, Recipe(epochs=2, batch_size=16, lr=0.16, clip=0.1, summed=False))[0]
    for name, tensor in weights(summed).items():
        torch.testing.assert_close(tensor, weights(mean)[name], atol=1e-5, rtol=1e-4)


def test_the_rate_is_halved_every_so_many_epochs(small):
    history = trained(small, Recipe(epochs=5, halve_every=2, lr=0.01))[1]
    assert history.column("lr") == pytest.approx([0.01, 0.01, 0.005, 0.005, 0.0025])


def test_the_defaults_are_the_source_s():
    config = training.training_config(Recipe())
    assert (config.epochs, config.optimiser, config.lr, config.clip) == (100, "sgd", 0.01, 40.0)
    assert (config.schedule, Recipe().halve_every, config.factor) == ("step", 25, 0.5)
    assert (config.momentum, config.weight_decay) == (0.0, 0.0)


@pytest.mark.parametrize(("share", "linear"), [(0.0, 0), (0.5, 2), (1.0, 4)])
def test_linear_start_is_a_share_of_the_epochs_and_never_of_the_measurements(small, share, linear):
    calls = []

    class Overheard(MemoryNetwork):
        def forward(self, batch, *, linear=False):
            calls.append((self.training, linear))
            return super().forward(batch, linear=linear)

    model = Overheard(MemoryConfig(vocabulary=len(small[0].vocabulary), **SMALL))
    recipe = Recipe(epochs=4, batch_size=80, linear_start=share)
    learn(model, small[0], recipe, valid=small[1], progress=False)
    assert [flag for training_now, flag in calls if training_now] == [True] * linear + [False] * (4 - linear)
    assert not any(flag for training_now, flag in calls if not training_now)
    assert any(not training_now for training_now, _ in calls)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"linear_start": 1.5}, "linear_start must be between 0 and 1, got 1.5"),
        ({"linear_start": -0.1}, "linear_start must be between 0 and 1, got -0.1"),
        ({"noise": -1.0}, "noise must be at least 0, got -1.0"),
    ],
)
def test_bad_recipes(values, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**values)


def test_accuracy_is_measured_after_every_epoch_if_there_is_something_to_measure_on(small):
    model, history = trained(small, Recipe(epochs=2), valid=small[1])
    answers, _ = predict(model, small[1])
    assert history[-1]["accuracy"] == accuracy(model, small[1])["accuracy"]
    assert history[-1]["accuracy"] == (answers == small[1].answer).mean()
    assert "accuracy" not in trained(small, Recipe(epochs=1))[1][0]


# The same each time


NOISY = Recipe(epochs=4, batch_size=16, optimiser="adam", lr=0.01, noise=0.5, linear_start=0.5, summed=False)


def test_the_same_seeds_give_the_same_bits(small):
    first, second = trained(small, NOISY, valid=small[1]), trained(small, NOISY, valid=small[1])
    assert same(weights(first[0]), weights(second[0]))
    assert first[1].column("loss") == second[1].column("loss")
    assert not same(weights(first[0]), weights(trained(small, NOISY, seed=1)[0]))
    assert not same(weights(first[0]), weights(trained(small, NOISY, first=1)[0]))


def test_the_noise_is_drawn_anew_in_every_epoch(small):
    seen = []

    class Shown(MemoryNetwork):
        def forward(self, batch, *, linear=False):
            seen.append(batch.filled.sum(0).tolist())
            return super().forward(batch, linear=linear)

    model = Shown(MemoryConfig(vocabulary=len(small[0].vocabulary), **SMALL))
    learn(model, small[0], Recipe(epochs=3, batch_size=80, noise=1.0), progress=False)
    assert len({tuple(counts) for counts in seen}) == 3


def test_a_killed_run_resumes_to_the_same_bits(small, tmp_path, monkeypatch):
    whole, history = trained(small, NOISY, valid=small[1])
    monkeypatch.setattr(recipes, "fit", partial(training.fit, save_every=3))

    train_until_killed(partial(trained, small, NOISY), 2, valid=small[1], checkpoint=tmp_path)
    model, resumed = trained(small, NOISY, valid=small[1], checkpoint=tmp_path)
    assert resumed.resumed_from == 9  # of five steps an epoch: within the linear start's last epoch
    assert same(weights(model), weights(whole)) and rows(resumed) == rows(history)


def test_a_run_in_many_small_budgets_ends_in_the_same_bits(small, tmp_path):
    whole, history = trained(small, NOISY)
    stops = []
    for _ in range(history.steps_planned):
        model, part = trained(small, NOISY, checkpoint=tmp_path, minutes=0)
        stops.append((part.stopped, part.steps_done))
    assert stops[:2] == [("minutes", 1), ("minutes", 2)] and stops[-1] == ("finished", history.steps_planned)
    assert same(weights(model), weights(whole)) and rows(part) == rows(history)


@pytest.mark.parametrize("change", ["recipe", "model", "questions"])
def test_a_checkpoint_of_another_run_is_refused(small, tmp_path, change):
    trained(small, NOISY, checkpoint=tmp_path, minutes=0)
    train = sets(1, 60)[0] if change == "questions" else small[0]
    model = MemoryNetwork(
        MemoryConfig(vocabulary=len(small[0].vocabulary), **{**SMALL, "hops": 3 if change == "model" else 2})
    )
    recipe = Recipe(**{**NOISY.__dict__, "noise": 0.4 if change == "recipe" else NOISY.noise})
    with pytest.raises(UserError, match=rf"\({change} is .* there, .* here\)"):
        learn(model, train, recipe, checkpoint=tmp_path, progress=False)
