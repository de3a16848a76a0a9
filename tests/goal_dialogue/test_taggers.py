"""Taggers as rows of a table, on disk, and those that ship."""

import pytest
import torch
from rows import trial

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.experiments.taggers import run_taggers
from reasonlib.goal_dialogue.experiments.train_tagger import tag_accuracy
from reasonlib.goal_dialogue.models.pretrained import from_pretrained, save_tagger
from reasonlib.goal_dialogue.models.tagger import (
    TAGS,
    ContextTagger,
    TaggerConfig,
    WordTagger,
    encode_characters,
)
from reasonlib.training.checkpoints import save_weights

SMALL = TaggerConfig(letter=4, width=6, context=5)


def letters(**settings):
    base = {"tagger": "letters", "made_up": 0.0, "task": 1, "steps": 3, "dialogues": 8}
    return trial("goal_dialogue/tagger:letters", {**base, **settings})


def test_a_row_measures_seen_and_unseen_words_apart():
    measured = run_taggers(letters())
    assert {"cuisine.seen", "cuisine.unseen", "location.unseen", "seen", "unseen"} <= set(measured.metrics)
    assert all(0 <= share <= 1 for share in measured.metrics.values())
    assert measured.steps_done == 3
    everything = run_taggers(letters(entities="all", steps=1)).metrics
    assert "cuisine.unseen" not in everything and "cuisine.seen" in everything


@pytest.mark.parametrize("kind", [WordTagger, ContextTagger])
def test_what_is_read_is_what_was_written(tmp_path, kind):
    tagger = kind(SMALL, seed=2)
    path = save_tagger(tagger, tmp_path / "tagger.safetensors", made="here", half=False)
    loaded = from_pretrained(path)
    assert type(loaded) is kind
    spelled = encode_characters([["in", "seoul"]])
    assert torch.equal(loaded(spelled), tagger(spelled))


def test_files_that_are_no_taggers_are_named(tmp_path):
    with pytest.raises(UserError, match=r"there is no trained model '.*none'; take one of copying, .* file"):
        from_pretrained(tmp_path / "none")
    about = {"kind": "reasonlib tagger", "tagger": "letters", "config": {"width": 3}}
    path = save_weights(tmp_path / "odd.safetensors", {"x": torch.zeros(1)}, metadata=about)
    with pytest.raises(UserError, match=r"a damaged tagger .*; make it again"):
        from_pretrained(path)
    save_weights(path, {"x": torch.zeros(1)}, metadata={"kind": "words"})
    with pytest.raises(UserError, match="holds no model of goal_dialogue"):
        from_pretrained(path)


def test_the_shipped_taggers_know_what_they_were_taught():
    """Both are right on the entities of their training; on new names only the one that reads sentences is."""
    split = datasets.load("simulated", 5, dialogues=10)

    def share(name, dialogues, kinds):
        measured = tag_accuracy(from_pretrained(f"tagger-{name}"), split, dialogues)
        rows = [row for row in measured if row.type in kinds]
        return sum(row.accuracy * row.places for row in rows) / sum(row.places for row in rows)

    for name in ("letters", "context"):
        assert share(name, split.test, TAGS[2:]) > 0.99
    assert share("context", split.oov, ("cuisine", "location")) > 0.99
    assert share("letters", split.oov, ("cuisine", "location")) < 0.5
