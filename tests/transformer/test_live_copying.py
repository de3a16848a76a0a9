"""Models that copy a word in the page: the same letters and numbers as PyTorch, and a figure to play with."""

import numpy as np
import pytest
import torch
from browsing import DESKTOP, OUTSIDE, Opened, data_of

from reasonlib.display import live
from reasonlib.nn import decoding
from reasonlib.transformer.data.simulator import vocabulary
from reasonlib.transformer.experiments.tasks import Recipe, build, solve
from reasonlib.transformer.page.live.copying import LONGEST, PARTS, SCRIPTS, WORD, copying, write

ORDER = ("positions", "", "memory-attention", "causal-mask")
WORDS = (WORD, "a", "abab", "ponmlkjihgfe")


@pytest.fixture(scope="module")
def models():
    """The four models after a few steps, with the weights that the page gets."""
    by_part = {}
    for part in PARTS:
        recipe = Recipe(steps=20, lr=5e-3)
        trained = solve(
            "copy", without=part or None, recipe=recipe, examples=200, test_size=4, progress=False
        )
        by_part[part] = live.rounded(trained.model)
    return by_part


@pytest.fixture(scope="module")
def figure(models):
    return copying(models, order=ORDER)


def test_the_same_letters_and_numbers_as_pytorch(javascript, figure, models):
    body = """return given.data.models.map(({ missing }) => {
      const copier = new Copier(new Weights(given.models[missing || "whole"]), missing, given.data);
      return given.asked.map((word) => copier.write(word, given.data.longest + 1));
    });"""
    results = javascript(live.code(*SCRIPTS), body, {**data_of(figure), "asked": WORDS})
    for part, answers in zip(ORDER, results, strict=True):
        for word, ours in zip(WORDS, answers, strict=True):
            theirs = write(models[part], word)
            assert [step["token"] for step in ours] == list(theirs.tokens), (part, word)
            np.testing.assert_allclose([step["share"] for step in ours], theirs.shares, atol=2e-3)
            np.testing.assert_allclose([step["attention"] for step in ours], theirs.attention, atol=2e-3)


def test_the_figure_writes_what_greedy_decoding_writes(models):
    letters = vocabulary("copy")
    for model in models.values():
        source = torch.tensor([letters.encode(list(WORD))])
        (best,) = decoding.best(decoding.greedy(model, source, longest=LONGEST + 1))
        ours = [token for token in write(model, WORD).tokens if token != "<end>"]
        assert ours[: len(best)] == letters.decode(best)


def test_the_static_picture_and_mistakes(figure, models):
    assert f"The word to copy is “{WORD}”. Model A writes" in figure.alt
    page = figure._repr_html_()
    assert not OUTSIDE.search(page.split("<script>")[1]) and len(page.encode()) < 500_000
    with pytest.raises(ValueError, match="order must name each of the models once"):
        copying(models, order=("", "positions"))
    with pytest.raises(ValueError, match="models must lack one of"):
        copying({"scale": build("copy", without="scale")}, order=("scale",))


class Live(Opened):
    prefix = "rr-copying"


@pytest.mark.browser
def test_write_a_word_and_guess(browser, page, models):
    with Live(browser, page, **DESKTOP) as opened:
        figure = opened.figure
        box = figure.get_by_role("textbox")
        box.fill("Pea-Nib!")
        for row, part in enumerate(ORDER):
            theirs = [token for token in write(models[part], "peanib").tokens if token != "<end>"]
            cell = figure.locator(".rr-copying-answer").nth(row)
            assert "".join(cell.inner_text().split()) in ("".join(theirs), "nothing")
        assert "Left out: - !" in opened.part("notes").inner_text()
        figure.get_by_role("button", name="Model C").click()
        assert "Model C" in opened.part("title").inner_text()
        assert figure.locator(".rr-copying-map thead th").count() == 2 + len("peanib")
        figure.get_by_role("button", name="Check my answers").click()
        assert opened.part("said").inner_text().startswith("0 of 4 right.")
        for number, part in enumerate(ORDER):
            figure.get_by_role("combobox").nth(number).select_option(part)
        figure.get_by_role("button", name="Check my answers").click()
        assert opened.part("said").inner_text().startswith("All 4 are right: A lacks positions")
        box.fill("")
        assert opened.part("notes").inner_text() == "Write a word first."
        box.fill("abcdefghijklmnop")
        assert f"Only the first {LONGEST} letters are used." in opened.part("notes").inner_text()
        assert opened.complaints == []


@pytest.mark.browser
def test_the_figure_fits_and_can_be_read(browser, page, view):
    with Live(browser, page, **view) as opened:
        opened.figure.get_by_role("button", name="Model B").click()
        opened.check_view()
