"""Fine-tuning: pairs in batches of like length, answers in their order, and a tiny BERT that learns."""

import random
from functools import partial

import numpy as np
import pytest
import torch
from killing import rows, same, train_until_killed, weights
from story_qa.sentences import tokenizer_of

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.tokens import PairSet, StoryTokens, answer_classes
from reasonlib.story_qa.experiments import pretrain
from reasonlib.story_qa.experiments.finetune import FineTuningRecipe, accuracy, fine_tune, predict_answers
from reasonlib.story_qa.models.bert import AnswerReader
from reasonlib.training import batch_weight, recipes, split_batch

PLACES = ("kitchen", "garden", "office", "hallway")


def stays(count, seed):
    """Stories of one sentence: the only place in it is the answer."""
    draw = random.Random(seed)
    moves = [(draw.choice(("Mary", "John")), draw.choice(PLACES)) for _ in range(count)]
    return [
        Example(
            task=1,
            story=(f"{who} went to the {place}.",),
            question=f"Where is {who}?",
            answer=(place,),
            support=(0,),
            group=number,
        )
        for number, (who, place) in enumerate(moves)
    ]


TOKENIZER = tokenizer_of(stays(50, 0))


def reader(answers=5, dropout=0.0, tokenizer=TOKENIZER):
    size = pretrain.EncoderSize(layers=2, heads=2, width=32)
    encoder = pretrain.new_model(size, len(tokenizer), seed=0).bert
    with training.seeded(0):
        return AnswerReader(encoder, answers, dropout)


def pairs(examples, classes=None, tokenizer=TOKENIZER):
    return PairSet.encode(examples, StoryTokens(tokenizer), classes or answer_classes(examples))


# Pairs


def test_the_classes_are_the_answers_of_the_training_set():
    examples = [one for task in (1, 8) for one in simulate(task, 30, seed=0)]
    classes = answer_classes(examples)
    assert classes.tokens[0] == "<unk>" and list(classes.tokens[1:]) == sorted(set(classes.tokens[1:]))
    assert set(classes.tokens[1:]) == {",".join(one.answer) for one in examples}
    assert classes.encode(["never said"]) == [0]


def test_a_set_of_pairs_says_what_the_examples_say():
    examples = stays(20, 1)
    found = pairs(examples)
    assert len(found) == 20 and found.task.tolist() == [1] * 20 and found.padding == TOKENIZER.pad_token_id
    assert [answer_classes(examples).tokens[a] for a in found.answer] == [one.answer[0] for one in examples]
    assert found.lengths == [len(pair.tokens) for pair in found.pairs]
    batch = found.batch([3, 17])
    assert len(batch) == 2 and batch.answer.tolist() == found.answer[[3, 17]].tolist()
    assert batch.pairs.tokens[0, : found.lengths[3]].tolist() == found.pairs[3].tokens
    assert batch_weight(batch) == 2 and len(split_batch(batch, 0, 2)) == 1
    assert batch.to("meta").answer.device.type == "meta"


def test_no_examples():
    with pytest.raises(UserError, match="examples must hold at least one question, got none"):
        PairSet.encode([], StoryTokens(TOKENIZER), answer_classes(stays(2, 0)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tokens": 0}, "tokens must be at least 1, got 0"),
        ({"warmup": 1.0}, "warmup must be between 0 and 1, got 1.0"),
        ({"warmup": -0.1}, "warmup must be between 0 and 1, got -0.1"),
    ],
)
def test_bad_fine_tuning(values, message):
    with pytest.raises(ValueError, match=message):
        FineTuningRecipe(**values)


# Answers


@pytest.fixture(scope="module")
def mixed():
    """Stories of very different lengths, one of them longer than the encoder's 512 tokens."""
    examples = [one for task in (1, 3) for one in simulate(task, 6, seed=3)]
    longest = max(examples, key=lambda one: len(one.story))
    endless = Example(
        **{name: getattr(longest, name) for name in longest.__slots__} | {"story": longest.story * 8}
    )
    examples.append(endless)
    tokenizer = tokenizer_of(examples)
    model = reader(answers=8, tokenizer=tokenizer).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():  # answers that differ
            if parameter.dim() > 1:
                parameter.normal_(0, 0.3, generator=generator)
    return pairs(examples, tokenizer=tokenizer), model


def test_answers_come_in_the_order_of_the_questions(mixed):
    found, model = mixed
    assert found.pairs[-1].dropped > 0 and max(found.lengths) <= 512
    answers = predict_answers(model, found)
    assert answers.shape == (13,) and len(set(answers.tolist())) > 1
    for item in range(13):
        assert answers[item] == model(found.batch([item]).pairs).logits.argmax()
    assert predict_answers(model, found, tokens=1).tolist() == answers.tolist()  # one question a batch


def test_accuracy_is_averaged_over_tasks(mixed):
    found, model = mixed
    right = predict_answers(model, found) == found.answer
    measured = accuracy(model, found)
    assert measured["accuracy.qa1"] == right[:6].mean() and measured["accuracy.qa3"] == right[6:].mean()
    assert measured["accuracy"] == pytest.approx((right[:6].mean() + right[6:].mean()) / 2)


def test_reading_answers_draws_nothing_and_keeps_no_gradient():
    found, model = pairs(stays(10, 0)), reader(dropout=0.9).train()
    assert predict_answers(model, found).tolist() == predict_answers(model, found).tolist()
    assert all(parameter.grad is None for parameter in model.parameters())


# Training

HOW = FineTuningRecipe(epochs=3, tokens=512, lr=0.01)


def test_a_tiny_bert_learns_to_read_and_not_to_guess():
    train, unseen = stays(200, 0), stays(100, 1)
    classes = answer_classes(train)
    reached = {}
    for told in (True, False):
        parts = [
            examples if told else [Example(**{**asdict(one), "story": ()}) for one in examples]
            for examples in (train, unseen)
        ]
        learnt, test = (pairs(part, classes) for part in parts)
        model = reader()
        history = fine_tune(
            model, learnt, FineTuningRecipe(epochs=8, tokens=512, lr=0.01), valid=test, progress=False
        )
        reached[told] = history[-1]["accuracy"]
        assert history[-1]["accuracy"] == accuracy(model, test)["accuracy"]
    assert reached[True] > 0.95
    assert reached[False] < 0.5  # the question alone does not tell the place


def asdict(example):
    return {name: getattr(example, name) for name in example.__slots__}


def trained(seed=0, **options):
    model = reader(dropout=0.2)
    history = fine_tune(model, pairs(stays(80, 0)), HOW, seed=seed, progress=False, **options)
    return weights(model), history


def test_the_same_seeds_give_the_same_bits():
    one, other = trained(), trained()
    assert same(one[0], other[0]) and rows(one[1]) == rows(other[1])
    assert not same(one[0], trained(seed=1)[0])


def test_a_killed_run_resumes_to_the_same_bits(tmp_path, monkeypatch):
    whole, history = trained()
    monkeypatch.setattr(recipes, "fit", partial(training.fit, save_every=2))

    train_until_killed(trained, 2, checkpoint=tmp_path)
    ended, resumed = trained(checkpoint=tmp_path)
    assert 0 < resumed.resumed_from < history.steps_planned
    assert same(ended, whole) and rows(resumed) == rows(history)


def test_the_rate_rises_and_falls():
    history = trained()[1]
    steps = history.steps_planned
    assert history.steps_done == steps and len(history) == 3
    warmup = round(HOW.warmup * steps)
    last = [row["step"] - 1 for row in history]
    expected = [HOW.lr * (steps - step) / (steps - warmup) for step in last]
    np.testing.assert_allclose(history.column("lr"), expected)


def test_a_batch_holds_no_more_tokens_than_asked(monkeypatch):
    sizes = []
    found, model = pairs(stays(40, 0)), reader()
    forward = model.forward

    def measure(batch, **options):
        sizes.append(batch.tokens.numel())
        return forward(batch, **options)

    monkeypatch.setattr(model, "forward", measure)
    fine_tune(model, found, FineTuningRecipe(epochs=1, tokens=100), progress=False)
    assert max(sizes) <= 100 and len(sizes) > 4
    sizes.clear()
    fine_tune(model, found, FineTuningRecipe(epochs=1, tokens=1), progress=False)
    assert len(sizes) == 40  # a pair longer than the limit is a batch of its own
