"""Puzzles in the page: the same numbers as PyTorch, and the same drawings."""

import base64
import re

import numpy as np
import pytest
import torch
from browsing import check_piece
from visual_iq.live_models import MODELS, SETS, data_of, few, logits, model_of, only, rounded

from reasonlib.display.live import LARGEST, code
from reasonlib.display.plotting import Picture
from reasonlib.errors import UserError
from reasonlib.visual_iq.data.example import CONFIGURATIONS, KEYS, Problems
from reasonlib.visual_iq.models.pretrained import BUNDLED, REASONERS, from_pretrained
from reasonlib.visual_iq.models.reasoner import Reasoner
from reasonlib.visual_iq.models.relational import Relational, RelationalConfig
from reasonlib.visual_iq.models.solvers import encode
from reasonlib.visual_iq.page import svg as drawing
from reasonlib.visual_iq.page.live import puzzles as live
from reasonlib.visual_iq.page.live import some_problems
from reasonlib.visual_iq.page.live.puzzles import SCRIPTS, pack

# Without a browser


def test_a_figure_is_one_small_piece_that_asks_for_nothing():
    figure = live(model_of("source"))
    assert isinstance(figure, Picture)
    assert LARGEST == 1_000_000
    check_piece(figure, LARGEST)
    assert live(model_of("source")).html == figure.html


def test_the_problems_are_many_of_every_layout_and_two_sets_of_one_question():
    sets = some_problems(SETS)
    fair, released = sets["i-raven"], sets["raven"]
    assert len(fair) == len(released) >= 300
    assert np.bincount(fair.configuration, minlength=7).min() >= 40
    np.testing.assert_array_equal(fair.entities[:, :8], released.entities[:, :8])
    np.testing.assert_array_equal(fair.answer, released.answer)
    assert len({panels.tobytes() for panels in fair.entities}) == len(fair)


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
    [entry], [packed] = given["data"]["models"], given["models"].values()
    numbers = np.frombuffer(base64.b64decode(packed["bytes"]), dtype="<f2").astype(np.float32)
    state = rounded(model).state_dict()
    np.testing.assert_array_equal(numbers, torch.cat([tensor.flatten() for tensor in state.values()]))
    assert [name for name, _, _ in packed["tensors"]] == list(state)
    assert entry["kind"] == type(model).__name__


def test_a_model_and_several():
    model = model_of("source")
    assert "rr-play-against" not in live(model, problems=few()).html.split("<script")[0]
    models = {"One <b>": model, "Two": model_of("panels-for-rows")}
    two = live(models, problems=few())
    assert "One &lt;b&gt;</option>" in two.html
    assert [entry["name"] for entry in data_of(two)["data"]["models"]] == ["One <b>", "Two"]
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
    results = answers(live(model, problems=sets))
    exact = rounded(model)
    for number, problem_set in enumerate(sets.values()):
        theirs = logits(exact, problem_set)
        ours = np.array([problem[number]["logits"] for problem in results])
        np.testing.assert_allclose(ours, theirs, atol=1e-3)
        assert theirs.std(axis=1).mean() > 0.02, "the comparison must be of numbers that differ"
    if isinstance(model, Reasoner) and model.encoder is not None:
        encoded = encode(exact, problem_set).batch(np.arange(len(problem_set)))
        with torch.no_grad():
            maps = torch.stack(exact(encoded, attention=True).attention, 2).numpy()  # (N, V, L, H, T, T)
        ours = np.array([problem[number]["attention"] for problem in results])
        np.testing.assert_allclose(ours, maps, atol=1e-4)
        assert maps.std() > 1e-3


@pytest.mark.parametrize("name", ["source", "relational"])
def test_the_same_numbers_with_8_bits(answers, name):
    model, sets = model_of(name), few(each=1)
    figure = live(model, problems=sets, bits=8)
    assert len(figure.html) < len(live(model, problems=sets).html) - model_size(model)
    results, problem_set = answers(figure), sets["i-raven"]
    ours = np.array([problem[0]["logits"] for problem in results])
    np.testing.assert_allclose(ours, logits(rounded(model, 8), problem_set), atol=1e-3)
    assert np.abs(ours - logits(rounded(model), problem_set)).max() > 1e-3


def model_size(model):
    return sum(tensor.numel() for tensor in model.state_dict().values())


def test_what_each_attribute_adds(answers):
    """Of a relational model: its parts add up, and match PyTorch's by component and attribute."""
    model, sets = model_of("relational"), few()
    results = answers(live(model, problems=sets))
    problem_set = sets["i-raven"]
    with torch.no_grad():
        theirs = rounded(model)(encode(model, problem_set).batch(np.arange(len(problem_set)))).parts.numpy()
    row = 0
    for number, problem in enumerate(results):
        parts = problem[0]["parts"]
        np.testing.assert_allclose(
            np.sum([part["scores"] for part in parts], 0), problem[0]["logits"], atol=1e-9
        )
        components = CONFIGURATIONS[int(problem_set.configuration[number])].components
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
    assert {entry["kind"] for entry in models} == {"Reasoner", "Relational"}
    assert len({entry["name"] for entry in models}) == len(models) >= 2, "each has a name of its own"
    assert all("trained on" in entry["about"] for entry in models)
    assert len(figure._repr_html_().encode()) < LARGEST
    assert live("relational").html != live("reasoner").html


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", [name for name in REASONERS if BUNDLED[name].is_file()])
def test_the_shipped_models_give_the_same_numbers(answers, name, bits):
    model = from_pretrained(name)
    sets = only(few(), slice(0, 14))
    results = answers(live(model, problems=sets, bits=bits))
    exact, problem_set = rounded(model, bits), sets["i-raven"]
    theirs, ours = logits(exact, problem_set), np.array([problem[0]["logits"] for problem in results])
    likely = np.maximum(theirs, -30)  # far below, a log-probability is a difference of large numbers
    np.testing.assert_allclose(np.maximum(ours, -30), likely, atol=1e-3)
    assert (ours.argmax(1) == theirs.argmax(1)).all()


def test_problems_survive_packing_and_are_drawn_and_described_alike(run):
    sets = some_problems(SETS, each=6)
    figure = live(model_of("ce"), problems=sets)
    unpacked = run(
        figure,
        """return unpack(data).map((one) => [one.targets, [one.context, ...one.candidates].flat(), one.hint,
        [one.context, ...one.candidates].flat().map((panel) => [drawn(one.layout, panel, data.levels),
        describe(one.layout, panel, data.levels)])]);""",
    )
    fair, released = sets["i-raven"], sets["raven"]
    for number, (targets, panels, hint, seen) in enumerate(unpacked):
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
    unpacked = run(figure, "return unpack(data).map((one) => [...one.context, ...one.candidates[0]]);")
    np.testing.assert_array_equal(unpacked, entities[:, :, :4])


def test_chapters_begin_with_different_puzzles_and_answers_are_spread():
    fair = some_problems()["i-raven"]
    assert len({(int(fair.configuration[index]), int(fair.target[index])) for index in (4, 1, 7)}) == 3
    assert len({int(fair.target[index]) for index in (4, 1, 7)}) == 3
    assert np.bincount(fair.target, minlength=8).min() > len(fair) / 16
    three = only(few(), slice(0, 3))
    first = f"A puzzle of {CONFIGURATIONS[int(three['raven'].configuration[2])].title},"
    assert live(model_of("ce"), problems=three, start=2).alt.startswith(first)
