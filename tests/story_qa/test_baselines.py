"""Counting, a bag of words, an LSTM: what they read and what they cannot."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from reasonlib.story_qa.data.encoding import build_vocabulary, encode
from reasonlib.story_qa.data.example import Example, words
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.models.baselines import BagOfWords, MostFrequent, StoryLSTM
from reasonlib.training.batching import pad


def example_of(question, *answer):
    return Example(task=1, story=("Mary is here.",), question=question, answer=answer, support=(), group=0)


# Counting


def test_the_commonest_answer_to_each_form_of_question():
    counted = MostFrequent.fit(
        [
            example_of("Where is Mary?", "park"),
            example_of("Where is John?", "park"),
            example_of("Where is Mary?", "hall"),
            example_of("How many objects is Mary carrying?", "two"),
        ]
    )
    assert counted.answer(example_of("Where is Sandra?", "?")) == "park"
    assert counted.answer(example_of("How many apples are there?", "?")) == "two"
    assert counted.answer(example_of("Who gave the milk?", "?")) == "park"  # the commonest of all
    assert counted.answer(example_of("WHERE IS john?", "?")) == "park"


def test_equal_counts_are_settled_by_the_alphabet():
    examples = [example_of("Where is Mary?", answer) for answer in ("park", "hall", "attic", "hall", "attic")]
    for order in (examples, examples[::-1]):
        assert MostFrequent.fit(order).answers == {"where is": "attic"}


def test_a_list_is_answered_as_a_whole():
    counted = MostFrequent.fit([example_of("What is Mary carrying?", "milk", "apple")])
    assert counted.otherwise == "milk,apple"


# Bag of words


@pytest.fixture(scope="module")
def bags():
    examples = [example for task in (1, 2) for example in simulate(task, 6, seed=0)]
    return encode(examples, build_vocabulary(examples), "bag")


def test_a_bag_of_words_counts_every_word_of_story_and_question(bags):
    model = BagOfWords(len(bags.vocabulary), width=5)
    batch = bags.batch(range(len(bags)), slots=100)
    logits = model(batch)
    assert logits.shape == (len(bags), len(bags.vocabulary))
    for row, example in enumerate(bags.examples):
        story_counts, question_counts = torch.zeros(len(bags.vocabulary)), torch.zeros(len(bags.vocabulary))
        for word in bags.vocabulary.encode([w for text in example.story for w in words(text)]):
            story_counts[word] += 1
        for word in bags.vocabulary.encode(words(example.question)):
            question_counts[word] += 1
        hidden = (
            torch.cat([(1 + story_counts).log(), question_counts]) @ model.hidden.weight.T + model.hidden.bias
        )
        expected = hidden.clamp(min=0) @ model.answer.weight.T + model.answer.bias
        torch.testing.assert_close(logits[row], expected)


def test_neither_order_nor_padding_reaches_a_bag_of_words(bags):
    model = BagOfWords(len(bags.vocabulary), width=5)
    batch = bags.batch(range(len(bags)), slots=100)
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(batch.story.shape[1], generator=generator)
    other = torch.where(batch.filled, batch.story, 1)
    mixed = replace(batch, story=other[:, order], filled=batch.filled[:, order])
    torch.testing.assert_close(model(mixed), model(batch))


# LSTM


def test_an_lstm_reads_each_row_to_its_own_end():
    """Beside the same LSTM run on each row alone, without padding."""
    torch.manual_seed(0)
    model = StoryLSTM(vocabulary=11, width=6)
    rows = [[3, 4, 5, 6, 10], [7], [2, 9]]
    logits = model(pad(rows), torch.tensor([5, 1, 2]))
    assert logits.shape == (3, 11)
    for row, ids in enumerate(rows):
        _, (state, _) = model.read(model.words(torch.tensor([ids])))
        torch.testing.assert_close(logits[row], model.answer(state[-1, 0]))


def test_an_lstm_in_its_equations():
    """Hochreiter and Schmidhuber (1997) with a forget gate, gate by gate."""
    torch.manual_seed(0)
    model = StoryLSTM(vocabulary=7, width=4)
    ids = [3, 6, 2]
    state = cell = torch.zeros(4)
    for word in ids:
        gates = (
            model.read.weight_ih_l0 @ model.words.weight[word]
            + model.read.bias_ih_l0
            + model.read.weight_hh_l0 @ state
            + model.read.bias_hh_l0
        )
        let_in, forget, candidate, let_out = gates.chunk(4)
        cell = forget.sigmoid() * cell + let_in.sigmoid() * candidate.tanh()
        state = let_out.sigmoid() * cell.tanh()
    expected = model.answer.weight @ state + model.answer.bias
    torch.testing.assert_close(model(torch.tensor([ids]), torch.tensor([3]))[0], expected)


def test_padding_does_not_reach_an_lstm():
    torch.manual_seed(0)
    model = StoryLSTM(vocabulary=11, width=6)
    padded = torch.tensor([[3, 4, 0, 0], [5, 6, 7, 8]])
    changed = torch.tensor([[3, 4, 9, 2], [5, 6, 7, 8]])
    lengths = torch.tensor([2, 4])
    assert torch.equal(model(padded, lengths), model(changed, lengths))
    assert not torch.equal(model(padded, torch.tensor([4, 4])), model(changed, torch.tensor([4, 4])))


def test_the_null_word_is_zero_and_stays_zero():
    model = StoryLSTM(vocabulary=5, width=3)
    assert not model.words.weight[0].any()
    loss = nn.functional.cross_entropy(model(torch.tensor([[1, 0, 2]]), torch.tensor([3])), torch.tensor([4]))
    loss.backward()
    assert not model.words.weight.grad[0].any() and model.words.weight.grad[1].any()
