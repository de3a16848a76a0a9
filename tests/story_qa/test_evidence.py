"""A reader that marks the sentences it needs: what it is told, what it sees, and that the marks teach it."""

from dataclasses import replace
from functools import partial

import keep_reader
import numpy as np
import pytest
import torch
from killing import check_resumed
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
    for row, example in enumerate(EXAMPLES):
        kept = {example.story[number] for number in example.support if number >= len(example.story) - SLOTS}
        needed_ids = marked.story[row][marked.needed[row] > 0]
        needed_sentences = [marked.sentences[number] for number in needed_ids]
        expected = encode_sentences([replace(example, story=tuple(kept), support=())], TOKENIZER, ANSWERS)
        assert {tuple(row[row > 0].tolist()) for row in needed_sentences} == {
            tuple(row[row > 0].tolist()) for row in expected.bags[: len(kept)]
        }
        assert len(needed_sentences) == sum(
            number >= len(example.story) - SLOTS for number in example.support
        )


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
        np.array([float(n in example.support) for n in range(len(example.story))]) * 0.8 + 0.1
        for example in EXAMPLES
    ]
    assert evidence_scores(STORIES, sure) == {"marks.precision": 1.0, "marks.recall": 1.0}
    every = [np.ones(len(example.story)) for example in EXAMPLES]
    needed = sum(len(example.support) for example in EXAMPLES)
    result = evidence_scores(STORIES, every)
    assert result["marks.recall"] == 1 and result["marks.precision"] == needed / sum(STORIES.lengths)


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
    attention = model(alone.batch([0], slots=SLOTS), attention=True).attention
    assert (attention[0, :, :, 0, 0] == 1).all()


@torch.no_grad()
def test_words_are_told_apart_by_their_place():
    model = reader()
    example, swapped = (
        replace(EXAMPLES[0], story=(sentence,), support=())
        for sentence in ("The garden is north of the office.", "The office is north of the garden.")
    )
    both = encode_sentences([example, swapped], TOKENIZER, ANSWERS)
    first, second = model.sentences(both.bags[:2])
    assert (first - second).abs().max() > 0.05


# Learning


def location_examples(count, seed):
    """Three people, three places: only the sentence about the one asked for is needed."""
    draw = np.random.default_rng(seed)
    examples = []
    for number in range(count):
        people = draw.permutation(["Mary", "John", "Daniel", "Sandra"])[:3]
        rooms = draw.permutation(["kitchen", "garden", "office", "hallway"])[:3]
        index = int(draw.integers(3))
        story = tuple(f"{person} went to the {room}." for person, room in zip(people, rooms, strict=True))
        question, answer = f"Where is {people[index]}?", (str(rooms[index]),)
        examples.append(
            Example(task=1, story=story, question=question, answer=answer, support=(index,), group=number)
        )
    return examples


def learn(epochs=10, examples=640, **options):
    train_set, valid_set, tokenizer, answers = encode_parts(
        location_examples(examples, 0), location_examples(100, 1)
    )
    model = reader(answers, tokenizer)
    recipe = EvidenceRecipe(epochs=epochs, batch_size=16, lr=0.01, practice=0.1)
    history = train_evidence(model, train_set, recipe, valid=valid_set, progress=False, **options)
    return model, valid_set, history


def test_it_learns_to_answer_and_to_mark():
    model, valid_set, history = learn()
    assert history[-1]["accuracy"] > 0.9
    assert (predict_answers(model, valid_set) == valid_set.answer).mean() == history[-1]["accuracy"]
    result = evidence_scores(valid_set, predict_evidence(model, valid_set))
    assert result["marks.precision"] > 0.9 and result["marks.recall"] > 0.9


def test_an_interrupted_run_ends_where_a_whole_one_does(tmp_path):
    check_resumed(partial(learn, examples=100), tmp_path)


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
    loaded = pretrained.load_evidence(folder)
    assert loaded.answers == ANSWERS and loaded.made == {"by": "a test"} and not loaded.model.training
    example = max(EXAMPLES, key=lambda example: len(example.story))
    result = ask.ask_evidence(loaded, example.story, example.question)
    assert result.look == "mark" and result.weights.shape == (1, len(example.story))
    assert (result.weights[0, :-SLOTS] == 0).all() and (result.weights[0, -SLOTS:] > 0).all()
    chances = predict_evidence(loaded.model, encode_sentences([example], TOKENIZER, ANSWERS))[0]
    np.testing.assert_allclose(result.weights[0], chances, atol=1e-6)
    assert result.notes == (f"it remembers the latest {SLOTS} sentences and has forgotten those before",)
    assert "Weight at mark" in result.picture().html
    assert ask.ask_evidence(loaded, ["Rhea left."], "Where?").notes[0].endswith("nothing: rhea")
    with pytest.raises(UserError, match="a sentence must fit into 40 tokens, got 51; make it shorter"):
        ask.ask_evidence(loaded, ["Mary left."], "milk " * 50)


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
    result = ask.answer(story, "What color is Brian?", "bert")
    assert result.text == "green" and set(np.flatnonzero(result.weights[0] > 0.5)) == {0, 2, 3}
