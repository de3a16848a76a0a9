"""Attention step by step in the page: the same numbers as PyTorch, and a figure that can be played with."""

import re

import numpy as np
import pytest
from browsing import DESKTOP, OUTSIDE, Opened, data_of

from reasonlib.display import live
from reasonlib.errors import UserError
from reasonlib.transformer.models.pretrained import load_encoder
from reasonlib.transformer.page.live import attention
from reasonlib.transformer.page.live.attention import SCRIPTS, SENTENCES, step

TEXTS = [text for _, text in SENTENCES] + ["rhea RAN, quickly to the _", "_"]


@pytest.fixture(scope="module")
def figure():
    return attention()


@pytest.fixture(scope="module")
def encoder():
    bundled = load_encoder()
    return bundled._replace(model=live.rounded(bundled.model))


@pytest.mark.parametrize(("masked", "scaled"), [(False, True), (True, True), (False, False)])
def test_the_same_numbers_as_pytorch(javascript, figure, encoder, masked, scaled):
    body = """const bert = new Bert(new Weights(given.models.encoder), given.data.sizes);
    return given.asked.map(([text, layer, masked, scaled]) => {
      const { scores, weights, joined } = attentionOf(bert, text, { layer, masked, scaled });
      return [scores.map((one) => one.toArray()), weights.map((one) => one.toArray()), joined.toArray()];
    });"""
    queries = [(text, layer, masked, scaled) for text in TEXTS for layer in range(3)]
    results = javascript(live.code(*SCRIPTS), body, {**data_of(figure), "asked": queries})
    for (text, layer, *_), (scores, weights, mixtures) in zip(queries, results, strict=True):
        theirs = step(encoder, text, layer, masked=masked, scaled=scaled)
        np.testing.assert_allclose(scores, theirs.scores, atol=2e-3)
        np.testing.assert_allclose(weights, theirs.weights, atol=1e-3)
        np.testing.assert_allclose(mixtures, theirs.mixtures, atol=2e-3)
        if masked:
            assert not np.triu(weights, 1).any()


def test_the_static_picture_and_mistakes(figure):
    assert "attends most to “park” (0.88)" in figure.alt and "<svg" in figure.html.split("<script")[0]
    page = figure._repr_html_()
    assert not OUTSIDE.search(page.split("<script>")[1]) and len(page.encode()) < 600_000
    with pytest.raises(ValueError, match="sentences must hold at least one sentence, got none"):
        attention(sentences=[])
    with pytest.raises(UserError, match="a sentence must have at most 24 tokens, got 32"):
        attention(sentences=[("Long", "mary " * 30)])


class Live(Opened):
    prefix = "rr-attention"

    def table(self):
        return self.cells(self.figure.locator("tbody tr"))


@pytest.mark.browser
def test_choose_query_head_layer_and_mask(browser, page, encoder):
    with Live(browser, page, **DESKTOP) as opened:
        figure, text = opened.figure, SENTENCES[0][1]
        query = 17
        for layer, head, masked in ((2, 3, False), (0, 1, False), (0, 1, True)):
            figure.get_by_role("radio", name=str(layer + 1), exact=True).check()
            figure.get_by_role("button", name=f"head {head + 1}").click()
            figure.get_by_role("checkbox", name="Hide later tokens").set_checked(masked)
            theirs = step(encoder, text, layer, masked=masked)
            rows = opened.table()
            assert [row[0] for row in rows] == list(theirs.tokens)
            np.testing.assert_allclose(
                [float(row[2]) for row in rows], theirs.weights[head, query], atol=0.0051
            )
            assert [row[1] for row in rows].count("−∞") == (len(rows) - 1 - query if masked else 0)
            assert (
                f"Layer {layer + 1}, head {head + 1}: “[MASK]”, token 18" in opened.part("said").inner_text()
            )
        figure.get_by_role("toolbar").locator("button").nth(3).click()
        message = opened.part("said").inner_text()
        token = r"from “\S+” \(token \d+\)"
        taken = rf"“to”, token 4, takes \d+\s% of its mixture {token}( and \d+\s% {token})?\."
        assert re.search(taken, message), message
        opened.page.keyboard.press("ArrowRight")
        assert "“the”, token 5" in opened.part("said").inner_text()
        assert opened.complaints == []


@pytest.mark.browser
def test_odd_sentences(browser, page):
    with Live(browser, page, **DESKTOP) as opened:
        text = opened.figure.get_by_role("textbox")
        text.fill("  RHEA's zither!! ran 42 ")
        assert opened.figure.get_by_role("combobox", name="Example").input_value() == "own"
        assert [row[0] for row in opened.table()] == [
            "[CLS]",
            "rhea's",
            "zither",
            "!",
            "!",
            "ran",
            "42",
            "[SEP]",
        ]
        assert "reads [UNK] there" in opened.part("notes").inner_text()
        text.fill("")
        assert opened.part("notes").inner_text() == "Write a sentence first."
        text.fill("mary " * 40)
        assert "at most 24 tokens, and this text has 42" in opened.part("notes").inner_text()
        text.fill("mary ran to the park.")
        assert opened.part("notes").inner_text() == "" and opened.figure.locator("tbody").is_visible()
        assert opened.complaints == []


@pytest.mark.browser
def test_the_figure_fits_and_can_be_read(browser, page, view):
    with Live(browser, page, **view) as opened:
        opened.figure.get_by_role("checkbox", name="Hide later tokens").check()
        opened.figure.get_by_role("toolbar").locator("button").nth(5).click()
        opened.check_view()
