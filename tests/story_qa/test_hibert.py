"""A BERT that reads sentences: what it reads, what it must not see, and that it learns."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from killing import check_resumed
from story_qa.sentences import ANSWERS, EXAMPLES, SLOTS, STORIES, TOKENIZER, encode_parts, tiny
from transformers import BertModel

from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.tokens import encode_sentences
from reasonlib.story_qa.experiments.hibert import (
    HIBERT,
    SentenceRecipe,
    predict_answers,
    sample_questions,
    task_shares,
    train_reader,
)
from reasonlib.story_qa.models import hibert
from reasonlib.story_qa.models.hibert import SentenceReader, SentenceReaderConfig


def bert(tokenizer=TOKENIZER, layers=2):
    config = tiny(tokenizer, num_hidden_layers=layers, initializer_range=0.3)
    torch.manual_seed(0)
    return BertModel(config).eval()


def reader(**changes):
    sizes = {"answers": len(ANSWERS), "steps": 3, "heads": 2, "hidden": 32, "slots": SLOTS, **changes}
    return SentenceReader(bert(), SentenceReaderConfig(**sizes), seed=0).eval()


@pytest.fixture
def batch():
    return STORIES.batch(range(len(STORIES)), slots=SLOTS)


# What it reads


def test_every_distinct_sentence_is_one_row_that_begins_with_cls():
    sentences = {sentence for example in EXAMPLES for sentence in (*example.story, example.question)}
    assert len(STORIES.bags) == len(sentences)
    assert (STORIES.bags[:, 0] == TOKENIZER.cls_token_id).all()


def test_the_rows_of_a_question_spell_its_story():
    number, example = 7, EXAMPLES[7]

    def spelt(row):
        return [int(token) for token in STORIES.bags[row] if token][1:]

    def ids(text):
        return TOKENIZER(text, add_special_tokens=False)["input_ids"]

    rows = STORIES.flat[STORIES.starts[number] : STORIES.starts[number + 1]]
    assert [spelt(row) for row in rows] == [ids(sentence) for sentence in example.story]
    assert spelt(STORIES.question[number]) == ids(example.question)
    assert ANSWERS.decode([int(STORIES.answer[number])]) == [",".join(example.answer)]


def test_a_tokenizer_that_pads_otherwise_is_refused():
    class Other:
        pad_token_id = 3

    with pytest.raises(ValueError, match="id 0, got 3"):
        encode_sentences(EXAMPLES, Other(), ANSWERS)


# The sentence level


@torch.no_grad()
def test_a_sentence_is_the_cls_vector_of_a_bert_that_reads_it_alone():
    model = reader()
    together = model.sentences(STORIES.bags)
    for row in (0, 5, len(STORIES.bags) - 1):
        alone = STORIES.bags[row][STORIES.bags[row] != 0][None]
        expected = model.encoder(input_ids=alone).last_hidden_state[0, 0]
        torch.testing.assert_close(together[row], expected, atol=1e-5, rtol=1e-4)


def test_fewer_sentences_than_groups():
    assert reader().sentences(STORIES.bags[:2]).shape == (2, 16)


def test_the_lowest_layers_are_those_of_the_whole_encoder():
    whole, cut = bert(), hibert.keep_layers(bert(), 1)
    with torch.no_grad():
        tokens = STORIES.bags[:3]
        states = whole(input_ids=tokens, output_hidden_states=True).hidden_states
        torch.testing.assert_close(cut(input_ids=tokens).last_hidden_state, states[1])
    with pytest.raises(ValueError, match="between 1 and 1, got 2"):
        hibert.keep_layers(cut, 2)


def test_a_fresh_encoder_has_the_size_and_none_of_the_weights():
    old = bert()
    new, repeated = hibert.reinitialise(old, seed=1), hibert.reinitialise(old, seed=1)
    word = "embeddings.word_embeddings.weight"
    assert new.state_dict()[word].shape == old.state_dict()[word].shape
    assert torch.equal(new.state_dict()[word], repeated.state_dict()[word])
    assert not torch.equal(new.state_dict()[word], old.state_dict()[word])
    assert 0.05 < float(new.state_dict()[word].std()) < 0.15
    assert old.config.initializer_range == 0.3  # the old one is left alone


# The document level


def test_shapes_and_attention(batch):
    read = reader()(batch, attention=True)
    questions, slots = batch.story.shape
    assert read.logits.shape == (questions, len(ANSWERS))
    assert read.hidden.shape == (questions, slots + 1, 16)
    assert read.attention.shape == (questions, 3, 2, slots + 1, slots + 1)
    torch.testing.assert_close(read.attention.sum(-1), torch.ones(questions, 3, 2, slots + 1))
    empty = torch.cat([torch.zeros(questions, 1, dtype=torch.bool), ~batch.filled], 1)
    assert (read.attention.masked_select(empty[:, None, None, None, :]) == 0).all()
    assert reader()(batch).attention is None


@torch.no_grad()
def test_an_answer_does_not_depend_on_who_else_is_in_the_batch(batch):
    model = reader()
    together = model(batch).logits
    for number in (0, 3, len(STORIES) - 1):
        alone = model(STORIES.batch([number], slots=SLOTS)).logits[0]
        torch.testing.assert_close(alone, together[number], atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_what_stands_in_an_empty_slot_is_never_seen(batch):
    model = reader()
    before = model(batch).logits
    assert (~batch.filled).any()
    batch.story[~batch.filled] = len(batch.sentences) - 1
    torch.testing.assert_close(model(batch).logits, before, atol=0, rtol=0)


@torch.no_grad()
def test_order_matters_and_forgotten_sentences_do_not():
    model = reader()
    example = next(example for example in EXAMPLES if len(example.story) > SLOTS + 1)

    def logits(story):
        changed = replace(example, story=tuple(story), support=())
        return model(encode_sentences([changed], TOKENIZER, ANSWERS).batch([0], slots=SLOTS)).logits

    whole = logits(example.story)
    torch.testing.assert_close(logits(example.story[-SLOTS:]), whole, atol=1e-5, rtol=1e-4)
    assert (logits(example.story[-SLOTS:][::-1]) - whole).abs().max() > 1e-4


def test_shared_layers_hold_the_weights_of_one():
    shared, own = reader(), reader(shared=False)
    assert len(shared.layers) == 1 and len(own.layers) == 3


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="steps must be at least 1, got 0"):
        SentenceReaderConfig(answers=2, steps=0)
    with pytest.raises(ValueError, match="answers must be at least 2, got 1"):
        SentenceReaderConfig(answers=1)


# Practice


def test_tasks_that_are_mastered_keep_a_share():
    shares = task_shares({1: 0.0, 2: 0.0, 19: 0.8}, 0.1)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares[1] == shares[2] == pytest.approx(0.1 / 1.1) and shares[19] == pytest.approx(0.9 / 1.1)


def test_choose_draws_by_share_and_repeats_only_what_has_come_up():
    tasks = np.repeat([1, 2, 19], 100)
    chosen = sample_questions(tasks, {1: 0.1, 2: 0.1, 19: 0.8}, np.random.default_rng(0))
    assert len(chosen) == 300
    counts = {task: np.bincount(chosen, minlength=300)[tasks == task] for task in (1, 2, 19)}
    assert [int(counts[task].sum()) for task in (1, 2, 19)] == [30, 30, 240]
    assert counts[1].max() == 1 and set(counts[19]) == {2, 3}


def test_a_task_may_get_nothing():
    tasks = np.repeat([1, 2], 10)
    assert (tasks[sample_questions(tasks, {1: 0.0, 2: 1.0}, np.random.default_rng(0))] == 2).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"warmup": 1.0}, "warmup"),
        ({"noise": -0.1}, "noise"),
        ({"practice": 0.0}, "practice"),
    ],
)
def test_a_recipe_out_of_range_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SentenceRecipe(**changes)


# Learning


def location_examples(count, seed):
    """Stories of one sentence: the only place in it is the answer."""
    draw = random.Random(seed)
    examples = []
    for number in range(count):
        person, room = draw.choice(("Mary", "John")), draw.choice(("kitchen", "garden", "office", "hallway"))
        story, question = (f"{person} went to the {room}.",), f"Where is {person}?"
        examples.append(
            Example(task=1, story=story, question=question, answer=(room,), support=(0,), group=number)
        )
    return examples


def learn(epochs=8, **options):
    train_set, valid_set, tokenizer, answers = encode_parts(
        location_examples(400, 0), location_examples(100, 1)
    )
    config = SentenceReaderConfig(answers=len(answers), steps=2, heads=2, hidden=32, slots=6)
    model = SentenceReader(hibert.reinitialise(bert(tokenizer, 1)), config, seed=0)
    recipe = SentenceRecipe(epochs=epochs, batch_size=32, lr=0.005, practice=0.1)
    history = train_reader(model, train_set, recipe, valid=valid_set, progress=False, **options)
    return model, valid_set, history


def test_it_learns_to_name_the_place():
    model, valid_set, history = learn()
    assert history[-1]["accuracy"] > 0.95
    assert (predict_answers(model, valid_set) == valid_set.answer).mean() == history[-1]["accuracy"]


def test_an_interrupted_run_ends_where_a_whole_one_does(tmp_path):
    check_resumed(learn, tmp_path)


def test_the_experiment_runs_and_measures(monkeypatch, tmp_path):
    from reasonlib.tracking import runner

    small = {"questions": 10, "test_size": 4, "epochs": 2}
    monkeypatch.setitem(HIBERT.scales, "smoke", small)
    (record,) = runner.run(
        HIBERT, rows="pre-trained", scale="smoke", records=tmp_path, checkpoints=tmp_path / "run"
    )
    assert record.steps.done == record.steps.planned and 0 <= record.metrics["accuracy"] <= 1
    assert len([name for name in record.metrics if name.startswith("accuracy.qa")]) == 20
