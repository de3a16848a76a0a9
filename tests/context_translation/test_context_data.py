"""Batches with context, and the metrics of translations by hand."""

import pytest
import torch
from sacrebleu import corpus_bleu

from reasonlib.context_translation.data.datasets import load, texts
from reasonlib.context_translation.data.encoding import Words, batches, collate, encode
from reasonlib.parallel import Document, SentencePair
from reasonlib.parallel.metrics import bleu, bootstrap, chrf, sentence_accuracy
from reasonlib.training.vocabulary import Vocabulary

DOCUMENT = Document((SentencePair("a b", "x y"), SentencePair("c", "z"), SentencePair("b c a", "x")))
TOKENS = Words.of(texts([DOCUMENT]))


def ids(text):
    return TOKENS.encode(text)


def test_a_batch_by_hand():
    batch = collate(encode([DOCUMENT], TOKENS, context=2, whole=True))
    mark = 3
    assert batch.source.tolist() == [[*ids("a b"), 0], [*ids("c"), 0, 0], ids("b c a")]
    assert batch.context.tolist() == [
        [[0, 0, 0], [0, 0, 0]],
        [[mark, *ids("a b")], [0, 0, 0]],
        [[mark, *ids("c"), 0], [mark, *ids("a b")]],  # nearest first
    ]
    assert batch.target.tolist() == [[*ids("x y"), 2], [*ids("z"), 2, 0], [*ids("x"), 2, 0]]
    assert batch.given.tolist() == [[1, *ids("x y")], [1, *ids("z"), 2], [1, *ids("x"), 2]]
    assert batch.document[0].tolist() == ids("a b c b c a")
    assert len(batch) == 3 and batch.with_context(batch.context[:, :1]).context.shape == (3, 1, 3)


def test_no_context_and_cut_sentences():
    sentences = encode([DOCUMENT], TOKENS, context=0, longest=2)
    assert [len(sentence.source) for sentence in sentences] == [2, 1, 2]
    assert collate(sentences).context.shape == (3, 1, 1)
    with pytest.raises(ValueError, match="context must be at least 1, got 0"):
        collate(encode([DOCUMENT], TOKENS, context=1), context=0)


def test_every_sentence_comes_once_in_batches():
    sentences = encode(load("simulated", train=5, valid=1, test=1).train, TOKENS)
    items = [item for chosen, _ in batches(sentences, size=7, seed=1, epoch=3) for item in chosen]
    assert sorted(items) == list(range(50))


def test_words_need_the_specials():
    with pytest.raises(
        ValueError, match="the vocabulary must begin with <pad> <start> <end> <context> <unk>"
    ):
        Words(Vocabulary(["<pad>", "a"]))
    assert TOKENS.decode([1, *ids("a b"), 2, 0]) == "a b"


def test_sets_are_named_and_parts_differ():
    splits = load("simulated", train=2, valid=2, test=2)
    assert len({splits.train, splits.valid, splits.test}) == 3
    assert load("simulated", train=2, valid=2, test=2) is splits
    with pytest.raises(ValueError, match=r"data must be one of simulated, doc-en-de, .*, got 'wmt'"):
        load("wmt", train=1, valid=1, test=1)


def test_bleu_is_sacrebleus_and_says_how_it_counted():
    written, references = ["the cat sat on a mat", "a dog"], ["the cat sat on the mat", "a dog ran"]
    made = bleu(written, references)
    assert made.score == pytest.approx(corpus_bleu(written, [references]).score)
    assert "tok:13a" in made.signature and made.margin == 0
    assert chrf(written, written).score == pytest.approx(100)
    assert bleu(written * 20, references * 20, samples=50).margin > 0


def test_accuracy_and_its_interval():
    assert sentence_accuracy(["a", "b"], ["a", "c"]) == 0.5
    low, high = bootstrap(["a"] * 80 + ["b"] * 20, ["a"] * 100, samples=500)
    assert 0.68 < low < 0.78 < 0.82 < high < 0.92  # 0.80 with a standard error of 0.04
    with pytest.raises(
        ValueError, match="a reference for each translation, got 1 translations and 2 references"
    ):
        sentence_accuracy(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="level must be between 0 and 1 and samples at least 1"):
        bootstrap(["a"], ["a"], level=1.0)


def test_tensors_move_together():
    batch = collate(encode([DOCUMENT], TOKENS)).to("meta")
    assert batch.source.device == batch.context.device == torch.device("meta")
