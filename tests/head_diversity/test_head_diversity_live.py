"""The live figures: the same numbers in the browser as in PyTorch, and they weigh less than a megabyte."""

import re

import pytest
import torch

from reasonlib.head_diversity.page import live
from reasonlib.head_diversity.page.clouds import MEASURES, RELATIONS, draw_points, measure, related

BODY = "return measuresOf(...given);"


def clouds(seed, count, first, second):
    draw = torch.Generator().manual_seed(seed)
    shared = torch.randn(count, 2, generator=draw)
    noise = torch.randn(count, first + second, generator=draw)
    left = torch.cat([shared, noise[:, :first]], 1)
    right = torch.cat([shared @ torch.tensor([[0.2, 1.0], [-0.9, 0.4]]), noise[:, first:]], 1)
    return left.double().tolist(), right.double().tolist()


@pytest.mark.parametrize(("count", "first", "second"), [(24, 0, 0), (12, 3, 1), (7, 40, 64), (4, 0, 2)])
def test_the_page_measures_as_pytorch_does(javascript, count, first, second):
    pair = clouds(count, count, first, second)
    theirs = javascript(live.similarity_code(), BODY, list(pair))
    assert theirs.keys() == MEASURES.keys()
    for name, ours in measure(*pair).items():
        assert theirs[name] == pytest.approx(ours, abs=1e-6), name


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_page_relates_clouds_as_the_library_does(javascript, relation):
    left = draw_points()[:11]
    given = [relation, left, {"others": draw_points(seed=6)}]
    theirs = javascript(live.similarity_code(), "return related(...given);", given)
    torch.testing.assert_close(torch.tensor(theirs), torch.tensor(related(relation, left)))


def test_relations_are_what_they_say():
    left = draw_points()[:12]
    scores = {relation: measure(left, related(relation, left)) for relation in RELATIONS}
    assert all(value == pytest.approx(1) for value in scores["turned"].values())
    assert scores["stretched"]["svcca"] == pytest.approx(1) and scores["stretched"]["linear"] < 0.9
    assert scores["shuffled"]["linear"] < 0.2 and abs(scores["unrelated"]["debiased"]) < 0.1
    with pytest.raises(ValueError, match=r"relation must be one of same, .*, got 'alike'"):
        related("alike", left)


def test_noise_raises_the_plain_measures_of_unrelated_clouds(javascript):
    body = "return measuresOf(withNoise(given[0], 64, 1), withNoise(given[1], 64, 2));"
    pair = [draw_points()[:12], draw_points(seed=6)[:12]]
    noisy = javascript(live.similarity_code(), body, pair)
    assert noisy["linear"] > 0.6 and noisy["svcca"] > 0.9 and abs(noisy["debiased"]) < 0.2


def trained(words, heads, mean):
    matrix = [[1.0 if i == j else mean for j in range(heads)] for i in range(heads)]
    curve = [1 - index / 12 for index in range(12 // heads)]
    return {
        "words": words,
        "heads": heads,
        "perplexity": 5.4,
        "cka": mean if heads > 1 else None,
        "svcca": mean if heads > 1 else None,
        "layers": [{"matrix": matrix, "curve": curve}] * 2,
        "runs": 3,
    }


COUNTED = {"heads": [trained("one head", 1, 0.0), trained("2 heads", 2, 0.4), trained("4 heads", 4, 0.2)]}


def test_the_page_averages_over_pairs(javascript):
    from reasonlib.head_diversity.models.diversity import mean_of_pairs

    draw = torch.Generator().manual_seed(2)
    matrix = torch.rand(5, 5, generator=draw)
    code = live.similarity_code() + (live.FOLDER / "views.js").read_text(encoding="utf-8")
    assert javascript(code, "return meanOverPairs(given);", matrix.tolist()) == pytest.approx(
        mean_of_pairs(matrix)
    )
    assert javascript(code, "return meanOverPairs(given);", [[1.0]]) is None


@pytest.mark.browser
def test_a_reader_chooses_a_model(open_figure):
    families = {"HSIC": COUNTED["heads"][1:], "Drophead": COUNTED["heads"]}
    page = open_figure(live.show_heads(families, title="Strength"))
    root = "document.querySelector('.rr-views').views"
    assert page.evaluate(f"{root}.state().model.words") == "4 heads"
    assert page.locator(".rr-views-map").first.locator("rect").count() == 16
    page.locator(".rr-views label", has_text="Drophead").first.click()
    page.locator(".rr-views input[type=range]").focus()
    page.keyboard.press("Home")
    assert page.evaluate(f"{root}.state().at") == 0
    assert "nothing to be compared" in page.locator(".rr-views output").inner_text()
    assert page.locator(".rr-views-facts dd").first.inner_text() == "–"


def test_figures_of_trained_models_say_what_they_show():
    figure = live.show_heads(COUNTED, title="Heads", reference=1)
    pair = live.show_heads({**COUNTED, "pair": COUNTED["heads"][:2]}, title="Heads")
    assert re.findall(r'"first": ?(\d)', pair.html) == ["1", "1"]  # the middle of each family
    assert "2 heads: mean CKA 0.40, perplexity 5.40." in figure.alt
    for name in ("views", "controls"):
        assert getattr(live, name)().alt  # from records, or the command that makes them


def test_the_figure_is_small_and_says_what_it_shows():
    figure = live.clouds()
    assert len(figure.html.encode()) < 150_000
    assert "second is turned" in figure.alt and "CKA, linear 1.00" in figure.alt


@pytest.mark.browser
def test_a_reader_moves_adds_and_relates_points(open_figure):
    page = open_figure(live.clouds())
    root = "document.querySelector('.rr-clouds').clouds"
    assert page.locator(".rr-clouds-left .rr-live-handle").count() == 12
    page.locator(".rr-clouds label", has_text="unrelated").click()
    ours = measure(draw_points()[:12], draw_points(seed=6)[:12])
    assert page.evaluate(f"{root}.result.linear") == pytest.approx(ours["linear"], abs=1e-6)
    page.locator(".rr-clouds-left .rr-live-handle").first.focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(f"{root}.state().relation") == "yours"
    page.locator(".rr-clouds-right svg.rr-live-plot").click(position={"x": 5, "y": 5})
    assert page.evaluate(f"{root}.state().left.length") == 13
    assert page.locator(".rr-clouds-right .rr-live-handle").count() == 13
    page.evaluate(f"{root}.set([[0, 0], [1, 0], [0, 1], [1, 1]], [[0, 0], [1, 0], [0, 1], [1, 1]], 0)")
    assert page.evaluate(f"{root}.result.svcca") == pytest.approx(1)
    assert page.locator(".rr-clouds-left .rr-live-handle").count() == 4
