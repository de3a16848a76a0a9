"""The live figures: the same numbers in the browser as in PyTorch, and they weigh less than a megabyte."""

import pytest
import torch

from reasonlib.display import live as shell
from reasonlib.maths_qa.data.encoding import Joined, collate, join
from reasonlib.maths_qa.data.example import Problem
from reasonlib.maths_qa.data.vocabulary import MASK, TOKENS
from reasonlib.maths_qa.models.decoding import answer
from reasonlib.maths_qa.models.pretrained import BundledFiller, BundledSolver
from reasonlib.maths_qa.models.qa_mlm import MaskedModel
from reasonlib.maths_qa.models.transformer import Solver, SolverConfig
from reasonlib.maths_qa.page import live

NETWORK = shell.code(live.FOLDER / "network.js")
"""The JavaScript of the forward pass, with the shared parts before it."""

QUESTIONS = ("What is 7 - 12?", "Sort -3, 0.5, 2/3.", "Differentiate 2*x**3 wrt x.")


def rounded(model):
    """Load a model with the weights as the page gets them."""
    packed = shell.pack_weights(model.state_dict(), bits=live.BITS)
    return shell.rounded(model, bits=live.BITS), packed


def sizes(norm):
    return SolverConfig(width=16, layers=2, heads=2, hidden=32, norm=norm)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_page_answers_as_pytorch_does(javascript, question, norm):
    solver = BundledSolver(Solver(sizes(norm), seed=3), ("arithmetic__mul",), {})
    model, packed = rounded(solver.model)
    body = """
const [model, data, question] = given;
return answerGreedily(new Weights(model), question, data);
"""
    theirs = javascript(NETWORK, body, [packed, live.describe_network(solver), question])
    ours = answer(model, question)
    assert theirs["text"] == ours.text and len(theirs["chances"]) == len(ours.steps)
    torch.testing.assert_close(
        torch.tensor(theirs["chances"]), torch.tensor(ours.steps), atol=1e-4, rtol=1e-3
    )
    torch.testing.assert_close(torch.tensor(theirs["attention"]), ours.attention, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_page_fills_in_as_pytorch_does(javascript, norm):
    filler = BundledFiller(MaskedModel(sizes(norm), seed=5), ("arithmetic__mul",), {})
    model, packed = rounded(filler.model)
    problem = Problem(question=QUESTIONS[0], answer="-5", module="arithmetic__add_or_sub", difficulty="easy")
    hidden = [0, 8, 15, 16]  # two of the question, two of the answer
    body = """
const [model, data, question, answer, hidden] = given;
return fillHidden(new Weights(model), question, answer, hidden, data);
"""
    given = [packed, live.describe_network(filler), problem.question, problem.answer, hidden]
    theirs = torch.tensor(javascript(NETWORK, body, given))
    joined = join(collate([problem]))
    places = [at + (at >= len(problem.question)) for at in hidden]
    assert [TOKENS[int(joined.tokens[0, at])] for at in places] == ["W", "7", "-", "5"]
    tokens = joined.tokens.clone()
    tokens[0, places] = MASK
    with torch.no_grad():
        ours = model(Joined(tokens, *joined[1:]))[0, places].softmax(-1)
    torch.testing.assert_close(theirs, ours, atol=1e-4, rtol=1e-3)


def test_the_page_reads_what_people_type(javascript):
    typed = "  What is 3 \u2212 4\u00a0\u00d7 5? "
    assert javascript(NETWORK, "return tidyQuestion(given);", typed) == "What is 3 - 4 * 5?"


BUNDLED_FIGURES = {"answering": live.answering, "filling": live.filling, "probing": live.probing}


@pytest.mark.parametrize("name", BUNDLED_FIGURES)
def test_the_figures_say_what_they_show(name):
    figure = BUNDLED_FIGURES[name]()
    assert figure.alt and f"rr-{name}" in figure.html


@pytest.mark.browser
def test_a_reader_asks_hides_and_probes(open_figure):
    for name, make in BUNDLED_FIGURES.items():
        page = open_figure(make())
        root = f"document.querySelector('.rr-{name}').{name}"
        if name == "answering":
            page.evaluate(f"{root}.ask('What is 1 + 1?', '2', {{ animate: false }})")
            texts = page.evaluate(f"Object.values({root}.results()).map((result) => result.text)")
            assert len(texts) == 2 and page.locator(".rr-answering-column").count() == 2
            page.evaluate(f"{root}.ask('Wieviel ist 1 + 1 \\u20ac?')")
            assert "characters of a keyboard" in page.locator(".rr-live-notes").inner_text()
            assert page.locator(".rr-live-token").count() == 0, "no old answer under a refused question"
            page.evaluate(f"{root}.ask('x'.repeat(500))")
            assert "guess" not in page.locator(".rr-live-notes").inner_text(), "there is no answer"
            for typed in ("What is 1 + 1?", "What is the tens digit of -512?", "12345 67"):
                page.evaluate(f"{root}.ask({typed!r}, null, {{ animate: false }})")
                assert "so the answer is a guess" in page.locator(".rr-live-notes").inner_text(), typed
            page.evaluate(f"{root}.ask('What is the tens digit of 7305296?', null, {{ animate: false }})")
            assert page.locator(".rr-live-notes").inner_text() == "", "other numbers make no other form"
        if name == "filling":
            page.evaluate(f"{root}.hide((character, at) => at < 2)")
            assert page.evaluate(f"{root}.state().hidden") == [0, 1]
            page.locator(".rr-filling-text button").nth(4).click()
            assert page.evaluate(f"{root}.state().hidden") == [0, 1, 4]
        if name == "probing":
            page.evaluate(f"{root}.start({{ wait: false }})")
            assert page.evaluate(f"Object.keys({root}.fields()).length") == 44
            page.locator(".rr-probing-field").first.click()
            assert page.locator(".rr-probing-list li").count() == 6
