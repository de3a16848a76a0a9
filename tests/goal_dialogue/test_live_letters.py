"""Taggers in the page: the same numbers as PyTorch, letter by letter, and played with."""

import numpy as np
import pytest
from browsing import DESKTOP, OUTSIDE, Opened, data_of

from reasonlib.display import live
from reasonlib.goal_dialogue.models.pretrained import from_pretrained
from reasonlib.goal_dialogue.models.tagger import TAGS
from reasonlib.goal_dialogue.page.live import letters
from reasonlib.goal_dialogue.page.live.letters import SCRIPTS, SENTENCES, tag_shares

ASKED = [*SENTENCES, "a", "O'Neill's Été-2026 <SILENCE> ~~", "resto_rome_cheap_thai_1stars_address " * 3]


@pytest.fixture(scope="module")
def figure():
    return letters()


def rounded(name):
    return live.rounded(from_pretrained(f"tagger-{name}"))


@pytest.mark.parametrize("name", ["letters", "context"])
def test_the_same_numbers_as_pytorch(javascript, figure, name):
    body = """const tagger = new Tagger(new Weights(given.models[given.name]), given.data);
    return given.asked.map((words) => tagger.tag(words).map((shares) => [...shares]));"""
    sentences = [sentence.split() for sentence in ASKED]
    results = javascript(live.code(*SCRIPTS), body, {**data_of(figure), "name": name, "asked": sentences})
    tagger = rounded(name)
    for words, shares in zip(sentences, results, strict=True):
        np.testing.assert_allclose(shares, tag_shares(tagger, words), atol=1e-3)


def test_a_word_letter_by_letter(javascript, figure):
    body = """const tagger = new Tagger(new Weights(given.models.letters), given.data);
    return tagger.growing("blarfish_2").map((shares) => [...shares]);"""
    shares = javascript(live.code(*SCRIPTS), body, data_of(figure))
    prefixes = ["blarfish_2"[:end] for end in range(1, 11)]
    np.testing.assert_allclose(shares, tag_shares(rounded("letters"), prefixes), atol=1e-3)


def test_the_figure_is_small_and_mistakes_are_named(figure):
    page = figure._repr_html_()
    assert len(page.encode()) < 400_000 and not OUTSIDE.search(page.split("<script>")[1])
    assert "zorgville (letters alone: none, with its sentence: location)" in figure.alt
    with pytest.raises(ValueError, match="sentences must hold at least one sentence, got none"):
        letters([])


class Live(Opened):
    prefix = "rr-letters"


@pytest.mark.browser
def test_invent_a_name(browser, page):
    with Live(browser, page, **DESKTOP) as opened:
        figure, text = opened.figure, opened.figure.get_by_role("textbox")
        text.fill("In GRUMPLETON, please!")
        words = ["in", "grumpleton", "please"]
        rows = opened.cells(figure.locator(".rr-letters-table tbody tr"))
        assert [row[0] for row in rows] == words
        for name, column in (("letters", 1), ("context", 2)):
            shares = tag_shares(rounded(name), words)
            best = [f"{TAGS[int(probs.argmax()) + 1]} {float(probs.max()):.2f}" for probs in shares]
            assert [row[column] for row in rows] == best
        assert rows[1][2].startswith("location")
        figure.get_by_role("button", name="grumpleton").click()
        grid = figure.locator(".rr-letters-grid")
        assert grid.locator("thead th").all_inner_texts() == list("grumpleton")
        assert "its letters alone say" in opened.part("said").inner_text()
        text.fill(" !? ")
        assert figure.get_by_text("Write a sentence first.").is_visible()
        text.fill("zork " * 40)
        assert len(opened.cells(figure.locator(".rr-letters-table tbody tr"))) == 16
        figure.get_by_role("combobox", name="Example").select_option("2")
        assert figure.locator(".rr-letters-grid thead th").count() > 30
        assert opened.complaints == []


@pytest.mark.browser
def test_the_figure_fits_and_can_be_read(browser, page, view):
    with Live(browser, page, **view) as opened:
        opened.figure.get_by_role("combobox", name="Example").select_option("2")
        opened.check_view()
