"""Networks side by side are the networks one by one; the best start is kept."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from reasonlib.story_qa.data.bags import position_bags_as_released
from reasonlib.story_qa.data.encoding import build_vocabulary, encode, encode_ordered
from reasonlib.story_qa.data.example import words
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.experiments import per_task
from reasonlib.story_qa.experiments.per_task import (
    RestartErrors,
    RestartsRecipe,
    evaluate_restarts,
    kept,
    train_restarts,
)
from reasonlib.story_qa.models.memory_gradient import loss_with_gradient
from reasonlib.story_qa.models.restarts import Restarts, RestartsConfig, softmax_with_empty


def sets(task, count, width=20, test_size=100):
    parts = simulate(task, count, seed=1), simulate(task, test_size, seed=2)
    vocabulary = build_vocabulary([*parts[0], *parts[1]])
    train = encode_ordered(parts[0], vocabulary, width)
    return train, encode_ordered(parts[1], vocabulary, width, like=train)


def networks(stories, seed=0, **sizes):
    sizes = {"restarts": 3, "width": 20, "hops": 3, "slots": 12} | sizes
    return Restarts(RestartsConfig(vocabulary=len(stories.vocabulary), **sizes), seed=seed)


# Against a transcription that makes every memory a vector


def weight(position, unit, longest, width):
    """The released code's weight of the word at `position` and `unit`, both counted from one."""
    return 1 + 4 * (unit - (width + 1) / 2) * (position - (longest + 1) / 2) / (width * longest)


def embedded(sentence, table, longest):
    """One sentence as the weighed sum of its words' rows."""
    width = table.shape[1]
    total = torch.zeros(width)
    for position, word in enumerate(sentence, start=1):
        for unit in range(1, width + 1):
            total[unit - 1] += weight(position, unit, longest, width) * table[word, unit - 1]
    return total


def answered(model, restart, stories, item, longest, linear):
    """Scores of one question by one restart, memory by memory, empty places included."""
    tables, ages, slots = model.words[:, restart], model.ages[:, restart], model.config.slots
    example = stories.examples[item]
    story = [stories.vocabulary.encode(words(sentence)) for sentence in reversed(example.story)][:slots]
    state = embedded(stories.vocabulary.encode(words(example.question)), tables[0], longest)
    for hop in range(model.config.hops):
        keys = torch.zeros(slots, len(state))
        values = torch.zeros(slots, len(state))
        for age, sentence in enumerate(story):
            keys[age] = embedded(sentence, tables[hop], longest) + ages[hop, age]
            values[age] = embedded(sentence, tables[hop + 1], longest) + ages[hop + 1, age]
        scores = keys @ state
        state = state + (scores if linear else scores.softmax(0)) @ values
    return tables[model.config.hops] @ state


@pytest.mark.parametrize("linear", [False, True])
def test_every_restart_is_the_network_of_the_released_code(linear):
    stories, _ = sets(1, 12, width=6)
    model = networks(stories, width=6, hops=2, restarts=2, init_std=0.5)
    longest = 1 + max(
        len(words(s)) for example in stories.examples for s in (*example.story, example.question)
    )
    logits = model(stories.batch([2, 7], slots=12), linear=linear)
    assert logits.shape == (2, 2, len(stories.vocabulary))
    for restart in range(2):
        for row, item in enumerate((2, 7)):
            expected = answered(model, restart, stories, item, longest, linear)
            torch.testing.assert_close(logits[restart, row], expected, atol=1e-4, rtol=1e-4)


def test_order_bags_are_the_weights_of_the_formula():
    bags = position_bags_as_released([[3, 1, 3], [2]], 5, width=4, longest=7)
    units = torch.arange(1, 5) / 4
    result = bags[:, 0, :, None] + units * bags[:, 1, :, None]  # (U, V, D)
    expected = torch.zeros(2, 5, 4)
    for row, sentence in enumerate(([3, 1, 3], [2])):
        for position, word in enumerate(sentence, start=1):
            expected[row, word] += torch.tensor([weight(position, unit, 7, 4) for unit in range(1, 5)])
    torch.testing.assert_close(result, expected)


def test_sentences_keep_their_rows_and_the_null_symbol_its_zero():
    train, test = sets(2, 30)
    plain = encode(test.examples, test.vocabulary)
    assert np.array_equal(plain.flat, test.flat) and np.array_equal(plain.question, test.question)
    counts = encode(test.examples, test.vocabulary, "bag").bags[:, 0] > 0
    assert torch.equal(test.bags[:, 1].abs().sum(1) > 0, counts.any(1))
    assert not test.bags[:, :, 0].any()
    both = set(train.examples[0].story)
    assert both  # J is that of the training set, whatever the other set holds
    alone = encode_ordered(test.examples[:1], test.vocabulary, 20, like=train)
    torch.testing.assert_close(alone.bags[0], test.bags[0])


def test_places_without_a_sentence_take_their_share_and_are_not_read():
    mask = torch.tensor([[True, True, False], [True, True, True], [False, False, False]])
    scores = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(0))
    weights = softmax_with_empty(scores, mask, places=5)
    full = torch.cat([scores.masked_fill(~mask, 0.0), torch.zeros(2, 3, 2)], dim=2).softmax(2)[:, :, :3]
    torch.testing.assert_close(weights, full.masked_fill(~mask, 0.0))
    torch.testing.assert_close(softmax_with_empty(scores, mask, places=3)[:, 1], scores[:, 1].softmax(1))


# Training


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("hops", [1, 3])
@pytest.mark.parametrize("places", [10, 14])  # as many as the longest story has sentences, and more
def test_the_gradient_by_hand_is_that_of_the_network(places, hops, linear):
    stories, _ = sets(1, 60, width=6)
    model = networks(stories, width=6, hops=hops, slots=places, init_std=0.6).double()
    model.unit = torch.arange(1, 7, dtype=torch.double) / 6
    batch = stories.batch(range(20, 45), slots=places, noise=0.2, rng=np.random.default_rng(0))
    batch = replace(batch, sentences=batch.sentences.double())
    logits = model(batch, linear=linear)
    losses = (
        torch.stack([functional.cross_entropy(restart_logits, batch.answer) for restart_logits in logits])
        * 32
    )
    loss = loss_with_gradient(model.words, model.ages, batch, tying=model.tying, linear=linear, size=32)
    torch.testing.assert_close(loss, losses.sum())
    expected_gradients = torch.autograd.grad(losses.sum(), [model.words, model.ages])
    for gradient, expected in zip(
        torch.autograd.grad(3 * loss, [model.words, model.ages]), expected_gradients, strict=True
    ):
        torch.testing.assert_close(gradient, 3 * expected, atol=1e-6, rtol=1e-5)


def test_the_gradient_by_hand_is_cut_table_by_table_and_start_by_start():
    stories, _ = sets(1, 60, width=6)
    model = networks(stories, width=6, init_std=0.6)
    batch = stories.batch(range(32), slots=12)
    free, cut = (
        torch.autograd.grad(
            loss_with_gradient(model.words, model.ages, batch, tying=model.tying, clip=clip),
            [model.words, model.ages],
        )
        for clip in (float("inf"), 0.02)
    )
    for whole, clipped in zip(free, cut, strict=True):
        norms = whole.flatten(2).norm(dim=2)
        assert norms.max() > 0.02
        factor = (0.02 / norms.clamp(min=1e-12)).clamp(max=1)[:, :, None, None]
        torch.testing.assert_close(clipped, whole * factor)


def test_restarts_do_not_touch_each_other():
    train, _ = sets(1, 80)
    recipe = RestartsRecipe(epochs=4, halve_every=2, clip=0.5)
    together, alone = networks(train), networks(train)
    with torch.no_grad():
        for parameter in alone.parameters():
            parameter[:, 1:] = 0.0  # other companions
    for model in (together, alone):
        train_restarts(model, train, recipe, progress=False)
    torch.testing.assert_close(alone.words[:, 0], together.words[:, 0], atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(alone.ages[:, 0], together.ages[:, 0], atol=1e-6, rtol=1e-5)


def test_one_that_diverges_leaves_the_others_alone():
    train, _ = sets(1, 80)
    model, sound = networks(train), networks(train)
    with torch.no_grad():
        model.words[:, 1] = 1e30
    for network in (model, sound):
        history = train_restarts(network, train, RestartsRecipe(epochs=3), progress=False)
    assert history.stopped == "finished"
    tried = evaluate_restarts(model, train)
    assert not np.isfinite(tried.loss[1]) and np.isfinite(tried.loss[[0, 2]]).all()
    torch.testing.assert_close(model.words[:, 2], sound.words[:, 2], atol=1e-6, rtol=1e-5)
    assert kept(tried, tried) != 1


def test_the_gradient_of_each_table_of_each_restart_is_bounded():
    train, _ = sets(1, 64)
    model, before = networks(train, init_std=0.5), networks(train, init_std=0.5)
    train_restarts(model, train, RestartsRecipe(epochs=1, clip=0.01, batch_size=64, lr=1.0), progress=False)
    moved = (model.words - before.words).flatten(2).norm(dim=2)  # one step at rate 1
    assert (moved <= 0.01 + 1e-6).all() and moved.max() > 0.004


def test_training_is_the_same_each_time_and_when_it_was_stopped(tmp_path):
    train, _ = sets(1, 64)
    recipe = RestartsRecipe(epochs=6)
    models = [networks(train) for _ in range(3)]
    for model in models[:2]:
        train_restarts(model, train, recipe, seed=3, progress=False)
    while (
        train_restarts(
            models[2], train, recipe, seed=3, minutes=0, checkpoint=tmp_path / "kept", progress=False
        ).stopped
        != "finished"
    ):
        models[2] = networks(train, seed=9)  # a new process knows nothing
    for model in models[1:]:
        assert torch.equal(model.words, models[0].words) and torch.equal(model.ages, models[0].ages)


def test_it_learns_a_deduction_and_one_hop_does_not():
    train, test = sets(15, 800)
    slots = int(train.lengths.max()) + 1
    errors = []
    for hops in (3, 1):
        model = networks(train, hops=hops, slots=slots)
        train_restarts(model, train, RestartsRecipe(epochs=50, lr=0.01, halve_every=20), progress=False)
        learnt = evaluate_restarts(model, train)
        errors.append(evaluate_restarts(model, test).error[kept(learnt, learnt)])
    assert errors[0] < 0.05 and errors[1] > 0.2


def test_a_linear_start_is_a_share_of_the_epochs(monkeypatch):
    train, _ = sets(1, 64)
    model, seen = networks(train), []
    manual = loss_with_gradient
    monkeypatch.setattr(
        per_task,
        "loss_with_gradient",
        lambda *a, linear, **k: seen.append(linear) or manual(*a, linear=linear, **k),
    )
    recipe = RestartsRecipe(epochs=6, linear_start=1 / 3, batch_size=64)
    train_restarts(model, train, recipe, progress=False)
    assert seen == [True, True, False, False, False, False]


# Which one is kept


def test_training_error_then_validation_error_then_loss():
    def tried(error, loss):
        return RestartErrors(np.array(error), np.array(loss))

    valid = tried([0.0, 0.3, 0.1], [0.0, 0.0, 0.0])
    assert kept(tried([0.2, 0.1, 0.1], [0.0, 0.0, 9.0]), valid) == 2
    assert kept(tried([0.2, 0.1, 0.2], [0.0, 9.0, 0.0]), valid) == 1
    even = tried([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert kept(tried([0.1, 0.1, 0.1], [0.3, 0.2, 0.4]), even) == 1
    assert kept(tried([0.0, 0.1, 0.1], [np.nan, 0.2, 0.4]), even) == 1


def test_asking_counts_every_question_once():
    train, test = sets(1, 40, test_size=30)
    model = networks(train, slots=5)
    whole, pieces = evaluate_restarts(model, test), evaluate_restarts(model, test, size=7)
    np.testing.assert_allclose(whole.error, pieces.error)
    np.testing.assert_allclose(whole.loss, pieces.loss, rtol=1e-5)
    logits = model(test.batch(range(30), slots=5))
    answer = torch.from_numpy(test.answer)
    for restart in range(3):
        loss = functional.cross_entropy(logits[restart], answer).item()
        assert whole.loss[restart] == pytest.approx(loss, rel=1e-5)
        assert whole.error[restart] == (logits[restart].argmax(1) != answer).double().mean().item()


@pytest.mark.parametrize("name", ["vocabulary", "restarts", "width", "hops", "slots"])
def test_sizes_are_at_least_one(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        RestartsConfig(**{"vocabulary": 9, name: 0})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"linear_start": 1.5}, r"linear_start must be between 0 and 1, got 1\.5"),
        ({"clip": 0.0}, r"clip must be above 0, got 0\.0"),
        ({"noise": -0.1}, r"noise must be at least 0, got -0\.1"),
    ],
)
def test_numbers_out_of_range(change, message):
    with pytest.raises(ValueError, match=message):
        RestartsRecipe(**change)
