"""The network in the page: the same numbers as PyTorch, and a figure that can be played with."""

import base64
import re

import numpy as np
import pytest
import torch
from browsing import PHONE, Opened, check_piece, data_of, save_together

from reasonlib.display.live import LARGEST, code
from reasonlib.display.plotting import Picture
from reasonlib.errors import UserError
from reasonlib.story_qa.data.encoding import build_vocabulary
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork
from reasonlib.story_qa.models.pretrained import load_memory
from reasonlib.story_qa.page.ask import ask_memory, split_sentences
from reasonlib.story_qa.page.live import memory as live
from reasonlib.story_qa.page.live.asking import some_stories
from reasonlib.story_qa.page.live.memory import SCRIPTS

STORIES = tuple(simulate(2, 4, seed=5) + simulate(8, 4, seed=5))
WORDS = build_vocabulary(STORIES)
NETWORKS = {
    "adjacent": {"hops": 3, "rectified": 0.5},
    "layerwise": {"tying": "layerwise", "mapped": True, "hops": 4, "width": 7, "rectified": 0.3},
    "bag": {"encoding": "bag", "hops": 2},
    "no-time": {"temporal": False, "hops": 1},
    "few-slots": {"slots": 6, "hops": 2, "tying": "layerwise"},
}


def network(encoding="position", **settings):
    """A network with large random weights, so that hops look in different places."""
    sizes = {"width": 10, "slots": 30, "init_std": 0.6} | settings
    model = MemoryNetwork(MemoryConfig(vocabulary=len(WORDS), **sizes), seed=9)
    with torch.no_grad():
        if model.config.mapped:
            model.between.weight.add_(torch.randn(7, 7, generator=torch.Generator().manual_seed(1)) * 0.2)
        model.words[0, 2, :4] = torch.tensor([3e-6, -6e-8, -0.0, 2049.0 / 1024])  # subnormal, zero, rounded
    return model, WORDS, encoding


def rounded(model):
    """The same network with weights of 16 bits, computing in 32."""
    copy = MemoryNetwork(model.config)
    copy.load_state_dict({name: tensor.half().float() for name, tensor in model.state_dict().items()})
    return copy


def random_stories(count, longest=20):
    rng = np.random.default_rng(11)
    vocabulary = [word for word in WORDS if word.isalpha()] + ["rhea", "O'Neill", "42"]
    for _ in range(count):
        sentences = [
            " ".join(rng.choice(vocabulary, rng.integers(1, 8))) + "."
            for _ in range(rng.integers(1, longest + 1))
        ]
        yield sentences, " ".join(rng.choice(vocabulary, rng.integers(1, 6))) + "?"


# Without a browser


def test_a_figure_is_one_small_piece_that_asks_for_nothing(figure):
    assert isinstance(figure, Picture)
    assert LARGEST == 1_000_000
    check_piece(figure, LARGEST)
    assert live().html == figure.html


def test_the_first_answer_is_there_without_scripts():
    model, vocabulary, _ = network()
    figure = live(model, vocabulary, stories=STORIES)
    first = STORIES[0]
    expected = ask_memory(rounded(model), vocabulary, first.story, first.question).labelled(first)
    static = figure.html[: figure.html.index('<script type="application/json">')]
    assert f"<strong>{expected.text}</strong>" in static and first.question in static
    for number, sentence in enumerate(first.story, start=1):
        assert f"{number}. {sentence}" in static
    drawn = [float(cell) for cell in re.findall(r"<td[^>]*>([\d.]+)</td>", static)]
    np.testing.assert_allclose(drawn, expected.weights.T.ravel(), atol=0.005001)
    assert static.count("rr-tag") == len(first.support)
    assert "✓ right" in static or f"✗ the story says: {expected.expected}" in static
    assert re.search(r"<form[^>]* hidden>", static) and "<noscript>" in static
    assert expected.text in figure.alt and "Hop 1 reads" in figure.alt


def test_what_the_page_gets_is_the_network_in_16_bits():
    model, vocabulary, _ = network(**NETWORKS["layerwise"])
    given = data_of(live(model, vocabulary, stories=STORIES))
    data, packed = given["data"]["network"], given["models"]["network"]
    numbers = np.frombuffer(base64.b64decode(packed["bytes"]), dtype="<f2").astype(np.float32)
    exact = rounded(model)
    tensors = (exact.words, exact.ages, exact.between.weight)
    np.testing.assert_array_equal(numbers, torch.cat([tensor.detach().flatten() for tensor in tensors]))
    assert data["tokens"] == list(vocabulary) and data["sizes"]["linear"] == 5


def test_text_cannot_break_out_of_the_page():
    nasty = Example(
        task=1,
        story=("</script><img src=x onerror=alert(1)> Mary went home.",),
        question="Where is <b>Mary</b>?",
        answer=("home",),
        support=(0,),
        group=0,
    )
    body = live(stories=[nasty]).html
    assert "<img" not in body and "<b>" not in body and body.count("</script>") == 2
    assert data_of(live(stories=[nasty]))["data"]["stories"][0]["story"] == list(nasty.story)


def test_mistakes():
    model, vocabulary, _ = network()
    with pytest.raises(ValueError, match="stories must hold at least one story, got none"):
        live(model, vocabulary, stories=[])
    with pytest.raises(ValueError, match=f"vocabulary must have the model's {len(WORDS)} words, got none"):
        live(model)
    with pytest.raises(ValueError, match="encoding must be one of position, bag, got 'letters'"):
        live(model, vocabulary, encoding="letters")
    wide = MemoryNetwork(MemoryConfig(vocabulary=len(WORDS), width=1500))
    with pytest.raises(UserError, match=r"the figure would weigh \d\.\d MB, and it may weigh 1.0 MB"):
        live(wide, vocabulary, stories=STORIES)
    with torch.no_grad():
        model.words[0, 3, 0] = 1e6
    with pytest.raises(UserError, match="weights that 16 bits cannot hold"):
        live(model, vocabulary, stories=STORIES)


def test_the_stories_offered_are_short_and_of_many_tasks():
    stories = some_stories()
    assert stories == some_stories() and len({example.task for example in stories}) == len(stories) >= 10
    assert all(len(example.story) <= 9 for example in stories)
    assert some_stories((3,), longest=4)[0].task == 3


# The numbers, in a browser and in node


def ask_figure(javascript, figure, questions):
    """Ask a figure's own network."""
    body = """const network = new MemoryNetwork(new Weights(given.models.network), given.data.network);
    return given.asked.map((one) => network.answer(...one));"""
    return javascript(code(*SCRIPTS), body, {**data_of(figure), "asked": questions})


def compare(results, model, vocabulary, encoding, questions):
    for (story, question), ours in zip(questions, results, strict=True):
        theirs = ask_memory(model, vocabulary, story, question, encoding=encoding)
        np.testing.assert_allclose(ours["weights"], theirs.weights, atol=1e-4)
        index = 2 + int(np.argmax(ours["logits"][2:]))  # <pad> and <unk> are no answers
        assert vocabulary.token_of(index).replace(",", ", ") == theirs.text
        assert ours["probabilities"][index] == pytest.approx(theirs.confidence, abs=1e-4)


def logits(model, vocabulary, encoding, story, question):
    from reasonlib.story_qa.data.encoding import encode

    example = Example(task=0, story=tuple(story), question=question, answer=(), support=(), group=0)
    with torch.no_grad():
        return (
            model(encode([example], vocabulary, encoding).batch([0], slots=model.config.slots))
            .logits[0]
            .numpy()
        )


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_numbers_as_pytorch(javascript, name):
    model, vocabulary, encoding = network(**NETWORKS[name])
    figure = live(model, vocabulary, stories=STORIES, encoding=encoding)
    questions = list(random_stories(20))
    results = ask_figure(javascript, figure, questions)
    exact = rounded(model)
    theirs = [logits(exact, vocabulary, encoding, *pair) for pair in questions]
    worst = max(np.abs(np.subtract(a["logits"], b)).max() for a, b in zip(results, theirs, strict=True))
    assert max(np.abs(row).max() for row in theirs) > 0.5, "the comparison must be of numbers that differ"
    assert worst < 1e-3
    compare(results, exact, vocabulary, encoding, questions)


def test_the_shipped_network_gives_the_same_numbers(javascript):
    model, vocabulary, encoding, _ = load_memory()
    questions = [
        (example.story, example.question) for task in (2, 5, 15, 19) for example in simulate(task, 5, seed=77)
    ]
    results = ask_figure(javascript, live(), questions)
    worst = max(
        np.abs(np.subtract(ours["logits"], logits(rounded(model), vocabulary, encoding, *pair))).max()
        for ours, pair in zip(results, questions, strict=True)
    )
    assert worst < 1e-3
    compare(results, rounded(model), vocabulary, encoding, questions)


# The figure, played with


class Live(Opened):
    prefix = "rr-live"

    def rows(self):
        return self.cells(self.figure.locator(".rr-hops tbody tr"))


RHEA = "Hey! I am Rhea. I love dancing. I am a resident of Singapore."


@pytest.fixture(scope="module")
def figure():
    return live()


@pytest.mark.browser
def test_pick_a_story_and_ask(browser, page):
    model, vocabulary, encoding, _ = load_memory()
    with Live(browser, page) as opened:
        assert opened.part("said").locator("strong").is_visible(), "the first story's answer stands there"
        for number, example in list(enumerate(some_stories()))[:4]:
            opened.figure.get_by_role("combobox", name="Story").select_option(str(number))
            assert opened.part("said").inner_text() == "What would you answer? Then press Ask."
            assert opened.rows() == [[f"{n}. {s}", "", "", ""] for n, s in enumerate(example.story, start=1)]
            assert opened.figure.locator(".rr-needed").count() == 0, "no answer is given away"
            opened.figure.get_by_role("button", name="Ask").click()
            result = ask_memory(
                model, vocabulary, example.story, example.question, encoding=encoding
            ).labelled(example)
            lines = opened.part("said").inner_text().split("\n")
            right = "✓ right" if result.text == result.expected else f"✗ the story says: {result.expected}"
            assert lines == [example.question, result.text, right]
            bars = opened.part("bars").locator("li")
            assert bars.count() == 5
            assert bars.first.inner_text().split("\n") == [result.text, f"{result.confidence:.2f}"]
            drawn = [[float(cell) for cell in row[1:]] for row in opened.rows()]
            np.testing.assert_allclose(drawn, result.weights.T, atol=0.0051)
            assert opened.figure.locator(".rr-needed").count() == len(example.support)
            assert "Hop 3 reads sentence" in opened.figure.locator(".rr-hops").get_attribute("aria-label")
            message = opened.part("took").inner_text()
            assert re.fullmatch(r"Answered in your browser in (less than 1|\d+) ms\.", message)
            print(message)
        assert opened.complaints == []


@pytest.mark.browser
def test_write_a_story_with_the_keyboard_alone(browser, page):
    with Live(browser, page) as opened:
        keyboard = opened.page.keyboard
        opened.figure.get_by_role("combobox").focus()
        for key in ("Tab", "Enter", "Tab"):  # to the summary, open it, to the text
            keyboard.press(key)
        keyboard.press("Control+a")
        keyboard.type("Mary took the milk. John went to the office.\nMary moved to the garden with Rhea.")
        assert opened.part("picker").input_value() == "own"
        assert len(opened.rows()) == 3 and opened.figure.locator(".rr-live-unknown").all_inner_texts() == [
            "with",
            "Rhea",
        ]
        for key in ("Tab", "Tab", "Control+a"):  # past the list of words, to the question
            keyboard.press(key)
        keyboard.type("Where is the milk?")
        keyboard.press("Enter")
        assert opened.part("said").inner_text().split("\n")[:2] == ["Where is the milk?", "garden"]
        assert opened.part("verdict").inner_text() == ""
        assert opened.part("notes").inner_text() == (
            "It has never met these words, so the answer may mean nothing: with, rhea."
        )
        keyboard.press("Control+a")
        keyboard.type("Where is Sandra's milk?")
        keyboard.press("Enter")
        assert opened.part("notes").inner_text().endswith("\nThe story does not mention Sandra.")
        keyboard.press("Control+a")
        keyboard.press("Backspace")
        keyboard.press("Enter")
        assert opened.part("said").inner_text() == "Type a question first."
        assert opened.part("said").get_attribute("aria-live") == "polite"
        opened.part("story").fill("")
        opened.part("question").fill("Where is Mary?")
        keyboard.press("Enter")
        assert opened.part("said").inner_text() == "Write a story first: a sentence a line."
        assert opened.complaints == []


@pytest.mark.browser
def test_the_page_cuts_sentences_as_the_library_does(browser, page):
    texts = [
        "Mary is here. John left.",
        "mary is here\njohn left\n\n",
        '"Stop!" he said. Why? No.',
        "I met Mr. Smith at 3.15 today. He left.",
        "Wait... what?!  Yes.",
        " ... \n Été à Paris. Да.",
        "1 Mary is here.\n2 Where is Mary?\there\t1\n3 John left. He ran.",
        "2 cats are here.\nJohn left.",
    ]
    with Live(browser, page) as opened:
        opened.part("own").evaluate("details => { details.open = true; }")
        for text in texts:
            opened.part("story").fill(text)
            shown = [re.sub(r"^\d+\. ", "", row[0]) for row in opened.rows()]
            assert shown == split_sentences(text)


@pytest.mark.browser
def test_a_story_longer_than_memory(browser, tmp_path):
    model, vocabulary, encoding = network(**NETWORKS["few-slots"])
    live(model, vocabulary, stories=STORIES, encoding=encoding).save(tmp_path / "live.html")
    story = [f"Mary went to the {room}." for room in ("kitchen", "garden", "office", "hallway") * 2]
    with Live(browser, tmp_path / "live.html") as opened:
        opened.part("own").evaluate("details => { details.open = true; }")
        opened.part("story").fill("\n".join(story))
        opened.part("question").fill("Where is Mary?")
        opened.part("question").press("Enter")
        note = "It remembers the latest 6 sentences and has forgotten those before."
        assert opened.part("notes").inner_text() == note
        assert [row[1] for row in opened.rows()[:2]] == ["0.00", "0.00"]
        assert opened.complaints == []


@pytest.mark.browser
def test_two_figures_on_one_page_do_not_meet(browser, tmp_path):
    model, vocabulary, _ = network()
    first, second = live(model, vocabulary, stories=STORIES), live()
    save_together(tmp_path / "two.html", first, second, first)
    with Live(browser, tmp_path / "two.html") as opened:
        figures = opened.page.locator(".rr-live")
        assert figures.count() == 3 == opened.page.locator(".rr-live[data-ready]").count()
        sizes = figures.evaluate_all("all => all.map(figure => figure.network.width)")
        assert sizes == [10, load_memory().model.config.width, 10]
        before = figures.nth(2).inner_text()
        figures.nth(0).get_by_role("combobox").select_option("1")
        assert figures.nth(2).inner_text() == before
        assert opened.complaints == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_figure_on_a_phone_and_for_those_who_cannot_see_it(browser, page, scheme):
    with Live(browser, page, color_scheme=scheme, **PHONE) as opened:
        opened.part("own").evaluate("details => { details.open = true; }")
        opened.part("story").fill(RHEA)
        opened.figure.get_by_role("button", name="Ask").click()
        opened.check_view()


@pytest.mark.browser
def test_without_scripts_the_first_answer_is_read(browser, page):
    with Live(browser, page, java_script_enabled=False) as opened:
        assert opened.part("said").locator("strong").is_visible()
        assert opened.figure.locator(".rr-hops tbody tr").count() == len(some_stories()[0].story)
        assert not opened.part("form").is_visible()
        assert "Scripts are off" in opened.figure.locator("noscript").inner_text()
