"""Tokenising and BLEU: by hand, and as the libraries do it."""

import pytest
from sacrebleu.metrics import BLEU

from reasonlib.transformer.data import tokenizers
from reasonlib.transformer.data.tokenizers import (
    UNKNOWN,
    characters,
    measure,
    merges,
    news,
    pieces,
    stories,
    words,
)
from reasonlib.transformer.experiments.bleu import bleu_from_counts, brevity, corpus_bleu, ngrams, precision

WRITTEN = ["the cat sat on the mat".split(), "a dog ran in the park today".split()]
WANTED = ["the cat is on the mat".split(), "the dog ran in the park yesterday and today".split()]


def test_bleu_by_hand_is_sacrebleus():
    ours, theirs = bleu_from_counts(WRITTEN, WANTED), corpus_bleu(WRITTEN, WANTED)
    assert ours.score == pytest.approx(theirs.score) and ours.brevity == pytest.approx(theirs.brevity)
    assert ours.precisions == pytest.approx(theirs.precisions)
    assert "tok:none" in theirs.signature and "s:exp" in theirs.signature
    plain = BLEU(tokenize="none").corpus_score(
        [" ".join(sentence) for sentence in WRITTEN], [[" ".join(sentence) for sentence in WANTED]]
    )
    assert theirs.score == pytest.approx(plain.score)


def test_the_arithmetic_of_bleu():
    # Of the words only "sat" and "a" do not stand in their references.
    assert precision(WRITTEN, WANTED, 1) == (5 + 6, 6 + 7)
    assert precision(WRITTEN, WANTED, 2) == (
        3 + 4,
        5 + 6,
    )  # the cat, on the, the mat; dog ran, ran in, in the, the park
    assert brevity(13, 15) == pytest.approx(2.718281828 ** (1 - 15 / 13))
    assert ngrams("a a a".split(), 2) == {("a", "a"): 2}
    assert bleu_from_counts([["a"]], [["b"]]).score == 0 and bleu_from_counts([[]], [["b"]]).score == 0
    assert corpus_bleu([["b"]], [["b"]], smooth="none").score == pytest.approx(0)  # no run of four words
    for score in (bleu_from_counts, corpus_bleu):
        with pytest.raises(ValueError, match="one reference a translation, got 1 and 2"):
            score([["a"]], [["a"], ["b"]])
        with pytest.raises(ValueError, match="lists of words, got a plain string"):
            score(["a b"], [["a", "b"]])
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        ngrams(["a"], 0)


def test_words_are_lost_where_pieces_are_not():
    text = news()
    train, held_out = text.train[:8000], text.held_out[:4000]
    letters, whole, cut = (
        measure(cutter, held_out)
        for cutter in (characters(train), words(train), pieces(train, vocabulary=1000))
    )
    assert whole.length == 1 and whole.unknown == whole.words_lost > 0.1
    assert letters.words_lost < 0.01 and cut.words_lost < 0.01
    assert letters.vocabulary < cut.vocabulary < whole.vocabulary
    assert letters.length > cut.length > whole.length
    closed = stories(200)
    assert measure(words(closed.train), closed.held_out).unknown == 0


def test_ways_of_cutting():
    assert "".join(characters(["ab"]).cut(["ba", "ab"])) == "ba_ab_"
    cutter = pieces(["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3, vocabulary=30)
    assert cutter.cut(["lowest"])[-1].endswith("_") and UNKNOWN not in cutter.cut(["lowest"])
    assert "".join(cutter.cut(["widest", "low"])) == "widest_low_"
    assert UNKNOWN in cutter.cut(["zebra"])
    learnt = merges(["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3, 4)
    assert learnt[:3] == [("e", "s"), ("es", "t"), ("est", "_")]  # the example of the source
    assert len(merges(["a"], 9)) == 1  # then all is joined
    for wrong, message in (
        (lambda: pieces(["a"], vocabulary=0), "vocabulary must be at least 1, got 0"),
        (lambda: words(["a"], most=0), "most must be at least 1, got 0"),
        (lambda: merges(["a"], 0), "number must be at least 1, got 0"),
        (lambda: measure(words(["a"]), []), "held_out must have at least one word"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()


def test_news_that_are_not_there_are_missed_clearly(monkeypatch, tmp_path):
    monkeypatch.setattr("gensim.test.utils.datapath", lambda name: str(tmp_path / name))
    with pytest.raises(
        tokenizers.DataError, match=r"lee_background.cor: cannot be read; install gensim again"
    ):
        news.__wrapped__()
