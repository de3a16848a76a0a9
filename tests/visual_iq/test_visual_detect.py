"""A panel to fill in the page: the generator's pixels, the detector's numbers, and a figure to play with."""

import json
import re
from functools import cache

import numpy as np
import pytest
import torch
from browsing import OUTSIDE, Opened

from reasonlib.display.live import LARGEST, code
from reasonlib.errors import UserError
from reasonlib.visual_iq.data import render
from reasonlib.visual_iq.data.example import CONFIGURATIONS, LEVELS, SLOTS
from reasonlib.visual_iq.data.panels import held_out_panels, random_panels
from reasonlib.visual_iq.experiments import detection_metrics
from reasonlib.visual_iq.models.detector.detector import Detector, DetectorConfig
from reasonlib.visual_iq.models.pretrained import load_pretrained
from reasonlib.visual_iq.page.live.detect import FIRST, SCRIPTS, SMALL, detect, rounded


@cache
def small():
    return load_pretrained(SMALL).model


def data_of(figure):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', figure.html)[1])


def some_panels(number, seed=3):
    return random_panels(number, np.random.default_rng(seed))


@pytest.fixture
def run(javascript):
    """A function that runs code over a figure's `data`, its `network`, and `panels`."""

    def evaluate(figure, body, panels, *, compiled=True):
        start = """const { data, models } = given.figure, { levels, layouts } = data;
        const network = new Detector(new Weights(models.detector), data.sizes, { compiled: given.compiled });
        const panels = given.panels.map(([kind, entities]) => [layouts[kind], entities]);"""
        given = [
            [int(kind), rows[: len(CONFIGURATIONS[kind].slots)].tolist()]
            for kind, rows in zip(*panels, strict=True)
        ]
        whole = {"figure": data_of(figure), "panels": given, "compiled": compiled}
        return javascript(code(*SCRIPTS, modules=["convolve"]), start + body, whole)

    return evaluate


def test_a_figure_is_one_piece_below_a_megabyte_that_asks_for_nothing():
    page = detect()._repr_html_()
    assert len(page.encode()) < LARGEST == 1_000_000
    assert not OUTSIDE.search(re.sub(r'href="data:image[^"]*"', "", page))
    assert "<noscript>" in page and detect().alt.startswith("Panels with the boxes a detector found")


def test_mistakes():
    with pytest.raises(ValueError, match="panel must have 4 slots, got 9"):
        detect(layout="2x2Grid")
    with pytest.raises(UserError, match=r"the figure would weigh \d\.\d MB"):
        detect(Detector())


def test_the_small_detector_reads_most_of_what_can_be_seen():
    measured = detection_metrics.measure(rounded(small()), held_out_panels(112))
    assert measured["recall"] > 0.9 and measured["precision"] > 0.9
    assert measured["type"] > 0.9 and measured["colour"] > 0.9


def test_the_page_draws_the_generators_pixels(run):
    """Every type, size, shade and angle, in every slot of every layout."""
    layouts, entities = [], []
    rng = np.random.default_rng(0)
    for number, layout in enumerate(CONFIGURATIONS):
        for _ in range(12):
            rows = np.zeros((SLOTS, 4), int)
            for slot in range(len(layout.slots)):
                rows[slot] = [rng.integers(low, high) for low, high in zip((1, 0, 0, 0), LEVELS, strict=True)]
            layouts.append(number)
            entities.append(rows)
    panels = np.array(layouts), np.array(entities)
    body = "return panels.map(([layout, panel]) => Array.from(panelPixels(layout, panel, levels)));"
    drawn = np.array(run(detect(), body, panels)).reshape(-1, 160, 160)
    np.testing.assert_array_equal(drawn, render.render_panels(*panels))


def test_the_page_puts_boxes_around_what_slots_hold(run):
    panels = some_panels(20)
    body = """return panels.map(([layout, panel]) =>
      layout.slots.map((slot, at) => boxOf(slot, panel[at], levels)));"""
    boxes = render.entity_boxes(*panels)
    for ours, theirs in zip(run(detect(), body, panels), boxes, strict=True):
        np.testing.assert_allclose(ours, theirs[: len(ours)], atol=1e-3)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_the_same_detections_as_pytorch(run, compiled):
    panels = some_panels(14)
    images = render.render_panels(*panels)
    body = """return panels.map(([layout, panel]) => {
      const { anchors, proposals, detections } = network.detect(panelPixels(layout, panel, levels));
      return { anchors, proposals, detections };
    });"""
    model = rounded(small())
    results = run(detect(), body, panels, compiled=compiled)
    for image, ours, theirs in zip(images, results, model.detect(images), strict=True):
        stages = model.inspect(image)
        likely = np.sort(stages.objectness)[::-1][: len(ours["anchors"])]
        np.testing.assert_allclose([anchor["score"] for anchor in ours["anchors"]], likely, atol=1e-3)
        np.testing.assert_allclose(
            [proposal["box"] for proposal in ours["proposals"]], stages.proposals, atol=0.02
        )
        detections = ours["detections"]
        detections.sort(key=lambda detection: detection["box"])
        order = np.lexsort(theirs.boxes.round(1).T[::-1])
        assert len(detections) == len(order) > 0
        levels = np.stack([theirs.type, theirs.size, theirs.colour, theirs.angle], -1)[order]
        np.testing.assert_allclose(
            [detection["box"] for detection in detections], theirs.boxes[order], atol=0.02
        )
        np.testing.assert_allclose(
            [detection["score"] for detection in detections], theirs.scores[order], atol=1e-3
        )
        agree = (np.array([detection["levels"] for detection in detections]) == levels) | (levels[:, :1] == 0)
        assert agree.all()


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_a_detector_of_random_weights_gives_the_same_features(run, compiled):
    torch.manual_seed(0)
    model = Detector(DetectorConfig(widths=(3, 5, 6, 7, 9), width=6, hidden=8)).eval()
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if "running" in name:
                tensor.add_(torch.rand_like(tensor))
    panels = some_panels(2)
    body = """return panels.map(([layout, panel]) =>
      network.features(panelPixels(layout, panel, levels)).map((map) => map.toArray()));"""
    images = torch.from_numpy(render.render_panels(*panels))
    with torch.no_grad():
        expected = rounded(model).features(images)
    for number, levels in enumerate(run(detect(model), body, panels, compiled=compiled)):
        for ours, theirs in zip(levels, expected, strict=True):
            np.testing.assert_allclose(ours, theirs[number].permute(1, 2, 0).flatten(), atol=1e-4)


# The figure, played with


class Live(Opened):
    prefix = "rr-detect"

    def slots(self):
        return self.part("slots").locator("button")

    def rows(self):
        return self.cells(self.figure.locator(".rr-detect-table tbody tr"))


@pytest.fixture(scope="module")
def figure():
    return detect()


@pytest.mark.browser
def test_put_shapes_into_a_panel(browser, page):
    with Live(browser, page) as opened:
        assert len(opened.rows()) == len(FIRST) == opened.slots().count()
        assert opened.rows()[1][1] == "empty"
        opened.slots().nth(1).click()  # selects it
        assert opened.rows()[1][1] == "empty"
        opened.slots().nth(1).click()
        assert opened.rows()[1][1].startswith("triangle")
        assert "triangle" in opened.rows()[1][2]
        opened.part("edit").locator("select").first.select_option(label="circle")
        opened.part("edit").locator("select").nth(1).select_option(index=4)
        opened.part("edit").locator("select").nth(2).select_option(index=9)
        assert opened.rows()[1][1].startswith("circle · 5 · 9")
        assert "circle" in opened.rows()[1][2]
        assert opened.slots().nth(1).get_attribute("aria-label").startswith("Slot 2: circle, size 5, shade 9")
        assert re.search(r"in \d+ ms|less than 1 ms", opened.part("took").inner_text())
        assert opened.complaints == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_every_layout_and_step_and_no_shape_at_all(browser, page, width):
    with Live(browser, page, viewport={"width": width, "height": 844}) as opened:
        for number, layout in enumerate(CONFIGURATIONS):
            opened.page.get_by_label("Layout").select_option(str(number))
            assert len(opened.rows()) == len(layout.slots)
            for step in ("anchors", "proposals", "detections"):
                opened.page.locator(f"input[value={step}]").check()
                assert opened.figure.locator("svg .rr-detect-box").count() > 0
        opened.page.get_by_role("button", name="Another panel").click()
        opened.ask("root => root.put(root.read().panel.map(() => [0, 3, 0, 3]))")
        assert {row[1] for row in opened.rows()} == {"empty"}
        assert "most layouts look the same" in opened.part("said").inner_text()
        opened.check_view()


@pytest.mark.browser
def test_a_size_that_the_pixels_do_not_show_counts_as_right(browser, page):
    number = next(index for index, layout in enumerate(CONFIGURATIONS) if layout.title == "O-IG")
    with Live(browser, page) as opened:
        opened.page.get_by_label("Layout").select_option(str(number))
        for size in (2, 3):  # squares of 0.6 and 0.7 in the inner grid
            opened.ask(f"root => root.put(root.read().panel.map((_, slot) => [2, slot ? {size} : 4, 0, 3]))")
            for row in opened.rows()[1:]:
                assert row[2].startswith("✓ square"), row
        assert opened.complaints == []
