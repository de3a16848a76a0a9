"""Vocabularies: ids, unknown words, and a file that is never half written."""

import os
import pickle

import pytest

from reasonlib.errors import DataError
from reasonlib.training.vocabulary import PAD, UNKNOWN, Vocabulary

TEXTS = [["mary", "went", "home"], ["john", "went", "away"], ["went"]]


def test_specials_first_then_by_count_then_by_name():
    assert Vocabulary.build(TEXTS).tokens == (PAD, UNKNOWN, "went", "away", "home", "john", "mary")


def test_order_of_the_texts_does_not_matter():
    assert Vocabulary.build(TEXTS) == Vocabulary.build(iter(reversed(TEXTS)))


def test_minimum_drops_rare_tokens():
    assert Vocabulary.build(TEXTS, minimum=2).tokens == (PAD, UNKNOWN, "went")


def test_a_special_in_the_text_keeps_its_place():
    assert Vocabulary.build([["b", UNKNOWN, "b"], [UNKNOWN, UNKNOWN]]).tokens == (PAD, UNKNOWN, "b")


def test_own_specials():
    vocabulary = Vocabulary.build(TEXTS, specials=(PAD, UNKNOWN, "<mask>"))
    assert vocabulary.id_of("<mask>") == 2 and vocabulary.id_of("went") == 3


def test_encode_and_decode():
    vocabulary = Vocabulary.build(TEXTS)
    ids = vocabulary.encode(["mary", "flew", "home"])
    assert ids == [6, 1, 4]
    assert vocabulary.decode(ids) == ["mary", UNKNOWN, "home"]
    assert vocabulary.decode([0]) == [PAD]
    assert vocabulary.encode([]) == []
    every = list(vocabulary)
    assert vocabulary.decode(vocabulary.encode(every)) == every


def test_without_unknown_an_unseen_token_is_an_error():
    vocabulary = Vocabulary.build(TEXTS, specials=(PAD,))
    assert vocabulary.encode(["went"]) == [1]
    with pytest.raises(ValueError, match="got 'flew'"):
        vocabulary.encode(["flew"])


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda v: v.encode("went home"), "got the plain string 'went home'"),
        (lambda v: v.decode([7]), "id must be between 0 and 6, got 7"),
        (lambda v: v.decode([-1]), "id must be between 0 and 6, got -1"),
        (lambda v: v.id_of("flew"), "one of the 7 known ones, got 'flew'"),
        (lambda v: v.build(["went home"]), "got the plain string 'went home'"),
        (lambda v: v.build(TEXTS, minimum=0), "minimum must be at least 1, got 0"),
        (lambda v: v.build(TEXTS, specials=(PAD, PAD)), "must be distinct, got '<pad>' at places 0 and 1"),
        (lambda v: Vocabulary([]), "at least the padding token"),
        (lambda v: Vocabulary("abc"), "the one string 'abc'"),
        (lambda v: Vocabulary(["a", 3]), "must be strings, got 3 at place 1"),
    ],
)
def test_bad_parameters_are_named(action, message):
    with pytest.raises(ValueError, match=message):
        action(Vocabulary.build(TEXTS))


def test_is_a_collection():
    vocabulary = Vocabulary.build(TEXTS)
    assert len(vocabulary) == 7 and "went" in vocabulary and "flew" not in vocabulary
    assert hash(vocabulary) == hash(Vocabulary.build(TEXTS)) and vocabulary != Vocabulary.build([["b"]])
    assert repr(vocabulary) == "Vocabulary(7 tokens)"
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary  # workers receive it from joblib


def test_save_and_load(tmp_path):
    vocabulary = Vocabulary.build([["é", "naïve", '"', "日本"]])
    path = vocabulary.save(tmp_path / "new" / "words.json")
    assert Vocabulary.load(path) == vocabulary
    first = path.read_bytes()
    vocabulary.save(path)
    assert path.read_bytes() == first
    assert os.listdir(path.parent) == ["words.json"]


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = Vocabulary.build(TEXTS).save(tmp_path / "words.json")
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reasonlib.training.vocabulary.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        Vocabulary.build([["b"]]).save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["words.json"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"tokens": ["a",', r"words.json, line 1: not a vocabulary in JSON"),
        (b"[1, 2]", 'no list "tokens"'),
        (b'{"tokens": ["a", "a"]}', "must be distinct"),
        (b"\xff\xfe", "not UTF-8"),
        (b"", "line 1: not a vocabulary in JSON"),
    ],
)
def test_a_broken_file_is_named(tmp_path, content, message):
    path = tmp_path / "words.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        Vocabulary.load(path)


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"words.json: cannot read the vocabulary \(No such file"):
        Vocabulary.load(tmp_path / "words.json")
