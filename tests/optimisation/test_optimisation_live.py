"""The three figures in the page: the same numbers as the library, and played with in a browser."""

import re

import numpy as np
import pytest
import torch
from browsing import PHONE, Opened

from reasonlib.display.plotting import Picture
from reasonlib.optimisation.models.activations import ACTIVATIONS
from reasonlib.optimisation.models.losses import REGRESSION, focal, hinge, kl_divergence, log_loss, mse
from reasonlib.optimisation.models.optimisers import OPTIMISERS
from reasonlib.optimisation.page import live
from reasonlib.optimisation.page.live.lines import fit_line, mean_loss
from reasonlib.optimisation.page.live.stack import TRIES, Stack, StackConfig
from reasonlib.optimisation.page.live.tracks import OUTLIER, POINTS, SPOILT, TRACKS, drawn, run, surface_of

FIGURES = ("losses", "race", "saturation")


@pytest.fixture(scope="module")
def figures():
    return {name: getattr(live, name)() for name in FIGURES}


# Without a browser


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_one_small_piece_that_asks_for_nothing(figures, name):
    figure = figures[name]
    assert isinstance(figure, Picture)
    page = figure._repr_html_()
    assert len(page.encode()) < live.LARGEST == 180_000
    assert not re.search(r"https?:(?!//www\.w3\.org/)|\bsrc=|\bhref=\"(?!#)|@import|\bfetch\(|XMLHttp", page)
    assert "setInterval" not in page
    still = page[page.index('class="rr-live-static"') : page.index("<noscript>")]
    assert 'role="img"' in still and len(figure.alt) > 80
    assert "Scripts are off" in page


def test_other_starts_and_rates():
    figure = live.race(ravine={"start": (-2.0, 1.0)}, beale={"rate": 0.002})
    assert '"start":[-2.0,1.0]' in figure.html and '"rate":0.002' in figure.html
    assert figure.alt != live.race().alt
    with pytest.raises(ValueError, match=r"the surface must be one of ravine, .*, got 'valley'"):
        live.race(valley={"rate": 1})
    with pytest.raises(ValueError, match=r"a track has title, .*, got 'speed'"):
        live.race(ravine={"speed": 1})


def test_a_line_fits_best():
    from sklearn.linear_model import QuantileRegressor

    points = torch.tensor(POINTS, dtype=torch.float64)
    points[SPOILT] = torch.tensor(OUTLIER)
    x, y = points[:, :1].numpy(), points[:, 1].numpy()
    for name, level, settings in (("mae", 0.5, {}), ("quantile", 0.8, {"gamma": 0.8})):
        theirs = QuantileRegressor(quantile=level, alpha=0).fit(x, y)
        least = mean_loss(name, (float(theirs.intercept_), float(theirs.coef_[0])), points, **settings)
        assert mean_loss(name, fit_line(name, points, **settings), points, **settings) <= least + 1e-9
    for name, settings in (("mse", {}), ("huber", {"delta": 0.4}), ("log-cosh", {})):
        line = torch.tensor(fit_line(name, points, **settings), dtype=torch.float64, requires_grad=True)
        loss = REGRESSION[name](line[0] + line[1] * points[:, 0], points[:, 1], **settings)
        assert torch.autograd.grad(loss, line)[0].abs().max() < 1e-9
    with pytest.raises(
        ValueError, match="name must be one of mse, mae, huber, log-cosh, quantile, got 'mbe'"
    ):
        fit_line("mbe", points)
    with pytest.raises(ValueError, match="points must hold at least two with different x"):
        fit_line("mse", torch.ones(3, 2))


def test_a_stack_of_ramps_without_learning_keeps_its_dead_and_mistakes_are_named():
    before, after = (Stack(TRIES[key].config).look() for key in ("dies", "leaks"))
    assert int(before.dead.sum()) > 0 == int(after.dead.sum())
    assert before.activations.shape == (8, 64, 32)
    assert Stack(StackConfig(seed=3)).look().loss == Stack(StackConfig(seed=3)).look().loss
    for settings, rule in (
        ({"activation": "steps"}, "activation must be one of sigmoid, .*, got 'steps'"),
        ({"depth": 0}, "depth must be at least 1, got 0"),
        ({"scale": 0.0}, "scale must be above 0, got 0.0"),
        ({"width": 0}, "width must be at least 1, got 0"),
    ):
        with pytest.raises(ValueError, match=rule):
            StackConfig(**settings)


# In a browser


class Live(Opened):
    """A page with the three figures."""

    def figure_of(self, name):
        return self.page.locator(f".rr-live.rr-{name}")

    def message(self, name):
        self.drawn()
        return self.figure_of(name).locator("output").inner_text()

    def asks(self, name, script, argument=None):
        """Run ``(figure, argument) => ...`` on what a figure leaves for the console."""
        self.drawn()
        wrapped = f"(root, argument) => (({script})(root.{name}, argument))"
        return self.figure_of(name).evaluate(wrapped, argument)


@pytest.fixture(scope="module")
def path(figures, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "live.html"
    figures["losses"].save(path)
    more = "".join(figures[name]._repr_html_() for name in FIGURES[1:])
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def opened(browser, path):
    """One page for all that only asks it for numbers."""
    with Live(browser, path) as page:
        yield page
        assert page.complaints == []


def both(loss, points):
    points = torch.tensor(points, dtype=torch.float64, requires_grad=True)
    values = loss(points)
    return np.stack([values.detach(), torch.autograd.grad(values.sum(), points)[0]], -1)


@pytest.mark.browser
def test_losses_and_slopes(opened):
    errors = [error for error in np.linspace(-6, 6, 61).tolist() if abs(error) > 1e-9]  # no slope at the kink
    results = opened.asks(
        "losses",
        """(figure, errors) => Object.fromEntries(Object.entries(figure.REGRESSION).map(([name, loss]) =>
        [name, errors.map((e) => loss(e, { delta: 0.7, gamma: 0.8 }))]))""",
        errors,
    )
    assert set(results) == set(REGRESSION)
    settings = {"huber": {"delta": 0.7}, "quantile": {"gamma": 0.8}}
    for name, loss in REGRESSION.items():
        more = {"reduction": "none", **settings.get(name, {})}
        theirs = both(lambda e, loss=loss, more=more: loss(e, torch.zeros_like(e), **more), errors)
        np.testing.assert_allclose(results[name], theirs, atol=1e-6, err_msg=name)
    scores = [score for score in np.linspace(-8, 8, 65).tolist() if abs(score) not in (1, 2.5)]  # kinks
    for truth in (1.0, 0.0, 0.3):
        results = opened.asks(
            "losses",
            """(figure, [scores, y]) => Object.fromEntries(Object.entries(figure.CLASSIFICATION).map(
            ([name, loss]) => [name, scores.map((z) => loss(z, y, { focus: 2.5 }))]))""",
            [scores, truth],
        )

        def pair(p):
            return torch.stack([p, 1 - p], -1)

        def many(z, truth=truth):
            return torch.full_like(z, truth)

        theirs = {
            "log loss": lambda z: log_loss(z, many(z), reduction="none"),
            "focal": lambda z: focal(z, many(z), gamma=2.5, reduction="none"),
            "hinge": lambda z: hinge(z, 2 * many(z) - 1, reduction="none"),
            "kl": lambda z: kl_divergence(pair(many(z)), pair(z.sigmoid()), reduction="none"),
            "square": lambda z: mse(z.sigmoid(), many(z), reduction="none"),
        }
        assert set(results) == set(theirs)
        for name, loss in theirs.items():
            np.testing.assert_allclose(results[name], both(loss, scores), atol=1e-6, err_msg=name)


@pytest.mark.browser
def test_lines_of_the_page(opened):
    points = [list(point) for point in POINTS]
    points[SPOILT] = list(OUTLIER)
    for settings in ({"delta": 0.3, "gamma": 0.75}, {"delta": 2.0, "gamma": 0.2}):
        for name, own in (
            ("mse", ()),
            ("mae", ()),
            ("huber", ("delta",)),
            ("log-cosh", ()),
            ("quantile", ("gamma",)),
        ):
            line = opened.asks("losses", "(figure, all) => figure.fitLine(...all)", [name, points, settings])
            theirs = fit_line(name, torch.tensor(points), **{key: settings[key] for key in own})
            np.testing.assert_allclose(line, theirs, atol=1e-6, err_msg=name)


@pytest.mark.browser
def test_surfaces_and_paths(opened):
    places = torch.tensor([[x, y] for x in np.linspace(-2, 2, 7) for y in np.linspace(-1.5, 2, 6)])
    for key, track in TRACKS.items():
        surface = surface_of(key)
        opened.asks("race", "(figure, key) => figure.choose(key)", key)
        results = opened.asks(
            "race",
            "(figure, places) => { const { value, slope } = figure.surface(); "
            "return places.map((at) => [value(at), ...slope(at)]); }",
            places.tolist(),
        )
        theirs = torch.cat([surface.value(places)[:, None], surface.gradient(places)], 1)
        np.testing.assert_allclose(results, theirs, rtol=1e-9, atol=1e-9)
        runs = opened.asks("race", "(figure) => figure.state.runs")
        assert list(runs) == list(OPTIMISERS)
        for name, walked in runs.items():
            points, losses = (values[: len(walked["points"])] for values in run(track, surface, name))
            assert len(points) > 5
            np.testing.assert_allclose(walked["points"], points, atol=1e-6, err_msg=f"{name}, {key}")
            np.testing.assert_allclose(walked["losses"], losses, atol=1e-6, err_msg=f"{name}, {key}")
            assert len(points) == track.steps + 1 or walked["left"] == len(points) - 1


@pytest.mark.browser
def test_activations_and_a_stack(opened):
    sums = [value for value in np.linspace(-7, 7, 57).tolist() if abs(value) not in (0, 1)]
    results = opened.asks(
        "saturation",
        """(figure, sums) => Object.fromEntries(Object.entries(figure.ACTIVATIONS).map(([name, [f, slope]]) =>
        [name, sums.map((z) => [f(z), slope(z)])]))""",
        sums,
    )
    assert set(results) == set(ACTIVATIONS) - {"PELU"}  # which is ELU until it learns
    for name, values in results.items():
        np.testing.assert_allclose(values, both(ACTIVATIONS[name], sums), atol=1e-6, err_msg=name)
    for activation in ("sigmoid", "ReLU", "HardELiSH"):
        config = StackConfig(activation=activation, depth=4, scale=1.7, rate=0.3, width=16, seed=6)
        settings = {name: getattr(config, name) for name in config.__dataclass_fields__}
        weights, passes = opened.asks(
            "saturation",
            """(figure, settings) => {
              const stack = figure.make(settings), passes = [];
              const weights = stack.weights.map((one) => [...one]);
              for (let step = 0; step <= 6; step += 1) {
                const { loss, accuracy, layers } = stack.look();
                const each = (key) => layers.map((one) => one[key]);
                passes.push({ loss, accuracy, saturated: each("saturated"), dead: each("dead"),
                  gradient: each("gradient"), mean: each("mean"), last: [...layers.at(-1).values] });
                stack.learn();
              }
              return [weights, passes];
            }""",
            settings,
        )
        ours = Stack(config)
        for page, library in zip(weights, ours.weights, strict=True):
            np.testing.assert_allclose(page, library.detach().flatten(), atol=1e-9)
        for page, library in zip(passes, ours.train(6), strict=True):
            assert page["loss"] == pytest.approx(library.loss, abs=1e-5)
            assert page["accuracy"] == pytest.approx(library.accuracy)
            np.testing.assert_allclose(page["last"], library.activations[-1].flatten(), atol=1e-5)
            np.testing.assert_allclose(page["gradient"], library.gradients, atol=1e-5, rtol=1e-5)
            np.testing.assert_allclose(page["mean"], library.activations.mean((1, 2)), atol=1e-5)
            near = 4 / library.activations[-1].numel()  # a few values lie at the threshold
            np.testing.assert_allclose(page["saturated"], library.saturated, atol=near)
            assert page["dead"] == library.dead.tolist()


@pytest.mark.browser
def test_drag_a_prediction_and_spoil_a_point(browser, path):
    with Live(browser, path) as opened:
        figure = opened.figure_of("losses")
        knob = figure.get_by_role("slider", name="Prediction")
        box = knob.locator(".rr-live-knob").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        opened.page.mouse.move(x, y)
        opened.page.mouse.down()
        opened.page.mouse.move(x - 60, y - 30, steps=3)
        opened.page.mouse.up()
        start = opened.asks("losses", "(figure) => figure.modes.one.state.at[0]")
        assert start < 2.2
        figure.get_by_role("slider", name="Target").press("ArrowRight")
        target = opened.asks("losses", "(figure) => figure.modes.one.state.target")
        assert target == pytest.approx(0.1)
        shown = {name: cells for name, *cells in opened.cells(figure.locator("tbody:visible tr"))}
        assert float(shown["Squared error"][0]) == pytest.approx((start - target) ** 2, rel=0.01, abs=6e-4)
        assert float(shown["Squared error"][1].replace("−", "-")) == pytest.approx(
            2 * (start - target), rel=0.02
        )
        figure.get_by_role("slider", name="Rate η").fill("0.5")
        figure.get_by_role("button", name="Step", exact=True).click()
        after = opened.asks("losses", "(figure) => figure.modes.one.state.at")
        assert after[0] == pytest.approx(target, abs=1e-9), "at half the rate squares arrive in one step"
        assert after[1] == pytest.approx(start - 0.5 * np.sign(start - target))
        assert opened.message("losses").startswith("After 1 step at rate 0.50: squared error is 0")
        figure.get_by_role("radio", name="A line through points").check()
        assert "The lines agree." in opened.message("losses")
        figure.get_by_role("button", name="Spoil one point").click()
        assert re.search(r"line of the squared error is [\d.]+ away", opened.message("losses"))
        point = figure.get_by_role("slider", name="Point 9")
        for _ in range(3):
            point.press("Shift+ArrowUp")
        assert opened.asks("losses", "(figure) => figure.modes.line.state.points[8][1]") == pytest.approx(3.6)
        figure.get_by_role("radio", name="Yes or no").check()
        figure.get_by_role("radio", name="score z").check()
        opened.drawn()
        assert "dL/dz" in figure.inner_text()
        assert opened.complaints == []


@pytest.mark.browser
def test_race_draw_and_pause(browser, path):
    with Live(browser, path) as opened:
        figure = opened.figure_of("race")
        state = (
            "(figure) => ({ ...figure.state, shown: [...figure.state.shown], settings: figure.settings() })"
        )
        figure.get_by_role("button", name="To the start").click()
        assert opened.message("race").startswith("All start at a loss of")
        figure.get_by_role("button", name="Step", exact=True).click()
        assert opened.asks("race", state)["step"] == 1 and "After 1 step " in opened.message("race")
        figure.get_by_role("button", name="Play").click()
        opened.page.wait_for_function("document.querySelector('.rr-race').race.state.step > 3")
        figure.get_by_role("button", name="Pause").click()
        now = opened.asks("race", state)
        assert not now["playing"] and 3 < now["step"]
        figure.get_by_role("button", name="Nesterov").click()
        assert "Nesterov" not in opened.asks("race", state)["shown"]
        start = figure.get_by_role("slider", name="Starting point")
        start.press("ArrowRight")
        start.press("ArrowUp")
        track = TRACKS["ravine"]
        now = opened.asks("race", state)
        assert now["start"] == pytest.approx([track.start[0] + 0.05, track.start[1] + 0.05])
        assert start.get_attribute("aria-valuetext") == "x −3.35, y 1.25"

        names = figure.get_by_role("slider").evaluate_all("all => all.map(one => one.ariaLabel)")
        assert len({name.split(",")[0] for name in names}) == len(names), "no two sliders share a name"
        figure.get_by_role("radio", name="Saddle").check()
        assert "left the saddle" in opened.message("race") and "ahead" not in opened.message("race")
        figure.get_by_role("radio", name="Draw your own").check()
        assert figure.get_by_role("radio", name="Raise hills").is_checked(), "drawing begins with the brush"
        figure.get_by_role("radio", name="Dig valleys").check()
        box = figure.locator(".rr-opt-map svg").first.bounding_box()
        opened.page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.2 * box["height"])
        opened.page.mouse.down()
        opened.page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.4 * box["height"], steps=6)
        opened.page.mouse.up()
        figure.get_by_role("radio", name="Raise hills").check()
        figure.get_by_role("slider", name="Brush", exact=True).press("Enter")
        now = opened.asks("race", state)
        heights = [bump[2] for bump in now["bumps"][4:]]
        assert len(heights) > 2 and heights[0] < 0 < heights[-1]
        surface = drawn([tuple(bump) for bump in now["bumps"]])
        for name in ("momentum", "Adam"):
            points, _ = run(TRACKS["draw"], surface, name)
            np.testing.assert_allclose(now["runs"][name]["points"], points, atol=1e-6)
        figure.get_by_role("button", name="Undo").click()
        assert len(opened.asks("race", state)["bumps"]) == len(now["bumps"]) - 1
        figure.get_by_role("button", name="Flatten").click()
        assert opened.asks("race", state)["bumps"] == []
        assert opened.complaints == []


@pytest.mark.browser
def test_a_stack_that_blows_up_draws_only_what_is_finite(browser, path):
    with Live(browser, path) as opened:
        figure = opened.figure_of("saturation")
        figure.locator("select").nth(1).select_option(label="leaky ReLU")
        for slider in figure.locator("input[type=range]").all():
            slider.fill(slider.get_attribute("max"))
        for _ in range(4):
            step = figure.get_by_role("button", name="Step", exact=True)
            if step.is_enabled():
                step.click()
        opened.drawn()
        assert "blown up" in opened.message("saturation")
        assert opened.complaints == []


def test_train_a_stack_in_the_page(browser, path):
    with Live(browser, path) as opened:
        figure = opened.figure_of("saturation")
        tries, kind = figure.locator("select").all()
        for _ in range(3):
            figure.get_by_role("button", name="Step", exact=True).click()
        ours = Stack(TRIES["travels"].config).train(3)[-1]
        seen = opened.asks("saturation", "({ seen }) => [seen.loss, seen.layers.map((one) => one.gradient)]")
        assert seen[0] == pytest.approx(ours.loss, abs=1e-5)
        np.testing.assert_allclose(seen[1], ours.gradients, rtol=1e-4)
        figure.locator("summary").click()
        figure.locator("tbody").wait_for(state="visible")
        rows = opened.cells(figure.locator("tbody tr"))
        np.testing.assert_allclose(
            [float(row[2].split()[0]) for row in rows], 100 * ours.saturated.numpy(), atol=0.06
        )
        figure.get_by_role("button", name="Train").click()
        opened.page.wait_for_function("document.querySelector('.rr-saturation').saturation.stack.steps > 5")
        assert "learning" not in opened.message("saturation")
        figure.get_by_role("button", name="Pause").click()
        opened.drawn()
        assert re.search(r"After \d+ steps \d+ % of the points are right", opened.message("saturation"))
        tries.select_option(label="ReLU units die")
        dead = int(Stack(TRIES["dies"].config).look().dead.sum())
        assert f"{dead} of 256 units are dead" in opened.message("saturation")
        assert kind.input_value() == "ReLU"
        figure.get_by_role("button", name="New weights").click()
        opened.drawn()
        assert tries.input_value() == "own"
        assert opened.complaints == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_and_for_those_who_cannot_see_it(browser, path, scheme):
    with Live(browser, path, color_scheme=scheme, **PHONE) as opened:
        assert opened.page.locator(".rr-live[data-ready]").count() == 3
        if scheme == "dark":
            opened.asks("losses", "(figure) => figure.show('choice')")
            opened.asks("race", "(figure) => figure.choose('draw')")
        opened.check_view()


@pytest.mark.browser
def test_without_scripts_a_picture_is_seen(browser, path):
    with Live(browser, path, java_script_enabled=False) as opened:
        for name in FIGURES:
            figure = opened.figure_of(name)
            assert figure.locator(".rr-live-static svg").is_visible()
            assert "Scripts are off" in figure.locator("noscript").inner_text()
