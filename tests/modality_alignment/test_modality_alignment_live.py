"""The live figures: the same numbers in the browser as in PyTorch, and they weigh less than a megabyte."""

import pytest
import torch

from reasonlib.modality_alignment.page import live
from reasonlib.modality_alignment.page.clouds import draw_clouds, measure, train
from reasonlib.nn.similarity import cka


@pytest.mark.parametrize("normalise", [True, False], ids=["normalised", "raw"])
@pytest.mark.parametrize("goal", ["cosine", "cka", "both"])
def test_the_page_trains_as_pytorch_does(javascript, goal, normalise):
    clouds, gap, steps = draw_clouds(), 0.4, 30
    trained = len(clouds.words) - clouds.held_out
    *_, (words, frames) = train(clouds, goal, steps=steps, weight=0.5, gap=gap, normalise=normalise)
    body = """
const [data, goal, gap, steps, normalise] = given;
const clouds = { words: data.words, frames: bendPoints(data.words, data.partners, gap) };
const model = new Alignment(data, clouds, normalise);
for (let step = 0; step < steps; step += 1) model.update(goal, 0.5);
const { words, frames } = model.positions();
return { words, frames, score: scoreClouds(words.slice(0, data.trained), frames.slice(0, data.trained)) };
"""
    given = [live.describe_clouds(clouds), goal, gap, steps, normalise]
    theirs = javascript(live.training_code(), body, given)
    for name, ours in (("words", words), ("frames", frames)):
        torch.testing.assert_close(
            torch.tensor(theirs[name], dtype=torch.float64), ours, atol=1e-6, rtol=1e-6
        )
    score = measure(words[:trained], frames[:trained])
    assert theirs["score"] == pytest.approx(
        {"cosine": score.cosine, "cka": score.cka, "retrieval": score.retrieval}, abs=1e-6
    )


@pytest.mark.parametrize("shape", [(8, 40), (20, 5)], ids=["wide", "long"])
def test_the_page_estimates_cka_as_pytorch_does(javascript, shape):
    draw = torch.Generator().manual_seed(3)
    x = torch.randn(*shape, generator=draw, dtype=torch.float64)
    y = 0.5 * x + torch.randn(*shape, generator=draw, dtype=torch.float64)
    body = """
const matrix = (rows) => new Matrix(rows.length, rows[0].length, Float64Array.from(rows.flat()));
const compared = new Comparison(...given.map(matrix));
while (compared.count < given[0].length) compared.grow();
return [false, true].map((unbiased) => compared.cka(unbiased));
"""
    theirs = javascript(live.estimating_code(), body, [x.tolist(), y.tolist()])
    assert theirs == pytest.approx([float(cka(x, y)), float(cka(x, y, debiased=True))], abs=1e-9)


@pytest.fixture(scope="module")
def figure():
    return live.clouds()


def test_the_figure_is_small_and_says_what_it_shows(figure):
    assert len(figure.html.encode()) < 500_000
    assert "CKA" in figure.alt and "rr-clouds" in figure.html


@pytest.mark.browser
def test_a_reader_trains_the_clouds(open_figure, figure):
    page = open_figure(figure)
    clouds = "document.querySelector('.rr-clouds').clouds"
    run = f"{clouds}.advance(400), {clouds}.score()"
    scores = page.evaluate(f"{clouds}.set({{ goal: 'cka', gap: 0.1 }}), {run}")
    assert scores[0]["cka"] > 0.9  # one shape ...
    assert scores[0]["cosine"] < 0.5  # ... turned
    scores = page.evaluate(f"{clouds}.set({{ goal: 'cosine', gap: 1, normalise: false }}), {run}")
    assert scores[1]["cosine"] > 0.95 and scores[1]["retrieval"] < 0.3  # all in one direction
    page.get_by_role("button", name="Start again").click()
    assert "Hollow pairs" in page.locator(".rr-clouds .rr-live-said").inner_text()
