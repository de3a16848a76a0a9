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
            story=(f"{person} went to the {room}.",),
            question=f"Where is {person}?",
            answer=(room,),
            support=(0,),
            group=number,
        )
        for number, (person, room) in enumerate(moves)
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
    examples = [example for task in (1, 8) for example in simulate(task, 30, seed=0)]
    classes = answer_classes(examples)
    assert classes.tokens[0] == "<unk>" and list(classes.tokens[1:]) == sorted(set(classes.tokens[1:]))
    assert set(classes.tokens[1:]) == {",".join(example.answer) for example in examples}
    assert classes.encode(["never said"]) == [0]


def test_a_set_of_pairs_says_what_the_examples_say():
    examples = stays(20, 1)
    pair_set = pairs(examples)
    assert (
        len(pair_set) == 20
        and pair_set.task.tolist() == [1] * 20
        and pair_set.padding == TOKENIZER.pad_token_id
    )
    assert [answer_classes(examples).tokens[a] for a in pair_set.answer] == [
        example.answer[0] for example in examples
    ]
    assert pair_set.lengths == [len(pair.tokens) for pair in pair_set.pairs]
    batch = pair_set.batch([3, 17])
    assert len(batch) == 2 and batch.answer.tolist() == pair_set.answer[[3, 17]].tolist()
    assert batch.pairs.tokens[0, : pair_set.lengths[3]].tolist() == pair_set.pairs[3].tokens
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
    examples = [example for task in (1, 3) for example in simulate(task, 6, seed=3)]
    longest = max(examples, key=lambda example: len(example.story))
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
    pair_set, model = mixed
    assert pair_set.pairs[-1].dropped > 0 and max(pair_set.lengths) <= 512
    answers = predict_answers(model, pair_set)
    assert answers.shape == (13,) and len(set(answers.tolist())) > 1
    for item in range(13):
        assert answers[item] == model(pair_set.batch([item]).pairs).logits.argmax()
    assert predict_answers(model, pair_set, tokens=1).tolist() == answers.tolist()  # one question a batch


def test_accuracy_is_averaged_over_tasks(mixed):
    pair_set, model = mixed
    right = predict_answers(model, pair_set) == pair_set.answer
    measured = accuracy(model, pair_set)
    assert measured["accuracy.qa1"] == right[:6].mean() and measured["accuracy.qa3"] == right[6:].mean()
    assert measured["accuracy"] == pytest.approx((right[:6].mean() + right[6:].mean()) / 2)


def test_reading_answers_draws_nothing_and_keeps_no_gradient():
    pair_set, model = pairs(stays(10, 0)), reader(dropout=0.9).train()
    assert predict_answers(model, pair_set).tolist() == predict_answers(model, pair_set).tolist()
    assert all(parameter.grad is None for parameter in model.parameters())


# Training

HOW = FineTuningRecipe(epochs=3, tokens=512, lr=0.01)


def test_a_tiny_bert_learns_to_read_and_not_to_guess():
    train, unseen = stays(200, 0), stays(100, 1)
    classes = answer_classes(train)
    accuracies = {}
    for with_story in (True, False):
        parts = [
            examples if with_story else [Example(**{**asdict(example), "story": ()}) for example in examples]
            for examples in (train, unseen)
        ]
        train_pairs, test_pairs = (pairs(part, classes) for part in parts)
        model = reader()
        history = fine_tune(
            model,
            train_pairs,
            FineTuningRecipe(epochs=8, tokens=512, lr=0.01),
            valid=test_pairs,
            progress=False,
        )
        accuracies[with_story] = history[-1]["accuracy"]
        assert history[-1]["accuracy"] == accuracy(model, test_pairs)["accuracy"]
    assert accuracies[True] > 0.95
    assert accuracies[False] < 0.5  # the question alone does not tell the place


def asdict(example):
    return {name: getattr(example, name) for name in example.__slots__}


def trained(seed=0, **options):
    model = reader(dropout=0.2)
    history = fine_tune(model, pairs(stays(80, 0)), HOW, seed=seed, progress=False, **options)
    return weights(model), history


def test_the_same_seeds_give_the_same_bits():
    first, second = trained(), trained()
    assert same(first[0], second[0]) and rows(first[1]) == rows(second[1])
    assert not same(first[0], trained(seed=1)[0])


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
    pair_set, model = pairs(stays(40, 0)), reader()
    forward = model.forward

    def measure(batch, **options):
        sizes.append(batch.tokens.numel())
        return forward(batch, **options)

    monkeypatch.setattr(model, "forward", measure)
    fine_tune(model, pair_set, FineTuningRecipe(epochs=1, tokens=100), progress=False)
    assert max(sizes) <= 100 and len(sizes) > 4
    sizes.clear()
    fine_tune(model, pair_set, FineTuningRecipe(epochs=1, tokens=1), progress=False)
    assert len(sizes) == 40  # a pair longer than the limit is a batch of its own
