"""A reader that marks the sentences it needs: what it is told, what it sees, and that the marks teach it."""

from dataclasses import replace

import keep_reader
import numpy as np
import pytest
import torch
from killing import same, weights
from story_qa.sentences import ANSWERS, EXAMPLES, SLOTS, STORIES, TOKENIZER, encode_parts, tiny
from transformers import BertModel

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.story_qa.data.encoding import evidence_batch
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.tokens import encode_sentences
from reasonlib.story_qa.experiments.evidence import (
    EVIDENCE,
    EvidenceRecipe,
    evidence_loss,
    evidence_scores,
    predict_evidence,
    train_evidence,
)
from reasonlib.story_qa.experiments.hibert import predict_answers
from reasonlib.story_qa.models import hibert, pretrained
from reasonlib.story_qa.models.evidence import ComparingLayer, EvidenceReader, EvidenceReaderOutput
from reasonlib.story_qa.models.hibert import SentenceReaderConfig
from reasonlib.story_qa.page import ask
from reasonlib.tracking import runner


def bert(tokenizer=TOKENIZER):
    config = tiny(tokenizer, num_hidden_layers=1, max_position_embeddings=40)
    return hibert.reinitialise(BertModel(config), seed=0, init_std=0.3)


def reader(answers=ANSWERS, tokenizer=TOKENIZER):
    sizes = SentenceReaderConfig(answers=len(answers), steps=3, heads=2, hidden=32, slots=SLOTS)
    return EvidenceReader(bert(tokenizer), sizes, seed=0).eval()


@pytest.fixture
def batch():
    return evidence_batch(STORIES, range(len(STORIES)), slots=SLOTS)


# What it is told


def test_a_mark_stands_on_every_needed_sentence_that_is_not_forgotten():
    marked = evidence_batch(
        STORIES, range(len(STORIES)), slots=SLOTS, noise=0.5, rng=np.random.default_rng(0)
    )
    assert (~marked.filled[:, 0]).any(), "there must be empty slots among the sentences"
    for row, one in enumerate(EXAMPLES):
        kept = {one.story[number] for number in one.support if number >= len(one.story) - SLOTS}
        found = marked.story[row][marked.needed[row] > 0]
        told = [marked.sentences[number] for number in found]
        expected = encode_sentences([replace(one, story=tuple(kept), support=())], TOKENIZER, ANSWERS)
        assert {tuple(row[row > 0].tolist()) for row in told} == {
            tuple(row[row > 0].tolist()) for row in expected.bags[: len(kept)]
        }
        assert len(told) == sum(number >= len(one.story) - SLOTS for number in one.support)


def test_batches_are_cut_and_moved_with_their_marks(batch):
    part = batch.shard(1, 2).to("cpu")
    assert len(part) == len(batch) // 2 and torch.equal(part.needed, batch.needed[1::2])


def test_the_loss_weighs_needed_and_other_sentences_alike(batch):
    lone = replace(batch, **{name: getattr(batch, name)[:1] for name in ("story", "question", "answer")})
    lone = replace(lone, filled=torch.ones(1, 4, dtype=torch.bool), needed=torch.tensor([[1.0, 0, 0, 0]]))
    scores = torch.tensor([[2.0, -1.0, 0.0, 3.0]])
    read = EvidenceReaderOutput(torch.zeros(1, len(ANSWERS)), scores, None)
    sure = torch.cat([scores[0, :1], -scores[0, 1:]]).sigmoid().log()
    expected = np.log(len(ANSWERS)) - float(sure[0]) - float(sure[1:].mean())
    assert float(evidence_loss(read, lone, 1.0)) == pytest.approx(expected, abs=1e-5)
    assert float(evidence_loss(read, lone, 0.0)) == pytest.approx(np.log(len(ANSWERS)), abs=1e-5)


def test_marks_are_counted_over_all_sentences():
    sure = [
        np.array([float(n in one.support) for n in range(len(one.story))]) * 0.8 + 0.1 for one in EXAMPLES
    ]
    assert evidence_scores(STORIES, sure) == {"marks.precision": 1.0, "marks.recall": 1.0}
    every = [np.ones(len(one.story)) for one in EXAMPLES]
    needed = sum(len(one.support) for one in EXAMPLES)
    found = evidence_scores(STORIES, every)
    assert found["marks.recall"] == 1 and found["marks.precision"] == needed / sum(STORIES.lengths)


# What it sees


@torch.no_grad()
def test_attention_begins_as_a_comparison_and_never_looks_at_itself():
    with training.seeded(0):
        layer = ComparingLayer(16, 2, 32, SLOTS)
    x = torch.randn(1, 5, 16, generator=torch.Generator().manual_seed(0))
    x[0, 3] = x[0, 1]
    _, weights = layer(x, layer.bias(torch.ones(1, 5, dtype=torch.bool)))
    assert (weights.diagonal(dim1=-2, dim2=-1) == 0).all()
    assert (weights[0, :, 1].argmax(-1) == 3).all() and (weights[0, :, 3].argmax(-1) == 1).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2, 5))


@torch.no_grad()
def test_distance_is_what_the_bias_knows():
    layer = ComparingLayer(16, 2, 32, SLOTS)
    layer.distance.copy_(torch.arange(2 * SLOTS + 1.0).expand(2, -1))
    bias = layer.bias(torch.tensor([[True, True, True, False]]))
    assert bias[0, 0, 2, 0] - bias[0, 0, 2, 1] == 1 and bias[0, 0, 0, 1] == bias[0, 1, 1, 2]
    assert (bias[..., 3] == -1e9).all()


@torch.no_grad()
def test_an_answer_depends_neither_on_the_batch_nor_on_empty_slots(batch):
    model = reader()
    together = model(batch, attention=True)
    assert together.attention.shape == (
        len(STORIES),
        3,
        2,
        batch.story.shape[1] + 1,
        batch.story.shape[1] + 1,
    )
    for number in (0, 3, len(STORIES) - 1):
        alone = model(STORIES.batch([number], slots=SLOTS))
        torch.testing.assert_close(alone.logits[0], together.logits[number], atol=1e-5, rtol=1e-4)
        size = alone.needed.shape[1]
        torch.testing.assert_close(alone.needed[0], together.needed[number, :size], atol=1e-5, rtol=1e-4)
    batch.story[~batch.filled] = len(batch.sentences) - 1
    torch.testing.assert_close(model(batch).logits, together.logits, atol=0, rtol=0)


@torch.no_grad()
def test_a_question_without_a_story_is_read_alone():
    model = reader()
    alone = encode_sentences([replace(EXAMPLES[0], story=(), support=())], TOKENIZER, ANSWERS)
    looked = model(alone.batch([0], slots=SLOTS), attention=True).attention
    assert (looked[0, :, :, 0, 0] == 1).all()


@torch.no_grad()
def test_words_are_told_apart_by_their_place():
    model = reader()
    one, other = (
        replace(EXAMPLES[0], story=(sentence,), support=())
        for sentence in ("The garden is north of the office.", "The office is north of the garden.")
    )
    both = encode_sentences([one, other], TOKENIZER, ANSWERS)
    first, second = model.sentences(both.bags[:2])
    assert (first - second).abs().max() > 0.05


# Learning


def places(count, seed):
    """Three people, three places: only the sentence about the one asked for is needed."""
    draw = np.random.default_rng(seed)
    examples = []
    for number in range(count):
        who = draw.permutation(["Mary", "John", "Daniel", "Sandra"])[:3]
        where = draw.permutation(["kitchen", "garden", "office", "hallway"])[:3]
        asked = int(draw.integers(3))
        story = tuple(f"{one} went to the {place}." for one, place in zip(who, where, strict=True))
        question, answer = f"Where is {who[asked]}?", (str(where[asked]),)
        examples.append(
            Example(task=1, story=story, question=question, answer=answer, support=(asked,), group=number)
        )
    return examples


def learn(epochs=10, checkpoint=None, minutes=None):
    learnt, held, tokenizer, answers = encode_parts(places(640, 0), places(100, 1))
    model = reader(answers, tokenizer)
    recipe = EvidenceRecipe(epochs=epochs, batch_size=16, lr=0.01, practice=0.1)
    history = train_evidence(
        model, learnt, recipe, valid=held, checkpoint=checkpoint, minutes=minutes, progress=False
    )
    return model, held, history


def test_it_learns_to_answer_and_to_mark():
    model, held, history = learn()
    assert history[-1]["accuracy"] > 0.9
    assert (predict_answers(model, held) == held.answer).mean() == history[-1]["accuracy"]
    found = evidence_scores(held, predict_evidence(model, held))
    assert found["marks.precision"] > 0.9 and found["marks.recall"] > 0.9


def test_an_interrupted_run_ends_where_a_whole_one_does(tmp_path):
    whole, _, _ = learn(epochs=2)
    learn(epochs=2, checkpoint=tmp_path, minutes=0.0)
    resumed, _, history = learn(epochs=2, checkpoint=tmp_path)
    assert history.stopped == "finished"
    assert same(weights(whole), weights(resumed))


def test_a_weight_below_zero_is_refused():
    with pytest.raises(ValueError, match="evidence_loss_weight must be at least 0, got -1"):
        EvidenceRecipe(evidence_loss_weight=-1.0)


def test_the_experiment_runs_and_measures(monkeypatch, tmp_path):
    monkeypatch.setitem(EVIDENCE.scales, "smoke", {"questions": 10, "test_size": 4, "epochs": 1})
    (record,) = runner.run(EVIDENCE, rows="evidence-loss", scale="smoke", records=tmp_path)
    assert record.steps.done == record.steps.planned and 0 <= record.metrics["marks.recall"] <= 1


def test_the_reader_of_a_run_can_be_bundled(monkeypatch, tmp_path):
    monkeypatch.setitem(EVIDENCE.scales, "smoke", {"questions": 10, "test_size": 4, "epochs": 1})
    (record,) = runner.run(
        EVIDENCE, rows="evidence-loss", scale="smoke", device="cpu", checkpoints=tmp_path / "run"
    )
    (finished,) = tmp_path.rglob("finished.json")
    written, recorded = keep_reader.keep(finished.parent, tmp_path / "evidence")
    assert recorded == record.metrics["accuracy"] == pytest.approx(written, abs=0.05)
    assert pretrained.load_evidence(tmp_path / "evidence").made["steps"] == record.steps.done


# Bundled and asked


def test_it_comes_back_and_answers(tmp_path):
    model = reader()
    folder = pretrained.save_evidence(model, TOKENIZER, ANSWERS, tmp_path / "evidence", {"by": "a test"})
    found = pretrained.load_evidence(folder)
    assert found.answers == ANSWERS and found.made == {"by": "a test"} and not found.model.training
    one = max(EXAMPLES, key=lambda one: len(one.story))
    said = ask.ask_evidence(found, one.story, one.question)
    assert said.look == "mark" and said.weights.shape == (1, len(one.story))
    assert (said.weights[0, :-SLOTS] == 0).all() and (said.weights[0, -SLOTS:] > 0).all()
    chances = predict_evidence(found.model, encode_sentences([one], TOKENIZER, ANSWERS))[0]
    np.testing.assert_allclose(said.weights[0], chances, atol=1e-6)
    assert said.notes == (f"it remembers the latest {SLOTS} sentences and has forgotten those before",)
    assert "Weight at mark" in said.picture().html
    assert ask.ask_evidence(found, ["Rhea left."], "Where?").notes[0].endswith("nothing: rhea")
    with pytest.raises(UserError, match="a sentence must fit into 40 tokens, got 51; make it shorter"):
        ask.ask_evidence(found, ["Mary left."], "milk " * 50)


def test_a_folder_that_is_no_reader_is_refused(tmp_path):
    with pytest.raises(UserError, match="there is no evidence reader at"):
        pretrained.load_evidence(tmp_path / "nowhere")
    folder = pretrained.save_evidence(reader(), TOKENIZER, ANSWERS, tmp_path / "evidence", {})
    (folder / "config.json").write_text('{"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2}')
    with pytest.raises(UserError, match="a damaged evidence reader"):
        pretrained.load_evidence(folder)


def test_what_ships_is_small_and_reads():
    assert sum(path.stat().st_size for path in pretrained.EVIDENCE.iterdir()) < 5_000_000
    assert pretrained.load_evidence().made, "it must say how it was made"
    story = "Brian is a swan. Lily is a lion. Greg is a swan. Greg is green. Lily is white."
    said = ask.answer(story, "What color is Brian?", "bert")
    assert said.text == "green" and set(np.flatnonzero(said.weights[0] > 0.5)) == {0, 2, 3}
