"""The memory network beside a transcription of its equations, and what each of its parts can see."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from reasonlib.nn import masked_softmax
from reasonlib.story_qa.data.bags import sentence_bags
from reasonlib.story_qa.data.encoding import build_vocabulary, encode
from reasonlib.story_qa.data.example import words
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork, Tying, averaged_scores

EXAMPLES = [example for task in (1, 4, 15) for example in simulate(task, 4, seed=2)]
VOCABULARY = build_vocabulary(EXAMPLES)
SLOTS = 8  # fewer than the longest story has


def network(seed=0, **changes):
    sizes = {"vocabulary": len(VOCABULARY), "width": 6, "hops": 3, "slots": SLOTS}
    return MemoryNetwork(MemoryConfig(**{**sizes, **changes}), seed=seed).double()


def stories(encoding="position", examples=EXAMPLES):
    return encode(examples, VOCABULARY, encoding)


def batch_of(encoding="position", items=None, slots=SLOTS):
    batch = stories(encoding).batch(range(len(EXAMPLES)) if items is None else items, slots=slots)
    return replace(batch, sentences=batch.sentences.double())


# Parity: Sukhbaatar et al. (2015), section 2 and 4.1, word by word in NumPy


def answered_in_numpy(example, parameters, *, encoding, tying, hops, temporal, mapped, rectified, linear):
    tables = parameters["words"]
    width = tables.shape[2]

    def sentence(text, table):
        ids = VOCABULARY.encode(words(text))
        total = np.zeros(width)
        for j, word in enumerate(ids, start=1):
            for k in range(1, width + 1):
                weight = 1.0
                if encoding == "position":
                    weight = (1 - j / len(ids)) - (k / width) * (1 - 2 * j / len(ids))
                total[k - 1] += weight * table[word, k - 1]
        return total

    if tying == "adjacent":  # A_1 = B, A_{k+1} = C_k, W = C_K transposed
        inputs = [tables[hop] for hop in range(hops)]
        outputs = [tables[hop + 1] for hop in range(hops)]
        question, final = tables[0], tables[hops]
        ages = [(hop, hop + 1) for hop in range(hops)]
    else:  # A_1 = ... = A_K, C_1 = ... = C_K
        inputs, outputs = [tables[0]] * hops, [tables[1]] * hops
        question, final = tables[2], tables[3]
        ages = [(0, 1)] * hops
    memories = example.story[::-1][:SLOTS]
    u = sentence(example.question, question)
    attention = []
    for hop in range(hops):
        m = np.array([sentence(text, inputs[hop]) for text in memories])
        c = np.array([sentence(text, outputs[hop]) for text in memories])
        if temporal:
            t_a, t_c = (parameters["ages"][table, : len(memories)] for table in ages[hop])
            m, c = m + t_a, c + t_c
        match = m @ u
        p = match / len(memories) if linear else np.exp(match) / np.exp(match).sum()
        attention.append(p)
        u = (parameters["between.weight"] @ u if mapped else u) + p @ c
        if not linear:
            first = round(width * (1 - rectified))
            u[first:] = np.maximum(u[first:], 0)
    return final @ u, np.array(attention)


SETTINGS = [
    *itertools.product(("adjacent", "layerwise"), ("position", "bag"), (True,), (False, True), (0.0,), (3,)),
    ("adjacent", "position", False, False, 0.5, 2),
    ("layerwise", "bag", False, True, 1.0, 1),
    ("adjacent", "position", True, True, 0.5, 3),
]


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(("tying", "encoding", "temporal", "mapped", "rectified", "hops"), SETTINGS)
def test_the_equations_in_numpy(tying, encoding, temporal, mapped, rectified, hops, linear):
    setting = {"tying": tying, "temporal": temporal, "mapped": mapped, "rectified": rectified, "hops": hops}
    model = network(init_std=0.5, **setting)
    if mapped:  # it starts as the identity; anything else tells more
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            model.between.weight += 0.3 * torch.randn(6, 6, generator=generator, dtype=torch.float64)
    parameters = {name: value.detach().numpy() for name, value in model.named_parameters()}
    with torch.no_grad():
        answered = model(batch_of(encoding), linear=linear)
    for row, example in enumerate(EXAMPLES):
        logits, attention = answered_in_numpy(
            example, parameters, encoding=encoding, linear=linear, **setting
        )
        np.testing.assert_allclose(answered.logits[row], logits, atol=1e-5)
        np.testing.assert_allclose(answered.weights[row, :, : attention.shape[1]], attention, atol=1e-6)
        assert not answered.weights[row, :, attention.shape[1] :].any()


def test_gradients_flow_to_every_parameter():
    model = network(mapped=True, rectified=0.5, tying="layerwise")
    torch.nn.functional.cross_entropy(model(batch_of()).logits, batch_of().answer).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


# Contract


@pytest.mark.parametrize(("tying", "tables"), [("adjacent", 4), ("layerwise", 4)])
def test_shapes(tying, tables):
    model = network(tying=tying)
    batch = batch_of()
    answered = model(batch)
    questions, slots = batch.story.shape
    assert answered.logits.shape == (questions, len(VOCABULARY))
    assert answered.weights.shape == (questions, 3, slots) and len(answered.readings) == 3
    for reading in answered.readings:
        assert reading.output.shape == (questions, 6)
        assert reading.weights.shape == reading.scores.shape == (questions, slots)
    assert model.words.shape == (tables, len(VOCABULARY), 6) and model.ages.shape == (tables, SLOTS, 6)
    assert model.embed(batch.sentences).shape == (tables, len(batch.sentences), 6)


def test_how_many_tables_there_are():
    assert Tying.adjacent(6).tables == 7 and Tying.layerwise(6).tables == 4
    for tying in (Tying.adjacent(6), Tying.layerwise(6)):
        assert len(tying.keys) == len(tying.values) == 6
        assert {*tying.keys, *tying.values, tying.query, tying.answer} == set(range(tying.tables))
    assert Tying.adjacent(6).keys[1:] == Tying.adjacent(6).values[:-1]  # A_{k+1} = C_k


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary": 0}, "vocabulary must be at least 1, got 0"),
        ({"width": 0}, "width must be at least 1, got 0"),
        ({"hops": 0}, "hops must be at least 1, got 0"),
        ({"slots": -1}, "slots must be at least 1, got -1"),
        ({"tying": "loose"}, "tying must be adjacent or layerwise, got 'loose'"),
        ({"rectified": 1.5}, "rectified must be between 0 and 1, got 1.5"),
    ],
)
def test_bad_sizes(changes, message):
    with pytest.raises(ValueError, match=message):
        network(**changes)


def test_the_first_weights_are_drawn_from_the_seed_alone():
    torch.manual_seed(1)
    first = network(seed=3).state_dict()
    torch.manual_seed(2)
    second, third = network(seed=3).state_dict(), network(seed=4).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not any(torch.equal(first[name], third[name]) for name in first)


def test_the_first_weights_have_the_spread_of_the_source():
    model = network(width=100)
    for weights in (model.words, model.ages):
        assert abs(weights.mean().item()) < 0.01 and weights.std().item() == pytest.approx(0.1, rel=0.05)
    assert network(width=100, init_std=0.5).words.std().item() == pytest.approx(0.5, rel=0.05)
    assert torch.equal(network(mapped=True).between.weight, torch.eye(6, dtype=torch.float64))


# Mathematics


@pytest.mark.parametrize("tying", ["adjacent", "layerwise"])
def test_weights_are_shares_of_the_filled_slots(tying):
    batch = batch_of()
    weights = network(tying=tying, init_std=0.5)(batch).weights
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:2], dtype=torch.float64))
    assert (weights >= 0).all()
    assert not weights.masked_select(~batch.filled[:, None, :]).any()


@pytest.mark.parametrize("linear", [False, True])
def test_what_stands_in_an_empty_slot_changes_nothing(linear):
    model = network(init_std=0.5)
    batch = batch_of()
    assert not batch.filled.all()
    generator = torch.Generator().manual_seed(0)
    other = torch.randint(len(batch.sentences), batch.story.shape, generator=generator)
    changed = replace(batch, story=torch.where(batch.filled, batch.story, other))
    assert not torch.equal(changed.story, batch.story)
    before, after = model(batch, linear=linear), model(changed, linear=linear)
    assert torch.equal(before.logits, after.logits) and torch.equal(before.weights, after.weights)


def test_a_question_answers_alike_alone_and_in_company():
    model = network(init_std=0.5)
    together = model(batch_of()).logits
    for item in (0, 5, 11):
        torch.testing.assert_close(model(batch_of(items=[item])).logits[0], together[item])


def test_without_temporal_encoding_the_order_of_sentences_does_not_matter():
    batch = batch_of(items=[3])
    turned = replace(batch, story=batch.story.flip(1), filled=batch.filled.flip(1))
    timeless, timed = network(temporal=False, init_std=0.5), network(init_std=0.5)
    before, after = timeless(batch), timeless(turned)
    torch.testing.assert_close(before.logits, after.logits)
    torch.testing.assert_close(before.weights, after.weights.flip(2))  # the same look at each sentence
    assert (timed(batch).logits - timed(turned).logits).abs().max() > 1e-3


def test_a_bag_of_words_cannot_tell_who_stands_where():
    """In task 4 'What is north of the hall?' and 'What is the hall north of?' differ in their order alone."""
    (example,) = [e for e in EXAMPLES if e.task == 4][:1]
    question_words = example.question.rstrip("?").split()
    assert question_words[:2] == ["What", "is"]
    turned = " ".join([*question_words[:2], *question_words[4:], *question_words[2:4]]) + "?"
    assert sorted(words(turned)) == sorted(words(example.question)) and turned != example.question
    pair = [example, replace(example, question=turned)]
    for encoding, alike in (("bag", True), ("position", False)):
        batch = stories(encoding, pair).batch([0, 1], slots=SLOTS)
        logits = network(init_std=0.5).float()(batch).logits
        assert torch.allclose(logits[0], logits[1], atol=1e-5) == alike


def test_a_sentence_of_nulls_is_zero_and_unread():
    model = network()
    assert not model.embed(sentence_bags([[0, 0], [0]], len(VOCABULARY)).double()).any()
    batch = batch_of()
    model(batch).readings[0].output.sum().backward()
    assert not model.words.grad[:, 0].any()  # no gradient reaches the null symbol through a sentence


def test_a_state_that_is_not_rectified_is_linear():
    model = network(rectified=0.5)
    state = torch.tensor([[-1.0, 2.0, -3.0, -4.0, 5.0, -6.0]], dtype=torch.float64)
    assert model.rectify(state).tolist() == [[-1, 2, -3, 0, 5, 0]]
    assert network(rectified=0.0).rectify(state).tolist() == state.tolist()
    assert network(rectified=1.0).rectify(state).min() == 0


def test_linear_start_is_linear_in_the_scores():
    scores = torch.tensor([[2.0, -4.0, 7.0], [3.0, 1.0, 1.0]])
    mask = torch.tensor([[True, True, False], [True, False, False]])
    assert averaged_scores(scores, mask).tolist() == [[1, -2, 0], [3, 0, 0]]
    assert averaged_scores(scores[:1]).tolist() == (scores[:1] / 3).tolist()
    empty = torch.zeros(1, 3, dtype=torch.bool)
    assert averaged_scores(scores[:1], empty).tolist() == [[0, 0, 0]]
    torch.testing.assert_close(averaged_scores(2 * scores, mask), 2 * averaged_scores(scores, mask))


def test_an_empty_memory_is_answered_from_the_question_alone():
    model = network(init_std=0.5)
    batch = batch_of(items=[0])
    empty = replace(batch, filled=torch.zeros_like(batch.filled))
    answered = model(empty)
    assert not answered.weights.any() and answered.logits.isfinite().all()
    state = model.embed(batch.sentences)[0, batch.question]
    torch.testing.assert_close(answered.logits, state @ model.words[model.tying.answer].T)


def test_one_hop_with_either_tying_reads_alike():
    """With one hop both tyings are one reading; only B and W stand alone in the layer-wise one."""
    adjacent, layerwise = network(hops=1, init_std=0.5), network(hops=1, tying="layerwise")
    with torch.no_grad():
        layerwise.words.copy_(adjacent.words[[0, 1, 0, 1]])  # A, C, B = A, W = C
        layerwise.ages.copy_(adjacent.ages[[0, 1, 0, 1]])
    torch.testing.assert_close(adjacent(batch_of()).logits, layerwise(batch_of()).logits)


def test_weights_of_the_first_hop_are_the_softmax_of_its_scores():
    batch = batch_of()
    reading = network(init_std=0.5)(batch).readings[0]
    torch.testing.assert_close(reading.weights, masked_softmax(reading.scores, batch.filled))


def test_more_sentences_than_slots_are_refused():
    with pytest.raises(RuntimeError):
        network(slots=2)(batch_of(slots=8))
