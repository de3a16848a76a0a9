"""Puzzles in the page: the same numbers as PyTorch, the same drawings, and a game that can be played."""

import base64
import json
import re
from functools import cache

import numpy as np
import pytest
import torch
from browsing import OUTSIDE, Opened

from reasonlib.display.live import LARGEST, code
from reasonlib.display.plotting import Picture
from reasonlib.errors import UserError
from reasonlib.visual_iq.data.example import CONFIGURATIONS, KEYS, Problems
from reasonlib.visual_iq.models.candidates_only import context_blind
from reasonlib.visual_iq.models.pretrained import BUNDLED, REASONERS, from_pretrained
from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig
from reasonlib.visual_iq.models.relational import Relational, RelationalConfig
from reasonlib.visual_iq.models.solvers import encode
from reasonlib.visual_iq.page import svg as drawing
from reasonlib.visual_iq.page.live import puzzles as live
from reasonlib.visual_iq.page.live import some_problems
from reasonlib.visual_iq.page.live.puzzles import SCRIPTS, pack

SETS = ("i-raven", "raven")
SMALL = {"width": 12, "hidden": 10, "entity_heads": 3, "output": 7}
MODELS = {
    "source": lambda: Reasoner(seed=3),
    "no-entities": lambda: Reasoner(ReasonerConfig(entity_layers=0, separators=False, **SMALL), seed=1),
    "no-panels": lambda: Reasoner(ReasonerConfig(panel_layers=0, contrast=False, **SMALL), seed=2),
    "ce": lambda: Reasoner(ReasonerConfig(loss="ce", panel_layers=2, **SMALL), seed=4),
    "context-blind": lambda: context_blind(ReasonerConfig(**SMALL), seed=5),
    "relational": lambda: Relational(seed=1),
    "panels-for-rows": lambda: Relational(
        RelationalConfig(rows=False, alike=False, width=9, hidden=20, rule=8), seed=2
    ),
}


@cache
def model_of(name):
    """A model with weights large enough that candidates are told apart."""
    model = MODELS[name]()
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator) * (parameter.std(correction=0) + 0.05)
            parameter.add_(0.3 * noise.clamp(-3, 3))
    return model


def rounded(model, bits=16):
    """The same model with weights of 16 bits, or matrices of 8 bits, computing in 32."""
    state = {name: tensor.half().float() for name, tensor in model.state_dict().items()}
    for name, tensor in model.state_dict().items():
        if bits == 8 and tensor.ndim == 2:
            factor = (tensor.abs().amax(1, keepdim=True) / 127).half().float()
            state[name] = (tensor / factor).round() * factor
    copy = type(model)(model.config)
    copy.load_state_dict(state)
    return copy.eval()


@cache
def few(each=2):
    return some_problems(SETS, each=each)


def only(problems, index):
    return {name: one[index] for name, one in problems.items()}


def data_of(figure):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', figure.html)[1])


def logits(model, problems):
    with torch.no_grad():
        return model(encode(model, problems).batch(np.arange(len(problems)))).logits.numpy()


# Without a browser


def test_a_figure_is_one_small_piece_that_asks_for_nothing():
    figure = live(model_of("source"))
    assert isinstance(figure, Picture)
    page = figure._repr_html_()
    assert len(page.encode()) < LARGEST == 1_000_000
    assert not OUTSIDE.search(page)
    assert not re.search(r'\bid="', page), "several figures may stand on one page"
    assert "setInterval" not in page
    assert live(model_of("source")).html == figure.html


def test_the_problems_are_many_of_every_layout_and_two_sets_of_one_question():
    sets = some_problems(SETS)
    fair, released = sets["i-raven"], sets["raven"]
    assert len(fair) == len(released) >= 300
    assert np.bincount(fair.configuration, minlength=7).min() >= 40
    np.testing.assert_array_equal(fair.entities[:, :8], released.entities[:, :8])
    np.testing.assert_array_equal(fair.answer, released.answer)
    assert len({one.tobytes() for one in fair.entities}) == len(fair)


def test_the_first_answer_is_there_without_scripts():
    model, sets = model_of("source"), few()
    figure = live(model, problems=sets)
    static = figure.html[: figure.html.index('<script type="application/json">')]
    first = sets["i-raven"][:1]
    scores = 1 / (1 + np.exp(-logits(rounded(model), first)[0]))
    shown = [float(number) for number in re.findall(r"</b><span>([\d.]+)</span>", static)]
    np.testing.assert_allclose(shown, scores, atol=0.0051)
    best = int(scores.argmax())
    assert f"The model chooses {best + 1}, with a score of {scores[best]:.2f}" in static
    assert static.count('"rr-play-choice rr-play-is-right"') == 1 == static.count('<i class="rr-play-model">')
    for line in drawing.rules_in_words(first):
        assert f"<li>{line}.</li>" in static
    assert re.search(r"<form[^>]* hidden>", static) and "<noscript>" in static
    assert figure.alt.startswith("A puzzle of 2x2Grid")


@pytest.mark.parametrize("name", ["source", "relational"])
def test_what_the_page_gets_is_the_model_in_16_bits(name):
    model = model_of(name)
    given = data_of(live(model, problems=few()))
    [one], [packed] = given["data"]["models"], given["models"].values()
    numbers = np.frombuffer(base64.b64decode(packed["bytes"]), dtype="<f2").astype(np.float32)
    state = rounded(model).state_dict()
    np.testing.assert_array_equal(numbers, torch.cat([tensor.flatten() for tensor in state.values()]))
    assert [name for name, _, _ in packed["tensors"]] == list(state)
    assert one["kind"] == type(model).__name__


def test_a_model_and_several():
    model = model_of("source")
    assert "rr-play-against" not in live(model, problems=few()).html.split("<script")[0]
    models = {"One <b>": model, "Two": model_of("panels-for-rows")}
    two = live(models, problems=few())
    assert "One &lt;b&gt;</option>" in two.html
    assert [one["name"] for one in data_of(two)["data"]["models"]] == ["One <b>", "Two"]
    assert two.html == live(models, problems=few(), bits=8).html != live(models, problems=few(), bits=16).html


def test_mistakes():
    model = model_of("source")
    with pytest.raises(ValueError, match="bits must be 8 or 16, got 4"):
        live(model, problems=few(), bits=4)
    with pytest.raises(ValueError, match="models must hold at least one model, got none"):
        live({})
    with pytest.raises(ValueError, match="problems must hold at least one, got none"):
        live(model, problems=only(few(), slice(0, 0)))
    swapped = {"i-raven": few()["i-raven"], "raven": few()["raven"][::-1]}
    with pytest.raises(ValueError, match="problems must share their questions, got another one in 'raven'"):
        live(model, problems=swapped)
    wide = Relational(RelationalConfig(hidden=400))
    with pytest.raises(UserError, match=r"the figure would weigh \d\.\d MB, and it may weigh 1.0 MB"):
        live(wide, problems=few())
    broken = rounded(model_of("ce"))
    with torch.no_grad():
        broken.output[0].weight[0, 0] = 1e6
    with pytest.raises(UserError, match="weights that 16 bits cannot hold"):
        live(broken, problems=few())


# The numbers, in a browser and in node


ASK = """model => problems => problems.map(({layout, context, candidates}) => candidates.map((eight) => {
  const {logits, attention, parts} = model.answer([...context, ...eight], layout);
  return {logits, attention: attention ?? null, parts: parts ?? null};
}))"""


@pytest.fixture
def run(javascript):
    """A function that runs code over a figure's `data` and its first `model`."""

    def evaluate(figure, body):
        given = data_of(figure)
        start = """const { data, models } = given, { kind, name, sizes } = data.models[0];
        const model = new NETWORKS[kind](new Weights(models[name]), sizes);"""
        return javascript(code(*SCRIPTS), start + body, given)

    return evaluate


@pytest.fixture
def answers(run):
    """A function that asks a figure's own model all its problems."""
    return lambda figure: run(figure, f"return ({ASK})(model)(unpack(data));")


@pytest.mark.parametrize("name", MODELS)
def test_the_same_numbers_as_pytorch(answers, name):
    sets = few(each=1) if name == "source" else few()
    model = model_of(name)
    found = answers(live(model, problems=sets))
    exact = rounded(model)
    for number, one in enumerate(sets.values()):
        theirs = logits(exact, one)
        ours = np.array([problem[number]["logits"] for problem in found])
        np.testing.assert_allclose(ours, theirs, atol=1e-3)
        assert theirs.std(axis=1).mean() > 0.02, "the comparison must be of numbers that differ"
    if isinstance(model, Reasoner) and model.encoder is not None:
        encoded = encode(exact, one).batch(np.arange(len(one)))
        with torch.no_grad():
            maps = torch.stack(exact(encoded, attention=True).attention, 2).numpy()  # (N, V, L, H, T, T)
        ours = np.array([problem[number]["attention"] for problem in found])
        np.testing.assert_allclose(ours, maps, atol=1e-4)
        assert maps.std() > 1e-3


@pytest.mark.parametrize("name", ["source", "relational"])
def test_the_same_numbers_with_8_bits(answers, name):
    model, sets = model_of(name), few(each=1)
    figure = live(model, problems=sets, bits=8)
    assert len(figure.html) < len(live(model, problems=sets).html) - model_size(model)
    found, one = answers(figure), sets["i-raven"]
    ours = np.array([problem[0]["logits"] for problem in found])
    np.testing.assert_allclose(ours, logits(rounded(model, 8), one), atol=1e-3)
    assert np.abs(ours - logits(rounded(model), one)).max() > 1e-3


def model_size(model):
    return sum(tensor.numel() for tensor in model.state_dict().values())


def test_what_each_attribute_adds(answers):
    """Of a relational model: its parts add up, and match PyTorch's by component and attribute."""
    model, sets = model_of("relational"), few()
    found = answers(live(model, problems=sets))
    one = sets["i-raven"]
    with torch.no_grad():
        theirs = rounded(model)(encode(model, one).batch(np.arange(len(one)))).parts.numpy()
    row = 0
    for number, problem in enumerate(found):
        parts = problem[0]["parts"]
        np.testing.assert_allclose(
            np.sum([part["scores"] for part in parts], 0), problem[0]["logits"], atol=1e-9
        )
        components = CONFIGURATIONS[int(one.configuration[number])].components
        levels = [part["scores"] for part in parts if "position" not in part["name"]]
        np.testing.assert_allclose(
            np.reshape(levels, (len(components), 5, 8)), theirs[row : row + len(components), :5], atol=1e-3
        )
        row += len(components)
        assert any("position" in part["name"] for part in parts) == any(
            len(component.slots) > 1 for component in components
        )


def test_what_ships_fits_into_one_page():
    figure = live()
    models = data_of(figure)["data"]["models"]
    assert {one["kind"] for one in models} == {"Reasoner", "Relational"}
    assert len({one["name"] for one in models}) == len(models) >= 2, "each has a name of its own"
    assert all("trained on" in one["about"] for one in models)
    assert len(figure._repr_html_().encode()) < LARGEST
    assert live("relational").html != live("reasoner").html


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", [name for name in REASONERS if BUNDLED[name].is_file()])
def test_the_shipped_models_give_the_same_numbers(answers, name, bits):
    model = from_pretrained(name)
    sets = only(few(), slice(0, 14))
    found = answers(live(model, problems=sets, bits=bits))
    exact, one = rounded(model, bits), sets["i-raven"]
    theirs, ours = logits(exact, one), np.array([problem[0]["logits"] for problem in found])
    likely = np.maximum(theirs, -30)  # far below, a log-probability is a difference of large numbers
    np.testing.assert_allclose(np.maximum(ours, -30), likely, atol=1e-3)
    assert (ours.argmax(1) == theirs.argmax(1)).all()


def test_problems_survive_packing_and_are_drawn_and_described_alike(run):
    sets = some_problems(SETS, each=6)
    figure = live(model_of("ce"), problems=sets)
    found = run(
        figure,
        """return unpack(data).map((one) => [one.targets, [one.context, ...one.candidates].flat(), one.hint,
        [one.context, ...one.candidates].flat().map((panel) => [drawn(one.layout, panel, data.levels),
        describe(one.layout, panel, data.levels)])]);""",
    )
    fair, released = sets["i-raven"], sets["raven"]
    for number, (targets, panels, hint, seen) in enumerate(found):
        kind = int(fair.configuration[number])
        slots = len(CONFIGURATIONS[kind].slots)
        expected = np.concatenate((fair.entities[number], released.entities[number, 8:]))
        np.testing.assert_array_equal(panels, expected[:, :slots])
        assert targets == [int(fair.target[number]), int(released.target[number])]
        assert tuple(hint) == drawing.rules_in_words(fair, number)
        for panel, (svg, words) in zip(expected, seen, strict=True):
            assert svg == drawing.drawn(kind, panel)
            assert words == drawing.describe(kind, panel)


def test_any_levels_can_be_packed(run):
    entities = np.zeros((6, 16, 9, 4), int)
    rng = np.random.default_rng(0)
    entities[:, :, :4] = rng.integers(0, (6, 6, 10, 8), (6, 16, 4, 4))
    entities[entities[..., 0] == 0] = 0
    kinds = np.full(6, KEYS.index("distribute_four"))
    some = Problems(kinds, entities, np.zeros((6, 2)), np.full((6, 2, 4, 3), -1), rng.integers(0, 8, 6))
    packed = base64.b64decode(pack({"raven": some})["bytes"])
    assert len(packed) == 6 * (2 + 16 * 4 * 2)
    figure = live(model_of("ce"), problems={"raven": some})
    found = run(figure, "return unpack(data).map((one) => [...one.context, ...one.candidates[0]]);")
    np.testing.assert_array_equal(found, entities[:, :, :4])


# The figure, played with


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
        for asked in range(1, 4):
            assert opened.part("said").inner_text().startswith("Which panel completes the matrix?")
            assert opened.part("looks").is_hidden() and opened.part("is-right").count() == 0
            assert opened.figure.locator("svg [aria-label='Row 3, panel 3: missing']").count() == 1
            number = opened.game()["number"]
            problem = sets["i-raven"][number : number + 1]
            target, chosen = int(problem.target[0]), (number + asked) % 8
            scores = 1 / (1 + np.exp(-logits(model, problem)[0]))
            theirs = int(scores.argmax())
            opened.part("choice").nth(chosen).click()
            shown = [float(text) for text in opened.part("number").all_inner_texts()]
            np.testing.assert_allclose(shown, scores, atol=0.0051)
            right, model_right = right + (chosen == target), model_right + (theirs == target)
            said = opened.part("said").inner_text()
            assert said.startswith("Right." if chosen == target else f"The answer is {target + 1}.")
            assert opened.part("score").inner_text().split() == (
                f"You {right} of {asked} Model {model_right} of {asked}".split()
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
            told = opened.part("all-told").inner_text()
            assert told.startswith(
                f"Of 14 puzzles with the answers of {answers}, this model solves {exact.sum()}, or "
            )
            shares = [float(share) for share in re.findall(r" ([\d.]+)\s%", told)]
            each = [exact[sets[name].configuration == kind].mean() for kind in range(7)]
            np.testing.assert_allclose(shares, 100 * np.array([exact.mean(), *each, 0.125]), atol=0.51)
            assert opened.part("all").inner_text() == "Let the model solve all 14"
        opened.part("all").click()
        opened.part("against").select_option(label="Relational")
        assert opened.part("all").is_enabled() and opened.part("all-told").inner_text() == ""
        assert opened.complaints == []


@pytest.mark.browser
def test_figures_on_one_page_do_not_meet(browser, tmp_path):
    one, other = live(model_of("ce"), problems=few()), live(model_of("context-blind"), problems=few())
    text = "<!doctype html><title>Two</title><meta charset=utf-8>"
    (tmp_path / "two.html").write_text(text + one._repr_html_() + other._repr_html_() + one._repr_html_())
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
            assert opened.overflow() <= 0
            assert opened.grave() == []
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


def test_chapters_begin_with_different_puzzles_and_answers_are_spread():
    fair = some_problems()["i-raven"]
    assert len({(int(fair.configuration[at]), int(fair.target[at])) for at in (4, 1, 7)}) == 3
    assert len({int(fair.target[at]) for at in (4, 1, 7)}) == 3
    assert np.bincount(fair.target, minlength=8).min() > len(fair) / 16
    three = only(few(), slice(0, 3))
    first = f"A puzzle of {CONFIGURATIONS[int(three['raven'].configuration[2])].title},"
    assert live(model_of("ce"), problems=three, start=2).alt.startswith(first)
