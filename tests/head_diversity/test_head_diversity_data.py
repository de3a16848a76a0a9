"""Text in windows, the treebank's reader and its errors, sentence pairs in batches."""

import pytest
import torch

from reasonlib.errors import DataError
from reasonlib.head_diversity.data.corpus import read
from reasonlib.head_diversity.data.datasets import load_documents, load_text
from reasonlib.head_diversity.data.pairs import encode_pairs, pair_batches
from reasonlib.head_diversity.data.text import shuffled, simulated_text, vocabulary_of, windows
from reasonlib.parallel import Document, SentencePair
from reasonlib.parallel.words import Words

PARTS = {"train": "the <unk> fell\nit rained\n", "valid": "the snow fell\n", "test": "it fell\n"}


@pytest.fixture
def treebank(tmp_path):
    for part, text in PARTS.items():
        (tmp_path / f"ptb.{part}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_treebank_is_read_as_words(treebank):
    text = read(treebank)
    assert text.train == (("the", "<unk>", "fell"), ("it", "rained"))
    assert [len(part) for part in text] == [2, 1, 1]
    vocabulary = vocabulary_of(text.train)
    assert vocabulary.decode(vocabulary.encode(text.valid[0])) == ["the", "<unk>", "fell"]


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("test", None, r"ptb\.test\.txt: cannot read the file"),
        ("valid", "", r"ptb\.valid\.txt: the file is empty"),
        ("train", "a b\n\nc\n", r"ptb\.train\.txt, line 2: an empty line"),
        ("train", "the fell it rained\n", r"ptb\.valid\.txt, line 1: the word 'snow' is not in the training"),
    ],
)
def test_a_damaged_treebank_is_one_clear_line(treebank, part, content, message):
    path = treebank / f"ptb.{part}.txt"
    path.unlink()
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read(treebank)


def test_windows_overlap_by_the_word_that_is_read_first():
    sentences = (("the", "lamp", "was", "old", "."), ("it", "rained", "again", "."))
    vocabulary = vocabulary_of(sentences)
    rows = [" ".join(vocabulary.decode(row)) for row in windows(sentences, vocabulary, 3).tolist()]
    assert rows == ["the lamp was old", "old . <end> it", "it rained again ."]
    with pytest.raises(DataError, match=r"a window of 11 words needs more than the 11 of the text"):
        windows(sentences, vocabulary, 11)
    with pytest.raises(DataError, match=r"more than the 0 of the text"):
        windows((), vocabulary, 11)
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        windows(sentences, vocabulary, 0)


def test_every_window_comes_once_an_epoch_in_another_order():
    rows = torch.arange(10).view(10, 1)
    first = torch.cat(list(shuffled(rows, size=4, seed=0, epoch=0)))
    second = torch.cat(list(shuffled(rows, size=4, seed=0, epoch=1)))
    assert sorted(first.flatten().tolist()) == list(range(10)) and not torch.equal(first, second)
    assert torch.equal(first, torch.cat(list(shuffled(rows, size=3, seed=0, epoch=0))))


def test_simulated_text_repeats_and_its_parts_differ():
    text = load_text("simulated", train=3, valid=2, test=2)
    assert text is load_text("simulated", train=3, valid=2, test=2)
    assert text.train == simulated_text(3, seed=1) and text.valid != text.test
    with pytest.raises(ValueError, match="data must be"):
        load_text("novel", train=1, valid=1, test=1)


def test_no_simulated_sentence_needs_its_context():
    documents = load_documents("simulated", train=4, valid=1, test=1)
    assert not any(pair.helpful for document in documents.train for pair in document.pairs)
    with pytest.raises(ValueError, match="data must be"):
        load_documents("novel", train=1, valid=1, test=1)


def test_pairs_are_padded_and_shifted():
    documents = [Document((SentencePair("a b c", "x y"), SentencePair("c", "z")))]
    words = Words.of(["a b c", "x y z"])
    pairs = encode_pairs(documents, words, longest=3)
    ((items, batch),) = pair_batches(pairs, size=2)
    assert len(batch) == 2 and batch.source.shape == (2, 3)
    row = items.index(0)
    x, y = words.encode("x y")
    assert batch.target[row].tolist() == [x, y, 2] and batch.given[row].tolist() == [1, x, y]
    (source, target), _ = encode_pairs(documents, words, longest=2)
    assert len(source) == len(target) == 2 and target == (x, 2)  # the end has a position, too
