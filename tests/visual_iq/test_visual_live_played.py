"""Puzzles in the page: a game that can be played."""

import re

import numpy as np
import pytest
import torch
from browsing import Opened, save_together
from visual_iq.live_models import few, logits, model_of, rounded

from reasonlib.visual_iq.models.solvers import encode
from reasonlib.visual_iq.page import svg as drawing
from reasonlib.visual_iq.page.live import puzzles as live


class Live(Opened):
    prefix = "rr-play"

    def game(self):
        return self.ask("""root => ({number: root.game.number, target: root.game.target,
        theirs: root.game.theirs, scores: root.game.scores, looked: root.game.looked,
        weights: root.game.weights})""")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "live.html"
    models = {"Reasoner": model_of("source"), "Relational": model_of("panels-for-rows")}
    live(models, problems=few(), bits=16).save(path)
    return path


@pytest.mark.browser
def test_solve_puzzles(browser, page):
    model, sets = rounded(model_of("source")), few()
    with Live(browser, page) as opened:
        right = model_right = 0
        for round_number in range(1, 4):
            assert opened.part("said").inner_text().startswith("Which panel completes the matrix?")
            assert opened.part("looks").is_hidden() and opened.part("is-right").count() == 0
            assert opened.figure.locator("svg [aria-label='Row 3, panel 3: missing']").count() == 1
            number = opened.game()["number"]
            problem = sets["i-raven"][number : number + 1]
            target, chosen = int(problem.target[0]), (number + round_number) % 8
            scores = 1 / (1 + np.exp(-logits(model, problem)[0]))
            theirs = int(scores.argmax())
            opened.part("choice").nth(chosen).click()
            shown = [float(text) for text in opened.part("number").all_inner_texts()]
            np.testing.assert_allclose(shown, scores, atol=0.0051)
            right, model_right = right + (chosen == target), model_right + (theirs == target)
            message = opened.part("said").inner_text()
            assert message.startswith("Right." if chosen == target else f"The answer is {target + 1}.")
            assert opened.part("score").inner_text().split() == (
                f"You {right} of {round_number} Model {model_right} of {round_number}".split()
            )
            assert opened.part("is-right").count() == 1
            assert opened.part("choice").nth(theirs).locator("i.rr-play-model").count() == 1
            assert "Right." in opened.part("choice").nth(target).get_attribute("aria-label")
            assert opened.game()["looked"] == theirs and opened.part("lines").count() == 1
            assert re.fullmatch(
                r"Answered in your browser in (less than 1|\d+) ms\.", opened.part("took").inner_text()
            )
            opened.part("next").click()
        assert opened.complaints == []


@pytest.mark.browser
def test_every_puzzle_comes_before_one_comes_again(browser, page):
    with Live(browser, page) as opened:
        met = []
        for _ in range(len(few()["raven"])):
            opened.part("next").click()
            met.append(opened.game()["number"])
        assert sorted(met) == list(range(len(met))) or len(set(met)) == len(met) - 1
        opened.part("layout").select_option(label="O-IG")
        kinds = set()
        for _ in range(4):
            kinds.add(int(few()["raven"].configuration[opened.game()["number"]]))
            opened.part("next").click()
        assert kinds == {6}


@pytest.mark.browser
def test_the_keyboard_alone(browser, page):
    with Live(browser, page) as opened:
        keyboard = opened.page.keyboard
        opened.part("layout").focus()
        for _ in range(3):  # past the three menus to the first candidate
            keyboard.press("Tab")
        keyboard.press("5")
        assert opened.part("choice").nth(4).locator(".rr-play-you").count() == 1
        keyboard.press("2")
        assert opened.game()["looked"] == 1, "after the answer, a number looks at a candidate"
        before = opened.game()["number"]
        keyboard.press("n")
        assert opened.game()["number"] != before and opened.game()["looked"] is None
        keyboard.press("Enter")
        assert opened.game()["looked"] is not None, "the focus stays among the candidates"
        opened.part("hint").locator("summary").focus()
        keyboard.press("Enter")
        number = opened.game()["number"]
        rules = [f"{line}." for line in drawing.rules_in_words(few()["raven"], number)]
        assert opened.part("hint").locator("li").all_inner_texts() == rules
        assert opened.part("said").get_attribute("aria-live") == "polite"
        assert opened.complaints == []


@pytest.mark.browser
def test_what_was_read(browser, page):
    model = rounded(model_of("source"))
    first = few()["i-raven"][:1]
    with torch.no_grad():
        maps = torch.stack(model(encode(model, first).batch([0]), attention=True).attention)[:, 0].numpy()
    with Live(browser, page) as opened:
        opened.part("choice").nth(2).click()
        opened.part("choice").nth(6).click()
        seen = [0, 1, 2, 4, 5, 6, 8, 9]
        np.testing.assert_allclose(
            opened.game()["weights"]["matrix"], maps.mean((0, 1, 2))[16][seen], atol=1e-4
        )
        opened.part("stream").select_option(label="Colour")
        opened.part("layer").select_option(label="Layer 2")
        np.testing.assert_allclose(
            opened.game()["weights"]["matrix"], maps[1, 2].mean(0)[16][seen], atol=1e-4
        )
        np.testing.assert_allclose(opened.game()["weights"]["others"], maps[1, 2].mean(0)[16][10:], atol=1e-4)
        assert opened.part("share").count() == 8
        assert opened.part("look-words").inner_text().startswith("To judge candidate 7, ")
        assert opened.part("matrix").locator(".rr-play-lines").count() == 1
        opened.part("draw").uncheck()
        assert opened.part("lines").count() == 0
        assert opened.complaints == []


@pytest.mark.browser
def test_another_set_and_another_model(browser, page):
    with Live(browser, page) as opened:
        opened.part("choice").nth(0).click()
        opened.part("set").select_option(label="RAVEN")
        released = few()["raven"]
        assert opened.game()["number"] == 0 and opened.game()["target"] == int(released.target[0])
        assert opened.part("score").inner_text() == "", "another game is counted afresh"
        words = opened.part("choice").nth(3).get_attribute("aria-label")
        assert (
            words
            == f"Candidate 4: {drawing.describe(int(released.configuration[0]), released.entities[0, 11])}"
        )
        opened.part("against").select_option(label="Relational")
        opened.part("choice").nth(1).click()
        theirs = logits(rounded(model_of("panels-for-rows")), released[:1])[0]
        shares = np.exp(theirs - theirs.max()) / np.exp(theirs - theirs.max()).sum()
        np.testing.assert_allclose(opened.game()["scores"], shares, atol=1e-3)
        assert opened.part("pickers").is_hidden() and opened.part("parts").locator("li").count() == 6
        assert "given the panels of the question" in opened.part("look-words").inner_text()
        assert opened.part("about").inner_text().startswith("A row predictor with ")
        assert opened.complaints == []


@pytest.mark.browser
def test_the_model_solves_them_all(browser, page):
    sets = few()
    with Live(browser, page) as opened:
        for answers, name, model in (("RAVEN", "raven", "source"), ("I-RAVEN", "i-raven", "source")):
            opened.part("set").select_option(label=answers)
            assert opened.part("all-told").inner_text() == ""
            opened.part("all").click()
            opened.part("all-told").filter(has_text="Chance").wait_for()
            exact = logits(rounded(model_of(model)), sets[name]).argmax(1) == sets[name].target
            message = opened.part("all-told").inner_text()
            assert message.startswith(
                f"Of 14 puzzles with the answers of {answers}, this model solves {exact.sum()}, or "
            )
            shares = [float(share) for share in re.findall(r" ([\d.]+)\s%", message)]
            each = [exact[sets[name].configuration == kind].mean() for kind in range(7)]
            np.testing.assert_allclose(shares, 100 * np.array([exact.mean(), *each, 0.125]), atol=0.51)
            assert opened.part("all").inner_text() == "Let the model solve all 14"
        opened.part("all").click()
        opened.part("against").select_option(label="Relational")
        assert opened.part("all").is_enabled() and opened.part("all-told").inner_text() == ""
        assert opened.complaints == []


@pytest.mark.browser
def test_figures_on_one_page_do_not_meet(browser, tmp_path):
    first, second = live(model_of("ce"), problems=few()), live(model_of("context-blind"), problems=few())
    save_together(tmp_path / "two.html", first, second, first)
    with Live(browser, tmp_path / "two.html") as opened:
        figures = opened.page.locator(".rr-play")
        assert figures.count() == 3 == opened.page.locator(".rr-play[data-ready]").count()
        before = figures.nth(2).inner_text()
        figures.nth(0).locator(".rr-play-choice").nth(2).click()
        assert figures.nth(2).inner_text() == before
        figures.nth(1).locator(".rr-play-choice").nth(2).click()
        assert figures.nth(1).locator(".rr-play-looks").is_hidden(), "a context-blind model reads no matrix"
        assert opened.complaints == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("model", ["Reasoner", "Relational"])
def test_on_a_phone_and_for_those_who_cannot_see_it(browser, page, scheme, model):
    with Live(browser, page, color_scheme=scheme, viewport={"width": 360, "height": 800}) as opened:
        opened.part("against").select_option(label=model)
        for clicked in (False, True):
            if clicked:
                opened.part("hint").locator("summary").click()
                opened.part("choice").nth(2).click()
            opened.check_view()
        names = opened.part("choice").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
        assert len(set(names)) == 8 and all(name.startswith("Candidate") for name in names)
        assert opened.complaints == []


@pytest.mark.browser
def test_without_scripts_one_answer_is_seen(browser, page):
    with Live(browser, page, java_script_enabled=False) as opened:
        assert "The model chooses" in opened.part("said").inner_text()
        assert opened.part("choice").count() == 8 and opened.part("is-right").is_visible()
        assert not opened.part("form").is_visible() and not opened.part("next").is_visible()
        assert "Scripts are off" in opened.figure.locator("noscript").inner_text()
