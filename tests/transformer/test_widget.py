"""The form in a notebook: what its controls do, without a kernel behind it."""

import re

import numpy as np
import pytest

from reasonlib.transformer.data.pairs import story_vocabulary
from reasonlib.transformer.models.bert import Bert, BertConfig
from reasonlib.transformer.models.pretrained import PretrainedEncoder, inspect_text
from reasonlib.transformer.page.live.texts import Text, parts, written
from reasonlib.transformer.page.widget import Looker

TEXTS = (Text("One", "mary ran to the _.", ("park",)), Text("Two", "bill took the cup.\nhe has the _."))


@pytest.fixture
def encoder():
    words = story_vocabulary()
    config = BertConfig(vocabulary=len(words), longest=30, layers=2, heads=2, width=8, hidden=8)
    return PretrainedEncoder(Bert(config, seed=3).eval(), words, {})


@pytest.fixture
def looker(encoder):
    pytest.importorskip("ipywidgets", reason="the optional package ipywidgets is not installed")
    return Looker(encoder, texts=TEXTS)


def shares(looker):
    return [float(value) for value in re.findall(r'rr-live-token[^>]*--share:([\d.]+)"', looker.result.value)]


def test_it_shows_what_the_library_computes(looker, encoder):
    for number, text in enumerate(TEXTS):
        looker.picker.value = number
        inspection = inspect_text(encoder, *parts(text.text))
        assert looker.text.value == text.text
        assert [title.split(" ", 1)[1] for title, _ in looker.token.options] == list(written(text.text))
        assert looker.token.value == inspection.guesses[0].position, "the hidden word looks first"
        for head in ((0, 1), (1, 0)):
            looker.head.value = head
            for row in (0, 3):
                looker.token.value = row
                np.testing.assert_allclose(shares(looker), inspection.weights[(*head, row)], atol=1e-4)
        assert inspection.guesses[0].words[0][0] in looker.result.value
    assert "Does the second part continue the first?" in looker.result.value


def test_write_a_text(looker):
    assert "it was: park" in looker.result.value or "✓ right" in looker.result.value
    looker.text.value = "Rhea ran."
    assert looker.picker.value == -1 and looker.picked() is None
    assert looker.inspection.guesses == () and "No word is hidden" in looker.result.value
    assert "never met this word and reads it as [UNK]: rhea." in looker.result.value
    assert looker.token.value == 1


def test_a_mistake_is_told_in_the_form(looker):
    looker.text.value = " "
    assert looker.result.value == "<p>The text must not be empty.</p>" and looker.inspection is None
    looker.text.value = "mary " * 40
    assert looker.result.value == "<p>The text must have at most 30 tokens, got 42.</p>"
    looker.text.value = "mary ran."
    assert looker.inspection is not None and "rr-live-token" in looker.result.value


def test_the_shipped_encoder_and_no_texts(encoder):
    pytest.importorskip("ipywidgets", reason="the optional package ipywidgets is not installed")
    assert Looker().inspection is not None
    empty = Looker(encoder, texts=())
    assert empty.picker.value == -1 and empty.inspection is None
