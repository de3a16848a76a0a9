"""One door to every set."""

import pytest

from reasonlib.errors import DataError
from reasonlib.goal_dialogue.data import corpus
from reasonlib.goal_dialogue.data.datasets import SETS, load
from reasonlib.goal_dialogue.data.simulator import make_split


def test_simulated_sets_are_loaded_once_at_the_size_asked_for():
    split = load("simulated", 2, dialogues=7, seed=4)
    assert load("simulated", 2, dialogues=7, seed=4) is split
    assert split == make_split(2, dialogues=7, seed=4)
    loud = load("simulated-noisy", 2, dialogues=7, seed=4)
    assert [len(dialogue.turns) for dialogue in loud.oov] == [len(dialogue.turns) for dialogue in split.oov]
    assert loud.train != split.train
    small = load("advice", 3)
    assert len(small.train) + len(small.valid) + len(small.test) == 50
    assert len(load("advice", 3, dialogues=10).train) == 6
    assert SETS["dialog-babi"] == "released" and {*SETS.values()} == {"released", "stand-in"}


def test_the_first_dialogues_of_the_released_set(tmp_path, monkeypatch):
    folder = tmp_path / corpus.CORPORA["dialog-babi"].folder
    corpus.write_split(make_split(4, dialogues=5), folder)
    for name in corpus.CORPORA["dialog-babi"].files:
        (folder / name).touch()
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    load.cache_clear()
    whole, part = load("dialog-babi", 4), load("dialog-babi", 4, dialogues=2)
    assert len(whole.oov) == 5 and part.oov == whole.oov[:2] and part.candidates == whole.candidates
    load.cache_clear()


def test_what_is_not_there_is_named(tmp_path, monkeypatch):
    with pytest.raises(
        ValueError, match="data must be one of dialog-babi, simulated, simulated-noisy, advice, got 'x'"
    ):
        load("x", 1)
    with pytest.raises(ValueError, match="dialogues must be at least 1, got 0"):
        load("simulated", 1, dialogues=0)
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    monkeypatch.setenv("REASONLIB_CACHE", str(tmp_path / "cache"))
    load.cache_clear()
    with pytest.raises(DataError, match=r"dialog-babi: not on this machine .* set REASONLIB_DATA"):
        load("dialog-babi", 1)
