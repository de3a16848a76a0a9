"""The encoder in the page: the same numbers as PyTorch, and a figure that can be played with."""

import base64
import re

import numpy as np
import pytest
import torch
from browsing import Opened, check_piece, data_of, save_together

from reasonlib.display.live import code
from reasonlib.display.plotting import HEAT, Picture
from reasonlib.errors import UserError
from reasonlib.transformer.data.pairs import MASK, pack, story_vocabulary
from reasonlib.transformer.data.stories import WORDS
from reasonlib.transformer.models.bert import Bert, BertConfig
from reasonlib.transformer.models.pretrained import PretrainedEncoder, inspect_text, load_encoder, split
from reasonlib.transformer.page.live import heads as live
from reasonlib.transformer.page.live.heads import LARGEST, SCRIPTS, framed, learnt_following
from reasonlib.transformer.page.live.texts import Text, parts, some_texts, telling_head, written

STRANGE = "Rhea took the milk, quickly. Mary is in the _ .\nwhere is [MASK]? Été_Да."


def network(**settings):
    """An encoder with large random weights, so that heads look in different places."""
    config = BertConfig(
        vocabulary=len(story_vocabulary()),
        **{"longest": 40, "layers": 3, "heads": 2, "width": 12, "hidden": 20} | settings,
    )
    model = Bert(config, seed=4)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=generator) * 0.3)
    model.load_state_dict({name: tensor.half().float() for name, tensor in model.state_dict().items()})
    return PretrainedEncoder(model.eval(), story_vocabulary(), {})


def random_texts(count, longest=28):
    rng = np.random.default_rng(5)
    vocabulary = [*WORDS, "_", "_", "_", "Rhea", "42", "O'Neill"]
    for _ in range(count):
        text = " ".join(rng.choice(vocabulary, rng.integers(1, longest)))
        if rng.random() < 0.5:
            text += "\n" + " ".join(rng.choice(vocabulary, rng.integers(1, 9)))
        yield text


ASKED = {
    "shipped": (load_encoder, [*(text.text for text in some_texts()), STRANGE, "mary", "_"]),
    "random": (network, [*random_texts(12), STRANGE]),
    "one-head": (lambda: network(layers=1, heads=1, width=8), list(random_texts(5))),
}


# Without a browser


def test_a_figure_is_one_small_piece_that_asks_for_nothing(figure):
    assert isinstance(figure, Picture)
    assert LARGEST == 500_000
    check_piece(figure, LARGEST)
    assert live().html == figure.html
    assert HEAT == "#2389d7" and "--heat:35 137 215" in figure.html


def test_the_first_look_is_there_without_scripts():
    encoder = network()
    text = Text("A place", "mary ran to the garden. mary is in the _.", ("garden",))
    figure = live(encoder, texts=[text])
    inspection = inspect_text(encoder, text.text)
    layer, head, row = telling_head(inspection)
    static = figure.html[figure.html.index("</form>") : figure.html.index('<script type="application/json">')]
    drawn = [float(value) for value in re.findall(r'rr-live-token[^>]*style="--share:([\d.]+)"', static)]
    np.testing.assert_allclose(drawn, inspection.weights[layer, head, row], atol=1e-4)
    assert re.findall(r"rr-live-token[^>]*><span>([^<]+)<", static) == list(inspection.tokens)
    best, share = inspection.guesses[0].words[0]
    assert f"<li><span>{best}</span>" in static and f"{share:.2f}" in static
    assert "it was: garden" in static or "✓ right" in static
    assert f"layer {layer + 1}, head {head + 1}" in figure.alt.lower() and "It guesses: " in figure.alt
    assert data_of(figure)["data"]["first"] == {"layer": layer, "head": head}
    words = [inspection.tokens[index] in ("mary", "garden") for index in range(len(inspection.tokens))]
    everywhere = inspection.weights[:, :, row][..., words]
    hardest = inspection.weights[layer, head, row][words].max()
    assert everywhere.max() == hardest, "the head that looks hardest"


def test_what_the_page_gets_is_the_encoder_in_16_bits():
    encoder = network()
    given = data_of(live(encoder, texts=[Text("", "mary ran")]))
    data, packed = given["data"]["sizes"], given["models"]["encoder"]
    numbers = np.frombuffer(base64.b64decode(packed["bytes"]), dtype="<f2").astype(np.float32)
    exact = torch.cat([tensor.flatten() for tensor in encoder.model.state_dict().values()])
    np.testing.assert_array_equal(numbers, exact)
    assert data["tokens"] == list(story_vocabulary().tokens) and sum(
        int(np.prod(shape)) for _, shape, _ in packed["tensors"]
    ) == len(numbers)


def test_text_cannot_break_out_of_the_page():
    nasty = Text("<b>", "</script><img src=x onerror=alert(1)> _ mary", ("<i>",))
    body = live(texts=[nasty]).html
    assert "<img" not in body and "<b>" not in body and "<i>" not in body and body.count("</script>") == 2
    assert data_of(live(texts=[nasty]))["data"]["texts"][0]["text"] == nasty.text
    assert "never met these words" in body


def test_texts_offered():
    texts = some_texts()
    assert texts == some_texts() and len({item.title for item in texts}) == len(texts) == 8
    for text in texts:
        tokens = [word for word in written(text.text) if not word.startswith("[")]
        assert set(tokens) <= set(WORDS)
        assert text.text.count("_") == len(text.answers)
        assert (text.follows is None) == ("\n" not in text.text)
    assert {item.follows for item in some_texts(pairs=False)} == {None}
    assert learnt_following(network()) and not learnt_following(network()._replace(made={"steps": [9, 0]}))
    assert parts(" a\n\n b \nc ") == ("a", "b \nc") and parts("") == ("", "")


def test_mistakes():
    with pytest.raises(ValueError, match="texts must hold at least one text, got none"):
        live(texts=[])
    with pytest.raises(UserError, match="the text must have at most 40 tokens, got 51"):
        live(network(), texts=[Text("", "mary " * 49)])
    with pytest.raises(UserError, match=r"the figure would weigh \d\.\d MB, and it may weigh 0.5 MB"):
        live(network(width=128, hidden=256))
    broken = network()
    with torch.no_grad():
        broken.model.pool.weight[0, 0] = 1e6
    with pytest.raises(UserError, match="weights that 16 bits cannot hold"):
        live(broken)


def test_a_frame_of_its_own():
    inspection = inspect_text(network(), "mary ran")
    figure = framed(inspection, "mary ran", 0, 1, 1)
    assert "<style>" in figure.html and "No word is hidden" in figure.html and "token 2" in figure.alt


# The numbers, in a browser and in node


@pytest.mark.parametrize("name", ASKED)
def test_the_same_numbers_as_pytorch(javascript, name):
    body = """const bert = new Bert(new Weights(given.models.encoder), given.data.sizes);
    return given.asked.map((one) => bert.look(...one));"""
    make, texts = ASKED[name]
    encoder = make()
    queries = [parts(text) for text in texts]
    figure = live(encoder, texts=[Text("", "mary")])
    results = javascript(code(*SCRIPTS), body, {**data_of(figure), "asked": queries})
    for query, ours in zip(queries, results, strict=True):
        theirs = inspect_text(encoder, *query)
        assert ours["tokens"] == list(theirs.tokens)
        np.testing.assert_allclose(ours["weights"], theirs.weights, atol=1e-4)
        packed = pack([tuple(map(split, query))], encoder.vocabulary)
        with torch.no_grad():
            logits = encoder.model(packed).mlm_logits[packed.tokens == MASK]
        assert [guess["place"] for guess in ours["guesses"]] == [guess.position for guess in theirs.guesses]
        if len(logits):
            np.testing.assert_allclose([guess["logits"] for guess in ours["guesses"]], logits, atol=1e-3)
        assert (ours["follows"] is None) == (theirs.follows is None)
        assert ours["follows"] is None or ours["follows"] == pytest.approx(theirs.follows, abs=1e-4)
    sharpest = max(float(inspect_text(encoder, *item).weights[:, :, 0].max()) for item in queries)
    assert sharpest > 0.2, "the comparison must be of numbers that differ"


# The figure, played with


class Live(Opened):
    prefix = "rr-heads"

    def tokens(self):
        return self.part("token").evaluate_all("all => all.map(one => one.firstChild.textContent)")

    def shares(self):
        return self.part("token").evaluate_all(
            "all => all.map(one => +one.style.getPropertyValue('--share'))"
        )

    def chosen(self):
        return self.part("token").evaluate_all("all => all.findIndex(one => one.ariaPressed === 'true')")

    def bars(self):
        rows = "all => all.map(one => [one.firstChild.textContent, +one.lastChild.textContent])"
        return self.part("guesses").locator("li").evaluate_all(rows)


@pytest.fixture(scope="module")
def figure():
    return live()


def check(opened, encoder, text, layer, head, row):
    """What stands on the page is what PyTorch computes."""
    inspection = inspect_text(encoder, *parts(text))
    np.testing.assert_allclose(opened.shares(), inspection.weights[layer, head, row], atol=1e-3)
    guessed = [pair for guess in inspection.guesses for pair in guess.words]
    shown = opened.bars()[: len(guessed)]
    np.testing.assert_allclose([share for _, share in shown], [share for _, share in guessed], atol=0.0061)
    for guess, ours in zip(inspection.guesses, shown[::5], strict=True):
        assert dict(guess.words)[ours[0]] == pytest.approx(guess.words[0][1], abs=1e-3)
    assert opened.part("said").inner_text().startswith(f"Layer {layer + 1}, head {head + 1}: from ")


@pytest.mark.browser
def test_pick_a_text_a_head_and_a_token(browser, page):
    encoder = load_encoder()
    texts = some_texts(pairs=learnt_following(encoder))
    layer, head, row = telling_head(inspect_text(encoder, *parts(texts[0].text)))
    with Live(browser, page) as opened:
        assert opened.tokens() == list(written(texts[0].text)) and opened.chosen() == row
        check(opened, encoder, texts[0].text, layer, head, row)
        for number, text in enumerate(texts[:4]):
            opened.figure.get_by_role("combobox", name="Example").select_option(str(number))
            assert opened.part("text").input_value() == text.text
            check(opened, encoder, text.text, layer, head, opened.chosen())
            best = inspect_text(encoder, *parts(text.text)).guesses[0].words[0][0]
            right = "✓ right" if best == text.answers[0] else f"✗ it was: {text.answers[0]}"
            assert right in opened.part("guesses").inner_text()
        opened.figure.get_by_role("button", name="layer 1, head 2").click()
        assert opened.part("head").nth(1).get_attribute("aria-pressed") == "true"
        opened.part("token").nth(2).click()
        check(opened, encoder, text.text, 0, 1, 2)
        opened.part("token").nth(5).hover()
        check(opened, encoder, text.text, 0, 1, 5)
        opened.page.mouse.move(1, 1)
        check(opened, encoder, text.text, 0, 1, 2)
        assert re.search(r"Read in your browser in (less than 1|\d+) ms\.", opened.part("took").inner_text())
        assert opened.complaints == []


@pytest.mark.browser
def test_write_with_the_keyboard_alone(browser, page):
    encoder = load_encoder()
    text = "Mary took the milk. Bill ran to the office.\nBill is in the _."
    with Live(browser, page) as opened:
        keyboard = opened.page.keyboard
        opened.figure.get_by_role("combobox").focus()
        keyboard.press("Tab")
        keyboard.press("Control+a")
        keyboard.type(text)
        assert opened.part("picker").input_value() == "own"
        assert opened.tokens() == list(written(text))
        row = opened.chosen()
        assert opened.tokens()[row] == "[MASK]"
        for key in ("Tab", "Tab", "ArrowLeft", "ArrowLeft"):  # past the list of words, to the tokens
            keyboard.press(key)
        assert opened.chosen() == row - 2 and "from “in”" in opened.part("said").inner_text()
        for key in ("Tab", "Enter"):  # hide this word
            keyboard.press(key)
        assert opened.part("text").input_value() == text.replace(" in ", " _ ")
        first = some_texts(pairs=learnt_following(encoder))[0].text
        layer, head, _ = telling_head(inspect_text(encoder, *parts(first)))
        check(opened, encoder, text.replace(" in ", " _ "), layer, head, row - 2)
        assert opened.part("hide").inner_text().startswith("Fill in “") and len(opened.bars()) >= 10
        guess = inspect_text(encoder, *parts(text.replace(" in ", " _ "))).guesses[0].words[0][0]
        keyboard.press("Enter")  # fill it in again
        assert opened.part("text").input_value() == text.replace(" in ", f" {guess} ")
        for _ in range(encoder.model.config.heads):
            keyboard.press("Tab")
        keyboard.press("Space")
        last = encoder.model.config.heads
        check(opened, encoder, text.replace(" in ", f" {guess} "), 0, last - 1, row - 2)
        assert opened.part("said").get_attribute("aria-live") == "polite"
        assert opened.complaints == []


@pytest.mark.browser
def test_unknown_words_and_too_much_text_are_told(browser, page):
    with Live(browser, page) as opened:
        opened.part("text").fill("Rhea took the zither. rhea is _.")
        assert opened.part("notes").inner_text() == (
            "It has never met these words and reads them as [UNK]: rhea, zither."
        )
        assert opened.part("unknown").all_inner_texts() == ["rhea", "zither", "rhea"]
        opened.part("text").fill(" ")
        assert opened.part("notes").inner_text() == "Write some words first."
        assert opened.tokens() == [] and opened.part("hide").is_disabled()
        opened.part("text").fill("mary " * 120)
        assert opened.part("notes").inner_text() == "It reads at most 96 tokens, and this text has 122."
        opened.part("text").fill("mary took the.")
        assert opened.part("notes").inner_text() == ""
        assert "No word is hidden" in opened.part("guesses").inner_text()
        opened.part("text").evaluate("area => area.setSelectionRange(13, 13)")
        opened.part("words").locator("summary").click()
        opened.figure.get_by_role("button", name="football", exact=True).click()
        assert opened.part("text").input_value() == "mary took the football."
        assert opened.complaints == []


@pytest.mark.browser
def test_the_page_cuts_texts_as_the_library_does(browser, page):
    texts = [STRANGE, "a[MASK]b", "  Mary.\n\n ran?! ", "mary,bill_", "[SEP] [mask] it's"]
    with Live(browser, page) as opened:
        for text in texts:
            opened.part("text").fill(text)
            assert opened.tokens() == list(written(text))


@pytest.mark.browser
def test_two_figures_and_two_parts(browser, tmp_path):
    texts = [Text("Two", "mary ran to the park.\nmary is in the park.", follows=True)]
    untold = network(layers=1, heads=3)._replace(made={"steps": [9, 0]})
    first, second = live(network(), texts=texts), live(untold, texts=texts)
    still = framed(inspect_text(network(), "mary ran"), "mary ran", 0, 0, 1)
    save_together(tmp_path / "two.html", still, first, second)
    with Live(browser, tmp_path / "two.html") as opened:
        figures = opened.page.locator(".rr-heads[role=group]")
        assert figures.evaluate_all("all => all.map(one => one.encoder.layers)") == [3, 1]
        assert figures.nth(1).locator(".rr-heads-head").count() == 3
        follows = inspect_text(network(), *parts(texts[0].text)).follows
        shown = figures.nth(0).locator(".rr-heads-guesses").inner_text()
        assert ("✓ right" if follows > 0.5 else "✗ wrong") in shown and f"{follows:.2f}" in shown
        before = figures.nth(1).inner_text()
        assert "It was not trained to say" in before and "It was not trained to say" not in shown
        figures.nth(0).locator(".rr-live-token").nth(2).click()
        assert figures.nth(1).inner_text() == before
        assert opened.complaints == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_figure_on_a_phone_and_for_those_who_cannot_see_it(browser, page, scheme):
    with Live(browser, page, color_scheme=scheme, viewport={"width": 380, "height": 800}) as opened:
        opened.part("words").locator("summary").click()
        opened.part("text").fill(STRANGE)
        opened.check_view()


@pytest.mark.browser
def test_without_scripts_the_first_look_is_read(browser, page):
    with Live(browser, page, java_script_enabled=False) as opened:
        assert opened.part("said").is_visible() and opened.part("guesses").locator("li").first.is_visible()
        assert opened.part("token").count() == len(written(some_texts()[0].text))
        for name in ("form", "hide", "maps"):
            assert not opened.part(name).is_visible()
        assert "Scripts are off" in opened.figure.locator("noscript").inner_text()
