"""The figure that answers questions about scenes: the same numbers in the browser as in PyTorch."""

import pytest
import torch

from reasonlib.display import live as shell
from reasonlib.modality_alignment.data.encoding import build_vocabulary, encode
from reasonlib.modality_alignment.data.scene import SceneConfig
from reasonlib.modality_alignment.data.simulator import SimulatorConfig, simulate
from reasonlib.modality_alignment.models.tvqa_abc import TVQA_abc, TVQAConfig
from reasonlib.modality_alignment.page.live import scenes

UNKNOWN_ID = 1


@torch.no_grad()
def test_the_page_answers_as_pytorch_does(javascript):
    seen = SceneConfig(features=6)
    questions = simulate(3, seed=5, config=SimulatorConfig(scene=seen))
    vocabulary = build_vocabulary(questions)
    sizes = TVQAConfig(vocabulary=len(vocabulary), features=6, embedding=5, hidden=4, matched=3)
    model = TVQA_abc(sizes, seed=2).eval()
    packed = shell.pack_weights(model.state_dict(), bits=scenes.BITS)
    model.load_state_dict(shell.round_weights(model.state_dict(), bits=scenes.BITS))
    body = (
        "const [model, asked] = given; return readVideo(new Weights(model), asked, ['subtitle', 'regions']);"
    )
    for question in questions:
        batch = encode([question], vocabulary)
        ours = model(batch)
        asked = {
            "question": batch.question[0].tolist(),
            "answers": [vocabulary.encode(answer.split()) for answer in question.answers],
            "subtitle": batch.subtitle[0].tolist(),
            "regions": [region.features.tolist() for frame in question.frames for region in frame],
        }
        theirs = javascript(scenes.reading_code(), body, [packed, asked])
        for name in ("subtitle", "regions"):
            scores = torch.tensor([answer["score"] for answer in theirs[name]])
            torch.testing.assert_close(scores, ours.streams[name].scores[0], atol=1e-4, rtol=1e-3)
            assert sum(theirs[name][0]["shares"]) == pytest.approx(1)


@pytest.fixture(scope="module")
def figure():
    return scenes.watching()


def test_the_figure_says_what_it_shows(figure):
    assert "scene" in figure.alt and "rr-watching" in figure.html


@pytest.mark.browser
def test_a_reader_asks_about_a_scene(open_figure, figure):
    page = open_figure(figure)
    watching = "document.querySelector('.rr-watching').watching"
    count = page.evaluate(f"{watching}.questions().length")
    assert count >= 13
    assert page.evaluate(f"{watching}.answer(3), {watching}.answered().shares.length") == 5
    assert UNKNOWN_ID not in page.evaluate(f"{watching}.answered().given.subtitle")
    page.evaluate(f"{watching}.use('subtitle')")
    assert page.locator(".rr-watching-lines li").count() == 5
    page.get_by_role("button", name="Next scene").click()
    assert "The model answers" in page.locator(".rr-watching .rr-live-said").inner_text()
