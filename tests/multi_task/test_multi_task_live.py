"""The live figures: the same numbers in the browser as in PyTorch, and they weigh less than a megabyte."""

import pytest
import torch

from reasonlib.display import live as shell
from reasonlib.multi_task.models.pretrained import from_pretrained
from reasonlib.multi_task.page import live
from reasonlib.multi_task.page.answering import ask, ask_all
from reasonlib.multi_task.page.exercises.sharing import project

NETWORK = shell.code(live.FOLDER / "network.js")
"""The JavaScript of the forward pass, with the shared parts before it."""


def rounded():
    """Load the bundled system with the weights as the page gets them."""
    system = from_pretrained.__wrapped__()
    state = shell.round_weights(live.weights_of(system), bits=live.BITS)
    table = "encoder.encoder.embeddings.position_embeddings.weight"
    whole = dict(system.model.state_dict())
    state[table] = torch.cat([state[table], whole[table][live.LONGEST :]])
    system.model.load_state_dict(whole | state)
    return system


BODY = """
const [model, data, first, second] = given;
const { answers, unknown } = scorePair(new Weights(model), data, first, second);
return { answers, unknown };
"""


@pytest.mark.parametrize("texts", [texts for _, texts in live.PAIRS[:3]])
def test_the_page_computes_what_pytorch_computes(javascript, texts):
    packed = shell.pack_weights(live.weights_of(from_pretrained()), bits=live.BITS)
    theirs = javascript(NETWORK, BODY, [packed, live.describe_network(from_pretrained()), *texts])
    assert not theirs["unknown"]
    system = rounded()
    for answer in ask_all(*texts, system=system):
        own = next(
            output for output in theirs["answers"][answer.task] if not answer.of or output["of"] == answer.of
        )
        torch.testing.assert_close(
            torch.tensor(own["scores"]), torch.tensor(answer.scores), atol=1e-4, rtol=1e-3
        )
        if answer.steps is not None:
            shown = torch.tensor(own["steps"])
            torch.testing.assert_close(shown, answer.steps.steps[:, 0], atol=1e-4, rtol=1e-3)
            looks = answer.steps.premise[:, 0]
            looks = looks[:, looks[0] > 0]
            torch.testing.assert_close(torch.tensor(own["betas"]), looks, atol=1e-4, rtol=1e-3)


def test_the_page_reads_what_people_type(javascript):
    body = "return pairRow(given, 'The Lad sips WINE.', 'Who sells the zeppelin?');"
    given = live.describe_network(from_pretrained())
    row = javascript(NETWORK, body, given)
    assert row["words"][:6] == ["[CLS]", "the", "lad", "sips", "wine", "."]
    assert row["unknown"] == ["zeppelin"]
    assert row["segments"] == [0] * 7 + [1] * 6


def test_every_pair_is_in_the_vocabulary():
    words = from_pretrained().tokenizer.get_vocab()
    for _, texts in live.PAIRS:
        assert all(word in words for text in texts for word in text.split())


@pytest.mark.parametrize("wants", [[(1.3, 0.25), (-0.55, 0.75)], [(1.0, 0.5), (0.2, 0.9)]])
def test_the_page_projects_as_the_exercise_does(javascript, wants):
    code = shell.code(live.FOLDER / "agreeing.js", modules=["plot"])
    theirs = javascript(code, "return pulls(...given);", wants)
    first, second = (torch.tensor(vector) for vector in wants)
    taken = project(first, second) + project(second, first)
    torch.testing.assert_close(torch.tensor(theirs["surgery"]), taken, atol=1e-5, rtol=1e-5)
    gains = torch.stack([first @ taken, second @ taken])
    torch.testing.assert_close(torch.tensor(theirs["gains"]["surgery"]), gains, atol=1e-5, rtol=1e-5)
    assert min(theirs["gains"]["surgery"]) > 0


def test_the_figures_say_what_they_show():
    for figure, name in (
        (live.scoring(), "rr-scoring"),
        (live.reasoning(), "rr-reasoning"),
        (live.agreeing(), "rr-agreeing"),
    ):
        assert figure.alt and name in figure.html


@pytest.mark.browser
def test_a_reader_writes_a_pair(open_figure):
    page = open_figure(live.scoring())
    root = "document.querySelector('.rr-scoring').scoring"
    system = rounded()
    for _, texts in live.PAIRS:
        page.evaluate(f"(texts) => {root}.write(...texts)", list(texts))
        shown = page.locator("[data-task=inference] strong").inner_text()
        assert shown == ask("inference", *texts, system=system).words
    page.evaluate(f"{root}.write('the man sells a zeppelin', '')")
    assert "zeppelin" in page.locator(".rr-live-notes").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("figure", [live.scoring, live.reasoning], ids=["scoring", "reasoning"])
def test_a_phone_shows_every_column(open_figure, figure):
    page = open_figure(figure())
    page.set_viewport_size({"width": 360, "height": 740})  # the figure is as wide as on a page of 390 pixels
    wide = "() => [...document.querySelectorAll('.rr-live-scroll')].map((e) => e.scrollWidth - e.clientWidth)"
    assert page.evaluate(wide) == [0]
