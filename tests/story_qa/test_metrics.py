"""What is counted as right, and where a network looked, on cases small enough to count by hand."""

import math

import numpy as np
import pytest
import torch

from reasonlib.story_qa.data.encoding import build_vocabulary, encode
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.experiments.metrics import attention_on_support, by_support, predict, scores
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork


def make_example(sentences, support, task=1):
    return Example(
        task=task,
        story=tuple(f"Mary went to room {number}." for number in range(sentences)),
        question="Where is Mary?",
        answer=("room",),
        support=support,
        group=0,
    )


# Accuracy


def test_every_task_counts_alike_however_many_questions_it_has():
    result = scores([1, 1, 1, 1, 2], [True, True, True, False, False])
    assert result["accuracy.qa1"] == 0.75 and result["accuracy.qa2"] == 0.0
    assert result["accuracy"] == 0.375 and result["accuracy.without_3"] == 0.375


def test_the_mean_without_task_three():
    result = scores(np.array([3, 3, 7]), np.array([False, False, True]))
    assert result["accuracy"] == 0.5 and result["accuracy.without_3"] == 1.0
    assert math.isnan(scores([3], [True])["accuracy.without_3"])


@pytest.mark.parametrize(("right", "failed"), [(18, 1.0), (19, 0.0), (20, 0.0)])
def test_a_task_fails_above_five_per_cent_of_error(right, failed):
    assert scores([4] * 20, [True] * right + [False] * (20 - right))["failed"] == failed


def test_nothing_to_score():
    with pytest.raises(ValueError, match="scores needs at least one question, got none"):
        scores([], [])


def test_accuracy_by_the_number_of_supporting_facts():
    examples = [make_example(12, tuple(range(count))) for count in (1, 1, 2, 9, 12, 0)]
    assert by_support(examples, [True, False, True, True, False, True]) == {
        "facts.1": 0.5,
        "facts.2": 1.0,
        "facts.9": 0.5,  # nine and twelve; a question without labels is left out
    }


# Predictions


@pytest.fixture(scope="module")
def model_and_stories():
    examples = [example for task in (1, 2, 15) for example in simulate(task, 15, seed=4)]
    stories = encode(examples, build_vocabulary(examples))
    config = MemoryConfig(vocabulary=len(stories.vocabulary), width=5, hops=2, slots=6, init_std=0.5)
    return MemoryNetwork(config), stories


def test_predictions_come_in_the_order_of_the_questions(model_and_stories):
    model, stories = model_and_stories
    answers, weights = predict(model, stories)
    assert answers.shape == (45,) and len(weights) == 45
    for item in (0, 17, 44):
        alone = model(stories.batch([item], slots=6))
        kept = min(6, stories.lengths[item])
        assert answers[item] == alone.logits.argmax()
        assert weights[item].shape == (2, kept)
        latest_first = alone.weights[0, :, :kept].detach().numpy()
        np.testing.assert_allclose(weights[item][:, ::-1], latest_first, atol=1e-6)


def test_the_size_of_a_batch_and_the_choice_of_items_change_nothing(model_and_stories):
    model, stories = model_and_stories
    answers, weights = predict(model, stories)
    small, small_weights = predict(model, stories, size=4)
    assert small.tolist() == answers.tolist()
    for result, expected in zip(small_weights, weights, strict=True):
        np.testing.assert_allclose(result, expected, atol=1e-6)
    some, _ = predict(model, stories, items=(item for item in (40, 2, 2)))
    assert some.tolist() == answers[[40, 2, 2]].tolist()


def test_predicting_leaves_no_gradient(model_and_stories):
    model, stories = model_and_stories
    predict(model, stories)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.is_grad_enabled()


# Attention


def test_attention_on_the_sentences_that_matter():
    # hop 1 looks at sentence 0, hop 2 at sentence 2; sentences 2 and 3 are needed
    attention = np.array([[0.7, 0.1, 0.1, 0.1], [0.0, 0.2, 0.6, 0.2]])
    result = attention_on_support([make_example(4, (2, 3))], [attention])
    assert result["support.found"] == 0.5
    assert result["support.weight"] == pytest.approx(((0.1 + 0.1) + (0.6 + 0.2)) / 2)
    assert result["support.chance"] == 0.5


def test_a_network_that_looks_everywhere_alike_is_at_chance():
    examples = [make_example(count, (0, count - 1)) for count in (2, 5, 9)]
    result = attention_on_support(examples, [np.full((3, n), 1 / n) for n in (2, 5, 9)])
    assert result["support.weight"] == pytest.approx(result["support.chance"])


def test_a_network_that_looks_at_the_support_finds_all_of_it():
    attention = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    result = attention_on_support([make_example(3, (2, 1))], [attention])
    assert result == {"support.found": 1.0, "support.weight": 1.0, "support.chance": pytest.approx(2 / 3)}


def test_a_forgotten_sentence_is_a_sentence_not_found():
    attention = np.array([[1.0, 0.0]])  # of four sentences the last two are held
    result = attention_on_support([make_example(4, (0, 2))], [attention])
    assert result == {"support.found": 0.5, "support.weight": 1.0, "support.chance": 0.5}


def test_questions_without_labels_or_memory_do_not_count():
    attention = np.array([[1.0, 0.0]])
    labelled = attention_on_support([make_example(2, (0,))], [attention])
    examples = [make_example(2, ()), make_example(2, (0,)), make_example(0, ())]
    assert attention_on_support(examples, [attention, attention, np.empty((1, 0))]) == labelled
    assert attention_on_support([make_example(2, ())], [attention]) == {}


def test_each_question_has_its_own_weights():
    with pytest.raises(ValueError, match="zip"):
        attention_on_support([make_example(2, (0,))], [])
