"""Heads, answer network and model: parity, masks, losses, errors."""

import copy
import math

import pytest
import torch
from multi_task.reference import answer as reference_answer

from reasonlib import multi_task
from reasonlib.errors import UserError
from reasonlib.multi_task.data.encoding import collate, encode
from reasonlib.multi_task.data.example import Example, Task
from reasonlib.multi_task.data.simulator import FAMILY, TASKS, simulate
from reasonlib.multi_task.models.answer_network import AnswerConfig, AnswerNetwork
from reasonlib.multi_task.models.encoder import SharedEncoder, load_encoder, word_masks
from reasonlib.multi_task.models.frozen import PartlyFrozen
from reasonlib.multi_task.models.heads import ranking_loss
from reasonlib.multi_task.models.multi_task import HeadConfig, MultiTask, task_loss
from reasonlib.multi_task.models.pretrained import from_pretrained, predict

ENCODER, TOKENIZER = load_encoder()


def network(**changes):
    torch.manual_seed(0)
    return AnswerNetwork(AnswerConfig(**{"width": 6, "classes": 3, **changes}))


def pair(rows=3, premise=4, hypothesis=3, padding=2):
    torch.manual_seed(1)
    states = torch.randn(rows, 1 + premise + 1 + hypothesis + 1 + padding, 6)
    first, second = torch.zeros(states.shape[:2]).bool(), torch.zeros(states.shape[:2]).bool()
    first[:, 1 : 1 + premise] = True
    second[:, 2 + premise : 2 + premise + hypothesis] = True
    return states, first, second


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_answer_network_computes_its_equations(steps):
    model = network(steps=steps).eval()
    states, first, second = pair()
    result = model(states, first, second)
    weights = model.state_dict()
    for row in range(len(states)):
        mean, each = reference_answer(weights, states[row][first[row]], states[row][second[row]], steps)
        torch.testing.assert_close(result.log_probabilities[row].exp(), mean)
        torch.testing.assert_close(result.steps[:, row], each)


def test_the_answer_network_sees_words_alone():
    model = network().eval()
    states, first, second = pair()
    hidden = states.masked_fill((first | second)[..., None], 0) * 100 + states
    torch.testing.assert_close(
        model(states, first, second).log_probabilities, model(hidden, first, second).log_probabilities
    )
    result = model(states, first, second)
    torch.testing.assert_close(result.hypothesis.sum(1), torch.ones(3))
    assert (result.premise[:, ~first] == 0).all() and (result.hypothesis[~second] == 0).all()


def test_one_prediction_at_least_is_kept_in_training():
    model = network(answer_dropout=0.9, dropout=0.0).train()
    states, first, second = pair(rows=200)
    result = model(states, first, second)
    assert (result.kept.sum(0) >= 1).all() and result.kept.float().mean() < 0.5
    torch.testing.assert_close(result.log_probabilities.exp().sum(1), torch.ones(200))
    assert model.eval()(states, first, second).kept.all()


def test_one_step_is_one_softmax():
    model = network(steps=1).eval()
    result = model(*pair())
    torch.testing.assert_close(result.log_probabilities.exp(), result.steps[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
    ],
)
def test_answer_sizes_are_checked(changes, message):
    with pytest.raises(ValueError, match=message):
        AnswerConfig(**{"width": 4, "classes": 2, **changes})


def test_a_ranking_is_a_softmax_over_each_questions_candidates():
    relevance = torch.tensor([0.2, 0.9, 0.4, 0.5, 0.1])
    groups, relevant = torch.tensor([0, 0, 0, 1, 1]), torch.tensor([False, True, True, True, False])
    first = torch.softmax(2 * relevance[:3], 0)
    second = torch.softmax(2 * relevance[3:], 0)
    expected = -(math.log(first[1] + first[2]) + math.log(second[0])) / 2
    assert float(ranking_loss(relevance, groups, relevant, gamma=2.0)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("task", FAMILY)
@pytest.mark.parametrize(
    "heads",
    [HeadConfig(), HeadConfig(pair="linear", ranking="classification"), HeadConfig(ranking="scores")],
)
def test_every_task_gives_a_loss_and_predictions(task, heads):
    model = MultiTask(ENCODER, [TASKS[task]], heads).eval()
    examples = simulate(task, 5, seed=1)
    batch = collate(encode(examples, TOKENIZER), task)
    assert len(batch.tokens) == sum(len(example.texts) for example in examples)
    scores = model(batch)
    assert torch.isfinite(task_loss(model, batch))
    predictions = model.predictions(scores, batch)
    assert len(predictions) == 5
    if TASKS[task].kind == "ranking":
        assert [len(row) for row in predictions] == [4] * 5


def test_padding_changes_nothing():
    model = MultiTask(ENCODER, [TASKS["inference"]]).eval()
    encoded = encode(simulate("inference", 6, seed=1), TOKENIZER)
    together = model(collate(encoded, "inference")).values
    for row, example in enumerate(encoded):
        torch.testing.assert_close(
            model(collate([example], "inference")).values[0], together[row], atol=1e-5, rtol=1e-4
        )


def small_bert(layers=3):
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 24}
    config = BertConfig(vocab_size=len(TOKENIZER), num_hidden_layers=layers, **sizes)
    torch.manual_seed(3)
    return BertModel(config, add_pooling_layer=False)


def test_fixed_layers_change_no_state_and_are_not_trained():
    network = small_bert()
    batch = collate(encode(simulate("inference", 6, seed=1), TOKENIZER), "inference")
    whole = SharedEncoder(network).eval()
    part = SharedEncoder(PartlyFrozen(network, 2)).eval()
    inputs = (batch.tokens, batch.segments, batch.mask)
    torch.testing.assert_close(part(*inputs)[batch.mask], whole(*inputs)[batch.mask], atol=1e-5, rtol=1e-4)
    upper = sum(p.numel() for p in network.encoder.layer[2].parameters())
    assert sum(p.numel() for p in part.parameters()) == upper
    kept = part.encoder.lower.kept
    assert len(kept) == len({tuple(row.tolist()) for row in batch.tokens})
    first = part(*inputs)
    assert torch.equal(first, part(*inputs)) and copy.deepcopy(part).encoder.lower.kept is kept
    alone = part(batch.tokens[:1], batch.segments[:1], batch.mask[:1])
    torch.testing.assert_close(alone, first[:1], atol=1e-5, rtol=1e-4)


def test_layers_that_cannot_be_fixed_are_refused():
    with pytest.raises(UserError, match="frozen must be from 1 to 2, got 3"):
        PartlyFrozen(small_bert(), 3)
    with pytest.raises(UserError, match="encoders of BERT's shape only"):
        PartlyFrozen(ENCODER, 1)


def test_products_in_bfloat16_are_close_and_leave_weights_and_states_in_float32():
    network = small_bert()
    batch = collate(encode(simulate("inference", 6, seed=1), TOKENIZER), "inference")
    exact = MultiTask(network, [TASKS["inference"]]).eval()
    half = MultiTask(network, [TASKS["inference"]], half=True).eval()
    a, b = exact(batch), half(batch)
    assert b.values.dtype == b.pooled.dtype == torch.float32 and not torch.equal(a.pooled, b.pooled)
    torch.testing.assert_close(a.pooled, b.pooled, atol=0.1, rtol=0.1)
    assert {p.dtype for p in half.parameters()} == {torch.float32}
    task_loss(half, batch).backward()
    assert all(p.grad.dtype == torch.float32 for p in half.parameters() if p.grad is not None)


def test_words_of_both_sentences_are_marked():
    batch = collate(encode(simulate("inference", 8, seed=2), TOKENIZER), "inference")
    first, second = word_masks(batch.segments, batch.mask)
    specials = torch.tensor([TOKENIZER.cls_token_id, TOKENIZER.sep_token_id, TOKENIZER.pad_token_id])
    assert not torch.isin(batch.tokens[first | second], specials).any()
    assert int((first | second).sum()) == int((~torch.isin(batch.tokens, specials)).sum())
    assert not (first & second).any()


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="tasks must be distinct"):
        MultiTask(ENCODER, [TASKS["inference"]] * 2)
    with pytest.raises(ValueError, match="pair must be one of san, linear, got 'x'"):
        HeadConfig(pair="x")
    with pytest.raises(ValueError, match="cannot have the labels"):
        Task(name="x", kind="similarity", labels=("a", "b"))
    with pytest.raises(ValueError, match="longest must be at least 8"):
        encode([], TOKENIZER, longest=4)
    with pytest.raises(UserError, match="there is no such folder"):
        load_encoder("/no/such/folder")


def test_a_long_pair_loses_words_of_the_longer_sentence():
    example = Example(first="a man " * 30, second="a boy .", label=0, task="inference")
    (encoded,) = encode([example], TOKENIZER, longest=20)
    assert len(encoded.tokens[0]) == 20 and encoded.segments[0].count(1) == 4


def test_the_bundled_system_answers_with_all_heads():
    first, second = "a man holds a guitar .", "a gentleman holds an instrument ."
    answers = predict(first, second)
    assert list(answers) == list(FAMILY)
    for name, task in TASKS.items():
        if task.labels and name in answers:
            assert sum(answers[name].values()) == pytest.approx(1, abs=1e-5)
    system = multi_task.from_pretrained()
    assert set(answers["answers"]) == {"relevance"} and set(system.made) >= {"seed", *FAMILY}
    with pytest.raises(UserError, match="there is no task 'x'"):
        system.score("x", first)
    with pytest.raises(UserError, match="needs two"):
        system.score("inference", first)
    with pytest.raises(UserError, match="there is no trained model"):
        from_pretrained("x")
