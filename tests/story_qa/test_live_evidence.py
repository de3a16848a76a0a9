"""The reader that marks its evidence, in the page: the same numbers as PyTorch, and played with."""

import json

import numpy as np
import pytest
import torch
from browsing import DESKTOP, PHONE, Opened, data_of

from reasonlib.display import live
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.tokens import encode_sentences
from reasonlib.story_qa.models.pretrained import load_evidence
from reasonlib.story_qa.page.ask import ask_evidence
from reasonlib.story_qa.page.live import evidence, memory
from reasonlib.story_qa.page.live.evidence import SCRIPTS


@pytest.fixture(scope="module")
def figure():
    return evidence()


@pytest.fixture(scope="module")
def rounded():
    """The reader with the weights that the page gets."""
    reader = load_evidence()
    return reader._replace(model=live.rounded(reader.model))


def logits(reader, story, question):
    from reasonlib.story_qa.data.example import Example

    example = Example(task=0, story=tuple(story), question=question, answer=(), support=(), group=0)
    batch = encode_sentences([example], reader.tokenizer, reader.answers).batch([0], slots=130)
    with torch.no_grad():
        return reader.model(batch).logits[0].numpy()


QUESTIONS = [
    *[
        (list(example.story), example.question)
        for task in (1, 5, 7, 15, 19)
        for example in simulate(task, 3, seed=77)
    ],
    (["Rhea took 3 zithers, quickly!", "Mary's gone."], "Where's O'Neill?"),
    (["Mary is here."], "Where is Mary?"),
    ([f"Mary went to the {room}." for room in ("kitchen", "garden", "office") * 45], "Where is Mary?"),
]


def test_the_same_numbers_as_pytorch(javascript, figure, rounded):
    body = """const weights = new Weights(given.models.reader);
    const reader = new EvidenceReader(weights, given.data.network);
    return given.asked.map((one) => reader.answer(...one));"""
    results = javascript(live.code(*SCRIPTS), body, {**data_of(figure), "asked": QUESTIONS})
    for ours, (story, question) in zip(results, QUESTIONS, strict=True):
        theirs = ask_evidence(rounded, story, question)
        np.testing.assert_allclose(ours["logits"], logits(rounded, story, question), atol=2e-3)
        np.testing.assert_allclose(ours["weights"], theirs.weights, atol=1e-3)
        best = int(np.argmax(ours["logits"][1:])) + 1
        assert rounded.answers.token_of(best).replace(",", ", ") == theirs.text


def test_its_stories_are_others_than_those_of_the_memory_network(figure):
    stories = [
        {tuple(story["story"]) for story in data_of(picture)["data"]["stories"]}
        for picture in (figure, memory())
    ]
    assert len(stories[0]) >= 10 and not stories[0] & stories[1]
    assert len(figure._repr_html_().encode()) < live.LARGEST


class Live(Opened):
    prefix = "rr-live"


@pytest.mark.browser
def test_pick_a_story_or_write_one_as_people_type(browser, page, rounded):
    with Live(browser, page, **DESKTOP) as opened:
        story = json.loads(opened.figure.locator("script").inner_text())["data"]["stories"][1]
        opened.figure.get_by_role("combobox", name="Story").select_option("1")
        opened.figure.get_by_role("button", name="Ask").click()
        theirs = ask_evidence(rounded, story["story"], story["question"])
        assert opened.part("said").locator("strong").inner_text() == theirs.text
        rows = opened.cells(opened.figure.locator(".rr-hops tbody tr"))
        np.testing.assert_allclose([float(row[1]) for row in rows], theirs.weights[0], atol=0.0051)
        opened.part("own").evaluate("details => { details.open = true; }")
        opened.part("story").fill(
            "MARY picked up the milk!  john went to the office\nMary moved to the garden"
        )
        opened.part("question").fill("where is the MILK")
        opened.part("question").press("Enter")
        assert opened.part("said").locator("strong").inner_text() == "garden"
        marks = [float(row[1]) for row in opened.cells(opened.figure.locator(".rr-hops tbody tr"))]
        assert min(marks[0], marks[2]) > 0.5 > marks[1]
        assert opened.part("notes").inner_text() == ""
        opened.part("question").fill("Where is Rhea's zither?")
        opened.part("question").press("Enter")
        assert "It has never met these words" in opened.part("notes").inner_text()
        assert "The story does not mention Rhea." in opened.part("notes").inner_text()
        assert opened.complaints == []


@pytest.mark.browser
def test_a_sentence_that_is_too_long_is_not_read(browser, page, rounded):
    longest = len(rounded.model.places) - 1
    too_long = f"It reads at most {longest} tokens of a sentence, and one of these has"
    with Live(browser, page, **DESKTOP) as opened:
        opened.part("own").evaluate("details => { details.open = true; }")
        story, question = opened.part("story"), opened.part("question")
        question.fill("Where is Mary?")
        for words in (4000, longest):  # the full stop is a token, too
            story.fill("Mary " + "moved " * (words - 1))
            question.press("Enter")
            assert opened.part("said").inner_text() == f"{too_long} {words + 1}."
            assert opened.part("took").inner_text() == "" and opened.part("notes").inner_text() == ""
        story.fill("Mary " + "moved " * (longest - 2))
        question.press("Enter")
        assert opened.part("said").locator("strong").inner_text()
        question.fill("Where " + "is " * 4000 + "Mary?")
        question.press("Enter")
        assert opened.part("said").inner_text() == f"{too_long} 4003."
        assert opened.complaints == []


@pytest.mark.browser
def test_on_a_phone_in_the_dark(browser, page):
    with Live(browser, page, color_scheme="dark", **PHONE) as opened:
        opened.figure.get_by_role("button", name="Ask").click()
        opened.check_view()
