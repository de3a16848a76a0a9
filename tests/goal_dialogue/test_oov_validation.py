"""Validation dialogues with names that training never says."""

import pytest

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.bags import memory_lines, words
from reasonlib.goal_dialogue.data.example import Dialogue, Fact, Split, Turn
from reasonlib.goal_dialogue.experiments.oov_validation import name_exchanges, rename
from reasonlib.tracking import runner

SPLIT = datasets.load("simulated", 5, dialogues=12)


def words_in(dialogues):
    sentences = (line for dialogue in dialogues for event in memory_lines(dialogue) for line in event)
    return {word for text, _, _ in sentences for word in words(text)}


def test_each_name_is_exchanged_for_one_of_its_type_that_training_does_not_say():
    exchanges, types, train_words = name_exchanges(SPLIT), SPLIT.knowledge.types(), words_in(SPLIT.train)
    assert 6 < len(exchanges) == len(set(exchanges.values())) <= 10
    for old, new in exchanges.items():
        assert types[old] == types[new] in ("cuisine", "location")
        assert old in train_words and new not in train_words


def test_renaming_by_hand():
    events = (
        Turn("thai food in rome please", "api_call thai rome four cheap"),
        Fact("resto_rome_cheap_thai_2stars", "R_cuisine", "thai"),
        Turn("<SILENCE>", "what do you think of this option: resto_rome_cheap_thai_2stars"),
    )
    (renamed,) = rename([Dialogue(task=3, events=events)], {"thai": "korean", "rome": "seoul"})
    assert renamed.task == 3 and renamed.events == (
        Turn("korean food in seoul please", "api_call korean seoul four cheap"),
        Fact("resto_seoul_cheap_korean_2stars", "R_cuisine", "korean"),
        Turn("<SILENCE>", "what do you think of this option: resto_seoul_cheap_korean_2stars"),
    )


def test_renamed_dialogues_keep_no_exchanged_name_and_as_many_turns():
    names = name_exchanges(SPLIT)
    renamed = rename(SPLIT.valid, names)
    assert not words_in(renamed) & names.keys() and words_in(renamed) & set(names.values())
    assert [len(dialogue.events) for dialogue in renamed] == [
        len(dialogue.events) for dialogue in SPLIT.valid
    ]


def test_a_set_without_a_knowledge_base_has_no_unheard_names():
    bare = Split(task=6, train=(), valid=(), test=(), oov=(), candidates=("yes",), knowledge=None)
    with pytest.raises(UserError, match="task 6 has no knowledge base"):
        name_exchanges(bare)


def test_rows_with_and_without_match_features_measure_both_validation_sets():
    rows = ("gn2n-64-0.3-0.003", "gn2n-64-0.3-0.003-alone")
    for record in runner.run(
        "goal_dialogue/oov-validation", rows=rows, scale="smoke", data="simulated", device="cpu"
    ):
        assert set(record.metrics) == {"valid1", "renamed1", "valid", "renamed"}
        assert 0 <= record.metrics["renamed"] <= 1
