"""Training on dialogues: it solves what its ablation cannot, resumes to the same bits, counts right."""

import numpy as np
import pytest
import torch
from killing import same, train_until_killed, weights

from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.bags import build_vocabulary, make_bags, words
from reasonlib.goal_dialogue.data.encoding import EncodedTask, encode, encode_split
from reasonlib.goal_dialogue.data.example import Dialogue, Example, Turn, examples
from reasonlib.goal_dialogue.experiments import metrics
from reasonlib.goal_dialogue.experiments.train_memory import (
    LOSSES,
    Recipe,
    evaluate_network,
    hinge,
    train_network,
)
from reasonlib.goal_dialogue.models.match_features import entity_types
from reasonlib.goal_dialogue.models.memory_network import NetworkConfig, build
from reasonlib.goal_dialogue.models.memory_system import MemoryNetworkSystem, predict

CUISINES = ("thai", "indian", "french", "british")
PLACES = ("rome", "paris", "london")


def orders(count, seed):
    """Dialogues of two turns whose last response needs what was said in the first."""
    rng = np.random.default_rng(seed)
    drawn = [(CUISINES[rng.integers(4)], PLACES[rng.integers(3)]) for _ in range(count)]
    return [
        Dialogue(
            task=1,
            events=(
                Turn(f"i want {cuisine} food", "where should it be"),
                Turn(f"in {city}", f"api_call {cuisine} {city}"),
            ),
        )
        for cuisine, city in drawn
    ]


CANDIDATES = (
    "where should it be",
    *(f"api_call {cuisine} {city}" for cuisine in CUISINES for city in PLACES),
)


def encoded():
    train, test = orders(120, 0), orders(40, 1)
    vocabulary = build_vocabulary(train, CANDIDATES)
    turns, test_turns = (encode(part, vocabulary, CANDIDATES) for part in (train, test))
    bags = make_bags((words(candidate) for candidate in CANDIDATES), vocabulary)
    return EncodedTask(vocabulary, CANDIDATES, bags, {}, turns, test_turns, test_turns, None), test


RECIPE = Recipe(epochs=25, batch_size=16, lr=0.01)


def trained(slots=50, network="n2n", recipe=RECIPE, **options):
    task, test = encoded()
    model = build(NetworkConfig(network=network, width=16, hops=1, slots=slots), task, seed=0)
    history = train_network(model, task, recipe, seed=0, progress=False, **options)
    return model, task, test, history


def test_a_network_remembers_and_without_a_memory_it_cannot():
    model, task, _, _ = trained()
    assert evaluate_network(model, task.test) == {"per_response": 1.0, "per_dialogue": 1.0}
    blind, task, _, _ = trained(slots=0)
    scores = evaluate_network(blind, task.test)
    assert 0.5 <= scores["per_response"] < 0.8 and scores["per_dialogue"] < 0.6


@pytest.mark.parametrize("network", ["gn2n-adjacent", "un2n"])
def test_gated_and_unified_networks_learn_too(network):
    model, task, _, _ = trained(network=network)
    assert evaluate_network(model, task.test)["per_response"] > 0.95


def test_match_features_answer_with_words_training_never_heard():
    split = datasets.load("simulated", 4, dialogues=50)
    accuracy = {}
    for match in (False, True):
        task = encode_split(split, types=entity_types(split) if match else None)
        model = build(NetworkConfig(hops=1, width=16, match=match), task, seed=0)
        train_network(model, task, Recipe(epochs=10, batch_size=16, lr=0.02), seed=0, progress=False)
        accuracy[match] = evaluate_network(model, task.oov)["per_response"]
    assert accuracy[True] > 0.9 > 0.7 > accuracy[False]


def test_a_killed_run_ends_with_the_same_weights(tmp_path):
    recipe = Recipe(epochs=4, batch_size=16, lr=0.01)
    whole, *_ = trained(recipe=recipe)
    train_until_killed(trained, 2, recipe=recipe, checkpoint=tmp_path)
    resumed, *_ = trained(recipe=recipe, checkpoint=tmp_path)
    assert same(weights(whole), weights(resumed))


def test_training_in_order_and_with_the_hinge_loss_is_another_training():
    ends = [
        trained(recipe=Recipe(epochs=2, batch_size=16, **change))[0].state_dict()
        for change in ({}, {"shuffled": False}, {"loss": "hinge"})
    ]
    name = next(iter(ends[0]))
    assert not torch.equal(ends[0][name], ends[1][name]) and not torch.equal(ends[0][name], ends[2][name])


def test_losses_by_hand():
    logits, response = torch.tensor([[2.0, 1.5, 0.0], [0.0, 3.0, 1.0]]), torch.tensor([0, 1])
    assert hinge(logits, response).item() == pytest.approx((0.5 + 0.0) / 2)
    for loss in LOSSES.values():
        left_out = loss(torch.cat([logits, logits[:1]]), torch.tensor([0, 1, -1]))
        torch.testing.assert_close(left_out, loss(logits, response))


def test_accuracy_is_that_of_every_other_system():
    model, task, test, _ = trained(slots=0, recipe=Recipe(epochs=3, batch_size=16, lr=0.01))
    system = MemoryNetworkSystem(model, task)
    test_set = list(examples(test))
    assert system.answer(test_set) == [CANDIDATES[index] for index in predict(model, task.test)]
    assert metrics.evaluate(system, test) == pytest.approx(evaluate_network(model, task.test))
    example = Example(task=1, history=(), user="i want thai food", response="", dialogue=0, turn=0)
    assert system.ask([example]).logits.shape == (1, len(CANDIDATES))


def test_bad_recipes_are_refused():
    with pytest.raises(ValueError, match="loss must be one of cross-entropy, hinge, got 'square'"):
        Recipe(loss="square")
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        Recipe(batch_size=0)
