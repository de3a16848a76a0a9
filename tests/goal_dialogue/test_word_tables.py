"""Tables and figures of the chapters on words and on out-of-vocabulary names."""

import re

import numpy as np
import pytest

from reasonlib.goal_dialogue.data.example import Dialogue, Split, Turn
from reasonlib.goal_dialogue.page import measured, oov_tables, word_figures


def talk(*pairs: tuple[str, str], task: int = 4) -> Dialogue:
    return Dialogue(task=task, events=tuple(Turn(*pair) for pair in pairs))


def test_a_dialogue_is_renamed_throughout() -> None:
    dialogue = talk(("thai in rome", "rome then"), ("", "api_call thai rome six cheap"), task=1)
    renamed = oov_tables.renamed(dialogue)
    assert [(turn.user, turn.bot) for turn in renamed.turns] == [
        ("bla0 in bla1", "bla1 then"),
        ("", "api_call bla0 bla1 six cheap"),
    ]


def test_responses_with_a_new_word_are_counted_by_kind() -> None:
    train = (talk(("hi", "hello"), ("phone", "here it is x_phone"), ("x_phone", "so")),)
    test_set = (talk(("hi", "hello"), ("phone", "here it is y_phone"), ("y_phone", "so")),)
    split = Split(task=4, train=train, valid=(), test=test_set, oov=(), candidates=(), knowledge=None)
    counts = oov_tables.unsaid([split]).reset_index()
    assert counts["turns"].sum() == 3 and counts["with a new word"].sum() == 1
    new = counts[counts["with a new word"] == 1]["response"].item()
    assert new.startswith("here it is")


def test_words_that_move_together_have_a_mean_as_long_as_each() -> None:
    class Task:
        candidates = ("hello", "x y")
        vocabulary = type("Vocabulary", (), {"id_of": staticmethod({"hello": 0, "x": 1, "y": 2}.get)})

    split = Split(
        task=4,
        train=(talk(("hi", "hello")),),
        valid=(),
        test=(),
        oov=(),
        candidates=Task.candidates,
        knowledge=None,
    )
    table = oov_tables.moves(split, Task, np.array([[3.0, 4.0], [0.0, 2.0], [0.0, 2.0]]))
    assert table["words"].tolist() == [1, 2] and table["mean move"].tolist() == [5.0, 2.0]
    assert table.loc["in none", "length of the mean / mean length"] == 1


def test_the_bound_and_the_losses_come_from_records() -> None:
    bound = oov_tables.bound()
    assert list(bound.columns) == ["the bound", "N2N", "GN2N", "UN2N"] and "task 4, OOV" in bound.index
    assert all(re.fullmatch(r"[01]\.\d{3}", cell) for cell in bound["the bound"].iloc[:10])
    losses = oov_tables.losses()
    assert (losses["runs"] >= 1).all() and losses.loc["no recency", "loss"] == "none"


def test_replies_come_from_a_new_conversation_each() -> None:
    class Conversation:
        def __init__(self) -> None:
            self.heard: list[str] = []

        def say(self, text: str) -> list[object]:
            self.heard.append(text)
            return [type("Reply", (), {"text": f"{len(self.heard)}: {text}"})]

    table = oov_tables.replies({"echo": Conversation}, ["a", "b"])  # type: ignore[dict-item]
    assert table["echo"].to_dict() == {"a": "2: a", "b": "2: b"}


def test_our_lstm_step_is_that_of_pytorch() -> None:
    assert word_figures.lstm_difference(seed=3) == pytest.approx(0, abs=1e-6)


def test_similar_sentences_are_drawn_with_their_cosine() -> None:
    vectors = {"a b": [1.0, 0.0], "c": [0.0, 2.0]}
    drawn = word_figures.similarity(
        lambda texts: np.array([vectors[" ".join(text)] for text in texts]), ["a b", "c"]
    )
    assert "2 sentences" in drawn.alt and "a b to a b (1.00)" in drawn.alt


@pytest.mark.parametrize("name", measured.__all__)
def test_a_chart_of_records_names_its_runs(name: str) -> None:
    drawn = getattr(measured, name)()
    assert re.search(r"[Pp]aper scale, dialog-babi \(released\), (\d+ to )?\d+ seeds?", drawn.html)
    assert "share of" in drawn.alt
